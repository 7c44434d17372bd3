// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "first_fit.h"
#include "flashneuron_published.h"
#include "policy.h"
#include "vitality.h"

/**
 * DOC: policy flashneuron
 *
 * Offloading for GPUs that cannot page ("FlashNeuron: SSD-Enabled Large-Batch
 * Training of Very Deep Neural Networks", FAST 2021, as a baseline of G10).
 * Intermediates of the forward pass that the backward pass needs are written to
 * flash, in order of first use, until the rest fits beside the global tensors
 * and the largest kernel. In the backward pass they are fetched in order of use
 * as far as the largest hole of memory allows, else when a kernel needs them.
 * Nothing faults: tensors are contiguous, what is offloaded is allocated from
 * the right end of memory and all else from the left, first fit, and a tensor
 * that finds no hole ends the plan.
 *
 * Where memory is at each moment depends on when an offload ends: the planner
 * keeps a clock of kernels, and one of the flash for each direction.
 */

/**
 * struct offload - a tensor that is written to flash and fetched again
 * @tensor: tensor
 * @from: its last kernel before it leaves
 * @to: the kernel that needs it back
 * @written_ns: when it has left; 0: not on its way yet
 * @freed: its memory is free
 * @back: it is, or will be, there again
 */
struct offload {
	u32 tensor;
	u32 from;
	u32 to;
	double written_ns;
	bool freed;
	bool back;
};

/**
 * struct planner - the planner at work
 * @t: trace
 * @layout: the trace on its machine
 * @v: its vitality
 * @s: the schedule that is written
 * @loss: last kernel of the forward pass
 * @largest: what the kernel that needs most needs
 * @memory: what the global tensors leave of the GPU memory
 * @off: offloads, in order of first use
 * @nr_off: how many
 * @by_need: the same, by the kernel that needs them back
 * @of: by tensor, its offload or NULL
 * @now_ns: the clock of kernels
 * @out_ns: when the flash has written what it was given
 * @in_ns: when it has read it
 * @ready_ns: by tensor, when it has been read
 */
struct planner {
	const struct ugm_trace *t;
	const struct ugm_layout *layout;
	struct ugm_vitality v;
	struct ugm_schedule *s;
	u32 loss;
	u64 largest;
	struct ugm_first_fit memory;
	struct offload *off;
	u64 nr_off;
	struct offload **by_need;
	struct offload **of;
	double now_ns;
	double out_ns;
	double in_ns;
	double *ready_ns;
};

/* What a tensor takes of memory; arena tensors are counted with the global ones. */
static u64 bytes_of(const struct planner *p, u32 tensor)
{
	const struct ugm_layout *l = p->layout;

	return l->tensors[tensor].nr_blocks * l->block_bytes;
}

static double ns_for(const struct planner *p, u32 tensor, u64 bytes_per_s)
{
	return (double)p->t->tensors[tensor].bytes * 1e9 / (double)bytes_per_s;
}

static int hint(struct planner *p, u8 op, u32 tensor, u8 tier, u64 at, u64 need)
{
	return ugm_schedule_add(p->s, &(struct ugm_schedule_hint){
		.at = at % p->t->nr_kernels,
		.need = need,
		.tensor = tensor,
		.op = op,
		.tier = tier,
		.len = p->t->tensors[tensor].bytes,
	});
}

/* From the right end for what is offloaded. */
static int allocate(struct planner *p, u32 tensor)
{
	return ugm_first_fit_take(&p->memory, tensor, bytes_of(p, tensor),
				  p->of[tensor]);
}

/* Free what has been written by now; with @wait, wait for the next of them. */
static bool harvest(struct planner *p, bool wait)
{
	struct offload *next = NULL, *o;
	bool freed = false;

	for (o = p->off; o < p->off + p->nr_off; o++) {
		if (!o->written_ns || o->freed)
			continue;
		if (!next || o->written_ns < next->written_ns)
			next = o;
	}
	if (wait && next && next->written_ns > p->now_ns)
		p->now_ns = next->written_ns;
	for (o = p->off; o < p->off + p->nr_off; o++) {
		if (!o->written_ns || o->freed || o->written_ns > p->now_ns)
			continue;
		o->freed = true;
		ugm_first_fit_give(&p->memory, o->tensor);
		freed = true;
	}
	return freed;
}

