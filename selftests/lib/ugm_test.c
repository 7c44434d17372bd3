// SPDX-License-Identifier: GPL-2.0
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>

#include "ugm_test.h"

/* What is left after a close may take a moment: I/O that was given up. */
#define IDLE_MS 3000

/**
 * ut_ioctl() - an ioctl
 * @fd: file
 * @request: UGM_IOC_*
 * @arg: its structure, or NULL
 *
 * Return: what it returns, or a negative errno.
 */
int ut_ioctl(int fd, unsigned long request, void *arg)
{
	int ret = ioctl(fd, request, arg);

	return ret < 0 ? -errno : ret;
}

/* build/selftests/NAME is what runs, build/RELEASE/ugm.ko is what is tested. */
static void module_path(char *path, size_t size)
{
	struct utsname uts;
	char exe[PATH_MAX / 2] = "";
	char *slash;
	int i;

	uname(&uts);
	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		exe[0] = 0;
	for (i = 0; i < 2; i++) {
		slash = strrchr(exe, '/');
		if (slash)
			*slash = 0;
	}
	snprintf(path, size, "%s/%s/ugm.ko", exe, uts.release);
}

/* Put the address of the reserved memory where the parameters name it. */
static int expand(const char *params, char *text, size_t size)
{
	static const char name[] = "$UGM_GPU_PHYS";
	const char *at = strstr(params, name), *phys = getenv("UGM_GPU_PHYS");

	if (!at) {
		snprintf(text, size, "%s", params);
		return 0;
	}
	if (!phys || !*phys)
		return -ENXIO;
	snprintf(text, size, "%.*s%s%s", (int)(at - params), params, phys, at + strlen(name));
	return 0;
}

/**
 * ut_load() - load the module; one that is loaded is unloaded first
 * @params: its parameters; $UGM_GPU_PHYS in them is replaced
 *
 * Only ever in a virtual machine of scripts/vm: its kernel is there to be lost.
 *
 * Return: 0; -EPERM on any other machine; -ENXIO without the reserved memory
 * that the parameters name; or what the kernel says.
 */
