/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef UGM_ENGINE_H
#define UGM_ENGINE_H

#include "heap.h"
#include "state.h"

/**
 * DOC: engine
 *
 * The engine is a discrete-event model of a machine with a GPU tier, a host
 * tier, a flash tier and four links. It owns every decision: which block moves,
 * when, over which link, and who must leave for it. The module runs the real
 * moves as its shadow; libugm runs it alone, which is ``ugm simulate``. The
 * same inputs in the same order give the same answers to the nanosecond.
 *
 * Links. A move between GPU and host takes bytes/bandwidth of the GPU link in
 * its direction. A move between GPU and flash passes two stages, store and
 * forward, block by block: the flash link and a turn of the GPU link. At most
 * one block waits between the stages. A move between host and flash takes the
 * flash link alone. Latency delays the completion and occupies no link.
 *
 * Order. Each pair of tiers has one queue, each second stage another. Demand
 * goes before planned, planned goes by need, equals go in order of arrival. A
 * move starts when its first link is free and its destination has a frame; the
 * head of a queue that finds no frame holds up its own queue only.
 *
 * Scale. The engine counts full-size bytes: a block stands for
 * &ugm_machine.block_bytes of them, whatever the real block holds.
 *
 * Calls. The caller serialises all calls on one engine (the module holds the
 * engine mutex). ugm_engine_begin() enlists a demand, ugm_engine_run() advances
 * the model until that demand has ended, or says %UGM_RUN_WAIT when it cannot go
 * on before a real move has finished; the caller then does the moves it was
 * handed by ops->start, and calls again. Under the virtual clock time stops at
 * the end of a demand: events of that instant are handled when the next begins.
 * With the real clock links are unlimited and a move ends when it has ended;
 * with the paced clock an event is also not handled before its wall time.
 */

/* Links; the GPU link is full duplex. */
enum ugm_link {
	UGM_LINK_GPU_IN,
	UGM_LINK_GPU_OUT,
	UGM_LINK_FLASH_READ,
	UGM_LINK_FLASH_WRITE,
	UGM_NR_LINKS
};

enum ugm_clock {
	UGM_CLOCK_VIRTUAL, /* the model's time; nothing sleeps */
	UGM_CLOCK_REAL, /* wall time; a move takes as long as it takes */
	UGM_CLOCK_PACED, /* wall time; the later of real and modelled */
};

/* Why a block moved; statistics are split by it. */
enum ugm_cause {
	UGM_CAUSE_DEMAND, /* a launch or a GPU-view touch missed it */
	UGM_CAUSE_PLANNED, /* a hint asked for it */
	UGM_CAUSE_EVICTION, /* room was needed */
	UGM_CAUSE_TOUCH, /* the CPU touched the host view */
	UGM_NR_CAUSES
};

/* Who moved it. */
enum ugm_lane {
	UGM_LANE_KERNEL,
	UGM_LANE_PLANNER,
	UGM_NR_LANES
};

/* Why a result may differ from simulate's; bits of ugm_engine.inexact. */
#define UGM_INEXACT_TOUCH (1u << 0) /* a view touch moved a block */
#define UGM_INEXACT_HELD (1u << 1) /* a page was held, another victim was taken */
#define UGM_INEXACT_DIRTY (1u << 2) /* a write nobody announced voided a copy */
#define UGM_INEXACT_FOREIGN (1u << 3) /* another process gave hints */
#define UGM_INEXACT_MEMORY (1u << 4) /* an allocation failed */
#define UGM_INEXACT_IO (1u << 5) /* a flash error */
#define UGM_INEXACT_SHARED (1u << 6) /* several threads or spaces */
#define UGM_INEXACT_CLOCK (1u << 7) /* not the virtual clock */

/**
 * struct ugm_machine - what is modelled
 * @clock: enum ugm_clock
 * @block_bytes: full-size bytes a block stands for, at most 2^32
 * @capacity: full-size bytes of each memory tier; whole blocks count
 * @bandwidth: bytes per second of each link
 * @gpu_latency_ns: added to each move between GPU and host
 * @flash_latency_ns: added to each move that involves flash
 * @fault_ns: handling latency of one fault batch
 * @fault_batch_bytes: full-size bytes a fault batch holds at most
 */
struct ugm_machine {
	u32 clock;
	u64 block_bytes;
	u64 capacity[UGM_NR_TIERS];
	u64 bandwidth[UGM_NR_LINKS];
	u64 gpu_latency_ns;
	u64 flash_latency_ns;
	u64 fault_ns;
	u64 fault_batch_bytes;
};

