// SPDX-License-Identifier: MIT
#include <inttypes.h>

#include "launch_log.h"

/**
 * ugm_launch_log_line() - note a launch
 * @log: where to; its write errors show when it is committed
 * @number: launch number
 * @begin_ns: begin
 * @end_ns: end
 * @digest: residency of the space, used where ugm_launch_log_digests()
 *
 * Context: may sleep.
 */
void ugm_launch_log_line(struct ugm_output *log, u64 number, u64 begin_ns,
			 u64 end_ns, u64 digest)
{
	fprintf(log->file, "%" PRIu64 " %" PRIu64 " %" PRIu64, number, begin_ns,
		end_ns);
	if (ugm_launch_log_digests(number))
		fprintf(log->file, " %016" PRIx64, digest);
	fputc('\n', log->file);
}
