/* SPDX-License-Identifier: MIT */
#ifndef UGM_TENSOR_MODEL_H
#define UGM_TENSOR_MODEL_H

#include "layout.h"
#include "result.h"
#include "schedule.h"

int ugm_tensor_model(const struct ugm_layout *layout, const struct ugm_schedule *s,
		     struct ugm_result *result, struct ugm_error *err);

#endif /* UGM_TENSOR_MODEL_H */
