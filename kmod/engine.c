// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "engine_internal.h"

#ifndef __KERNEL__
unsigned int ugm_pure_warnings;
#endif

/* A block stands for so much at most: bytes x 10^9 must fit into 64 bits. */
#define MAX_BLOCK_BYTES (1ULL << 32)

/**
 * ugm_options_default() - the run-time rules of a new space
 * @opt: options
 *
 * Context: any.
 */
void ugm_options_default(struct ugm_options *opt)
{
	*opt = (struct ugm_options){
		.victim = UGM_VICTIM_FIFO,
		.clean = UGM_CLEAN_WRITE,
		.dead = UGM_DEAD_KEEP,
		.promote = 1,
		.prefetch_evicts = UGM_PREFETCH_EVICTS_UNPROTECTED,
		.overlap = UGM_OVERLAP_FULL,
		.demand = 1,
	};
}

/**
 * ugm_engine_init() - an engine without a machine
 * @e: engine
 * @ops: its host
 *
 * Context: any.
 */
void ugm_engine_init(struct ugm_engine *e, const struct ugm_engine_ops *ops)
{
	unsigned int t;

	memset(e, 0, sizeof(*e));
	e->ops = ops;
	INIT_LIST_HEAD(&e->moving);
	INIT_LIST_HEAD(&e->demands);
	for (t = 0; t < UGM_NR_TIERS; t++) {
		INIT_LIST_HEAD(&e->order[t]);
		INIT_LIST_HEAD(&e->evicting[t]);
	}
	ugm_link_init(e);
}

/**
 * ugm_engine_set_machine() - what is modelled
 * @e: engine
 * @m: machine
 *
 * Context: the engine's serialisation.
 * Return: 0; -EBUSY while frames or slots are in use or anything is under way;
 * -EINVAL for a block size of 0 or over 2^32, a bandwidth of 0, or an empty GPU
 * tier.
 */
int ugm_engine_set_machine(struct ugm_engine *e, const struct ugm_machine *m)
{
	unsigned int i;

	if (!m->block_bytes || m->block_bytes > MAX_BLOCK_BYTES ||
	    !m->fault_batch_bytes || m->clock > UGM_CLOCK_PACED ||
	    m->capacity[UGM_TIER_GPU] < m->block_bytes)
		return -EINVAL;
	for (i = 0; i < UGM_NR_LINKS; i++)
		if (!m->bandwidth[i])
			return -EINVAL;
	for (i = 0; i < UGM_NR_TIERS; i++)
		if (e->used[i])
			return -EBUSY;
	if (ugm_engine_reset(e))
		return -EBUSY;
	e->m = *m;
	for (i = UGM_TIER_NONE + 1; i < UGM_TIER_FLASH; i++)
		e->capacity[i] = div64_u64(m->capacity[i], m->block_bytes);
	e->capacity[UGM_TIER_FLASH] = U64_MAX;
	return ugm_engine_reset(e);
}

/**
 * ugm_engine_reset() - time and counters start anew
 * @e: engine
 *
 * Hints that are held stay so, in the order they came.
 *
 * Context: the engine's serialisation.
 * Return: 0, or -EBUSY while anything is queued or under way.
 */
int ugm_engine_reset(struct ugm_engine *e)
{
	unsigned int s, d;

	if (!list_empty(&e->moving) || !list_empty(&e->demands))
		return -EBUSY;
	for (s = 0; s < UGM_NR_TIERS; s++)
		for (d = 0; d < UGM_NR_TIERS; d++)
			if (e->queue[s][d].root)
				return -EBUSY;
	e->now_ns = 0;
	e->inexact = e->m.clock == UGM_CLOCK_VIRTUAL ? 0 : UGM_INEXACT_CLOCK;
	memset(&e->stats, 0, sizeof(e->stats));
	ugm_room_rescan(e);
	if (e->m.clock != UGM_CLOCK_VIRTUAL && e->m.block_bytes)
		e->now_ns = e->ops->now(e);
	return 0;
}

