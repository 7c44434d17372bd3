// SPDX-License-Identifier: MIT
/**
 * DOC: verified contents
 *
 * What a replay writes says where it belongs. Each 8-byte word of a tensor is
 * made of the tensor's index (20 bits), the version, that is how often the
 * tensor was written (12 bits), and the word's place in the tensor (32 bits),
 * multiplied by an odd constant: the words of a tensor are an arithmetic
 * progression, cheap to write and to check, none of them is zero, and a word
 * that is found where it does not belong tells where it came from. So a lost
 * block (zeros), a stale one (an older version) and a swapped one (another
 * place or tensor) are told apart.
 *
 * Sampling writes and checks the first words of up to SAMPLES blocks of a
 * tensor, always the same ones.
 */

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#include "verify.h"

#define WORD sizeof(u64)
#define ODD 0x9e3779b97f4a7c15ULL
#define TENSOR_MASK 0xfffffULL
#define VERSIONS 4095u
#define SAMPLES 16u
#define SAMPLE_WORDS 8u

/* The touch of a lost block: SIGBUS. One thread replays. */
static sigjmp_buf bus_jump;
static volatile sig_atomic_t bus_armed;
static void *volatile bus_address;

static void bus_handler(int sig, siginfo_t *info, void *context)
{
	if (!bus_armed) {
		/* Not ours: the same touch again ends the process. */
		signal(sig, SIG_DFL);
		return;
	}
	bus_address = info->si_addr;
	bus_armed = 0;
	siglongjmp(bus_jump, 1);
}

static u64 version_code(u64 version)
{
	return (version - 1) % VERSIONS + 1;
}

/* The first word of a tensor; the next ones are ODD apart. */
static u64 first_word(u32 tensor, u64 version)
{
	return ((tensor & TENSOR_MASK) << 44 | version_code(version) << 32) * ODD;
}

/* Multiplicative inverse of ODD modulo 2^64, by Newton's iteration. */
static u64 odd_inverse(void)
{
	u64 x = ODD;
	int i;

	for (i = 0; i < 5; i++)
		x *= 2 - ODD * x;
	return x;
}

static u64 tensor_words(const struct ugm_contents *c, u32 tensor)
{
	return (c->layout->tensors[tensor].len + WORD - 1) / WORD;
}

/**
 * ugm_contents_init() - nothing has been written yet
 * @c: filled; the caller sets @base of each tensor before it is used
 * @layout: the tensors; must stay
 * @verify: how much is written and checked
 *
 * Context: one at a time in a process, as it handles SIGBUS.
 * Return: 0 or -ENOMEM.
 */
int ugm_contents_init(struct ugm_contents *c, const struct ugm_layout *layout,
		      enum ugm_verify verify)
{
	struct sigaction sa = { .sa_sigaction = bus_handler, .sa_flags = SA_SIGINFO };

	c->layout = layout;
	c->verify = verify;
	c->checked_bytes = 0;
	c->tensors = calloc(layout->trace->nr_tensors, sizeof(*c->tensors));
	if (!c->tensors)
		return -ENOMEM;
	sigaction(SIGBUS, &sa, NULL);
	return 0;
}

/**
 * ugm_contents_free() - the opposite of ugm_contents_init()
 * @c: contents
 */
void ugm_contents_free(struct ugm_contents *c)
{
	signal(SIGBUS, SIG_DFL);
	free(c->tensors);
	c->tensors = NULL;
}

static int lost(const struct ugm_contents *c, u32 tensor, struct ugm_error *err)
{
	const struct ugm_tensor *t = &c->layout->trace->tensors[tensor];

	return ugm_fail(err, -EIO,
			"tensor %" PRIu64 " (%s) offset %td: unreadable (SIGBUS), expected version %" PRIu64,
			t->id, t->name, (char *)bus_address - c->tensors[tensor].base,
			c->tensors[tensor].version);
}

static int mismatch(const struct ugm_contents *c, u32 tensor, u64 word, u64 found,
		    struct ugm_error *err)
{
	const struct ugm_trace *trace = c->layout->trace;
	const struct ugm_tensor *t = &trace->tensors[tensor];
	u64 code = found * odd_inverse();
	u64 from = code >> 44, age = 0;
	char what[160];

	/* Versions repeat after VERSIONS; the youngest that fits is meant. */
	if (from < trace->nr_tensors)
		age = (c->tensors[from].version + VERSIONS - (code >> 32 & 0xfff)) % VERSIONS;

	if (!found)
		snprintf(what, sizeof(what), "version 0 (zeros)");
	else if (from >= trace->nr_tensors || age >= c->tensors[from].version)
		snprintf(what, sizeof(what), "foreign data (%016" PRIx64 ")", found);
	else
		snprintf(what, sizeof(what), "version %" PRIu64 " of tensor %" PRIu64 " offset %" PRIu64,
			 c->tensors[from].version - age, trace->tensors[from].id,
			 (code & 0xffffffff) * WORD);
	return ugm_fail(err, -EILSEQ,
			"tensor %" PRIu64 " (%s) offset %" PRIu64 ": expected version %" PRIu64
			", found %s",
			t->id, t->name, word * WORD, c->tensors[tensor].version, what);
}

