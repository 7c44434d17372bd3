/* SPDX-License-Identifier: MIT */
#ifndef UGM_PERFETTO_H
#define UGM_PERFETTO_H

#include "error.h"
#include "record.h"

int ugm_perfetto_write(const struct ugm_trace *trace, const struct ugm_record *r,
		       const char *path, struct ugm_error *err);

#endif /* UGM_PERFETTO_H */