enum ugm_victim { UGM_VICTIM_FIFO, UGM_VICTIM_LRU, UGM_VICTIM_NEED };
enum ugm_clean { UGM_CLEAN_WRITE, UGM_CLEAN_DROP };
enum ugm_dead { UGM_DEAD_KEEP, UGM_DEAD_LAZY, UGM_DEAD_DROP };
enum ugm_prefetch_evicts {
	UGM_PREFETCH_EVICTS_NONE,
	UGM_PREFETCH_EVICTS_UNPROTECTED,
	UGM_PREFETCH_EVICTS_ANY,
};
enum ugm_overlap { UGM_OVERLAP_FULL, UGM_OVERLAP_NONE };

/**
 * struct ugm_options - the run-time rules of a space (a schedule's options)
 * @victim: order of victims
 * @clean: what a clean victim with a valid copy costs
 * @dead: what DISCARD does
 * @promote: a demand promotes a block that is already queued
 * @prefetch_evicts: whom a prefetch may evict
 * @overlap: does execution overlap with the wait for operands
 * @demand: may a launch miss an operand
 */
struct ugm_options {
	u8 victim;
	u8 clean;
	u8 dead;
	u8 promote;
	u8 prefetch_evicts;
	u8 overlap;
	u8 demand;
};

/* Hint operations; the numbers are the UAPI's. */
enum ugm_op {
	UGM_OP_PREFETCH,
	UGM_OP_EVICT,
	UGM_OP_DISCARD,
	UGM_OP_PIN,
	UGM_OP_UNPIN,
	UGM_OP_PROTECT,
	UGM_OP_UNPROTECT,
	UGM_OP_WRITEBACK,
	UGM_NR_OPS
};

/* Why a hint, or a block of it, was not followed. */
enum ugm_refusal {
	UGM_REFUSED_RESIDENT, /* it is already where it should go */
	UGM_REFUSED_ABSENT, /* there is nothing to move: home none */
	UGM_REFUSED_IN_USE, /* a launch uses it, or it is pinned */
	UGM_REFUSED_BUSY, /* another move owns it */
	UGM_REFUSED_FULL, /* no room in the tier */
	UGM_REFUSED_HELD, /* somebody holds a reference on its page */
	UGM_REFUSED_CANCELLED, /* a demand or a write made it void */
	UGM_REFUSED_STALE, /* its range is gone */
	UGM_REFUSED_MEMORY, /* no memory for a transfer */
	UGM_REFUSED_REDIRECTED, /* followed, but to the next tier: this one is full */
	UGM_REFUSED_POISON, /* its data is lost */
	UGM_REFUSED_IO, /* the flash failed */
	UGM_NR_REFUSALS
};

struct ugm_space;
struct ugm_range;
struct ugm_transfer;
struct ugm_engine;

/**
 * struct ugm_block - unit of residency
 * @order: membership in the victim order of its home, if that is memory
 * @range: the range it belongs to
 * @arrival: number of its last coming to live in a memory tier, see
 *           &ugm_engine.arrivals: blocks are in @order by it
 * @transfer: the booked or running transfer, or NULL
 * @index: number within the range
 * @state: see "block states"
 * @gpu_frame: index of its frame in the GPU pool + 1, or 0 (the module's)
 * @host_pfn: page frame number of its host page, or 0 (the module's)
 * @slot: its flash slot + 1, or 0 (the module's)
 *
 * The engine never looks at the last three: they say where the data is.
 */
struct ugm_block {
	struct list_head order;
	u64 arrival;
	struct ugm_range *range;
	struct ugm_transfer *transfer;
	u32 index;
	u32 state;
	u32 gpu_frame;
	u32 host_pfn;
	u32 slot;
};

/**
 * struct ugm_range - one allocation (a tensor), as the engine sees it
 * @space: the space it belongs to
 * @tag: the user's 64-bit name of it
 * @nr_blocks: blocks
 * @tail_bytes: full-size bytes of the last block
 * @arena: pinned in the GPU tier for good, never in the victim order
 * @hints: pending hints on it, for the victim order "need"
 */
struct ugm_range {
	struct ugm_space *space;
	u64 tag;
	u32 nr_blocks;
	u64 tail_bytes;
	bool arena;
	struct list_head hints;
};

/**
 * struct ugm_space - a unified address space, as the engine sees it
 * @opt: its run-time rules
 * @launches: launches begun so far; the next one has this number
 * @pending: hints held until their launch, by (at, order of arrival)
 * @followed: blocks moved, pinned or marked as hinted, by operation
 * @refused: blocks of hints not followed, by reason
 */