static int allocate_or_wait(struct planner *p, u32 tensor)
{
	int ret;

	harvest(p, false);
	do {
		ret = allocate(p, tensor);
	} while (ret == -ENOSPC && harvest(p, true));
	return ret;
}

/* The kernel that computes the loss, or where the most intermediates are alive. */
static int find_loss(struct planner *p)
{
	u64 *live = calloc(p->t->nr_kernels, sizeof(*live));
	u32 k, peak = 0;

	if (!live)
		return -ENOMEM;
	ugm_vitality_live(&p->v, live);
	p->loss = p->t->nr_kernels;
	for (k = 0; k < p->t->nr_kernels; k++) {
		if (live[k] > live[peak])
			peak = k;
		if (p->loss == p->t->nr_kernels &&
		    strcasestr(p->t->kernels[k].name, "loss"))
			p->loss = k;
	}
	if (p->loss == p->t->nr_kernels)
		p->loss = peak;
	free(live);
	return 0;
}

static int by_first_use(const void *a, const void *b, void *arg)
{
	const struct offload *x = a, *y = b;
	const struct planner *p = arg;
	u32 kx = p->v.kernels[p->v.first[x->tensor]];
	u32 ky = p->v.kernels[p->v.first[y->tensor]];

	if (kx != ky)
		return kx < ky ? -1 : 1;
	return x->tensor < y->tensor ? -1 : 1;
}

static int by_need(const void *a, const void *b)
{
	const struct offload *x = *(struct offload *const *)a;
	const struct offload *y = *(struct offload *const *)b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->tensor < y->tensor ? -1 : 1;
}

/* What lives across the loss, until what is kept fits. */
static int choose(struct planner *p)
{
	u64 kept = 0, nr, i, room;
	const u32 *k;
	u32 x;

	p->off = calloc((size_t)p->t->nr_tensors + 1, sizeof(*p->off));
	p->of = calloc((size_t)p->t->nr_tensors + 1, sizeof(*p->of));
	p->by_need = calloc((size_t)p->t->nr_tensors + 1, sizeof(*p->by_need));
	p->ready_ns = calloc((size_t)p->t->nr_tensors + 1, sizeof(*p->ready_ns));
	if (!p->off || !p->of || !p->by_need || !p->ready_ns)
		return -ENOMEM;
	for (x = 0; x < p->t->nr_tensors; x++) {
		k = ugm_vitality_uses(&p->v, x, &nr);
		if (!nr || p->t->tensors[x].global || !bytes_of(p, x) ||
		    k[0] > p->loss || k[nr - 1] <= p->loss)
			continue;
		kept += bytes_of(p, x);
		for (i = nr - 1; i && k[i - 1] > p->loss; i--)
			;
		p->off[p->nr_off++] = (struct offload){
			.tensor = x, .from = k[i - 1], .to = k[i] };
	}
	qsort_r(p->off, p->nr_off, sizeof(*p->off), by_first_use, p);
	room = (u64)((double)p->memory.size *
		     ugm_config_target_factor(&p->layout->config, 1));
	room = room > p->largest ? room - p->largest : 0;
	for (i = 0; i < p->nr_off && kept > room; i++)
		kept -= bytes_of(p, p->off[i].tensor);
	p->nr_off = i;
	for (i = 0; i < p->nr_off; i++) {
		p->of[p->off[i].tensor] = &p->off[i];
		p->by_need[i] = &p->off[i];
	}
	qsort(p->by_need, p->nr_off, sizeof(*p->by_need), by_need);
	return 0;
}

