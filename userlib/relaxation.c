// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "array.h"
#include "relaxation.h"

/* Full-size bytes alive at each launch, of tensors that are not in the arena. */
static double *live_bytes(const struct ugm_layout *l,
			  const struct ugm_vitality *v)
{
	const struct ugm_trace *t = l->trace;
	double *live = calloc((size_t)t->nr_kernels + 1, sizeof(*live));
	double globals = 0, sum = 0;
	const u32 *kernels;
	u32 i, k;
	u64 nr;

	for (i = 0; live && i < t->nr_tensors; i++) {
		kernels = ugm_vitality_uses(v, i, &nr);
		if (ugm_layout_in_arena(l, i) || !nr)
			continue;
		if (t->tensors[i].global) {
			globals += (double)t->tensors[i].bytes;
			continue;
		}
		live[kernels[0]] += (double)t->tensors[i].bytes;
		live[kernels[nr - 1] + 1] -= (double)t->tensors[i].bytes;
	}
	for (k = 0; live && k < t->nr_kernels; k++) {
		sum += live[k];
		live[k] = sum + globals;
	}
	return live;
}

/*
 * A launch is looked at where it ends, and under ``overlap none`` also where it
 * starts to run, for then everything has to be there already. Positions around
 * the circle: 2k is the start of launch k, 2k + 1 its end.
 */
static void look_at(struct ugm_relaxation *r, u32 launch, double live)
{
	if (r->layout->config.overlap == UGM_OVERLAP_NONE) {
		r->live[r->nr_intervals] = live;
		r->checkpoints[r->nr_intervals++] = 2 * launch;
	}
	r->live[r->nr_intervals] = live;
	r->checkpoints[r->nr_intervals++] = 2 * launch + 1;
}

/*
 * Pieces of equal weight, half by time and half by launches, each looked at
 * where least can be away: most is alive, and most of that in use.
 */
static void place_checkpoints(struct ugm_relaxation *r, const double *live,
			      const u64 *active, u32 pieces)
{
	const struct ugm_trace *t = r->layout->trace;
	double all = 0, weight = 0, ns = (double)t->ideal_ns + 1;
	u32 k, best = 0, nr = 0, last, position;

	for (k = 0; k < t->nr_kernels; k++)
		all += (double)t->kernels[k].duration_ns / ns +
		       1.0 / t->nr_kernels;
	for (k = 0; k < t->nr_kernels && nr < pieces; k++) {
		if (live[k] + (double)active[k] >
		    live[best] + (double)active[best])
			best = k;
		weight += (double)t->kernels[k].duration_ns / ns +
			  1.0 / t->nr_kernels;
		if (weight < all * (nr + 1) / pieces && k + 1 < t->nr_kernels)
			continue;
		look_at(r, best, live[best]);
		best = k + 1;
		nr++;
	}
	/* The last checkpoint at or before each position. */
	last = r->nr_intervals - 1;
	nr = 0;
	for (position = 0; position < 2 * t->nr_kernels; position++) {
		if (nr < r->nr_intervals && r->checkpoints[nr] == position)
			last = nr++;
		r->interval_of[position] = last;
	}
	/* A launch runs before its end. */
	for (k = 0; k < t->nr_kernels; k++)
		r->duration_ns[r->interval_of[2 * k]] +=
			t->kernels[k].duration_ns;
}

/* The interval after a position that is counted over iterations. */
static s64 unrolled(const struct ugm_relaxation *r, u64 position)
{
	u32 n = 2 * r->layout->trace->nr_kernels, p = (u32)(position % n);
	s64 interval =
		(s64)(position / n) * r->nr_intervals + r->interval_of[p];

	return p < r->checkpoints[0] ? interval - r->nr_intervals : interval;
}

static int add_gap(struct ugm_relaxation *r, struct ugm_gap gap)
{
	/* It may leave at the end of one use; at the next it has to be there. */
	u64 back = 2 * (u64)gap.to +
		   (r->layout->config.overlap != UGM_OVERLAP_NONE);
	s64 leaves = unrolled(r, 2 * (u64)gap.from + 1);
	s64 returns = unrolled(r, back - 1);
	struct ugm_gap *gaps;

	gaps = ugm_array_room(r->gaps, &r->gaps_room, r->nr_gaps + 1,
			      sizeof(*gaps));
	if (!gaps)
		return -ENOMEM;
	r->gaps = gaps;
	if (leaves < 0) {
		leaves += r->nr_intervals;
		returns += r->nr_intervals;
	}
	gap.leaves = (u32)leaves;
	gap.returns = (u32)returns;
	gaps[r->nr_gaps++] = gap;
	return 0;
}

