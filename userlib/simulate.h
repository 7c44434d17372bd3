/* SPDX-License-Identifier: MIT */
#ifndef UGM_SIMULATE_H
#define UGM_SIMULATE_H

#include "layout.h"
#include "output.h"
#include "progress.h"
#include "result.h"
#include "schedule.h"

int ugm_simulate(const struct ugm_layout *layout, const struct ugm_schedule *s,
		 struct ugm_output *launches, struct ugm_progress *progress,
		 struct ugm_result *result, struct ugm_error *err);

#endif /* UGM_SIMULATE_H */