/**
 * ugm_space_init() - a space without ranges
 * @s: space
 *
 * Context: any.
 */
void ugm_space_init(struct ugm_space *s)
{
	memset(s, 0, sizeof(*s));
	ugm_options_default(&s->opt);
}

/**
 * ugm_space_reset() - launch numbers and counters start anew
 * @s: space; the hints it holds are for launches by their new numbers
 *
 * Context: the engine's serialisation.
 */
void ugm_space_reset(struct ugm_space *s)
{
	s->launches = 0;
	memset(s->followed, 0, sizeof(s->followed));
	memset(s->refused, 0, sizeof(s->refused));
}

/**
 * ugm_range_init() - a range without blocks
 * @r: range
 * @s: its space
 * @tag: the user's name for it
 * @nr_blocks: blocks
 * @tail_bytes: full-size bytes of the last one
 *
 * Context: any.
 */
void ugm_range_init(struct ugm_range *r, struct ugm_space *s, u64 tag,
		    u32 nr_blocks, u64 tail_bytes)
{
	memset(r, 0, sizeof(*r));
	r->space = s;
	r->tag = tag;
	r->nr_blocks = nr_blocks;
	r->tail_bytes = tail_bytes;
	INIT_LIST_HEAD(&r->hints);
}

/**
 * ugm_block_init() - a block that is nowhere yet
 * @b: block
 * @r: its range
 * @index: its number there
 *
 * Context: any.
 */
void ugm_block_init(struct ugm_block *b, struct ugm_range *r, u32 index)
{
	memset(b, 0, sizeof(*b));
	INIT_LIST_HEAD(&b->order);
	b->range = r;
	b->index = index;
}

/**
 * ugm_block_bytes() - full-size bytes a block stands for
 * @e: engine
 * @b: block
 *
 * Context: any.
 */
u64 ugm_block_bytes(const struct ugm_engine *e, const struct ugm_block *b)
{
	return b->index + 1 == b->range->nr_blocks ? b->range->tail_bytes :
						     e->m.block_bytes;
}

/**
 * ugm_engine_place() - set-up: a block that is nowhere lives in a tier, at once
 * @e: engine
 * @b: block
 * @tier: memory tier: a zeroed frame is taken; flash: only where there is no
 *        data (libugm), for the slot is the caller's matter
 *
 * Context: the engine's serialisation.
 * Return: 0, -ENOSPC or what ops->alloc said.
 */
int ugm_engine_place(struct ugm_engine *e, struct ugm_block *b,
		     enum ugm_tier tier)
{
	int err;

	if (ugm_state_home(b->state) != UGM_TIER_NONE || b->transfer)
		return -EINVAL;
	if (e->used[tier] >= e->capacity[tier])
		return -ENOSPC;
	if (!ugm_tier_is_memory(tier)) {
		ugm_block_flag(b, UGM_S_HOME & (u32)tier, true);
		e->used[tier]++;
		return 0;
	}
	err = e->ops->alloc(e, b, tier);
	if (err)
		return err;
	ugm_block_apply(b, UGM_EV_ALLOC, tier);
	e->used[tier]++;
	ugm_room_enter(e, b);
	return 0;
}

/**
 * ugm_engine_move_failed() - the real move of a transfer failed for good
 * @e: engine
 * @t: a started transfer; gone afterwards
 *
 * What could not be written stays where it is. What could not be read from flash
 * is lost: the block is poisoned, and demands that wait for it fail with -EIO.
 *
 * Context: the engine's serialisation.
 */