static int fetch(struct planner *p, struct offload *o, u64 at)
{
	double start = p->now_ns > p->in_ns ? p->now_ns : p->in_ns;

	if (start < o->written_ns)
		start = o->written_ns;
	p->in_ns = start + ns_for(p, o->tensor,
				  p->layout->config.flash_read_bytes_per_s);
	p->ready_ns[o->tensor] = p->in_ns;
	o->back = true;
	return hint(p, UGM_OP_PREFETCH, o->tensor, UGM_TIER_GPU, at, o->to);
}

/* After a kernel of the backward pass: fetch ahead what fits. */
static int fetch_ahead(struct planner *p, u32 kernel)
{
	struct offload *o;
	u64 i;
	int ret;

	for (i = 0; i < p->nr_off; i++) {
		o = p->by_need[i];
		if (o->back)
			continue;
		if (!o->freed || ugm_first_fit_largest(&p->memory) <
				 p->largest + bytes_of(p, o->tensor))
			return 0;
		ret = allocate(p, o->tensor);
		if (!ret)
			ret = fetch(p, o, kernel + 1);
		if (ret)
			return ret;
	}
	return 0;
}

static bool born_at(const struct planner *p, u32 tensor, u32 kernel)
{
	return !p->t->tensors[tensor].global &&
	       p->v.kernels[p->v.first[tensor]] == kernel;
}

static bool dead_after(const struct planner *p, u32 tensor, u32 kernel)
{
	return !p->t->tensors[tensor].global &&
	       p->v.kernels[p->v.first[tensor + 1] - 1] == kernel;
}

/* What a kernel needs is there, or the plan ends. */
static int enter(struct planner *p, u32 kernel, struct ugm_error *err)
{
	const struct ugm_use *use = ugm_kernel_uses(p->t, kernel);
	struct offload *o;
	int ret = 0;
	u32 i, x;

	for (i = 0; i < p->t->kernels[kernel].nr_uses && !ret; i++) {
		x = use[i].tensor;
		o = p->of[x];
		if (born_at(p, x, kernel)) {
			ret = allocate_or_wait(p, x);
		} else if (o && o->to == kernel && !o->back) {
			ret = allocate_or_wait(p, x);
			if (!ret)
				ret = fetch(p, o, kernel);
		}
		if (ret == -ENOSPC)
			ugm_fail(err, ret,
				 "%s: flashneuron: tensor %llu of %llu bytes finds no hole for kernel %u; the largest has %llu",
				 p->t->name,
				 (unsigned long long)p->t->tensors[x].id,
				 (unsigned long long)p->t->tensors[x].bytes,
				 kernel, (unsigned long long)ugm_first_fit_largest(&p->memory));
	}
	for (i = 0; i < p->t->kernels[kernel].nr_uses; i++)
		if (p->ready_ns[use[i].tensor] > p->now_ns)
			p->now_ns = p->ready_ns[use[i].tensor];
	return ret;
}

static int leave(struct planner *p, u32 kernel)
{
	const struct ugm_use *use = ugm_kernel_uses(p->t, kernel);
	struct offload *o;
	int ret = 0;
	u32 i, x;

	for (i = 0; i < p->t->kernels[kernel].nr_uses && !ret; i++) {
		x = use[i].tensor;
		o = p->of[x];
		if (o && o->from == kernel) {
			if (p->out_ns < p->now_ns)
				p->out_ns = p->now_ns;
			p->out_ns += ns_for(p, x, p->layout->config
							  .flash_write_bytes_per_s);
			o->written_ns = p->out_ns;
			ret = hint(p, UGM_OP_EVICT, x, UGM_TIER_FLASH,
				   kernel + 1, p->loss + 1);
		}
		if (dead_after(p, x, kernel)) {
			ugm_first_fit_give(&p->memory, x);
			if (!ret)
				ret = hint(p, UGM_OP_DISCARD, x, UGM_TIER_NONE,
					   (u64)kernel + 1, UGM_NEED_NONE);
		}
	}
	return ret;
}

