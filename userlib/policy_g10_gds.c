// SPDX-License-Identifier: MIT
#include "g10.h"
#include "policy.h"

static void restrict_machine(struct ugm_config *config)
{
	config->host_mem_bytes = 0;
}

static int plan(const struct ugm_layout *layout, struct ugm_schedule *s,
		struct ugm_error *err)
{
	return ugm_g10_schedule(layout, false, s);
}

const struct ugm_policy ugm_policy_g10_gds = {
	.name = "g10-gds",
	.summary = "G10's scheduler with flash alone, no host memory",
	.plan = plan,
	.restrict_machine = restrict_machine,
	.whole_tensors = true,
	.target = true,
};
