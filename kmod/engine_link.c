// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "engine_internal.h"

/**
 * DOC: queues and links
 *
 * A transfer waits in the queue of its path, holds its first link, waits for
 * the second if it has one, holds that, waits out the latency, and is
 * committed. A transfer from nowhere (a first touch) has no links: it is over
 * as soon as there is a frame.
 */

struct path {
	u8 nr;
	u8 link[2];
};

static const struct path paths[UGM_NR_TIERS][UGM_NR_TIERS] = {
	[UGM_TIER_GPU][UGM_TIER_HOST] = { 1, { UGM_LINK_GPU_OUT } },
	[UGM_TIER_GPU][UGM_TIER_FLASH] = { 2,
					   { UGM_LINK_GPU_OUT,
					     UGM_LINK_FLASH_WRITE } },
	[UGM_TIER_HOST][UGM_TIER_GPU] = { 1, { UGM_LINK_GPU_IN } },
	[UGM_TIER_HOST][UGM_TIER_FLASH] = { 1, { UGM_LINK_FLASH_WRITE } },
	[UGM_TIER_FLASH][UGM_TIER_GPU] = { 2,
					   { UGM_LINK_FLASH_READ,
					     UGM_LINK_GPU_IN } },
	[UGM_TIER_FLASH][UGM_TIER_HOST] = { 1, { UGM_LINK_FLASH_READ } },
};

/* Started moves at once under the real clock, whose links are unlimited. */
#define REAL_DEPTH 256

static const struct path *path_of(const struct ugm_transfer *t)
{
	return &paths[t->src][t->dst];
}

/**
 * ugm_link_init() - find the queues that begin with each link
 * @e: engine
 *
 * Context: any.
 */
void ugm_link_init(struct ugm_engine *e)
{
	unsigned int nr[UGM_NR_LINKS] = { 0 }, src, dst;
	u8 link;

	for (src = 0; src < UGM_NR_TIERS; src++)
		for (dst = 0; dst < UGM_NR_TIERS; dst++) {
			if (!paths[src][dst].nr)
				continue;
			link = paths[src][dst].link[0];
			e->first[link][nr[link]++] = &e->queue[src][dst];
		}
}

static struct ugm_transfer *transfer_of(struct ugm_heap_node *n)
{
	return n ? container_of(n, struct ugm_transfer, node) : NULL;
}

static u64 key_of(const struct ugm_transfer *t)
{
	if (t->demand)
		return 0;
	return t->need < U64_MAX - 1 ? t->need + 1 : U64_MAX;
}

/* A queued fetch or first touch of a demand needs a frame in its destination. */
static bool wants(const struct ugm_transfer *t)
{
	return t->phase == UGM_PHASE_QUEUED && t->demand && !t->evict;
}

static u64 duration(const struct ugm_engine *e, const struct ugm_transfer *t,
		    u8 link)
{
	u64 bytes = ugm_block_bytes(e, t->block);
	u64 bw = e->m.bandwidth[link];

	return div64_u64(bytes * 1000000000ULL + bw - 1, bw);
}

static u64 latency(const struct ugm_engine *e, const struct ugm_transfer *t)
{
	if (t->src == UGM_TIER_FLASH || t->dst == UGM_TIER_FLASH)
		return e->m.flash_latency_ns;
	return e->m.gpu_latency_ns;
}

/**
 * ugm_transfer_new() - a transfer for a block that has none
 * @e: engine
 * @b: block
 * @dst: where to
 * @cause: why
 *
 * Context: the engine's serialisation.
 * Return: the transfer, not queued, or NULL where there is no memory.
 */
struct ugm_transfer *ugm_transfer_new(struct ugm_engine *e, struct ugm_block *b,
				      enum ugm_tier dst, enum ugm_cause cause)
{
	struct ugm_transfer *t = e->ops->transfer_alloc(e);

	if (!t) {
		e->inexact |= UGM_INEXACT_MEMORY;
		return NULL;
	}
	INIT_LIST_HEAD(&t->list);
	t->block = b;
	t->src = ugm_state_home(b->state);
	t->dst = dst;
	t->cause = cause;
	t->need = UGM_NEED_NONE;
	b->transfer = t;
	return t;
}

