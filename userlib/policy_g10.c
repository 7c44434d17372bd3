// SPDX-License-Identifier: MIT
#include "g10.h"
#include "policy.h"

static int plan(const struct ugm_layout *layout, struct ugm_schedule *s,
		struct ugm_error *err)
{
	return ugm_g10_schedule(layout, true, s);
}

const struct ugm_policy ugm_policy_g10 = {
	.name = "g10",
	.summary =
		"G10: planned migrations to flash and host, oldest arrival as a fallback",
	.plan = plan,
	.target = true,
};
