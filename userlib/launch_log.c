// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <string.h>

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

/**
 * ugm_launch_fail() - say that a kernel could not be launched
 * @trace: its trace
 * @kernel: the kernel
 * @iteration: from 0
 * @error: negative errno
 * @err: where to
 *
 * Context: any.
 * Return: @error.
 */
int ugm_launch_fail(const struct ugm_trace *trace, u32 kernel, u64 iteration, int error,
		    struct ugm_error *err)
{
	const char *why = strerror(-error);

	if (error == -ENODATA)
		why = "an operand is not in GPU memory, and under 'demand off' nothing fetches it";
	else if (error == -ENOSPC)
		why = "no room for its operands";
	return ugm_fail(err, error, "%s: kernel %" PRIu32 " (%s) of iteration %" PRIu64 ": %s",
			trace->name, kernel, trace->kernels[kernel].name, iteration + 1, why);
}
