/* SPDX-License-Identifier: MIT */
#ifndef UGM_RECORD_H
#define UGM_RECORD_H

#include "engine.h"
#include "trace.h"

/**
 * DOC: records
 *
 * What happened in the iteration that is the result of a prediction: every
 * launch, with the memory in use when it ended, and every transfer. Blocks of a
 * tensor that move one after another for the same reason are one transfer.
 */

/**
 * struct ugm_record_launch - a launch
 * @begin_ns: since the start of the iteration
 * @arrived_ns: when its last operand was there
 * @end_ns: end
 * @duration_ns: how long its kernel runs: the trace's duration, or the noisy one
 * @fault_bytes: full-size bytes that were missing
 * @used_bytes: full-size bytes in use at its end, by tier
 */
struct ugm_record_launch {
	u64 begin_ns;
	u64 arrived_ns;
	u64 end_ns;
	u64 duration_ns;
	u64 fault_bytes;
	u64 used_bytes[UGM_NR_TIERS];
};

/**
 * struct ugm_record_move - a transfer
 * @tensor: tensor index
 * @src: enum ugm_tier
 * @dst: enum ugm_tier
 * @cause: enum ugm_cause
 * @begin_ns: since the start of the iteration
 * @end_ns: end
 * @bytes: full-size bytes
 */
struct ugm_record_move {
	u32 tensor;
	u8 src;
	u8 dst;
	u8 cause;
	u64 begin_ns;
	u64 end_ns;
	u64 bytes;
};

/**
 * struct ugm_record - an iteration
 * @launches: by kernel
 * @nr_launches: how many
 * @moves: by end
 * @nr_moves: how many
 * @began_ns: start of the iteration on the engine's clock
 * @incomplete: memory ran out, and moves are missing
 */
struct ugm_record {
	struct ugm_record_launch *launches;
	u32 nr_launches;
	struct ugm_record_move *moves;
	u64 nr_moves;
	u64 began_ns;
	bool incomplete;
	/* private */
	u64 room;
	u64 last[UGM_NR_TIERS][UGM_NR_TIERS];
};

int ugm_record_begin(struct ugm_record *r, u32 nr_kernels, u64 now_ns);
void ugm_record_launch(struct ugm_record *r, const struct ugm_engine *e,
		       u32 kernel, const struct ugm_demand *d);
void ugm_record_move(struct ugm_record *r, u32 tensor,
		     const struct ugm_transfer *t, u64 begin_ns, u64 end_ns,
		     u64 bytes);
void ugm_record_free(struct ugm_record *r);

/* How much longer a launch took than its kernel runs. */
static inline u64 ugm_record_stall(const struct ugm_record *r, u32 kernel)
{
	const struct ugm_record_launch *l = &r->launches[kernel];
	u64 ns = l->end_ns - l->begin_ns;

	return ns > l->duration_ns ? ns - l->duration_ns : 0;
}

#endif /* UGM_RECORD_H */
