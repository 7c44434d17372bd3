/* SPDX-License-Identifier: MIT */
#ifndef UGM_PAGE_MODEL_H
#define UGM_PAGE_MODEL_H

#include "layout.h"
#include "progress.h"
#include "result.h"
#include "schedule.h"

int ugm_page_model(const struct ugm_layout *layout, const struct ugm_schedule *s,
		   struct ugm_progress *progress, struct ugm_result *result, struct ugm_error *err);

#endif /* UGM_PAGE_MODEL_H */