struct ugm_space {
	struct ugm_options opt;
	u64 launches;
	struct ugm_heap pending;
	u64 followed[UGM_NR_OPS];
	u64 refused[UGM_NR_REFUSALS];
};

#define UGM_AT_NOW U64_MAX
#define UGM_NEED_NONE U64_MAX

/**
 * struct ugm_hint - a hint held by the engine
 * @node: membership in &ugm_space.pending
 * @of_range: membership in &ugm_range.hints
 * @range: where; NULL once the range is gone
 * @first: first block
 * @nr: blocks
 * @at: launch at whose begin it acts; UGM_AT_NOW, or a past one: at once
 * @need: launch that needs it, or UGM_NEED_NONE
 * @cookie: the user's, returned with events
 * @op: enum ugm_op
 * @tier: destination of PREFETCH, EVICT and WRITEBACK
 */
struct ugm_hint {
	struct ugm_heap_node node;
	struct list_head of_range;
	struct ugm_range *range;
	u32 first;
	u32 nr;
	u64 at;
	u64 need;
	u64 cookie;
	u8 op;
	u8 tier;
};

/* Where a transfer is. */
enum ugm_phase {
	UGM_PHASE_QUEUED, /* in the queue of its path */
	UGM_PHASE_LINK, /* holds a link */
	UGM_PHASE_BETWEEN, /* waits for its second link */
	UGM_PHASE_LATENCY, /* has used its links */
};

/**
 * struct ugm_transfer - one block on its way between two tiers
 * @node: membership in a queue or in the event list
 * @list: membership in &ugm_engine.moving or &ugm_engine.evicting
 * @block: what moves
 * @need: launch that needs it, for the order of planned ones
 * @cookie: of the hint that asked for it
 * @src: enum ugm_tier
 * @dst: enum ugm_tier
 * @cause: enum ugm_cause
 * @lane: enum ugm_lane, set by ops->start
 * @phase: enum ugm_phase
 * @stage: which of its links it holds or waits for, from 0
 * @demand: goes before planned ones
 * @copy: a write-back: the home stays
 * @keep: the source stays a valid copy
 * @evict: its end is to make room: booked when it is queued
 * @hinted: a hint asked for it, whoever made it go first since
 * @booked: its source is revoked and busy
 * @frees: counted in &ugm_engine.freeing: a demand may count on its frame
 * @late: the real move was slower than the model (paced clock)
 *
 * The module embeds it in its own structure.
 */
struct ugm_transfer {
	struct ugm_heap_node node;
	struct list_head list;
	struct ugm_block *block;
	u64 need;
	u64 cookie;
	u8 src;
	u8 dst;
	u8 cause;
	u8 lane;
	u8 phase;
	u8 stage;
	bool demand;
	bool copy;
	bool keep;
	bool evict;
	bool hinted;
	bool booked;
	bool frees;
	bool late;
};

#define UGM_OPERAND_READ 1u
#define UGM_OPERAND_WRITE 2u

/**
 * struct ugm_operand - part of a range that a launch uses
 * @range: the range
 * @first: first block
 * @nr: blocks
 * @mode: UGM_OPERAND_READ and/or UGM_OPERAND_WRITE
 */
struct ugm_operand {
	struct ugm_range *range;
	u32 first;
	u32 nr;
	u32 mode;
};

/**
 * struct ugm_demand - a launch, or a touch through a view
 * @list: membership in &ugm_engine.demands (the engine's)
 * @node: its next fault batch, or its end, in the event list (the engine's)
 * @space: whose
 * @operands: operands, the caller's array
 * @nr_operands: how many
 * @duration_ns: how long it runs once it can
 * @launch: counts as a launch: releases hints, obeys overlap, gets a number
 * @cause: enum ugm_cause of what it fetches
 * @tier: where its blocks must be: the GPU tier but for a touch of the host view
 *
 * @number: launch number
 * @begin_ns: begin
 * @arrived_ns: when the last operand was there
 * @end_ns: end
 * @batches: fault batches
 * @fault_bytes: full-size bytes that were missing at begin
 * @missing: blocks still missing
 * @error: 0, or why it failed
 * @done: it has ended
 * @stage: the engine's, as are the next ones; here, where it is
 * @seq: order of its alarm
 * @batch_operand: its operand
 * @batch_block: its block in the operand
 * @batch_base: batches of the operands before
 * @batch_bytes: missing bytes of this operand so far
 */
struct ugm_demand {
	struct list_head list;
	struct ugm_heap_node node;
	struct ugm_space *space;
	const struct ugm_operand *operands;
	u32 nr_operands;
	u64 duration_ns;
	bool launch;
	u8 cause;
	u8 tier;

