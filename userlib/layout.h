/* SPDX-License-Identifier: MIT */
#ifndef UGM_LAYOUT_H
#define UGM_LAYOUT_H

#include "machine.h"
#include "schedule.h"
#include "trace.h"

/**
 * DOC: layout
 *
 * A trace on a machine: how many blocks each tensor has, and which tensors
 * share the arena. simulate and run both start from it, so that they count the
 * same blocks.
 *
 * A block stands for scale x block_size full-size bytes. A tensor smaller than
 * that lives in the arena: one range, in the GPU tier from the start and pinned
 * there, in which each such tensor has a sub-range of device bytes. Every other
 * tensor is a range of its own.
 *
 * Ranges are made in this order: the arena if there is one, then the tensors in
 * trace order.
 *
 * A launch names each of its tensors that has a range as one whole operand, in
 * the order of the kernel's uses. Arena tensors are always there: a launch does
 * not name them.
 */

/**
 * struct ugm_placement - where a tensor lives
 * @len: device bytes, rounded up
 * @nr_blocks: blocks of its own range; 0 where it lives in the arena
 * @tail_bytes: full-size bytes of its last block
 * @arena_offset: device bytes from the arena's start, 8-byte aligned
 */
struct ugm_placement {
	u64 len;
	u32 nr_blocks;
	u64 tail_bytes;
	u64 arena_offset;
};

/**
 * struct ugm_layout - a trace on a machine
 * @trace: the trace
 * @config: the machine; block_size is not 0
 * @block_bytes: full-size bytes a block stands for
 * @gpu_blocks: capacity of the GPU tier
 * @host_blocks: capacity of the host tier
 * @tensors: by tensor index
 * @arena_tag: tag of the arena's range: beyond every tensor's
 * @arena_len: device bytes of the arena, whole blocks; 0: there is none
 * @arena_blocks: its blocks
 * @nr_blocks: blocks of all tensors, the arena's not counted
 */
struct ugm_layout {
	const struct ugm_trace *trace;
	struct ugm_config config;
	u64 block_bytes;
	u64 gpu_blocks;
	u64 host_blocks;
	struct ugm_placement *tensors;
	u64 arena_tag;
	u64 arena_len;
	u32 arena_blocks;
	u64 nr_blocks;
};

/**
 * struct ugm_span - blocks of a tensor
 * @first: first block
 * @nr: how many
 */
struct ugm_span {
	u32 first;
	u32 nr;
};

int ugm_layout_make(const struct ugm_trace *trace,
		    const struct ugm_config *config, struct ugm_layout **layout,
		    struct ugm_error *err);
void ugm_layout_free(struct ugm_layout *layout);
struct ugm_span ugm_layout_hint(const struct ugm_layout *layout,
				const struct ugm_schedule_hint *hint);

static inline bool ugm_layout_in_arena(const struct ugm_layout *l, u32 tensor)
{
	return !l->tensors[tensor].nr_blocks;
}

#endif /* UGM_LAYOUT_H */