int ut_load(const char *params)
{
	char path[PATH_MAX], text[512], host[64] = "";
	int fd, err;

	gethostname(host, sizeof(host) - 1);
	if (strcmp(host, "ugm-vm")) {
		fprintf(stderr, "# not in a virtual machine of scripts/vm: nothing is loaded here\n");
		return -EPERM;
	}
	err = expand(params, text, sizeof(text));
	if (err)
		return err;
	err = ut_unload();
	if (err && err != -ENOENT)
		return err;
	module_path(path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = syscall(SYS_finit_module, fd, text, 0) ? -errno : 0;
	close(fd);
	return err;
}

/**
 * ut_unload() - unload the module
 *
 * Return: 0, -ENOENT (it is not loaded), -EWOULDBLOCK (it is in use).
 */
int ut_unload(void)
{
	return syscall(SYS_delete_module, "ugm", O_NONBLOCK) ? -errno : 0;
}

/**
 * ut_attach() - make the beginning of a namespace the flash tier
 * @path: block device
 * @len: bytes of it
 */
int ut_attach(const char *path, uint64_t len)
{
	struct ugm_ioc_attach arg = { .len = len };
	int fd, err;

	snprintf(arg.path, sizeof(arg.path), "%s", path);
	fd = open(UT_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = ut_ioctl(fd, UGM_IOC_ATTACH, &arg);
	close(fd);
	return err;
}

/* Views at an address where a huge page may begin, wherever that is. */
static char *map_view(int fd, uint64_t view)
{
	void *p = mmap(NULL, UT_SPAN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)view);

	return p == MAP_FAILED ? NULL : p;
}

/**
 * ut_open() - open the device and map both views
 * @d: filled
 */
int ut_open(struct ut *d)
{
	struct ugm_ioc_info info = { 0 };
	int err;

	*d = (struct ut){ .fd = open(UT_DEVICE, O_RDWR | O_CLOEXEC) };
	if (d->fd < 0)
		return -errno;
	err = ut_ioctl(d->fd, UGM_IOC_INFO, &info);
	if (!err) {
		d->block = info.block_size;
		d->id = info.space_id;
		d->gpu = map_view(d->fd, UGM_VIEW_GPU);
		d->host = map_view(d->fd, UGM_VIEW_HOST);
		if (!d->gpu || !d->host)
			err = -errno;
	}
	if (err)
		ut_close(d);
	return err;
}

/**
 * ut_close() - unmap the views and close the device
 * @d: device; also one that is closed already
 */
int ut_close(struct ut *d)
{
	int err = 0;

	if (d->gpu)
		munmap(d->gpu, UT_SPAN);
	if (d->host)
		munmap(d->host, UT_SPAN);
	if (d->fd >= 0)
		err = close(d->fd) ? -errno : 0;
	*d = (struct ut){ .fd = -1 };
	return err;
}

/**
 * ut_idle() - is the device as it was after loading?
 * @fd: a file of it whose space has no ranges, the only one
 *
 * Waits a little for what may still come back. Return: 0; -EUCLEAN: an invariant
 * is broken; -EBUSY: frames, host pages or slots are still in use.
 */
int ut_idle(int fd)
{
	uint64_t until = ut_now() + ut_limit(IDLE_MS);
	struct ugm_ioc_check check = { 0 };
	struct ugm_ioc_info info;
	int err;

	for (;;) {
		memset(&info, 0, sizeof(info));
		err = ut_ioctl(fd, UGM_IOC_INFO, &info);
		if (err)
			return err;
		if (info.gpu_free == info.gpu_frames && !info.host_used && !info.flash_used)
			break;
		if (ut_now() > until) {
			fprintf(stderr, "# left in use: %llu frames, %llu host blocks, %llu slots\n",
				(unsigned long long)(info.gpu_frames - info.gpu_free),
				(unsigned long long)info.host_used,
				(unsigned long long)info.flash_used);
			return -EBUSY;
		}
		ut_sleep_ms(10);
	}
	err = ut_ioctl(fd, UGM_IOC_CHECK, &check);
	if (err)
		return err;
	if (info.flags & UGM_INFO_BROKEN || check.violations) {
		fprintf(stderr, "# %llu invariants are broken: see the kernel's log\n",
			(unsigned long long)check.violations);
		return -EUCLEAN;
	}
	return 0;
}

/**
 * ut_setup() - load the module, attach the namespace, open the device
 * @d: filled
 * @params: module parameters
 *
 * Return: 0, -ENXIO (see ut_load()), or what failed.
 */
int ut_setup(struct ut *d, const char *params)
{
	int err;

	*d = (struct ut){ .fd = -1 };
	/* Output that a child inherits unwritten would be written twice. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	err = ut_load(params);
	if (err)
		return err;
	err = ut_attach(UT_NAMESPACE, UT_NAMESPACE_LEN);
	if (err)
		return err;
	return ut_open(d);
}

/**
 * ut_teardown() - close the device, see that nothing is left, unload
 * @d: device; also one that the test has closed
 */
int ut_teardown(struct ut *d)
{
	struct ugm_ioc_check check = { 0 };
	int err = 0, fd;

	/* Once with all that the test made, and once without. */
	if (d->fd >= 0 && !ut_ioctl(d->fd, UGM_IOC_CHECK, &check) && check.violations) {
		fprintf(stderr, "# %llu invariants are broken: see the kernel's log\n",
			(unsigned long long)check.violations);
		err = -EUCLEAN;
	}
	ut_close(d);
	fd = open(UT_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		err = ut_idle(fd) ?: err;
		close(fd);
	}
	return ut_unload() ?: err;
}

/**
 * ut_alloc() - make a range
 * @d: device
 * @tag: its name
 * @len: bytes
 * @flags: UGM_ALLOC_*
 *
 * Return: its unified address or a negative errno.
 */
int64_t ut_alloc(struct ut *d, uint64_t tag, uint64_t len, uint32_t flags)
{
	struct ugm_ioc_alloc arg = { .len = len, .tag = tag, .flags = flags };
	int err = ut_ioctl(d->fd, UGM_IOC_ALLOC, &arg);

	return err ? err : (int64_t)arg.offset;
}

/**
 * ut_alloc_blocks() - make a range of whole blocks
 * @d: device
 * @tag: its name
 * @nr: blocks
 *
 * Return: its unified address or a negative errno.
 */
int64_t ut_alloc_blocks(struct ut *d, uint64_t tag, uint64_t nr)
{
	return ut_alloc(d, tag, nr * d->block, 0);
}

/**
 * ut_free() - end a range
 * @d: device
 * @offset: its unified address
 */
int ut_free(struct ut *d, uint64_t offset)
{
	struct ugm_ioc_free arg = { .offset = offset };

	return ut_ioctl(d->fd, UGM_IOC_FREE, &arg);
}

/**
 * ut_advise() - advice on a range
 * @d: device
 * @offset: unified address
 * @len: bytes
 * @advice: UGM_ADVICE_*
 * @tier: UGM_TIER_ID_*
 */
int ut_advise(struct ut *d, uint64_t offset, uint64_t len, uint32_t advice, uint32_t tier)
{
	struct ugm_ioc_advise arg = { offset, len, advice, tier };

	return ut_ioctl(d->fd, UGM_IOC_ADVISE, &arg);
}

/**
 * ut_state() - residency of one block
 * @d: device
 * @offset: unified address in it
 *
 * Return: the word of UGM_IOC_RESIDENCY, or ~0 on an error.
 */
uint32_t ut_state(struct ut *d, uint64_t offset)
{
	uint32_t state = ~0u;
	struct ugm_ioc_residency arg = {
		.offset = offset & ~((uint64_t)d->block - 1),
		.nr = 1,
		.states = (uintptr_t)&state,
	};

	if (ut_ioctl(d->fd, UGM_IOC_RESIDENCY, &arg))
		return ~0u;
	return state;
}

/**
 * ut_tier() - where a block is
 * @d: device
 * @offset: unified address in it
 *
 * Return: UGM_TIER_ID_*.
 */
int ut_tier(struct ut *d, uint64_t offset)
{
	return ut_state(d, offset) & 0xff;
}

/**
 * ut_has_copy() - is there a valid copy of a block beside its home?
 * @d: device
 * @offset: unified address in it
 * @tier: UGM_TIER_ID_*
 */
bool ut_has_copy(struct ut *d, uint64_t offset, uint32_t tier)
{
	return ut_state(d, offset) >> UGM_RESIDENCY_COPY_SHIFT & 1u << tier;
}

/**
 * ut_hint() - give one hint
 * @d: device
 * @op: UGM_HINT_*
 * @tag: range
 * @offset: bytes from its start
 * @len: bytes
 * @tier: UGM_TIER_ID_*
 * @at: launch number
 * @need: launch number
 *
 * Return: the batch's error, or else the hint's result.
 */
int ut_hint(struct ut *d, uint32_t op, uint64_t tag, uint64_t offset, uint64_t len, uint32_t tier,
	    uint64_t at, uint64_t need)
{
	struct ugm_hint_desc h = {
		.tag = tag,
		.offset = offset,
		.len = len,
		.at = at,
		.need = need,
		.op = op,
		.tier = tier,
	};
	struct ugm_ioc_hint arg = { .hints = (uintptr_t)&h, .nr = 1 };
	int err = ut_ioctl(d->fd, UGM_IOC_HINT, &arg);

	return err ? err : h.result;
}

/**
 * ut_hint_now() - a hint on whole blocks that acts at once
 * @d: device
 * @op: UGM_HINT_*
 * @tag: range
 * @first: first block
 * @nr: blocks
 * @tier: UGM_TIER_ID_*
 */
int ut_hint_now(struct ut *d, uint32_t op, uint64_t tag, uint64_t first, uint64_t nr,
		uint32_t tier)
{
	return ut_hint(d, op, tag, first * d->block, nr * d->block, tier, UGM_HINT_NOW,
		       UGM_HINT_NO_NEED);
}

/**
 * ut_wait() - until no planned move is under way
 * @d: device
 * @now: out, or NULL: the engine's time
 */
int ut_wait(struct ut *d, uint64_t *now)
{
	struct ugm_ioc_wait arg = { 0 };
	int err = ut_ioctl(d->fd, UGM_IOC_WAIT, &arg);

	if (now)
		*now = arg.now_ns;
	return err;
}

/**
 * ut_move() - a hint that acts at once, and wait for it
 * @d: device
 * @op: UGM_HINT_*
 * @tag: range
 * @first: first block
 * @nr: blocks
 * @tier: UGM_TIER_ID_*
 */
int ut_move(struct ut *d, uint32_t op, uint64_t tag, uint64_t first, uint64_t nr, uint32_t tier)
{
	return ut_hint_now(d, op, tag, first, nr, tier) ?: ut_wait(d, NULL);
}

/**
 * ut_launch() - a launch with one operand
 * @d: device
 * @offset: unified address of the operand
 * @len: bytes
 * @access: UGM_ACCESS_*
 * @duration_ns: how long it runs
 * @result: out, or NULL
 */
int ut_launch(struct ut *d, uint64_t offset, uint64_t len, uint32_t access, uint64_t duration_ns,
	      struct ugm_ioc_launch *result)
{
	struct ugm_operand_desc o = { .offset = offset, .len = len, .access = access };
	struct ugm_ioc_launch arg = {
		.operands = (uintptr_t)&o,
		.nr_operands = 1,
		.duration_ns = duration_ns,
	};
	int err = ut_ioctl(d->fd, UGM_IOC_LAUNCH, &arg);

	if (result)
		*result = arg;
	return err;
}

/**
 * ut_options() - set the rules of the space
 * @d: device
 * @changes: all of them
 */
int ut_options(struct ut *d, const struct ugm_ioc_options *changes)
{
	struct ugm_ioc_options arg = *changes;

	arg.set = 1;
	return ut_ioctl(d->fd, UGM_IOC_OPTIONS, &arg);
}

/**
 * ut_virtual() - the virtual clock, on a machine that is easy to reckon with
 * @d: device, no block in use
 * @fault_ns: per fault batch
 *
 * A byte takes a nanosecond on any link, there is no latency, and all frames and
 * host blocks count.
 */
int ut_virtual(struct ut *d, uint64_t fault_ns)
{
	struct ugm_ioc_info info = { 0 };
	struct ugm_ioc_machine arg = {
		.set = 1,
		.clock = 0,
		.bandwidth = { UT_NSEC, UT_NSEC, UT_NSEC, UT_NSEC },
		.fault_ns = fault_ns,
		.fault_batch_bytes = 1 << 20,
	};
	int err = ut_ioctl(d->fd, UGM_IOC_INFO, &info);

	if (err)
		return err;
	arg.host_bytes = info.host_limit * d->block;
	return ut_ioctl(d->fd, UGM_IOC_MACHINE, &arg);
}

/* All statistics: those of the device, then those of the space. */
static int read_stats(struct ut *d, struct ugm_stat_desc **stats, uint32_t *nr)
{
	struct ugm_ioc_stats arg;
	struct ugm_stat_desc *all = NULL, *more;
	uint32_t scope, room;
	int err = 0;

	*nr = 0;
	for (scope = UGM_STATS_SPACE; scope <= UGM_STATS_DEVICE && !err; scope++) {
		arg = (struct ugm_ioc_stats){ .scope = scope };
		err = ut_ioctl(d->fd, UGM_IOC_STATS, &arg);
		if (err)
			break;
		room = arg.nr;
		more = realloc(all, (*nr + room) * sizeof(*all));
		if (!more) {
			err = -ENOMEM;
			break;
		}
		all = more;
		arg.stats = (uintptr_t)(all + *nr);
		err = ut_ioctl(d->fd, UGM_IOC_STATS, &arg);
		*nr += room;
	}
	if (err)
		free(all);
	else
		*stats = all;
	return err;
}

/**
 * ut_stat() - a statistic of the device or the space
 * @d: device
 * @name: its name
 *
 * Return: its value, or UT_NO_STAT if there is none of this name.
 */
uint64_t ut_stat(struct ut *d, const char *name)
{
	struct ugm_stat_desc *stats;
	uint64_t value = UT_NO_STAT;
	uint32_t nr, i;

	if (read_stats(d, &stats, &nr))
		return UT_NO_STAT;
	for (i = 0; i < nr; i++)
		if (!strcmp(stats[i].name, name))
			value = stats[i].value;
	free(stats);
	if (value == UT_NO_STAT)
		fprintf(stderr, "# no statistic is called %s\n", name);
	return value;
}

static bool ends_with(const char *name, const char *suffix)
{
	size_t n = strlen(name), s = strlen(suffix);

	return n >= s && !strcmp(name + n - s, suffix);
}

/**
 * ut_stats_like() - sum of the statistics with such names
 * @d: device
 * @prefix: how they begin
 * @suffix: how they end
 *
 * Return: the sum, or UT_NO_STAT if there is none of this kind.
 */
uint64_t ut_stats_like(struct ut *d, const char *prefix, const char *suffix)
{
	struct ugm_stat_desc *stats;
	uint32_t nr, i, found = 0;
	uint64_t sum = 0;

	if (read_stats(d, &stats, &nr))
		return UT_NO_STAT;
	for (i = 0; i < nr; i++) {
		if (strncmp(stats[i].name, prefix, strlen(prefix)) ||
		    !ends_with(stats[i].name, suffix))
			continue;
		sum += stats[i].value;
		found++;
	}
	free(stats);
	if (!found) {
		fprintf(stderr, "# no statistic is called %s*%s\n", prefix, suffix);
		return UT_NO_STAT;
	}
	return sum;
}

/**
 * ut_moved() - blocks moved between two tiers so far, by any lane for any cause
 * @d: device
 * @from: name of the tier
 * @to: name of the tier
 */
uint64_t ut_moved(struct ut *d, const char *from, const char *to)
{
	char prefix[64];

	snprintf(prefix, sizeof(prefix), "transfer.%s.%s.", from, to);
	return ut_stats_like(d, prefix, ".blocks");
}

static uint64_t word(uint64_t seed, uint64_t i)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15ULL + i + 1;

	x ^= x >> 31;
	x *= 0xbf58476d1ce4e5b9ULL;
	return x ^ x >> 29;
}

/**
 * ut_fill() - write a pattern
 * @p: where, aligned to 8 bytes
 * @len: bytes, a multiple of 8
 * @seed: which pattern
 */
void ut_fill(void *p, size_t len, uint64_t seed)
{
	uint64_t *w = p;
	size_t i;

	for (i = 0; i < len / sizeof(*w); i++)
		w[i] = word(seed, i);
}

/**
 * ut_compare() - look for a pattern
 * @p: where, aligned to 8 bytes
 * @len: bytes, a multiple of 8
 * @seed: which pattern
 *
 * Return: -1, or the offset of the first word that is something else.
 */
int64_t ut_compare(const void *p, size_t len, uint64_t seed)
{
	const uint64_t *w = p;
	size_t i;

	for (i = 0; i < len / sizeof(*w); i++)
		if (w[i] != word(seed, i))
			return (int64_t)(i * sizeof(*w));
	return -1;
}

/**
 * ut_zero() - is it all zeros?
 * @p: where
 * @len: bytes, not zero
 */
bool ut_zero(const void *p, size_t len)
{
	const char *c = p;

	return !*c && !memcmp(c, c + 1, len - 1);
}

static __thread sigjmp_buf touch_env;
static __thread volatile sig_atomic_t touching;

static void on_fault(int sig)
{
	if (touching)
		siglongjmp(touch_env, sig);
	signal(sig, SIG_DFL);
	raise(sig);
}

/**
 * ut_touch() - read or write one byte
 * @p: where
 * @write: write it (what it was)
 *
 * Return: 0, or the signal that this gave: SIGBUS or SIGSEGV.
 */
int ut_touch(volatile char *p, bool write)
{
	struct sigaction sa = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	volatile char c;
	int sig;

	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	sig = sigsetjmp(touch_env, 1);
	if (!sig) {
		touching = 1;
		c = *p;
		if (write)
			*p = c;
	}
	touching = 0;
	return sig;
}

#define DEBUGFS "/sys/kernel/debug/ugm/ugm0/"

/**
 * ut_inject() - arm a failure of the device
 * @what: a word and a number, as in kmod/inject.c
 */
int ut_inject(const char *what)
{
	int fd = open(DEBUGFS "inject", O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, what, strlen(what)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/**
 * ut_waiting_for() - does debugfs name somebody who sleeps in the module?
 * @reason: part of the name
 */
bool ut_waiting_for(const char *reason)
{
	FILE *f = fopen(DEBUGFS "waiters", "re");
	char line[256];
	bool found = false;

	while (f && fgets(line, sizeof(line), f))
		found |= !!strstr(line, reason);
	if (f)
		fclose(f);
	return found;
}

/**
 * ut_await_waiter() - until somebody sleeps in the module
 * @reason: part of the name that debugfs gives to it
 *
 * Return: false if nobody does for three seconds.
 */
bool ut_await_waiter(const char *reason)
{
	uint64_t until = ut_now() + ut_limit(3000);

	while (!ut_waiting_for(reason)) {
		if (ut_now() > until)
			return false;
		ut_sleep_ms(10);
	}
	return true;
}

/**
 * ut_limit() - a time limit
 * @ms: milliseconds on a stock kernel
 *
 * Return: ns, longer by what scripts/vm says of the kernel that runs.
 */
uint64_t ut_limit(unsigned int ms)
{
	const char *slowness = getenv("UGM_SLOWNESS");

	return ms * UT_MSEC * (slowness ? strtoul(slowness, NULL, 10) : 1);
}

/**
 * ut_now() - a clock
 *
 * Return: ns since some point in the past.
 */
uint64_t ut_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * UT_NSEC + ts.tv_nsec;
}

/**
 * ut_sleep_ms() - sleep
 * @ms: milliseconds
 */
void ut_sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&ts, NULL);
}