/* The gaps of a tensor, version by version, from the one after its first write.
 */
static int add_gaps(struct ugm_relaxation *r, u32 tensor, const u32 *kernels,
		    const bool *writes, u64 nr)
{
	u32 n = r->layout->trace->nr_kernels;
	bool global = r->layout->trace->tensors[tensor].global;
	u64 start = 0, i, u, next;
	bool written = false;
	int ret = 0;

	while (global && start < nr && !writes[start])
		start++;
	if (start == nr)
		start = 0;
	for (i = 0; i < nr && !ret; i++) {
		u = (start + i) % nr;
		next = (u + 1) % nr;
		if (!next && !global)
			continue;
		written |= writes[u];
		ret = add_gap(r,
			      (struct ugm_gap){
				      .tensor = tensor,
				      .from = kernels[u],
				      .to = kernels[next] + (next > u ? 0 : n),
				      .first = writes[u] || !i,
				      .written = written,
			      });
	}
	return ret;
}

static int find_gaps(struct ugm_relaxation *r, const struct ugm_vitality *v)
{
	const struct ugm_trace *t = r->layout->trace;
	bool *writes = calloc(t->nr_uses + 1, sizeof(*writes));
	u64 *at = calloc((size_t)t->nr_tensors + 1, sizeof(*at)), nr, i;
	int ret = writes && at ? 0 : -ENOMEM;
	const u32 *kernels;
	u32 k, x;

	for (k = 0; k < t->nr_kernels && !ret; k++)
		for (i = 0; i < t->kernels[k].nr_uses; i++) {
			const struct ugm_use *use = &ugm_kernel_uses(t, k)[i];

			writes[v->first[use->tensor] + at[use->tensor]++] =
				use->mode & UGM_OPERAND_WRITE;
		}
	for (x = 0; x < t->nr_tensors && !ret; x++) {
		kernels = ugm_vitality_uses(v, x, &nr);
		if (nr && !ugm_layout_in_arena(r->layout, x))
			ret = add_gaps(r, x, kernels, writes + v->first[x], nr);
	}
	free(writes);
	free(at);
	return ret;
}

/**
 * ugm_relaxation_make() - the relaxation of a trace on a machine
 * @layout: that; must stay
 * @pieces: how finely time is cut, at most; more is tighter and slower
 * @relaxation: it; ugm_relaxation_free() it
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_relaxation_make(const struct ugm_layout *layout, u32 pieces,
			struct ugm_relaxation **relaxation)
{
	struct ugm_relaxation *r = calloc(1, sizeof(*r));
	u32 n = layout->trace->nr_kernels;
	struct ugm_vitality v = {};
	double *live = NULL;
	u64 *active;
	int ret = -ENOMEM;

	*relaxation = r;
	if (!r)
		return ret;
	r->layout = layout;
	r->gpu_share = r->host_share = 1;
	if (pieces > n)
		pieces = n;
	r->checkpoints =
		calloc(2 * (size_t)pieces + 1, sizeof(*r->checkpoints));
	r->duration_ns =
		calloc(2 * (size_t)pieces + 1, sizeof(*r->duration_ns));
	r->live = calloc(2 * (size_t)pieces + 1, sizeof(*r->live));
	r->interval_of = calloc(2 * (size_t)n + 1, sizeof(*r->interval_of));
	active = calloc((size_t)n + 1, sizeof(*active));
	if (active && r->checkpoints && r->duration_ns && r->live && r->interval_of)
		ret = ugm_vitality_analyse(layout->trace, &v);
	if (!ret) {
		live = live_bytes(layout, &v);
		ret = live ? 0 : -ENOMEM;
	}
	if (!ret) {
		ugm_vitality_active(&v, active);
		place_checkpoints(r, live, active, pieces);
		ret = find_gaps(r, &v);
	}
	free(live);
	free(active);
	ugm_vitality_free(&v);
	if (ret) {
		ugm_relaxation_free(r);
		*relaxation = NULL;
	}
	return ret;
}

/**
 * ugm_relaxation_free() - forget a relaxation
 * @r: it, or NULL
 *
 * Context: any.
 */
void ugm_relaxation_free(struct ugm_relaxation *r)
{
	if (!r)
		return;
	free(r->checkpoints);
	free(r->interval_of);
	free(r->duration_ns);
	free(r->live);
	free(r->gaps);
	free(r);
}