	u64 number;
	u64 begin_ns;
	u64 arrived_ns;
	u64 end_ns;
	u64 batches;
	u64 fault_bytes;
	u64 missing;
	int error;
	bool done;

	/* The engine's: its stage, and where the next fault batch begins. */
	u8 stage;
	u64 seq;
	u32 batch_operand;
	u32 batch_block;
	u64 batch_base;
	u64 batch_bytes;
};

/**
 * struct ugm_engine_ops - what the engine asks of its host
 * @block: block @index of @range, created if it does not exist; NULL: no memory
 * @next_block: the first existing block of @range at or after @index, or NULL
 * @transfer_alloc: a zeroed transfer, or NULL
 * @transfer_free: give one back
 * @revoke: take @nr blocks from every mapping and see whether anybody holds
 *          them; clears the pointers of those that are held, and calls
 *          ugm_engine_found_dirty() for those that were written unannounced
 * @start: the model started @t: take the destination's frame or slot and queue
 *         the real move. -ENOSPC: there is no such frame after all; -EAGAIN:
 *         there will be one soon, ugm_engine_run() is to say %UGM_RUN_WAIT.
 * @moved: has the real move of @t finished? (true in simulate)
 * @commit: the model ends @t: the destination is valid, give up the source
 *          (unless t->keep or t->copy). Called before the state changes.
 * @cancel: the model gave up @t after it started
 * @alloc: a zeroed frame of @tier for @b. 0 or -ENOMEM.
 * @release: @b's place in @tier is not used any more
 * @now: wall time in ns (real and paced clock only)
 * @hint_free: the engine is done with @h: @refused blocks were not followed, the
 *             last of them for the reason @why (enum ugm_refusal)
 *
 * Context: all are called under the caller's serialisation and must not sleep
 * for I/O, for references or for user space.
 */
struct ugm_engine_ops {
	struct ugm_block *(*block)(struct ugm_engine *e,
				   struct ugm_range *range, u32 index);
	struct ugm_block *(*next_block)(struct ugm_engine *e,
					struct ugm_range *range, u32 index);
	struct ugm_transfer *(*transfer_alloc)(struct ugm_engine *e);
	void (*transfer_free)(struct ugm_engine *e, struct ugm_transfer *t);
	void (*revoke)(struct ugm_engine *e, struct ugm_block **blocks,
		       unsigned int nr);
	int (*start)(struct ugm_engine *e, struct ugm_transfer *t);
	bool (*moved)(struct ugm_engine *e, struct ugm_transfer *t);
	void (*commit)(struct ugm_engine *e, struct ugm_transfer *t);
	void (*cancel)(struct ugm_engine *e, struct ugm_transfer *t);
	int (*alloc)(struct ugm_engine *e, struct ugm_block *b,
		     enum ugm_tier tier);
	void (*release)(struct ugm_engine *e, struct ugm_block *b,
			enum ugm_tier tier);
	u64 (*now)(struct ugm_engine *e);
	void (*hint_free)(struct ugm_engine *e, struct ugm_hint *h, u64 refused,
			  u32 why);
};

/**
 * struct ugm_engine_stats - what was moved, in full-size bytes and in blocks
 * @bytes: by source, destination, lane and cause
 * @blocks: likewise
 * @dropped: blocks given up for a valid copy, without a move
 * @discarded: blocks whose data was declared useless
 * @cancelled: transfers that were given up
 * @cancelled_ns: link time they had used
 * @promoted: queued blocks that a demand promoted
 * @allocated: frames taken without a move
 * @late: moves that were slower than the model (paced clock)
 */
struct ugm_engine_stats {
	u64 bytes[UGM_NR_TIERS][UGM_NR_TIERS][UGM_NR_LANES][UGM_NR_CAUSES];
	u64 blocks[UGM_NR_TIERS][UGM_NR_TIERS][UGM_NR_LANES][UGM_NR_CAUSES];
	u64 dropped;
	u64 discarded;
	u64 cancelled;
	u64 cancelled_ns;
	u64 promoted;
	u64 allocated;
	u64 late;
};

