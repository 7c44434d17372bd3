/* SPDX-License-Identifier: MIT */
#ifndef UGM_PLANNER_H
#define UGM_PLANNER_H

#include "curve.h"
#include "layout.h"
#include "relaxation.h"
#include "vitality.h"

/**
 * DOC: the planner
 *
 * The planner plays iterations of a trace with chunks, some blocks of one
 * tensor each, and writes down what it did in the last one: that is the
 * schedule. Time is circular, so that what it has learned of an iteration (how
 * long launches wait, where data is) is the start of the next.
 *
 * Two curves tell what is to come if nothing more is decided: how many blocks
 * the GPU tier has to hold at each launch, and how many of those that it cannot
 * hold the host tier has to. A tier whose curve exceeds its capacity somewhere
 * gives up what is needed furthest beyond that launch; what is away comes back
 * in the order of need as soon as the curve leaves room until then. GPU and
 * host tier follow the same rule, so that flash is to the host what the host is
 * to the GPU.
 *
 * Clean data, that has a copy where it goes, leaves for nothing. An idle link
 * makes such copies early.
 */

#define UGM_PLAN_NONE U32_MAX

/* What is taken from the solution of the relaxation. */
enum ugm_plan_guide {
	UGM_PLAN_UNGUIDED, /* nothing */
	UGM_PLAN_FLASH_GUIDED, /* what goes to flash */
	UGM_PLAN_GUIDED, /* what leaves the GPU tier, and what of that goes to flash */
};

/**
 * struct ugm_plan_setting - what the planner can be told to try
 * @guide: enum ugm_plan_guide
 * @write_back: idle links copy data before it has to leave
 * @clean_weight: a clean victim is preferred to a dirty one that is needed no
 *                more than this many times later
 * @reserve: room in the host tier for what does not go as planned: so many times
 *           the usual
 * @headroom: victims leave when so much of a tier, or less, is left: what comes
 *            back finds room at once
 */
struct ugm_plan_setting {
	u8 guide;
	bool write_back;
	double clean_weight;
	double reserve;
	double headroom;
};

/* What a chunk is good for; chunks under way are in none of these classes. */
enum ugm_plan_class {
	UGM_PLAN_AWAY, /* nowhere, or under way */
	UGM_PLAN_CLEAN, /* in the GPU tier, with a copy in the host tier */
	UGM_PLAN_BACKED, /* in the GPU tier, with a copy in flash alone */
	UGM_PLAN_DIRTY, /* in the GPU tier alone */
	UGM_PLAN_HOST, /* in the host tier alone */
	UGM_PLAN_HOST_BACKED, /* in the host tier, with a copy in flash */
	UGM_PLAN_FLASH, /* in flash */
	UGM_PLAN_NR_CLASSES
};

/* Queues of tensors with chunks of some classes, by their next use. */
enum ugm_plan_queue {
	UGM_PLAN_Q_CLEAN, /* furthest first, as the next two */
	UGM_PLAN_Q_BACKED,
	UGM_PLAN_Q_DIRTY,
	UGM_PLAN_Q_HOST,
	UGM_PLAN_Q_HOST_BACKED,
	UGM_PLAN_Q_LEAVE, /* of what is to leave the GPU tier */
	UGM_PLAN_Q_TO_FLASH, /* of what is to go to flash */
	UGM_PLAN_Q_FROM_HOST, /* soonest first, as the next */
	UGM_PLAN_Q_FROM_FLASH,
	UGM_PLAN_Q_FLASH_COPY, /* furthest first: copies wanted in flash */
	UGM_PLAN_Q_WRITE_BACK, /* furthest first: copies of use in the host */
	UGM_PLAN_Q_BACK_UP, /* furthest first: copies of use in flash */
	UGM_PLAN_NR_QUEUES
};

/* What more may be alive than fits into. */
enum ugm_plan_level {
	UGM_PLAN_OVER_GPU, /* the GPU tier: copies in the host are of use */
	UGM_PLAN_OVER_HOST, /* both memory tiers: copies in flash are */
	UGM_PLAN_NR_LEVELS
};

/**
 * struct ugm_plan_chunk - some blocks of a tensor, planned together
 * @tensor: the tensor
 * @first: first block
 * @nr: blocks
 * @bytes: full-size bytes
 * @arrived: launch during which it came to its home
 * @copies: of the copy places, a bit a tier
 * @home: enum ugm_tier
 * @class: enum ugm_plan_class
 * @moving: a transfer owns it
 * @written: the running launch writes it
 */