/**
 * ugm_transfer_queue() - put a transfer into the queue of its path
 * @e: engine
 * @t: a transfer in no queue
 *
 * Context: the engine's serialisation.
 */
void ugm_transfer_queue(struct ugm_engine *e, struct ugm_transfer *t)
{
	t->phase = UGM_PHASE_QUEUED;
	ugm_heap_push(&e->queue[t->src][t->dst], &t->node, key_of(t), ++e->seq);
	if (wants(t))
		e->wanted[t->dst]++;
	if (t->evict && !t->frees)
		list_move_tail(&t->list, &e->evicting[t->src]);
}

static void dequeue(struct ugm_engine *e, struct ugm_transfer *t)
{
	ugm_heap_remove(&e->queue[t->src][t->dst], &t->node);
	if (wants(t))
		e->wanted[t->dst]--;
}

/**
 * ugm_transfer_rekey() - a planned transfer is needed earlier than thought
 * @e: engine
 * @t: a queued transfer
 * @need: launch that needs it
 *
 * Context: the engine's serialisation.
 */
void ugm_transfer_rekey(struct ugm_engine *e, struct ugm_transfer *t, u64 need)
{
	dequeue(e, t);
	t->need = need;
	ugm_transfer_queue(e, t);
}

/**
 * ugm_transfer_promote() - a demand waits for it: it goes before planned ones
 * @e: engine
 * @t: any transfer under way
 *
 * One that has not started is the demand's from now on, also in the statistics.
 *
 * Context: the engine's serialisation.
 */
void ugm_transfer_promote(struct ugm_engine *e, struct ugm_transfer *t)
{
	u8 link;

	if (t->demand)
		return;
	e->stats.promoted++;
	if (t->phase == UGM_PHASE_QUEUED) {
		dequeue(e, t);
		t->demand = true;
		t->cause = t->evict ? UGM_CAUSE_EVICTION : UGM_CAUSE_DEMAND;
		ugm_transfer_queue(e, t);
		return;
	}
	t->demand = true;
	if (t->phase == UGM_PHASE_BETWEEN) {
		link = path_of(t)->link[t->stage];
		ugm_heap_remove(&e->between[link], &t->node);
		ugm_heap_push(&e->between[link], &t->node, key_of(t), ++e->seq);
	}
}

/**
 * ugm_transfer_frees() - count on the frame that this transfer will free
 * @e: engine
 * @t: a booked move out of memory
 *
 * Context: the engine's serialisation.
 */
void ugm_transfer_frees(struct ugm_engine *e, struct ugm_transfer *t)
{
	if (t->frees || !t->booked || !ugm_tier_is_memory(t->src))
		return;
	t->frees = true;
	e->freeing[t->src]++;
	if (t->phase == UGM_PHASE_QUEUED)
		list_del_init(&t->list);
}

/* The transfer is over: undo its booking and let it go. */
static void transfer_end(struct ugm_engine *e, struct ugm_transfer *t)
{
	if (t->booked && ugm_tier_is_memory(t->src))
		e->leaving[t->src]--;
	if (t->frees)
		e->freeing[t->src]--;
	if (t->copy)
		ugm_room_rescan(e);
	t->block->transfer = NULL;
	e->ops->transfer_free(e, t);
}

/**
 * ugm_transfer_cancel() - give a transfer up, wherever it is
 * @e: engine
 * @t: transfer; gone afterwards
 *
 * The block stays at its source; link time that was used is lost.
 *
 * Context: the engine's serialisation.
 */
void ugm_transfer_cancel(struct ugm_engine *e, struct ugm_transfer *t)
{
	u8 link;

	if (t->phase == UGM_PHASE_QUEUED) {
		dequeue(e, t);
		list_del_init(&t->list);
	} else {
		link = path_of(t)->link[t->stage];
		if (t->phase == UGM_PHASE_BETWEEN) {
			ugm_heap_remove(&e->between[link], &t->node);
		} else if (e->m.clock != UGM_CLOCK_REAL) {
			ugm_heap_remove(&e->events, &t->node);
			if (t->phase == UGM_PHASE_LINK) {
				e->busy[link] = NULL;
				e->stats.cancelled_ns +=
					e->now_ns - e->busy_since[link];
			}
		}
		list_del_init(&t->list);
		e->nr_moving--;
		e->used[t->dst]--;
		e->ops->cancel(e, t);
	}
	if (t->booked)
		ugm_block_apply(t->block, UGM_EV_CANCEL, UGM_TIER_NONE);
	e->stats.cancelled++;
	transfer_end(e, t);
}

