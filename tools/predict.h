/* SPDX-License-Identifier: MIT */
#ifndef UGM_TOOLS_PREDICT_H
#define UGM_TOOLS_PREDICT_H

#include "output.h"
#include "policy.h"
#include "result.h"

int predict_policy(const struct ugm_trace *trace,
		   const struct ugm_config *config,
		   const struct ugm_policy *policy, struct ugm_output *launches,
		   struct ugm_result *result);
int predict_schedule(const struct ugm_trace *trace, struct ugm_config *config,
		     struct ugm_schedule *s, const char *path,
		     struct ugm_output *launches, struct ugm_result *result);

#endif /* UGM_TOOLS_PREDICT_H */