static int check_words(const struct ugm_contents *c, u32 tensor, u64 first, u64 nr,
		       struct ugm_error *err)
{
	const volatile u64 *p = (const volatile u64 *)c->tensors[tensor].base + first;
	u64 version = c->tensors[tensor].version, step = version ? ODD : 0;
	u64 want = version ? first_word(tensor, version) + first * ODD : 0;
	u64 i, found;

	for (i = 0; i < nr; i++, want += step) {
		found = p[i];
		if (found != want)
			return mismatch(c, tensor, first + i, found, err);
	}
	return 0;
}

static void write_words(struct ugm_contents *c, u32 tensor, u64 first, u64 nr)
{
	volatile u64 *p = (volatile u64 *)c->tensors[tensor].base + first;
	u64 word = first_word(tensor, c->tensors[tensor].version) + first * ODD;
	u64 i;

	for (i = 0; i < nr; i++, word += ODD)
		p[i] = word;
}

/* Check or write the words of a tensor that this degree of verification covers. */
static int visit(struct ugm_contents *c, u32 tensor, bool write, struct ugm_error *err)
{
	u64 words = tensor_words(c, tensor), block = c->layout->config.block_size / WORD;
	u64 blocks = (words + block - 1) / block, nr = blocks < SAMPLES ? blocks : SAMPLES;
	u64 i, first = 0, len = words;
	int ret;

	if (c->verify == UGM_VERIFY_FULL)
		nr = 1;
	for (i = 0; i < nr; i++) {
		if (c->verify != UGM_VERIFY_FULL) {
			first = i * blocks / nr * block;
			len = words - first < SAMPLE_WORDS ? words - first : SAMPLE_WORDS;
		}
		if (write) {
			write_words(c, tensor, first, len);
		} else {
			ret = check_words(c, tensor, first, len, err);
			if (ret)
				return ret;
			c->checked_bytes += len * WORD;
		}
	}
	return 0;
}

/**
 * ugm_contents_fill() - write a piece of a tensor before the run
 * @c: contents
 * @tensor: its index
 * @offset: device bytes from its start, a multiple of 8
 * @len: device bytes; a piece that reaches the end makes this version 1
 * @err: out
 *
 * Writes every word, whatever is verified, so that real data moves.
 *
 * Return: 0, or -EIO (SIGBUS).
 */
int ugm_contents_fill(struct ugm_contents *c, u32 tensor, u64 offset, u64 len,
		      struct ugm_error *err)
{
	c->tensors[tensor].version = 1;
	if (sigsetjmp(bus_jump, 1))
		return lost(c, tensor, err);
	bus_armed = 1;
	write_words(c, tensor, offset / WORD, (len + WORD - 1) / WORD);
	bus_armed = 0;
	return 0;
}

/**
 * ugm_contents_kernel() - do what a kernel does to its operands
 * @c: contents
 * @kernel: its index
 * @err: out: which tensor, where, what was expected and found
 *
 * Checks what it reads, then writes the next version of what it writes.
 *
 * Return: 0, -EILSEQ (wrong contents), or -EIO (SIGBUS).
 */
int ugm_contents_kernel(struct ugm_contents *c, u32 kernel, struct ugm_error *err)
{
	const struct ugm_kernel *k = &c->layout->trace->kernels[kernel];
	const struct ugm_use *uses = ugm_kernel_uses(c->layout->trace, kernel);
	volatile u32 tensor = 0;
	volatile int ret = 0;
	volatile u32 i;

	if (c->verify == UGM_VERIFY_NONE)
		return 0;
	if (sigsetjmp(bus_jump, 1))
		return lost(c, tensor, err);
	bus_armed = 1;
	for (i = 0; i < k->nr_uses && !ret; i++) {
		tensor = uses[i].tensor;
		if (uses[i].mode & UGM_OPERAND_READ && !c->tensors[tensor].discarded)
			ret = visit(c, tensor, false, err);
	}
	for (i = 0; i < k->nr_uses && !ret; i++) {
		tensor = uses[i].tensor;
		if (!(uses[i].mode & UGM_OPERAND_WRITE))
			continue;
		c->tensors[tensor].version++;
		c->tensors[tensor].discarded = false;
		ret = visit(c, tensor, true, err);
	}
	bus_armed = 0;
	return ret;
}

/**
 * ugm_contents_discard() - a tensor's data may be lost from now on
 * @c: contents
 * @tensor: its index
 */
void ugm_contents_discard(struct ugm_contents *c, u32 tensor)
{
	c->tensors[tensor].discarded = true;
}