/**
 * ugm_transfer_refuse() - a queued transfer cannot be carried out
 * @e: engine
 * @t: a queued transfer; gone afterwards
 * @why: the reason, counted for planned ones
 *
 * Context: the engine's serialisation.
 */
void ugm_transfer_refuse(struct ugm_engine *e, struct ugm_transfer *t,
			 enum ugm_refusal why)
{
	if (t->cause == UGM_CAUSE_PLANNED)
		t->block->range->space->refused[why]++;
	ugm_transfer_cancel(e, t);
}

/**
 * ugm_transfer_commit() - the model ends a transfer
 * @e: engine
 * @t: a started transfer whose real move has finished; gone afterwards
 *
 * Context: the engine's serialisation.
 */
void ugm_transfer_commit(struct ugm_engine *e, struct ugm_transfer *t)
{
	struct ugm_block *b = t->block;
	u64 bytes = ugm_block_bytes(e, b);
	enum ugm_tier src = (enum ugm_tier)t->src;
	enum ugm_tier dst = (enum ugm_tier)t->dst;

	t->keep = !t->copy && src != UGM_TIER_GPU &&
		  !(src == UGM_TIER_HOST && dst == UGM_TIER_FLASH) &&
		  b->range->space->opt.clean == UGM_CLEAN_DROP &&
		  !(b->state & UGM_S_WRITTEN);
	e->ops->commit(e, t);
	list_del_init(&t->list);
	e->nr_moving--;
	e->stats.bytes[src][dst][t->lane][t->cause] += bytes;
	e->stats.blocks[src][dst][t->lane][t->cause]++;

	if (t->copy) {
		ugm_block_apply(b, UGM_EV_COPIED, dst);
		e->copies[dst]++;
		ugm_room_copied(e, b, dst);
		transfer_end(e, t);
		return;
	}
	if (ugm_tier_is_memory(src))
		ugm_room_leave(e, b);
	ugm_block_apply(b, t->keep ? UGM_EV_MOVED_KEEP : UGM_EV_MOVED, dst);
	if (t->keep)
		e->copies[src]++;
	else
		e->used[src]--;
	transfer_end(e, t);
	if (ugm_tier_is_memory(dst)) {
		ugm_room_enter(e, b);
		ugm_demand_arrived(e, b);
	}
}

/* A first touch: no link, only a frame. */
static int start_alloc(struct ugm_engine *e, struct ugm_transfer *t)
{
	struct ugm_block *b = t->block;
	enum ugm_tier dst = (enum ugm_tier)t->dst;
	int err = e->ops->alloc(e, b, dst);

	if (err)
		return err;
	dequeue(e, t);
	e->used[dst]++;
	e->stats.allocated++;
	ugm_block_apply(b, UGM_EV_ALLOC, dst);
	transfer_end(e, t);
	ugm_room_enter(e, b);
	ugm_demand_arrived(e, b);
	return 0;
}

/*
 * Take a block out of memory from its mappings. A write-back leaves it usable:
 * a write that happens during the copy is found by its dirty bit later.
 */
static bool take(struct ugm_engine *e, struct ugm_transfer *t)
{
	struct ugm_block *b = t->block;

	if (t->booked)
		return true;
	if (!t->copy)
		ugm_block_apply(b, UGM_EV_BOOK, UGM_TIER_NONE);
	if (ugm_tier_is_memory((enum ugm_tier)t->src)) {
		e->ops->revoke(e, &b, 1);
		if (!b) {
			e->inexact |= UGM_INEXACT_HELD;
			if (!t->copy)
				ugm_block_apply(t->block, UGM_EV_CANCEL,
						UGM_TIER_NONE);
			return false;
		}
		if (!t->copy)
			e->leaving[t->src]++;
	}
	t->booked = !t->copy;
	return true;
}

