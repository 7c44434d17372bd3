/* SPDX-License-Identifier: MIT */
#ifndef UGM_G10_H
#define UGM_G10_H

#include "layout.h"
#include "schedule.h"
#include "vitality.h"

/**
 * DOC: G10's scheduler
 *
 * The smart migration scheduler of G10 (MICRO 2023, section 4.3) works on an
 * estimate of the GPU memory in use during each kernel, of the host memory, and
 * of the bandwidth that is left during each kernel on four timelines: flash out
 * and in, GPU link out and in.
 *
 * Eviction: the inactive period with the largest benefit is taken, round after
 * round, until the estimate's peak is under the target. The benefit is the
 * tensor's size times the time inside the period during which GPU memory is
 * overfull, the period shortened by what the moves themselves take. The tensor
 * goes to flash; to the host, while that has room, where the flash is full
 * already or the period too short for it. Bandwidth is reserved forward from the
 * period's start and backward from its end.
 *
 * Prefetch: in order of its latest safe start each fetch is pulled earlier while
 * the estimate stays under the target.
 *
 * As benefits can only fall (memory is only given up, bandwidth only used), a
 * period is valued anew only when it comes to the top: the answer is that of a
 * search through all of them in each round.
 */

/**
 * struct ugm_g10_options - what the scheduler plans for
 * @capacity_bytes: time above it is what an eviction is good for
 * @target_bytes: the peak that is good enough
 * @host_bytes: host memory
 * @gpu_bytes_per_s: GPU link, each direction
 * @flash_read_bytes_per_s: flash, read
 * @flash_write_bytes_per_s: flash, write
 * @flash_latency_ns: of a move to or from flash
 * @host_latency_ns: of a move to or from the host
 */
struct ugm_g10_options {
	u64 capacity_bytes;
	u64 target_bytes;
	u64 host_bytes;
	u64 gpu_bytes_per_s;
	u64 flash_read_bytes_per_s;
	u64 flash_write_bytes_per_s;
	u64 flash_latency_ns;
	u64 host_latency_ns;
};

/**
 * struct ugm_g10_move - a tensor leaves in an inactive period and comes back
 * @period: the period
 * @tier: where it goes
 * @prefetch: kernel at whose begin the fetch starts, n or more: in the next
 *            iteration
 */
struct ugm_g10_move {
	struct ugm_period period;
	u8 tier;
	u64 prefetch;
};

/**
 * struct ugm_g10_plan - what the scheduler decided
 * @moves: by the latest safe start of their fetch
 * @nr_moves: how many
 * @peak_bytes: the estimate's peak after the evictions, before the fetches
 * @room: private
 */
struct ugm_g10_plan {
	struct ugm_g10_move *moves;
	u64 nr_moves;
	u64 peak_bytes;
	u64 room;
};

void ugm_g10_options_default(const struct ugm_config *config,
			     struct ugm_g10_options *opt);
int ugm_g10_make(const struct ugm_layout *layout, const struct ugm_vitality *v,
		 const struct ugm_g10_options *opt, struct ugm_g10_plan *plan);
void ugm_g10_free(struct ugm_g10_plan *plan);
int ugm_g10_schedule(const struct ugm_layout *layout, bool paging,
		     struct ugm_schedule *s);

#endif /* UGM_G10_H */
