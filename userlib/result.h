/* SPDX-License-Identifier: MIT */
#ifndef UGM_RESULT_H
#define UGM_RESULT_H

#include <stdio.h>

#include "error.h"
#include "layout.h"

/**
 * DOC: results
 *
 * What a policy cost on a trace: the same structure, and the same JSON, from
 * the prediction and from the device.
 */

struct ugm_record;

/**
 * struct ugm_result - one trace under one policy
 * @trace: name of the trace
 * @policy: name of the policy, or path of the schedule
 * @inexact: UGM_INEXACT_* bits; 0: exact
 * @iterations: how many of @iterations_ns
 * @iterations_ns: time of each iteration
 * @fastest: the fastest iteration is the result
 * @iteration_ns: the result: the second, or the only one, or the fastest
 * @ideal_ns: sum of the kernels' durations
 * @traffic_bytes: full-size bytes moved in that iteration, by source and
 *                 destination tier
 * @plan_ns: wall time that planning took
 * @peak_rss_bytes: largest resident set of the process so far
 * @record: filled with that iteration by a prediction, or NULL; the caller's
 * @error: why the policy could not run; empty: it ran
 */
struct ugm_result {
	char *trace;
	char *policy;
	u32 inexact;
	u64 iterations;
	u64 *iterations_ns;
	bool fastest;
	u64 iteration_ns;
	u64 ideal_ns;
	u64 traffic_bytes[UGM_NR_TIERS][UGM_NR_TIERS];
	u64 plan_ns;
	u64 peak_rss_bytes;
	struct ugm_record *record;
	struct ugm_error error;
};

/* Which of them is the result, unless the fastest is. */
static inline u64 ugm_result_iteration(u64 iterations)
{
	return iterations > 1 ? 1 : 0;
}

bool ugm_result_is(const struct ugm_result *r, u64 iteration);

struct json_object;

int ugm_result_init(struct ugm_result *r, const char *trace, const char *policy,
		    u64 ideal_ns, u64 iterations);
void ugm_result_finish(struct ugm_result *r);
void ugm_result_free(struct ugm_result *r);
struct json_object *ugm_result_json(const struct ugm_config *config,
				    const struct ugm_result *results,
				    unsigned int nr);
void ugm_result_write_csv(FILE *out, const struct ugm_config *config,
			  const struct ugm_result *results, unsigned int nr);
void ugm_result_write_table(FILE *out, const struct ugm_config *config,
			    const struct ugm_result *results, unsigned int nr,
			    bool worn);

#endif /* UGM_RESULT_H */