struct ugm_plan_chunk {
	u32 tensor;
	u32 first;
	u32 nr;
	u64 bytes;
	u64 arrived;
	u8 copies;
	u8 home;
	u8 class;
	bool moving;
	bool written;
};

/**
 * struct ugm_plan_tensor - a tensor
 * @first_chunk: its first chunk
 * @nr_chunks: how many; 0: it lives in the arena
 * @first_use: its first entry in &ugm_planner.uses
 * @nr_uses: how many
 * @cursor: its next use
 * @next: launch of that, counted over iterations
 * @overfull: by level, the last launch before which a copy is of use, or
 *            UGM_NEED_NONE
 * @leave: chunks that are still to leave the GPU tier
 * @flash: chunks that are still to go to flash
 * @flash_copy: chunks of which copies are wanted in flash
 * @nr: its chunks by class
 */
struct ugm_plan_tensor {
	u32 first_chunk;
	u32 nr_chunks;
	u64 first_use;
	u32 nr_uses;
	u32 cursor;
	u64 next;
	u64 overfull[UGM_PLAN_NR_LEVELS];
	u32 leave;
	u32 flash;
	u32 flash_copy;
	u32 nr[UGM_PLAN_NR_CLASSES];
};

/**
 * struct ugm_plan_use - a launch's use of a tensor
 * @kernel: the launch
 * @writes: does it write
 * @overfull: by level, the distance from @kernel to the last overfull launch in a
 *            gap before the tensor's next write; 0: there is none
 * @leave: chunks that are to leave the GPU tier after it
 * @flash: chunks of these that are to go to flash
 * @flash_copy: the most that are to go to flash before the tensor's next write
 */
struct ugm_plan_use {
	u32 kernel;
	bool writes;
	u32 overfull[UGM_PLAN_NR_LEVELS];
	u32 leave;
	u32 flash;
	u32 flash_copy;
};

/* A tensor in a queue, as long as its key is still this one. */
struct ugm_plan_entry {
	s64 key;
	u32 tensor;
};

/* A queue: a binary heap, the smallest key first. */
struct ugm_plan_heap {
	struct ugm_plan_entry *entries;
	u64 nr;
	u64 room;
};

/* A tensor of which nothing more may move before the next launch. */
struct ugm_plan_deferred {
	u32 tensor;
	u8 queue;
};

/**
 * struct ugm_plan_lane - a link and what is on it
 * @chunk: chunk, or UGM_PLAN_NONE
 * @end_ns: when that is over
 * @dst: where it goes
 * @copy: it also stays
 */
struct ugm_plan_lane {
	u32 chunk;
	u64 end_ns;
	u8 dst;
	bool copy;
};

/**
 * struct ugm_plan_move - something the planner decided
 * @launch: during which launch, counted over iterations
 * @need: launch that needs it, likewise, or UGM_NEED_NONE
 * @chunk: what
 * @op: enum ugm_op
 * @tier: destination
 */
struct ugm_plan_move {
	u64 launch;
	u64 need;
	u32 chunk;
	u8 op;
	u8 tier;
};

/**
 * struct ugm_planner - the planner
 * @layout: the trace on its machine
 * @set: what is tried
 * @vitality: who uses a tensor, and when
 * @n: launches of an iteration
 * @capacity: blocks of the GPU tier, the arena not counted
 * @host_capacity: blocks of the host tier
 * @host_limit: blocks of it that are planned with
 * @used: blocks of the GPU tier in use
 * @host_used: blocks of the host tier in use
 * @live: by launch, blocks of all live tensors
 * @away: by launch, blocks that are to be away from the GPU tier
 * @flashed: by launch, blocks that are to be in flash
 * @relaxation: solved, or NULL: only settings without a guide can be played
 * @start_ns: by launch, when it is expected to begin; one more for the end
 * @length_ns: by launch, how long it took when it was last played
 * @gpu: blocks the GPU tier will have to hold, less none
 * @host: blocks the host tier will have to hold
 * @now_ns: the time
 * @slot: the launch under way, counted over iterations
 * @slot_ns: its begin
 * @waiting: it has not begun to run
 * @missing: chunks it waits for
 * @nr_missing: how many
 * @missing_blocks: blocks of these that have no frame yet
 * @chunks: all chunks, tensor by tensor
 * @nr_chunks: how many
 * @tensors: by tensor index, what is known of it
 * @uses: of tensors by launches
 * @queues: tensors with chunks that may move, by what for
 * @deferred: tensors that are in a queue again from the next launch on
 * @nr_deferred: how many
 * @deferred_room: how many there is room for
 * @lanes: what each link does
 * @copies: chunks with copies in the host tier, in order of arrival in the GPU
 * @copies_head: the first that counts
 * @nr_copies: the one after the last
 * @copies_room: how many there is room for
 * @moves: what was done in the iteration that is written down
 * @nr_moves: how many
 * @moves_room: how many there is room for
 * @recording: this is that iteration
 * @no_memory: something could not be noted
 */
