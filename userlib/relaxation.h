/* SPDX-License-Identifier: MIT */
#ifndef UGM_RELAXATION_H
#define UGM_RELAXATION_H

#include "layout.h"
#include "lp.h"
#include "vitality.h"

/**
 * DOC: the relaxation
 *
 * A linear programme that every schedule satisfies in the long run, whatever it
 * does: bytes instead of blocks, flows per link and interval instead of
 * transfers, and time rounded in favour of the schedule. Its least stall is a
 * bound on theirs; its solution says how much of which tensor should be away,
 * when and where. Documentation/bound.rst derives it.
 *
 * Time is circular and cut at checkpoints, starts and ends of some launches.
 * Memory is looked at in checkpoints only, and what happens in an interval
 * between two may happen at any time in it.
 */

/**
 * struct ugm_gap - a tensor is not used for a while
 * @tensor: tensor
 * @from: launch that uses it before
 * @to: launch that uses it next, up to 2n - 1
 * @leaves: interval from which on it can leave the GPU tier
 * @returns: interval in which it has to be back at the latest; may be @leaves
 *           (it then spans no checkpoint), or lie in the next iteration
 * @first: the first gap of its version, up to a write
 * @written: its version began with a write
 * @away: solution: share of the tensor that is not in the GPU tier
 * @flash: solution: share of the tensor that is in flash alone
 */
struct ugm_gap {
	u32 tensor;
	u32 from;
	u32 to;
	u32 leaves;
	u32 returns;
	bool first;
	bool written;
	double away;
	double flash;
};

/**
 * struct ugm_relaxation - the relaxation of a trace on a machine
 * @layout: that
 * @gpu_share: share of the GPU tier that is counted on; 1 for a bound
 * @host_share: likewise of the host tier
 * @traffic_cost: how many seconds of stall 10^9 bytes on a link count as: 0 for
 *                a bound; a little, and nothing is moved without need
 * @nr_intervals: checkpoints, and intervals after each of them
 * @checkpoints: where they are: 2k is the start of launch k, 2k + 1 its end
 * @interval_of: by such a position, the interval that begins there, or before
 * @duration_ns: how long each interval is at least
 * @live: full-size bytes alive at each checkpoint
 * @gaps: gaps of all tensors, by tensor, by version, in order
 * @nr_gaps: how many
 * @gaps_room: how many there is room for
 * @stall_ns: solution: the least stall of an iteration, and the cost of traffic
 */
struct ugm_relaxation {
	const struct ugm_layout *layout;
	double gpu_share;
	double host_share;
	double traffic_cost;
	u32 nr_intervals;
	u32 *checkpoints;
	u32 *interval_of;
	u64 *duration_ns;
	double *live;
	struct ugm_gap *gaps;
	u64 nr_gaps;
	u64 gaps_room;
	double stall_ns;
};

int ugm_relaxation_make(const struct ugm_layout *layout, u32 pieces,
			struct ugm_relaxation **relaxation);
int ugm_relaxation_solve(struct ugm_relaxation *r, double work);
void ugm_relaxation_free(struct ugm_relaxation *r);

#endif /* UGM_RELAXATION_H */
