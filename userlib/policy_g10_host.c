// SPDX-License-Identifier: MIT
#include "g10.h"
#include "g10_published.h"
#include "policy.h"

/* Without a unified page table a kernel starts when its tensors are there. */
static void restrict_machine(struct ugm_config *config)
{
	config->overlap = UGM_OVERLAP_NONE;
}

static int plan(const struct ugm_layout *layout, struct ugm_schedule *s,
		struct ugm_error *err)
{
	struct ugm_g10_options opt;

	if (layout->config.published)
		return ugm_g10_published(layout, false, s);
	ugm_g10_options_default(&layout->config, &opt);
	return ugm_g10_schedule(layout, &opt, s);
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