struct ugm_planner {
	const struct ugm_layout *layout;
	struct ugm_plan_setting set;
	struct ugm_vitality vitality;
	u32 n;
	s64 capacity;
	s64 host_capacity;
	s64 host_limit;
	s64 used;
	s64 host_used;
	s64 *live;
	s64 *away;
	s64 *flashed;
	const struct ugm_relaxation *relaxation;
	u64 *start_ns;
	u64 *length_ns;
	struct ugm_curve gpu;
	struct ugm_curve host;
	u64 now_ns;
	u64 slot;
	u64 slot_ns;
	bool waiting;
	u32 *missing;
	u32 nr_missing;
	s64 missing_blocks;
	struct ugm_plan_chunk *chunks;
	u32 nr_chunks;
	struct ugm_plan_tensor *tensors;
	struct ugm_plan_use *uses;
	struct ugm_plan_heap queues[UGM_PLAN_NR_QUEUES];
	struct ugm_plan_deferred *deferred;
	u64 nr_deferred;
	u64 deferred_room;
	struct ugm_plan_lane lanes[UGM_NR_LINKS];
	u32 *copies;
	u64 copies_head;
	u64 nr_copies;
	u64 copies_room;
	struct ugm_plan_move *moves;
	u64 nr_moves;
	u64 moves_room;
	bool recording;
	bool no_memory;
};

int ugm_planner_make(const struct ugm_layout *layout,
		     struct ugm_planner **planner);
void ugm_planner_free(struct ugm_planner *p);
int ugm_planner_play(struct ugm_planner *p, const struct ugm_plan_setting *set,
		     unsigned int iterations, u64 *iteration_ns);
int ugm_planner_write(const struct ugm_planner *p, struct ugm_schedule *s);

/* planner_chunk.c: where chunks are, and what is asked of the tiers */
int ugm_plan_begin(struct ugm_planner *p);
u64 ugm_plan_expected(const struct ugm_planner *p, u64 launch);
s64 ugm_plan_blocks(const struct ugm_planner *p, u32 tensor, u32 chunks);
u64 ugm_plan_launch_at(const struct ugm_planner *p, u64 ns);
void ugm_plan_leave(struct ugm_planner *p, u32 chunk, u64 gone_ns);
void ugm_plan_come(struct ugm_planner *p, u32 chunk);
void ugm_plan_in_flash(struct ugm_planner *p, u32 chunk, u64 gone_ns);
void ugm_plan_out_of_flash(struct ugm_planner *p, u32 chunk);
void ugm_plan_settle(struct ugm_planner *p, u32 chunk, u8 home, u8 copies);
void ugm_plan_take(struct ugm_planner *p, u32 chunk);
void ugm_plan_forget_copies(struct ugm_planner *p, u32 chunk);
void ugm_plan_used(struct ugm_planner *p, u32 tensor);
void ugm_plan_advance(struct ugm_planner *p);
void ugm_plan_expect(struct ugm_planner *p);
bool ugm_plan_reclaim(struct ugm_planner *p);

/* May it move on? See ugm_plan_first(). */
static inline bool ugm_plan_movable(const struct ugm_planner *p,
				    const struct ugm_plan_chunk *c)
{
	return c->arrived < p->slot || (p->waiting && c->home == UGM_TIER_GPU);
}

/* planner_guide.c: what a solved relaxation says is to be away */
void ugm_plan_follow(struct ugm_planner *p);

/* planner_queue.c: who is next */
void ugm_plan_enqueue(struct ugm_planner *p, u32 tensor, unsigned int class);
bool ugm_plan_top(struct ugm_planner *p, enum ugm_plan_queue q, u32 *tensor);
u32 ugm_plan_first(struct ugm_planner *p, enum ugm_plan_queue q, u32 *tensor);
void ugm_plan_pop(struct ugm_planner *p, enum ugm_plan_queue q);
void ugm_plan_defer(struct ugm_planner *p, enum ugm_plan_queue q);
void ugm_plan_resume(struct ugm_planner *p);

/* planner_lane.c: what each link does next */
bool ugm_plan_dispatch(struct ugm_planner *p);
void ugm_plan_arrived(struct ugm_planner *p, unsigned int lane);
void ugm_plan_cancel(struct ugm_planner *p, u32 chunk);

#endif /* UGM_PLANNER_H */
