/* SPDX-License-Identifier: MIT */
#ifndef UGM_TOOLS_COST_H
#define UGM_TOOLS_COST_H

#include "options.h"
#include "output.h"
#include "policy.h"
#include "replay.h"
#include "result.h"

/**
 * DOC: costs
 *
 * What a policy or a schedule costs on a trace: predicted by the engine alone
 * (simulate, compare), or replayed on a device (run, compare --device). What the
 * verbs share is here.
 */

/**
 * struct cost_options - what is asked for
 * @policy: name of a policy
 * @schedule: file of a schedule, instead of a policy
 * @json: where the result goes as JSON, or NULL
 * @launches: where the log of launches goes, or NULL
 * @perfetto: where the timeline goes, or NULL (predictions only)
 */
struct cost_options {
	const char *policy;
	const char *schedule;
	const char *json;
	const char *launches;
	const char *perfetto;
};

/* Base: struct cost_options. */
extern const struct option_spec cost_options[];
/* Of predictions only; base: struct cost_options. */
extern const struct option_spec predict_options[];
/* How a device replays; base: struct ugm_replay_options. */
extern const struct option_spec replay_options[];

int cost_policy(const struct ugm_trace *trace, const struct ugm_config *config,
		const struct ugm_replay_options *device, const struct ugm_policy *policy,
		struct ugm_output *launches, struct ugm_result *result);
int cost_schedule(const struct ugm_trace *trace, struct ugm_config *config,
		  const struct ugm_replay_options *device, struct ugm_schedule *s,
		  const char *path, struct ugm_output *launches, struct ugm_result *result);
int cost_begin(const struct usage *usage, int argc, char **argv,
	       struct ugm_config *config, const char **trace);
int cost_obey(const struct ugm_config *config,
	      const struct ugm_policy *const *policies, unsigned int nr,
	      const struct ugm_replay_options *device);
int cost_verb(const char *path, const struct cost_options *o, struct ugm_config *config,
	      const struct ugm_replay_options *device);
int cost_device(const struct ugm_replay_options *device, struct ugm_config *config);

#endif /* UGM_TOOLS_COST_H */