/**
 * ut_reap() - wait for a child with a limit
 * @pid: child
 * @ms: milliseconds, see ut_limit()
 * @status: out: as of waitpid()
 *
 * Return: 0, -ETIMEDOUT (it lives on), or what waitpid() says.
 */
int ut_reap(pid_t pid, unsigned int ms, int *status)
{
	uint64_t until = ut_now() + ut_limit(ms);
	pid_t r;

	for (;;) {
		r = waitpid(pid, status, WNOHANG);
		if (r < 0)
			return -errno;
		if (r == pid)
			return 0;
		if (ut_now() > until)
			return -ETIMEDOUT;
		ut_sleep_ms(2);
	}
}

/**
 * ut_log_open() - the kernel's log from now on
 *
 * Return: a file for ut_log_lines(), or a negative errno.
 */
int ut_log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	lseek(fd, 0, SEEK_END);
	return fd;
}

/**
 * ut_log_lines() - count the lines of the kernel's log that have a word
 * @fd: of ut_log_open()
 * @word: the word
 * @last: out, or NULL: the last one of them
 * @size: of @last
 *
 * Return: how many there were since the last call.
 */
int ut_log_lines(int fd, const char *word, char *last, size_t size)
{
	char line[8192], *text, *end;
	ssize_t n;
	int nr = 0;

	while ((n = read(fd, line, sizeof(line) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		if (n < 0)
			continue;
		line[n] = 0;
		text = strchr(line, ';');
		if (!text || !strstr(text, word))
			continue;
		end = strchr(text, '\n');
		if (end)
			*end = 0;
		if (last)
			snprintf(last, size, "%s", text + 1);
		nr++;
	}
	return nr;
}