static int start_move(struct ugm_engine *e, struct ugm_transfer *t)
{
	const struct path *p = path_of(t);
	struct ugm_block *b = t->block;
	int err;

	/* An old copy there would be a second one: it is written anew. */
	if (ugm_state_has_copy(b->state, (enum ugm_tier)t->dst))
		ugm_room_forget(e, b, (enum ugm_tier)t->dst);
	if (!take(e, t))
		return -EBUSY;
	err = e->ops->start(e, t);
	if (err)
		return err;
	dequeue(e, t);
	ugm_transfer_frees(e, t);
	e->used[t->dst]++;
	e->nr_moving++;
	list_move_tail(&t->list, &e->moving);
	t->stage = 0;
	t->phase = UGM_PHASE_LINK;
	if (e->m.clock == UGM_CLOCK_REAL)
		return 0;
	e->busy[p->link[0]] = t;
	e->busy_since[p->link[0]] = e->now_ns;
	ugm_heap_push(&e->events, &t->node,
		      e->now_ns + duration(e, t, p->link[0]), ++e->seq);
	return 0;
}

/* An eviction that finds its tier full goes to the next one. */
static void redirect(struct ugm_engine *e, struct ugm_transfer *t)
{
	if (t->cause == UGM_CAUSE_PLANNED)
		t->block->range->space->refused[UGM_REFUSED_REDIRECTED]++;
	dequeue(e, t);
	t->dst = UGM_TIER_FLASH;
	ugm_transfer_queue(e, t);
}

enum room { ROOM_YES, ROOM_NO, ROOM_CHANGED };

/*
 * Something leaves the tier: a plan that fills it counts on that room. Flash has
 * room for what waits in a queue, so that this ends.
 */
static bool room_comes(const struct ugm_engine *e, enum ugm_tier tier)
{
	return e->leaving[tier] || !list_empty(&e->evicting[tier]);
}

static enum room room_full(struct ugm_engine *e, struct ugm_transfer *t)
{
	if (t->evict && t->dst != UGM_TIER_FLASH) {
		if (t->hinted && room_comes(e, (enum ugm_tier)t->dst))
			return ROOM_NO;
		redirect(e, t);
		return ROOM_CHANGED;
	}
	if (t->demand)
		return ROOM_NO;
	if (t->dst == UGM_TIER_GPU && !t->copy)
		return ROOM_NO; /* a prefetch waits for its frame */
	ugm_transfer_refuse(e, t, UGM_REFUSED_FULL);
	return ROOM_CHANGED;
}

static enum room room_for(struct ugm_engine *e, struct ugm_transfer *t)
{
	enum ugm_tier dst = (enum ugm_tier)t->dst;
	u64 reserved = t->demand || t->evict ? 0 : e->wanted[dst];

	if (dst == UGM_TIER_FLASH || ugm_room_free(e, dst) > reserved)
		return ROOM_YES;
	if (!t->copy && ugm_room_reclaim(e, dst))
		return ROOM_CHANGED;
	return room_full(e, t);
}

/* Try to start the head of a queue. Is anything different now? */
static bool try_start(struct ugm_engine *e, struct ugm_transfer *t)
{
	const struct path *p = path_of(t);
	int err;

	if (e->m.clock == UGM_CLOCK_REAL) {
		if (e->nr_moving >= REAL_DEPTH)
			return false;
	} else if (p->nr == 2 && e->between[p->link[1]].nr) {
		return false;
	}
	switch (room_for(e, t)) {
	case ROOM_NO:
		return false;
	case ROOM_CHANGED:
		return true;
	case ROOM_YES:
		break;
	}
	err = p->nr ? start_move(e, t) : start_alloc(e, t);
	switch (err) {
	case 0:
		return true;
	case -EAGAIN:
		e->again = true;
		return false;
	case -EBUSY:
		if (t->demand && !t->evict)
			return false; /* it may be let go: the caller retries */
		ugm_transfer_refuse(e, t, UGM_REFUSED_HELD);
		return true;
	default: /* no memory, or no slot */
		e->inexact |= UGM_INEXACT_MEMORY;
		if (ugm_room_reclaim(e, (enum ugm_tier)t->dst))
			return true;
		if (t->dst == UGM_TIER_FLASH && !t->demand) {
			ugm_transfer_refuse(e, t, UGM_REFUSED_FULL);
			return true;
		}
		return room_full(e, t) == ROOM_CHANGED ||
		       ugm_room_replace(e, t);
	}
}

