// SPDX-License-Identifier: MIT
#include "g10.h"
#include "g10_published.h"
#include "policy.h"

static int plan(const struct ugm_layout *layout, struct ugm_schedule *s,
		struct ugm_error *err)
{
	struct ugm_g10_options opt;

	if (layout->config.published)
		return ugm_g10_published(layout, true, s);
	ugm_g10_options_default(&layout->config, &opt);
	return ugm_g10_schedule(layout, &opt, s);
}

const struct ugm_policy ugm_policy_g10 = {
	.name = "g10",
	.summary =
		"G10: planned migrations to flash and host, oldest arrival as a fallback",
	.plan = plan,
	.target = true,
};
