// SPDX-License-Identifier: MIT
#include "g10.h"
#include "policy.h"

/* Without a unified page table a kernel starts when its tensors are there. */
static void restrict_machine(struct ugm_config *config)
{
	config->overlap = UGM_OVERLAP_NONE;
}

static int plan(const struct ugm_layout *layout, struct ugm_schedule *s,
		struct ugm_error *err)
{
	return ugm_g10_schedule(layout, false, s);
}

const struct ugm_policy ugm_policy_g10_host = {
	.name = "g10-host",
	.summary =
		"G10's scheduler without the unified page table: waits do not overlap",
	.plan = plan,
	.restrict_machine = restrict_machine,
	.whole_tensors = true,
	.target = true,
};
