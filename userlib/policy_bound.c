// SPDX-License-Identifier: MIT
#include "policy.h"
#include "relaxation.h"

/**
 * DOC: policy bound
 *
 * No schedule's steady iteration is shorter: what the relaxation of the trace
 * on the machine stalls at least is added to the ideal time.
 */

/* How finely time is cut, finest first, and how long that may take each. */
static const u32 pieces[] = {300, 100, 25};
#define WORK 4e9

/* The solver's own tolerance, in favour of the schedules. */
#define TOLERANCE 1e-6

static int compute(const struct ugm_trace *trace,
		   const struct ugm_config *config, u64 *iteration_ns,
		   struct ugm_error *err)
{
	struct ugm_relaxation *r;
	struct ugm_layout *layout;
	double stall = 0;
	unsigned int i;
	int ret = ugm_layout_make(trace, config, &layout, err);

	if (ret)
		return ret;
	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		ret = ugm_relaxation_make(layout, pieces[i], &r);
		if (ret)
			break;
		ret = ugm_relaxation_solve(r, WORK);
		stall = r->stall_ns;
		ugm_relaxation_free(r);
		if (ret != -ETIME)
			break;
	}
	ugm_layout_free(layout);
	if (ret)
		return ugm_fail(err, ret, "%s: policy 'bound': %s", trace->name,
				ret == -ETIME ?
					"the linear programme takes too long" :
					strerror(-ret));
	stall -= TOLERANCE * ((double)trace->ideal_ns + stall);
	*iteration_ns = trace->ideal_ns + (stall > 0 ? (u64)stall : 0);
	return 0;
}

const struct ugm_policy ugm_policy_bound = {
	.name = "bound",
	.summary = "no schedule is faster: a linear programme (computed)",
	.compute = compute,
};
