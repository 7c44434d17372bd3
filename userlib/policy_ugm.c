// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "planner.h"
#include "policy.h"

/**
 * DOC: policy ugm
 *
 * Our own: what is needed furthest beyond an overfull launch leaves, parts of
 * tensors move, clean data is dropped, idle links make copies early, and what is
 * away comes back in the order of need. The planner plays iterations under some
 * settings; the best of them is the schedule.
 */

static const struct ugm_plan_setting settings[] = {
	{ .host_lead = 0.01, .clean_weight = 11, .drop_lead = 1, .write_back = true, .host_margin = 0.02 },
	{ .host_lead = 0.01, .clean_weight = 100, .drop_lead = 1, .write_back = true, .host_margin = 0.02 },
	{ .host_lead = 0.01, .clean_weight = 3, .drop_lead = 1, .write_back = true, .host_margin = 0.02 },
	{ .host_lead = 0.01, .clean_weight = 11, .drop_lead = 1, .write_back = false, .host_margin = 0.02 },
	{ .host_lead = 1, .clean_weight = 11, .drop_lead = 1, .write_back = true, .host_margin = 0.02 },
};

/* Iterations played: a cold one, one to learn from, and the one written down. */
#define ITERATIONS 3

static int plan(const struct ugm_layout *layout, struct ugm_schedule *s,
		struct ugm_error *err)
{
	u64 ns, best_ns = U64_MAX;
	struct ugm_planner *p;
	unsigned int i, best = 0;
	int ret;

	s->opt.victim = UGM_VICTIM_FIFO;
	s->opt.clean = UGM_CLEAN_DROP;
	s->opt.dead = UGM_DEAD_DROP;
	s->opt.promote = true;
	s->opt.prefetch_evicts = UGM_PREFETCH_EVICTS_NONE;
	s->opt.demand = true;
	ret = ugm_planner_make(layout, &p);
	for (i = 0; i < ARRAY_SIZE(settings) && !ret; i++) {
		ret = ugm_planner_play(p, &settings[i], ITERATIONS, &ns);
		if (ret == -EDEADLK) {
			ret = 0;
			continue;
		}
		if (ns < best_ns) {
			best_ns = ns;
			best = i;
		}
	}
	if (!ret && best_ns != U64_MAX)
		ret = ugm_planner_play(p, &settings[best], ITERATIONS, &ns);
	if (!ret)
		ret = ugm_planner_write(p, s);
	ugm_planner_free(p);
	return ret;
}

const struct ugm_policy ugm_policy_ugm = {
	.name = "ugm",
	.summary = "furthest need by pressure, parts of tensors, clean drops, early copies",
	.plan = plan,
};
