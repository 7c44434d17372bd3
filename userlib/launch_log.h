/* SPDX-License-Identifier: MIT */
#ifndef UGM_LAUNCH_LOG_H
#define UGM_LAUNCH_LOG_H

#include "output.h"
#include "trace.h"

/**
 * DOC: launch log
 *
 * A line a launch, "number begin_ns end_ns", and every 100 launches a digest of
 * the residency of the whole space after the launch, in hexadecimal. Two logs
 * of the same trace, schedule and machine are equal, whoever ran them. Both also
 * say the same of a launch that fails.
 */

#define UGM_LAUNCH_LOG_PERIOD 100

/* Does the line of this launch carry a digest? */
static inline bool ugm_launch_log_digests(u64 number)
{
	return number % UGM_LAUNCH_LOG_PERIOD == UGM_LAUNCH_LOG_PERIOD - 1;
}

void ugm_launch_log_line(struct ugm_output *log, u64 number, u64 begin_ns,
			 u64 end_ns, u64 digest);
int ugm_launch_fail(const struct ugm_trace *trace, u32 kernel, u64 iteration, int error,
		    struct ugm_error *err);

#endif /* UGM_LAUNCH_LOG_H */
