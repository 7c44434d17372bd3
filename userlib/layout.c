// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "layout.h"

/* The arena is pinned: more than this share of the GPU tier would distort. */
#define ARENA_SHARE 20 /* 1/20 = 5 % */
/* Blocks of all tensors: what memory for their states allows. */
#define MAX_BLOCKS (1ULL << 27)
#define ARENA_ALIGN 8ULL
/* Of all iterations without stalls: clocks count to four times as many. */
#define MAX_NS (1ULL << 62)

static u64 div_up(u64 a, u64 b)
{
	return a / b + (a % b != 0);
}

/**
 * struct size - what a trace needs at one block size and scale
 * @block_bytes: full-size bytes a block stands for
 * @gpu_blocks: capacity of the GPU tier
 * @arena_len: device bytes of the tensors in the arena
 * @arena_blocks: blocks of the arena
 * @largest: kernel that needs most at once
 * @largest_blocks: blocks it needs, the arena's not counted
 * @nr_blocks: blocks of all tensors, the arena's not counted
 */
struct size {
	u64 block_bytes;
	u64 gpu_blocks;
	u64 arena_len;
	u64 arena_blocks;
	u32 largest;
	u64 largest_blocks;
	u64 nr_blocks;
};

/* Blocks of a tensor of its own; 0: it lives in the arena. */
static u64 own_blocks(const struct ugm_tensor *tensor, u64 block_bytes)
{
	return tensor->bytes < block_bytes ?
		       0 : div_up(tensor->bytes, block_bytes);
}

static u64 arena_room(const struct ugm_tensor *tensor, u64 scale)
{
	return div_up(div_up(tensor->bytes, scale), ARENA_ALIGN) * ARENA_ALIGN;
}

static void measure(const struct ugm_trace *t, const struct ugm_config *c,
		    struct size *s)
{
	u32 i, k;

	memset(s, 0, sizeof(*s));
	s->block_bytes = c->block_size * c->scale;
	s->gpu_blocks = c->gpu_mem_bytes / s->block_bytes;
	for (i = 0; i < t->nr_tensors; i++) {
		u64 nr = own_blocks(&t->tensors[i], s->block_bytes);

		s->nr_blocks += nr;
		if (!nr)
			s->arena_len += arena_room(&t->tensors[i], c->scale);
	}
	s->arena_blocks = div_up(s->arena_len, c->block_size);
	for (k = 0; k < t->nr_kernels; k++) {
		const struct ugm_use *use = ugm_kernel_uses(t, k);
		u64 need = 0;

		for (i = 0; i < t->kernels[k].nr_uses; i++)
			need += own_blocks(&t->tensors[use[i].tensor],
					   s->block_bytes);
		if (need > s->largest_blocks) {
			s->largest_blocks = need;
			s->largest = k;
		}
	}
}

static bool arena_fits(const struct size *s)
{
	return s->arena_blocks * ARENA_SHARE <= s->gpu_blocks;
}

static bool kernels_fit(const struct size *s)
{
	return s->largest_blocks + s->arena_blocks <= s->gpu_blocks;
}

static bool fits(const struct size *s)
{
	return arena_fits(s) && kernels_fit(s) && s->nr_blocks <= MAX_BLOCKS;
}

/* Say what would fit: a smaller block, else a smaller scale, else more memory. */
static void advise(const struct ugm_trace *t, const struct ugm_config *c,
		   const struct size *s, char *text, size_t len)
{
	struct ugm_config other = *c;
	struct size size;
	u64 need;

	for (; other.block_size >= UGM_MIN_BLOCK_SIZE; other.block_size /= 2) {
		measure(t, &other, &size);
		if (fits(&size)) {
			snprintf(text, len, "block size %llu fits",
				 (unsigned long long)other.block_size);
			return;
		}
	}
	other.block_size = c->block_size;
	for (; other.scale; other.scale /= 2) {
		measure(t, &other, &size);
		if (fits(&size)) {
			snprintf(text, len, "scale %llu fits",
				 (unsigned long long)other.scale);
			return;
		}
	}
	need = s->largest_blocks + s->arena_blocks;
	if (need < s->arena_blocks * ARENA_SHARE)
		need = s->arena_blocks * ARENA_SHARE;
	snprintf(text, len, "a GPU memory of %llu bytes fits",
		 (unsigned long long)(need * s->block_bytes));
}