static int walk(struct planner *p, struct ugm_error *err)
{
	int ret = 0;
	u32 k;

	for (k = 0; k < p->t->nr_kernels && !ret; k++) {
		ret = enter(p, k, err);
		if (ret)
			break;
		p->now_ns += (double)p->t->kernels[k].duration_ns;
		/* What is fetched ahead is chosen before the dead make room. */
		if (k > p->loss && k + 1 < p->t->nr_kernels)
			ret = fetch_ahead(p, k);
		if (!ret)
			ret = leave(p, k);
		if (k == p->loss) {
			/* The backward pass starts when all has been written. */
			if (p->now_ns < p->out_ns)
				p->now_ns = p->out_ns;
			harvest(p, false);
		}
	}
	return ret;
}

/* Global tensors come before their first use, once, and stay. */
static int keep_globals(struct planner *p)
{
	const u32 *k;
	int ret = 0;
	u64 nr;
	u32 x;

	for (x = 0; x < p->t->nr_tensors && !ret; x++) {
		k = ugm_vitality_uses(&p->v, x, &nr);
		if (!nr || !p->t->tensors[x].global)
			continue;
		ret = hint(p, UGM_OP_PREFETCH, x, UGM_TIER_GPU, k[0], k[0]);
		if (!ret)
			ret = hint(p, UGM_OP_PIN, x, UGM_TIER_NONE, k[0],
				   UGM_NEED_NONE);
	}
	return ret;
}

static int measure(struct planner *p, struct ugm_error *err)
{
	u64 memory = p->layout->gpu_blocks * p->layout->block_bytes;
	u64 used = p->layout->arena_blocks * p->layout->block_bytes, need;
	u32 x, k, i;

	for (x = 0; x < p->t->nr_tensors; x++)
		if (p->t->tensors[x].global)
			used += bytes_of(p, x);
	for (k = 0; k < p->t->nr_kernels; k++) {
		need = 0;
		for (i = 0; i < p->t->kernels[k].nr_uses; i++)
			need += bytes_of(p, ugm_kernel_uses(p->t, k)[i].tensor);
		if (need > p->largest)
			p->largest = need;
	}
	if (used >= memory)
		return ugm_fail(err, -ENOSPC,
				"%s: flashneuron: the global tensors take %llu bytes, the GPU memory has %llu",
				p->t->name, (unsigned long long)used,
				(unsigned long long)memory);
	p->memory.size = memory - used;
	return 0;
}

static int plan(const struct ugm_layout *layout, struct ugm_schedule *s,
		struct ugm_error *err)
{
	struct planner p = { .t = layout->trace, .layout = layout, .s = s };
	int ret;

	s->opt.victim = UGM_VICTIM_FIFO;
	s->opt.clean = UGM_CLEAN_WRITE;
	s->opt.dead = UGM_DEAD_DROP;
	s->opt.promote = true;
	s->opt.prefetch_evicts = UGM_PREFETCH_EVICTS_NONE;
	s->opt.demand = false;

	ret = ugm_vitality_analyse(p.t, &p.v);
	if (ret)
		return ret;
	ret = find_loss(&p);
	if (!ret && layout->config.published) {
		ret = ugm_flashneuron_published(layout, p.loss, s, err);
		ugm_vitality_free(&p.v);
		return ret;
	}
	if (!ret)
		ret = measure(&p, err);
	if (!ret)
		ret = choose(&p);
	if (!ret)
		ret = keep_globals(&p);
	if (!ret)
		ret = walk(&p, err);
	ugm_first_fit_free(&p.memory);
	free(p.off);
	free(p.of);
	free(p.by_need);
	free(p.ready_ns);
	ugm_vitality_free(&p.v);
	return ret;
}

const struct ugm_policy ugm_policy_flashneuron = {
	.name = "flashneuron",
	.summary = "FlashNeuron: forward tensors to flash until all fits; no faults",
	.plan = plan,
	.whole_tensors = true,
	.target = true,
};
