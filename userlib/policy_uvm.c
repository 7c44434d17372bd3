// SPDX-License-Identifier: MIT
#include "policy.h"

/**
 * DOC: policy uvm
 *
 * Demand paging alone, as a GPU driver does it that knows nothing of the
 * program: no hints, the oldest arrival leaves first and is always written
 * back, and data that the program is done with is kept like any other.
 */

static int plan(const struct ugm_layout *layout, struct ugm_schedule *s,
		struct ugm_error *err)
{
	s->opt.victim = UGM_VICTIM_FIFO;
	s->opt.clean = UGM_CLEAN_WRITE;
	s->opt.dead = UGM_DEAD_KEEP;
	s->opt.promote = true;
	s->opt.prefetch_evicts = UGM_PREFETCH_EVICTS_NONE;
	s->opt.demand = true;
	return 0;
}

const struct ugm_policy ugm_policy_uvm = {
	.name = "uvm",
	.summary = "faults only, oldest arrival evicted first, dead data kept",
	.plan = plan,
};
