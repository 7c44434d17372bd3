// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "planner.h"

/**
 * DOC: guidance
 *
 * The relaxation knows what the planner's rules do not: how much of which
 * tensor has to be in flash so that both memory tiers and both links suffice. A
 * setting says how much of that is taken: nothing, what goes to flash, or
 * everything.
 */

/* A gap's share of a tensor, in chunks. */
static u32 chunks_of(const struct ugm_plan_tensor *t, double share)
{
	double nr = share * t->nr_chunks + 0.5;

	return nr >= t->nr_chunks ? t->nr_chunks : (u32)nr;
}

static struct ugm_plan_use *use_at(struct ugm_planner *p, u32 tensor,
				   u32 kernel)
{
	const struct ugm_plan_tensor *t = &p->tensors[tensor];
	u32 lo = 0, hi = t->nr_uses - 1, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (p->uses[t->first_use + mid].kernel < kernel)
			lo = mid + 1;
		else
			hi = mid;
	}
	return &p->uses[t->first_use + lo];
}

/* Blocks that are away between two launches, around the circle. */
static void between(s64 *sums, u32 n, u32 from, u32 to, s64 blocks)
{
	if (to <= from + 1)
		return;
	sums[(from + 1) % n] += blocks;
	if (to <= n) {
		sums[to] -= blocks;
	} else {
		/* It wraps: from the start on, and until the end. */
		if (from + 1 < n)
			sums[0] += blocks;
		sums[to - n] -= blocks;
	}
}

/* The most that is to go to flash before the next write, backwards. */
static void copies_ahead(struct ugm_planner *p, u32 tensor)
{
	const struct ugm_plan_tensor *t = &p->tensors[tensor];
	struct ugm_plan_use *u = &p->uses[t->first_use];
	bool global = p->layout->trace->tensors[tensor].global;
	u32 round, i, next;

	for (round = 0; round < 2; round++)
		for (i = t->nr_uses; i-- > 0;) {
			next = i + 1 < t->nr_uses ? i + 1 : 0;
			u[i].flash_copy = u[i].flash;
			if ((!next && !global) || u[next].writes)
				continue;
			if (u[next].flash_copy > u[i].flash_copy)
				u[i].flash_copy = u[next].flash_copy;
		}
}

static void follow(struct ugm_planner *p, const struct ugm_gap *gap, bool leave)
{
	const struct ugm_plan_tensor *t = &p->tensors[gap->tensor];
	struct ugm_plan_use *u = use_at(p, gap->tensor, gap->from);
	u32 nr = chunks_of(t, gap->away);

	u->leave = leave ? nr : 0;
	u->flash = chunks_of(t, gap->flash);
	if (u->flash > nr)
		u->flash = nr;
	between(p->away, p->n, gap->from, gap->to,
		ugm_plan_blocks(p, gap->tensor, u->leave));
	between(p->flashed, p->n, gap->from, gap->to,
		ugm_plan_blocks(p, gap->tensor, u->flash));
}

/**
 * ugm_plan_follow() - take from the relaxation what the setting says
 * @p: planner
 *
 * Context: any.
 */
void ugm_plan_follow(struct ugm_planner *p)
{
	const struct ugm_relaxation *r = p->relaxation;
	s64 away = 0, flashed = 0;
	u64 i;
	u32 k;

	memset(p->away, 0, ((size_t)p->n + 1) * sizeof(*p->away));
	memset(p->flashed, 0, ((size_t)p->n + 1) * sizeof(*p->flashed));
	for (i = 0; i < p->layout->trace->nr_uses; i++)
		p->uses[i].leave = p->uses[i].flash = 0;
	if (p->set.guide != UGM_PLAN_UNGUIDED)
		for (i = 0; i < r->nr_gaps; i++)
			follow(p, &r->gaps[i], p->set.guide == UGM_PLAN_GUIDED);
	for (k = 0; k < p->n; k++) {
		away += p->away[k];
		p->away[k] = away;
		flashed += p->flashed[k];
		p->flashed[k] = flashed;
	}
	for (k = 0; k < p->layout->trace->nr_tensors; k++)
		if (p->tensors[k].nr_uses)
			copies_ahead(p, k);
}