void ugm_engine_move_failed(struct ugm_engine *e, struct ugm_transfer *t)
{
	struct ugm_block *b = t->block;
	bool lost = t->src == UGM_TIER_FLASH, hit;
	struct ugm_demand *d, *next;
	u32 i;

	e->inexact |= UGM_INEXACT_IO;
	ugm_transfer_refuse(e, t, UGM_REFUSED_IO);
	if (!lost)
		return;
	ugm_block_apply(b, UGM_EV_POISON, UGM_TIER_NONE);
	list_for_each_entry_safe(d, next, &e->demands, list) {
		hit = false;
		for (i = 0; i < d->nr_operands; i++)
			hit |= d->operands[i].range == b->range &&
			       b->index >= d->operands[i].first &&
			       b->index - d->operands[i].first <
				       d->operands[i].nr;
		if (hit && d->stage == UGM_DEMAND_WAITING)
			ugm_demand_end(e, d, -EIO);
	}
}

static bool real_clock(const struct ugm_engine *e)
{
	return e->m.clock == UGM_CLOCK_REAL;
}

/* Real clock: what has moved has moved. */
static void harvest(struct ugm_engine *e)
{
	struct ugm_transfer *t, *next;

	list_for_each_entry_safe(t, next, &e->moving, list)
		if (e->ops->moved(e, t))
			ugm_transfer_commit(e, t);
}

/*
 * See what time it is and what has moved, and start what can start now. Returns
 * the wall clock's time; 0 under the virtual one.
 */
static u64 catch_up(struct ugm_engine *e)
{
	u64 wall = 0;

	if (e->m.clock != UGM_CLOCK_VIRTUAL) {
		wall = e->ops->now(e);
		/* Pages that were held may have been let go meanwhile. */
		ugm_room_rescan(e);
	}
	if (real_clock(e)) {
		if (wall > e->now_ns)
			e->now_ns = wall;
		harvest(e);
	}
	ugm_link_dispatch(e);
	return wall;
}

static struct ugm_heap_node *next_event(const struct ugm_engine *e, bool *alarm)
{
	struct ugm_heap_node *ev = e->events.root, *al = e->alarms.root;

	*alarm = al && (!ev || ugm_heap_before(al, ev));
	return *alarm ? al : ev;
}

/**
 * ugm_engine_next_event() - when the next event is due
 * @e: engine
 *
 * Context: the engine's serialisation.
 * Return: engine time in ns, or U64_MAX.
 */
u64 ugm_engine_next_event(const struct ugm_engine *e)
{
	struct ugm_heap_node *n;
	bool alarm;

	n = next_event(e, &alarm);
	return n ? n->key : U64_MAX;
}

/* Handle the next event. Returns UGM_RUN_WAIT where it has to wait. */
static int step(struct ugm_engine *e, struct ugm_heap_node *n, bool alarm,
		u64 wall)
{
	struct ugm_transfer *t = NULL;
	u64 now = n->key;

	if (e->m.clock != UGM_CLOCK_VIRTUAL && now > wall)
		return UGM_RUN_WAIT;
	if (!alarm) {
		t = container_of(n, struct ugm_transfer, node);
		if (ugm_transfer_ending(e, t) && !e->ops->moved(e, t)) {
			t->late = true;
			return UGM_RUN_WAIT;
		}
		if (t->late && e->m.clock == UGM_CLOCK_PACED) {
			e->stats.late++;
			now = wall;
		}
	}
	if (now > e->now_ns)
		e->now_ns = now;
	if (alarm) {
		ugm_heap_remove(&e->alarms, n);
		ugm_demand_alarm(e, container_of(n, struct ugm_demand, node));
	} else {
		ugm_heap_remove(&e->events, n);
		ugm_transfer_event(e, t);
	}
	return UGM_RUN_DONE;
}

/* Has everything of this instant been handled, so that a demand can begin? */
static bool quiet(const struct ugm_engine *e, const struct ugm_heap_node *n)
{
	return !n || n->key > e->now_ns;
}

