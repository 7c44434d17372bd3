// SPDX-License-Identifier: MIT
#include "g10.h"
#include "g10_published.h"
#include "policy.h"

static void restrict_machine(struct ugm_config *config)
{
	config->host_mem_bytes = 0;
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

const struct ugm_policy ugm_policy_g10_gds = {
	.name = "g10-gds",
	.summary = "G10's scheduler with flash alone, no host memory",
	.plan = plan,
	.restrict_machine = restrict_machine,
	.whole_tensors = true,
	.target = true,
};