static int check(const struct ugm_trace *t, const struct ugm_config *c,
		 const struct size *s, struct ugm_error *err)
{
	char advice[96];

	if (t->ideal_ns && c->iterations > MAX_NS / t->ideal_ns)
		return ugm_fail(err, -EFBIG,
				"%s: %llu iterations of %llu ns: together at most %llu ns are allowed",
				t->name, (unsigned long long)c->iterations,
				(unsigned long long)t->ideal_ns, MAX_NS);
	if (s->nr_blocks > MAX_BLOCKS)
		return ugm_fail(err, -EFBIG,
				"%s: %llu blocks of %llu bytes x scale %llu: at most %llu are allowed, take a larger block size or scale",
				t->name, (unsigned long long)s->nr_blocks,
				(unsigned long long)c->block_size,
				(unsigned long long)c->scale, MAX_BLOCKS);
	if (fits(s))
		return 0;
	advise(t, c, s, advice, sizeof(advice));
	if (!kernels_fit(s))
		return ugm_fail(err, -ENOSPC,
				"%s: kernel %u needs %llu blocks of %llu bytes and the arena %llu, the GPU memory of %llu bytes has %llu: %s",
				t->name, s->largest,
				(unsigned long long)s->largest_blocks,
				(unsigned long long)s->block_bytes,
				(unsigned long long)s->arena_blocks,
				(unsigned long long)c->gpu_mem_bytes,
				(unsigned long long)s->gpu_blocks, advice);
	return ugm_fail(err, -ENOSPC,
			"%s: tensors smaller than a block of %llu bytes take %llu of the GPU memory's %llu blocks, more than 5 %%: %s",
			t->name, (unsigned long long)s->block_bytes,
			(unsigned long long)s->arena_blocks,
			(unsigned long long)s->gpu_blocks, advice);
}

/**
 * ugm_layout_make() - lay a trace out on a machine
 * @trace: trace; must stay
 * @config: machine, checked
 * @layout: the layout; ugm_layout_free() it
 * @err: why not, and what would fit
 *
 * Context: any.
 * Return: 0; -ENOSPC: the largest kernel or the arena does not fit; -EFBIG: too
 * many blocks, or iterations that take too long; -ENOMEM.
 */
int ugm_layout_make(const struct ugm_trace *trace,
		    const struct ugm_config *config, struct ugm_layout **layout,
		    struct ugm_error *err)
{
	struct ugm_layout *l;
	struct size size;
	u64 arena = 0;
	int ret;
	u32 i;

	measure(trace, config, &size);
	ret = check(trace, config, &size, err);
	if (ret)
		return ret;
	l = calloc(1, sizeof(*l));
	if (l)
		l->tensors = calloc((size_t)trace->nr_tensors + 1,
				    sizeof(*l->tensors));
	if (!l || !l->tensors) {
		free(l);
		return ugm_fail(err, -ENOMEM, "%s: no memory", trace->name);
	}
	l->trace = trace;
	l->config = *config;
	l->block_bytes = size.block_bytes;
	l->gpu_blocks = size.gpu_blocks;
	l->host_blocks = config->host_mem_bytes / size.block_bytes;
	l->arena_blocks = (u32)size.arena_blocks;
	l->arena_len = size.arena_blocks * config->block_size;
	l->nr_blocks = size.nr_blocks;
	for (i = 0; i < trace->nr_tensors; i++) {
		const struct ugm_tensor *tensor = &trace->tensors[i];
		struct ugm_placement *p = &l->tensors[i];
		u64 nr = own_blocks(tensor, size.block_bytes);

		if (tensor->id >= l->arena_tag)
			l->arena_tag = tensor->id + 1;
		p->len = div_up(tensor->bytes, config->scale);
		p->nr_blocks = (u32)nr;
		if (nr) {
			p->tail_bytes = tensor->bytes -
					(nr - 1) * size.block_bytes;
		} else {
			p->arena_offset = arena;
			arena += arena_room(tensor, config->scale);
		}
	}
	*layout = l;
	return 0;
}

/**
 * ugm_layout_free() - forget a layout
 * @layout: layout, or NULL
 *
 * Context: any.
 */
void ugm_layout_free(struct ugm_layout *layout)
{
	if (!layout)
		return;
	free(layout->tensors);
	free(layout);
}

/* What moves data away or gives it up concerns whole blocks only. */
static bool rounds_inward(u8 op)
{
	return op == UGM_OP_EVICT || op == UGM_OP_DISCARD ||
	       op == UGM_OP_WRITEBACK;
}

/**
 * ugm_layout_hint() - the blocks a hint is about
 * @layout: layout
 * @hint: hint of a schedule of the same trace
 *
 * EVICT, DISCARD and WRITEBACK round inward, the others outward; the end of a
 * tensor counts as the end of a block.
 *
 * Context: any.
 * Return: blocks; none for a tensor in the arena, or a part without a block.
 */
struct ugm_span ugm_layout_hint(const struct ugm_layout *layout,
				const struct ugm_schedule_hint *hint)
{
	const struct ugm_tensor *tensor = &layout->trace->tensors[hint->tensor];
	u32 nr = layout->tensors[hint->tensor].nr_blocks;
	u64 first, end = hint->offset + hint->len;

	if (!nr)
		return (struct ugm_span){};
	if (rounds_inward(hint->op)) {
		first = div_up(hint->offset, layout->block_bytes);
		end = end == tensor->bytes ? nr : end / layout->block_bytes;
	} else {
		first = hint->offset / layout->block_bytes;
		end = div_up(end, layout->block_bytes);
	}
	if (first >= end)
		return (struct ugm_span){};
	return (struct ugm_span){ (u32)first, (u32)(end - first) };
}
