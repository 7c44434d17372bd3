/* SPDX-License-Identifier: MIT */
#ifndef UGM_SCHEDULE_H
#define UGM_SCHEDULE_H

#include "error.h"
#include "engine.h"
#include "trace.h"

/**
 * DOC: schedules
 *
 * A schedule is what a policy decides: run-time rules of the space, and hints.
 * It describes one iteration of n launches and is replayed in each with its
 * launch numbers shifted by n. Its file is text with comments ('#'), options
 * first::
 *
 *     # ugm-schedule 1
 *     option victim fifo
 *     at 12 evict 37 0 4194304 flash
 *     at 40 prefetch 37 0 4194304 gpu need=52
 *
 * that is: at N OP TAG OFFSET LEN [TIER] [need=N]. PREFETCH, EVICT and
 * WRITEBACK name a tier, the others do not. Offsets and lengths are full-size
 * bytes within a tensor; a LEN of 0 reaches to its end. A @need of n or more is
 * a launch of the next iteration.
 */

/* Of the file's format; what would be read otherwise needs another. */
#define UGM_SCHEDULE_VERSION 1

/**
 * struct ugm_schedule_hint - a hint of a schedule
 * @at: launch at whose begin it acts, 0..n-1
 * @need: launch that needs it, @at..2n-1, or UGM_NEED_NONE
 * @tensor: index into &ugm_trace.tensors
 * @op: enum ugm_op
 * @tier: enum ugm_tier, destination of PREFETCH, EVICT and WRITEBACK
 * @offset: full-size bytes from the tensor's start
 * @len: full-size bytes, not zero, within the tensor
 */
struct ugm_schedule_hint {
	u64 at;
	u64 need;
	u32 tensor;
	u8 op;
	u8 tier;
	u64 offset;
	u64 len;
};

/**
 * struct ugm_schedule - options and hints
 * @opt: run-time rules of the space
 * @hints: sorted by @at, in order of arrival where equal
 * @nr_hints: how many
 * @room: how many @hints has room for
 */
struct ugm_schedule {
	struct ugm_options opt;
	struct ugm_schedule_hint *hints;
	u64 nr_hints;
	u64 room;
};

void ugm_schedule_init(struct ugm_schedule *s);
void ugm_schedule_free(struct ugm_schedule *s);
int ugm_schedule_add(struct ugm_schedule *s,
		     const struct ugm_schedule_hint *hint);
int ugm_schedule_sort(struct ugm_schedule *s);
int ugm_schedule_read(const char *path, const struct ugm_trace *trace,
		      struct ugm_schedule *s, struct ugm_error *err);
int ugm_schedule_write(const struct ugm_schedule *s,
		       const struct ugm_trace *trace, const char *path,
		       struct ugm_error *err);

#endif /* UGM_SCHEDULE_H */
