// SPDX-License-Identifier: MIT
#include "policy.h"
#include "vitality.h"

/**
 * DOC: policy deepum
 *
 * Correlation prefetching with perfect correlation ("DeepUM: Tensor Migration
 * and Prefetching in Unified Memory", ASPLOS 2023, as a baseline of G10): when
 * kernel i begins, what kernel i + 8 uses is prefetched. A prefetch may evict
 * only what kernels i..i+7 do not use; a fault evicts the oldest arrival. What
 * the program is done with is dropped when it is chosen as a victim.
 */

/* How many kernels ahead. */
#define AHEAD 8

/* Is a kernel of @from .. @from + @nr - 1, circularly, among @kernels? */
static bool used_within(const u32 *kernels, u64 nr_kernels, u64 from, u64 nr,
			u64 n)
{
	u64 i;

	for (i = 0; i < nr_kernels; i++)
		if ((kernels[i] + n - from % n) % n < nr)
			return true;
	return false;
}

static int add(struct ugm_schedule *s, const struct ugm_trace *t, u8 op,
	       u32 tensor, u64 at, u64 need)
{
	return ugm_schedule_add(s, &(struct ugm_schedule_hint){
		.at = at % t->nr_kernels,
		.need = need,
		.tensor = tensor,
		.op = op,
		.tier = op == UGM_OP_PREFETCH ? UGM_TIER_GPU : UGM_TIER_NONE,
		.len = t->tensors[tensor].bytes,
	});
}

/*
 * The tensor enters the window of kernel k when k is AHEAD - 1 kernels away,
 * and leaves it after its last use in a window. Both are told only where they
 * change something.
 */
static int protect(struct ugm_schedule *s, const struct ugm_trace *t,
		   u32 tensor, const u32 *kernels, u64 nr)
{
	u64 n = t->nr_kernels, i;
	int ret = 0;

	if (n <= AHEAD)
		return 0; /* every tensor is in every window */
	for (i = 0; i < nr && !ret; i++) {
		u64 k = kernels[i];

		if (!used_within(kernels, nr, k + n - AHEAD, AHEAD, n))
			ret = add(s, t, UGM_OP_PROTECT, tensor,
				  k + n - (AHEAD - 1), UGM_NEED_NONE);
		if (!ret && !used_within(kernels, nr, k + 1, AHEAD, n))
			ret = add(s, t, UGM_OP_UNPROTECT, tensor, k + 1,
				  UGM_NEED_NONE);
	}
	return ret;
}

static int prefetch(struct ugm_schedule *s, const struct ugm_trace *t,
		    u32 tensor, u64 k)
{
	u64 n = t->nr_kernels;
	u64 distance = AHEAD % n ? AHEAD % n : n; /* AHEAD but in tiny traces */
	u64 at = (k + n - distance) % n;

	return add(s, t, UGM_OP_PREFETCH, tensor, at, at + distance);
}

/* As published: the last operand first. */
static int prefetch_operands(const struct ugm_layout *layout,
			     struct ugm_schedule *s, u32 k)
{
	const struct ugm_trace *t = layout->trace;
	const struct ugm_use *use = ugm_kernel_uses(t, k);
	u32 nr = t->kernels[k].nr_uses, i;
	int ret = 0;

	for (i = 0; i < nr && !ret; i++)
		ret = prefetch(s, t, use[layout->config.published ?
						 nr - 1 - i : i].tensor, k);
	return ret;
}

/* Hints of one launch act in the order in which they are added. */
static int plan(const struct ugm_layout *layout, struct ugm_schedule *s,
		struct ugm_error *err)
{
	const struct ugm_trace *t = layout->trace;
	struct ugm_vitality v;
	const u32 *kernels;
	u64 nr;
	u32 x, k;
	int ret;

	s->opt.victim = UGM_VICTIM_FIFO;
	s->opt.clean = UGM_CLEAN_WRITE;
	s->opt.dead = UGM_DEAD_LAZY;
	s->opt.promote = true;
	s->opt.prefetch_evicts = UGM_PREFETCH_EVICTS_UNPROTECTED;
	s->opt.demand = true;

	ret = ugm_vitality_analyse(t, &v);
	for (x = 0; x < t->nr_tensors && !ret; x++) {
		kernels = ugm_vitality_uses(&v, x, &nr);
		if (nr && !t->tensors[x].global)
			ret = add(s, t, UGM_OP_DISCARD, x,
				  (u64)kernels[nr - 1] + 1, UGM_NEED_NONE);
		if (!ret)
			ret = protect(s, t, x, kernels, nr);
	}
	for (k = 0; k < t->nr_kernels && !ret; k++)
		ret = prefetch_operands(layout, s, k);
	ugm_vitality_free(&v);
	return ret;
}

const struct ugm_policy ugm_policy_deepum = {
	.name = "deepum",
	.summary = "prefetch of the operands of 8 kernels ahead, dead data dropped lazily",
	.plan = plan,
};