/**
 * ugm_engine_run() - advance the model
 * @e: engine
 * @d: until this demand has ended; NULL: as far as wall time goes (real and
 *     paced clock)
 *
 * Context: the engine's serialisation.
 * Return: UGM_RUN_DONE; UGM_RUN_WAIT: call again when a real move has finished
 * or, with the real and the paced clock, when ugm_engine_next_event() is due;
 * UGM_RUN_STUCK: @d needs a frame and nothing that could leave is under way;
 * or the error with which @d ended.
 */
int ugm_engine_run(struct ugm_engine *e, struct ugm_demand *d)
{
	bool wall_clock = e->m.clock != UGM_CLOCK_VIRTUAL, alarm;
	u64 wall = catch_up(e);
	struct ugm_heap_node *n;
	int r;

	while (!d || d->stage != UGM_DEMAND_ENDED) {
		if (e->again)
			return UGM_RUN_WAIT;
		n = next_event(e, &alarm);
		if (d && d->stage == UGM_DEMAND_NEW && quiet(e, n)) {
			if (wall > e->now_ns && (!n || n->key > wall))
				e->now_ns = wall;
			r = ugm_demand_enter(e, d);
			if (r)
				ugm_demand_end(e, d, r);
			ugm_link_dispatch(e);
			continue;
		}
		if (!n && d && !e->nr_moving && ugm_demand_unblock(e, d)) {
			ugm_link_dispatch(e);
			continue;
		}
		if (!n || (!d && !wall_clock))
			break;
		r = step(e, n, alarm, wall);
		if (r)
			return r;
		/* Time stops at the end of a demand. */
		if (d && d->stage == UGM_DEMAND_ENDED)
			break;
		ugm_link_dispatch(e);
	}
	if (!d)
		return e->nr_moving ? UGM_RUN_WAIT : UGM_RUN_DONE;
	if (d->stage == UGM_DEMAND_ENDED)
		return d->error;
	if (e->nr_moving)
		return UGM_RUN_WAIT;
	/* As above; with nothing under way this cannot make results differ. */
	ugm_room_rescan(e);
	return UGM_RUN_STUCK;
}

/**
 * ugm_engine_drain() - run until nothing is under way
 * @e: engine
 *
 * What is queued and cannot start for want of room stays queued.
 *
 * Context: the engine's serialisation.
 * Return: UGM_RUN_DONE or UGM_RUN_WAIT, as ugm_engine_run().
 */
int ugm_engine_drain(struct ugm_engine *e)
{
	u64 wall = catch_up(e);
	struct ugm_heap_node *n;
	bool alarm;
	int r;

	for (;;) {
		if (e->again)
			return UGM_RUN_WAIT;
		n = next_event(e, &alarm);
		if (!n)
			return e->nr_moving ? UGM_RUN_WAIT : UGM_RUN_DONE;
		r = step(e, n, alarm, wall);
		if (r)
			return r;
		ugm_link_dispatch(e);
	}
}

static u64 mix(u64 h, u64 v)
{
	unsigned int i;

	/* FNV-1a, bytewise */
	for (i = 0; i < 8; i++) {
		h ^= (v >> (8 * i)) & 0xff;
		h *= 0x100000001b3ULL;
	}
	return h;
}

/**
 * ugm_engine_digest() - a digest of where the blocks of a range are
 * @e: engine
 * @r: range
 *
 * Digests of ranges are added up to that of a space: their order is no matter.
 *
 * Context: the engine's serialisation.
 */
u64 ugm_engine_digest(struct ugm_engine *e, struct ugm_range *r)
{
	struct ugm_block *b;
	u64 sum = 0, h;
	u32 i = 0;

	while (i < r->nr_blocks && (b = e->ops->next_block(e, r, i))) {
		i = b->index + 1;
		if (ugm_state_home(b->state) == UGM_TIER_NONE)
			continue;
		h = mix(0xcbf29ce484222325ULL, r->tag);
		h = mix(h, b->index);
		h = mix(h, b->state & (UGM_S_HOME | UGM_S_COPIES | UGM_S_DIRTY));
		sum += h;
	}
	return sum;
}