static bool give_link(struct ugm_engine *e, u8 link)
{
	struct ugm_transfer *heads[UGM_NR_TIERS + 1], *t;
	unsigned int nr = 0, i, best;
	struct ugm_heap **q;

	if (e->busy[link])
		return false;
	if (e->between[link].root)
		heads[nr++] = transfer_of(e->between[link].root);
	for (q = e->first[link]; *q; q++)
		if ((*q)->root)
			heads[nr++] = transfer_of((*q)->root);
	while (nr) {
		best = 0;
		for (i = 1; i < nr; i++)
			if (ugm_heap_before(&heads[i]->node,
					    &heads[best]->node))
				best = i;
		t = heads[best];
		if (t->phase == UGM_PHASE_BETWEEN) {
			ugm_heap_remove(&e->between[link], &t->node);
			t->phase = UGM_PHASE_LINK;
			e->busy[link] = t;
			e->busy_since[link] = e->now_ns;
			ugm_heap_push(&e->events, &t->node,
				      e->now_ns + duration(e, t, link),
				      ++e->seq);
			return true;
		}
		if (try_start(e, t))
			return true;
		if (e->again)
			return false;
		heads[best] = heads[--nr];
	}
	return false;
}

static bool start_unlinked(struct ugm_engine *e, unsigned int src)
{
	bool progress = false;
	unsigned int dst;

	for (dst = UGM_TIER_GPU; dst < UGM_NR_TIERS; dst++)
		while (e->queue[src][dst].root && !e->again &&
		       try_start(e, transfer_of(e->queue[src][dst].root)))
			progress = true;
	return progress;
}

/**
 * ugm_link_dispatch() - start whatever can start now
 * @e: engine
 *
 * First touches come before links. Where a start has to wait for a frame that
 * is about to come back (-EAGAIN), the next call goes on at the same point, so
 * that the order of decisions does not depend on how long that takes.
 *
 * Context: the engine's serialisation.
 */
void ugm_link_dispatch(struct ugm_engine *e)
{
	unsigned int nr = e->m.clock == UGM_CLOCK_REAL ? UGM_NR_TIERS :
							 UGM_NR_LINKS;
	bool progress = e->again;
	unsigned int i;

	if (!e->again)
		e->resume = 0;
	e->again = false;
	do {
		if (!e->resume) {
			progress = false;
			ugm_room_make(e);
		}
		if (e->resume <= 1) {
			e->resume = 1;
			progress |= start_unlinked(e, UGM_TIER_NONE);
			if (e->again)
				return;
		}
		for (i = e->resume > 1 ? e->resume - 2u : 0; i < nr; i++) {
			e->resume = (u8)(i + 2);
			if (e->m.clock != UGM_CLOCK_REAL)
				progress |= give_link(e, (u8)i);
			else
				progress |= start_unlinked(e, i);
			if (e->again)
				return;
		}
		e->resume = 0;
	} while (progress);
}

/**
 * ugm_transfer_ending() - is its next event its end?
 * @e: engine
 * @t: a transfer in the event list
 *
 * Context: the engine's serialisation.
 */
bool ugm_transfer_ending(const struct ugm_engine *e,
			 const struct ugm_transfer *t)
{
	return t->phase == UGM_PHASE_LATENCY ||
	       (t->stage + 1 == path_of(t)->nr && !latency(e, t));
}

/**
 * ugm_transfer_event() - the end of a stage has come
 * @e: engine
 * @t: the transfer, out of the event list; its real move has finished if
 *     ugm_transfer_ending()
 *
 * Context: the engine's serialisation.
 */
void ugm_transfer_event(struct ugm_engine *e, struct ugm_transfer *t)
{
	const struct path *p = path_of(t);

	if (t->phase == UGM_PHASE_LINK) {
		e->busy[p->link[t->stage]] = NULL;
		if (t->stage + 1 < p->nr) {
			t->stage++;
			t->phase = UGM_PHASE_BETWEEN;
			ugm_heap_push(&e->between[p->link[t->stage]], &t->node,
				      key_of(t), ++e->seq);
			return;
		}
		if (latency(e, t)) {
			t->phase = UGM_PHASE_LATENCY;
			ugm_heap_push(&e->events, &t->node,
				      e->now_ns + latency(e, t), ++e->seq);
			return;
		}
	}
	ugm_transfer_commit(e, t);
}
