/* SPDX-License-Identifier: MIT */
#ifndef UGM_TOOLS_REPORT_H
#define UGM_TOOLS_REPORT_H

#include "record.h"
#include "result.h"

/**
 * struct report_row - a result and the iteration behind it
 * @trace: the trace
 * @result: the result
 * @record: its iteration; without launches for a computed row
 */
struct report_row {
	const struct ugm_trace *trace;
	const struct ugm_result *result;
	const struct ugm_record *record;
};

int report_write(const char *path, const struct ugm_config *config,
		 const struct report_row *rows, unsigned int nr,
		 struct ugm_error *err);

#endif /* UGM_TOOLS_REPORT_H */
