/* SPDX-License-Identifier: MIT */
#ifndef UGM_REPLAY_H
#define UGM_REPLAY_H

#include "layout.h"
#include "namespace.h"
#include "output.h"
#include "progress.h"
#include "result.h"
#include "schedule.h"
#include "traffic.h"
#include "verify.h"

/**
 * struct ugm_replay_options - how a trace is replayed on a device
 * @device: device node, or NULL
 * @clock: enum ugm_clock
 * @verify: enum ugm_verify
 * @no_server: leave all flash transfers to the kernel lane
 */
struct ugm_replay_options {
	const char *device;
	u32 clock;
	u32 verify;
	bool no_server;
};

/**
 * struct ugm_replay_report - what a replay can tell besides its result
 * @server_error: 0: the planner lane served; else why not, a negative errno
 * @server_signal: the signal that the flash server died of, or 0
 * @verified_bytes: device bytes that were read and were what had been written
 * @traffic: what was moved in all iterations
 * @block_size: device bytes of a block
 * @namespace_path: the namespace
 * @wear_error: 0: @wear is known; else why not, a negative errno
 * @wear: data units the namespace counted in all iterations
 */
struct ugm_replay_report {
	int server_error;
	int server_signal;
	u64 verified_bytes;
	struct ugm_traffic traffic;
	u64 block_size;
	char namespace_path[64];
	int wear_error;
	struct ugm_wear wear;
};

int ugm_replay(const struct ugm_layout *layout, const struct ugm_schedule *schedule,
	       const struct ugm_replay_options *options, struct ugm_output *launches,
	       struct ugm_progress *progress, struct ugm_result *result,
	       struct ugm_replay_report *report, struct ugm_error *err);

#endif /* UGM_REPLAY_H */