/**
 * struct ugm_engine - the model of one device
 * @ops: its host
 * @m: the machine
 * @now_ns: the model's time
 * @seq: order of arrival
 * @capacity: blocks of each memory tier
 * @used: blocks of each tier in use, reservations of started moves included
 * @copies: of @used, those that are only copies, by tier
 * @spares: of @copies in memory tiers, those of blocks that live in memory
 * @spare: by where the copy is, where the search for the oldest of them begins:
 *         no block before it in the other tier's order has one; NULL: at the head
 * @arrivals: blocks that have come to a memory tier so far
 * @order: blocks of each memory tier in victim order (arena blocks are in none)
 * @cursor: where the search for a victim goes on, by tier and by whether a
 *          prefetch asks; NULL: at the head
 * @evicting: planned evictions in a queue, oldest first
 * @queue: transfers by path, not started; source none: takes a zeroed frame
 * @first: the queues that begin with each link, NULL at their end
 * @between: transfers that wait for their second link
 * @busy: the transfer that holds each link
 * @busy_since: since when
 * @events: ends of stages of transfers
 * @alarms: fault batches and ends of demands
 * @moving: started transfers
 * @nr_moving: how many
 * @demands: launches and touches under way
 * @wanted: queued demand transfers towards each tier: they need a frame
 * @leaving: booked or started moves out of each tier
 * @freeing: of @leaving, those that a demand may count on
 * @again: ops->start or ops->alloc said -EAGAIN
 * @resume: where the dispatcher goes on after that
 * @inexact: UGM_INEXACT_*
 * @stats: counters since the last reset
 */
struct ugm_engine {
	const struct ugm_engine_ops *ops;
	struct ugm_machine m;
	u64 now_ns;
	u64 seq;
	u64 capacity[UGM_NR_TIERS];
	u64 used[UGM_NR_TIERS];
	u64 copies[UGM_NR_TIERS];
	u64 spares[UGM_NR_TIERS];
	struct list_head *spare[UGM_NR_TIERS];
	u64 arrivals;
	struct list_head order[UGM_NR_TIERS];
	struct list_head *cursor[UGM_NR_TIERS][2];
	struct list_head evicting[UGM_NR_TIERS];
	struct ugm_heap queue[UGM_NR_TIERS][UGM_NR_TIERS];
	struct ugm_heap *first[UGM_NR_LINKS][UGM_NR_TIERS + 1];
	struct ugm_heap between[UGM_NR_LINKS];
	struct ugm_transfer *busy[UGM_NR_LINKS];
	u64 busy_since[UGM_NR_LINKS];
	struct ugm_heap events;
	struct ugm_heap alarms;
	struct list_head moving;
	u64 nr_moving;
	struct list_head demands;
	u64 wanted[UGM_NR_TIERS];
	u64 leaving[UGM_NR_TIERS];
	u64 freeing[UGM_NR_TIERS];
	bool again;
	u8 resume;
	u32 inexact;
	struct ugm_engine_stats stats;
};

/* Answers of ugm_engine_run() and ugm_engine_drain(). */
#define UGM_RUN_DONE 0
#define UGM_RUN_WAIT 1 /* until a real move ends, or the next event is due */
#define UGM_RUN_STUCK 2 /* no victim, nothing under way: try later, or abort */

void ugm_options_default(struct ugm_options *opt);
void ugm_engine_init(struct ugm_engine *e, const struct ugm_engine_ops *ops);
int ugm_engine_set_machine(struct ugm_engine *e, const struct ugm_machine *m);
int ugm_engine_reset(struct ugm_engine *e);
void ugm_space_init(struct ugm_space *s);
void ugm_space_reset(struct ugm_space *s);
void ugm_range_init(struct ugm_range *r, struct ugm_space *s, u64 tag,
		    u32 nr_blocks, u64 tail_bytes);
void ugm_block_init(struct ugm_block *b, struct ugm_range *r, u32 index);

int ugm_engine_place(struct ugm_engine *e, struct ugm_block *b,
		     enum ugm_tier tier);
void ugm_engine_hint(struct ugm_engine *e, struct ugm_space *s,
		     struct ugm_hint *h);
void ugm_engine_begin(struct ugm_engine *e, struct ugm_demand *d);
int ugm_engine_run(struct ugm_engine *e, struct ugm_demand *d);
int ugm_engine_drain(struct ugm_engine *e);
void ugm_engine_abort(struct ugm_engine *e, struct ugm_demand *d);
void ugm_engine_discard(struct ugm_engine *e, struct ugm_block *b);
void ugm_engine_forget_range(struct ugm_engine *e, struct ugm_range *r);
void ugm_engine_drop_hints(struct ugm_engine *e, struct ugm_space *s);
void ugm_engine_found_dirty(struct ugm_engine *e, struct ugm_block *b);
void ugm_engine_move_failed(struct ugm_engine *e, struct ugm_transfer *t);
u64 ugm_engine_next_event(const struct ugm_engine *e);
u64 ugm_engine_digest(struct ugm_engine *e, struct ugm_range *r);
u64 ugm_block_bytes(const struct ugm_engine *e, const struct ugm_block *b);

#endif /* UGM_ENGINE_H */
