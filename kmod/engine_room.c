// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "engine_internal.h"

/**
 * DOC: room
 *
 * A tier that is full makes room. Copies go first, for they cost nothing. Then
 * planned evictions that still wait in a queue are promoted, then victims are
 * chosen among the blocks that live in the tier. A victim leaves for nothing
 * where its data is dead, or valid elsewhere under ``clean drop``; otherwise it
 * is written to the next tier, host before flash.
 *
 * Victims are booked, revoked from every mapping, in batches. One whose page
 * somebody holds is passed over.
 *
 * An eviction that a hint asked for, and that finds its tier full, waits while
 * anything leaves that tier: a plan that moves data on from there counts on that
 * room. Else it goes to the next tier, as those that the engine chose do at once.
 */

/* Victims booked in one go: one revocation and one TLB flush for all. */
#define BATCH 64
/* Frames a prefetch may have made free in advance: one moves, the next leaves. */
#define PREFETCH_AHEAD 2

/**
 * ugm_room_free() - free frames of a memory tier
 * @e: engine
 * @tier: memory tier
 *
 * Context: the engine's serialisation.
 */
u64 ugm_room_free(const struct ugm_engine *e, enum ugm_tier tier)
{
	return e->capacity[tier] > e->used[tier] ?
		       e->capacity[tier] - e->used[tier] :
		       0;
}

/**
 * ugm_room_rescan() - victims may be where none were before
 * @e: engine
 *
 * Context: the engine's serialisation.
 */
void ugm_room_rescan(struct ugm_engine *e)
{
	memset(e->cursor, 0, sizeof(e->cursor));
}

/*
 * The memory tier where a block that lives in memory has a copy, or none. There
 * are two such tiers: it has one such copy at most.
 */
static enum ugm_tier spare_of(const struct ugm_block *b)
{
	if (b->range->arena)
		return UGM_TIER_NONE;
	switch (ugm_state_home(b->state)) {
	case UGM_TIER_GPU:
		return ugm_state_has_copy(b->state, UGM_TIER_HOST) ?
			       UGM_TIER_HOST :
			       UGM_TIER_NONE;
	case UGM_TIER_HOST:
		return ugm_state_has_copy(b->state, UGM_TIER_GPU) ?
			       UGM_TIER_GPU :
			       UGM_TIER_NONE;
	default:
		return UGM_TIER_NONE;
	}
}

static struct ugm_block *in_order(struct list_head *at)
{
	return list_entry(at, struct ugm_block, order);
}

static void add_spare(struct ugm_engine *e, struct ugm_block *b)
{
	enum ugm_tier tier = spare_of(b);
	struct list_head **from = &e->spare[tier];

	if (tier == UGM_TIER_NONE)
		return;
	e->spares[tier]++;
	if (*from == &e->order[ugm_state_home(b->state)] ||
	    (*from && b->arrival < in_order(*from)->arrival))
		*from = &b->order;
}

static void remove_spare(struct ugm_engine *e, struct ugm_block *b)
{
	enum ugm_tier tier = spare_of(b);

	if (tier != UGM_TIER_NONE)
		e->spares[tier]--;
}

/**
 * ugm_room_enter() - a block has come to live in a memory tier
 * @e: engine
 * @b: block
 *
 * Context: the engine's serialisation.
 */
void ugm_room_enter(struct ugm_engine *e, struct ugm_block *b)
{
	if (b->range->arena)
		return;
	list_add_tail(&b->order, &e->order[ugm_state_home(b->state)]);
	b->arrival = ++e->arrivals;
	add_spare(e, b);
}

/**
 * ugm_room_leave() - a block ceases to live in its memory tier
 * @e: engine
 * @b: block
 *
 * Context: the engine's serialisation.
 */
void ugm_room_leave(struct ugm_engine *e, struct ugm_block *b)
{
	enum ugm_tier tier = ugm_state_home(b->state);
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (e->cursor[tier][i] == &b->order)
			e->cursor[tier][i] = b->order.prev;
	for (i = 0; i < UGM_NR_TIERS; i++)
		if (e->spare[i] == &b->order)
			e->spare[i] = b->order.next;
	list_del_init(&b->order);
	remove_spare(e, b);
}

/**
 * ugm_room_touch() - a launch uses a resident block
 * @e: engine
 * @b: block
 *
 * Context: the engine's serialisation.
 */
void ugm_room_touch(struct ugm_engine *e, struct ugm_block *b)
{
	if (b->range->arena ||
	    b->range->space->opt.victim != UGM_VICTIM_LRU)
		return;
	ugm_room_leave(e, b);
	ugm_room_enter(e, b);
}

static void release(struct ugm_engine *e, struct ugm_block *b,
		    enum ugm_tier tier)
{
	e->used[tier]--;
	e->ops->release(e, b, tier);
}

/**
 * ugm_room_copied() - a block in memory has a copy now
 * @e: engine
 * @b: block
 * @tier: where the copy is
 *
 * Context: the engine's serialisation.
 */
void ugm_room_copied(struct ugm_engine *e, struct ugm_block *b,
		     enum ugm_tier tier)
{
	if (ugm_tier_is_memory(tier))
		add_spare(e, b);
}

/**
 * ugm_room_forget() - give up a copy
 * @e: engine
 * @b: block
 * @tier: where the copy is
 *
 * Context: the engine's serialisation.
 */
void ugm_room_forget(struct ugm_engine *e, struct ugm_block *b,
		     enum ugm_tier tier)
{
	if (tier == spare_of(b))
		remove_spare(e, b);
	ugm_block_apply(b, UGM_EV_FORGET, tier);
	if (tier == UGM_TIER_NONE)
		return;
	e->copies[tier]--;
	release(e, b, tier);
}

static void forget_all(struct ugm_engine *e, struct ugm_block *b)
{
	unsigned int t;

	for (t = 0; t < UGM_NR_TIERS; t++)
		if (ugm_state_has_copy(b->state, (enum ugm_tier)t))
			ugm_room_forget(e, b, (enum ugm_tier)t);
}

/**
 * ugm_room_write() - a block in memory is, or is going to be, written
 * @e: engine
 * @b: block, booked or not under way
 *
 * Context: the engine's serialisation.
 */
void ugm_room_write(struct ugm_engine *e, struct ugm_block *b)
{
	forget_all(e, b);
	ugm_block_apply(b, UGM_EV_WRITE, UGM_TIER_NONE);
}

/**
 * ugm_engine_found_dirty() - a block was written and nobody said so
 * @e: engine
 * @b: block, taken from its mappings
 *
 * Its copies are stale. A dead block stays dead: what was found is what was
 * written before it died.
 *
 * Context: the engine's serialisation; from ops->revoke.
 */
void ugm_engine_found_dirty(struct ugm_engine *e, struct ugm_block *b)
{
	bool dead = b->state & UGM_S_DEAD;

	if (b->state & UGM_S_DIRTY)
		return;
	if (ugm_state_copies(b->state))
		e->inexact |= UGM_INEXACT_DIRTY;
	ugm_room_write(e, b);
	ugm_block_flag(b, UGM_S_DEAD, dead);
}

/* A block that is not under way gives up its home and all copies. */
static void vacate(struct ugm_engine *e, struct ugm_block *b)
{
	enum ugm_tier home = ugm_state_home(b->state);

	forget_all(e, b);
	if (ugm_tier_is_memory(home))
		ugm_room_leave(e, b);
	release(e, b, home);
	ugm_block_apply(b, UGM_EV_DISCARD, UGM_TIER_NONE);
}

/**
 * ugm_engine_discard() - the data of a block is of no use any more
 * @e: engine
 * @b: block that no running launch uses
 *
 * Context: the engine's serialisation.
 */
void ugm_engine_discard(struct ugm_engine *e, struct ugm_block *b)
{
	if (b->transfer)
		ugm_transfer_cancel(e, b->transfer);
	if (ugm_state_home(b->state) == UGM_TIER_NONE)
		return;
	vacate(e, b);
	e->stats.discarded++;
}

/**
 * ugm_room_drop() - give up a block's home for nothing, where that loses nothing
 * @e: engine
 * @b: block in memory, booked
 * @prefer: the tier it should live in then, or UGM_NR_TIERS for any
 *
 * Context: the engine's serialisation.
 * Return: did it leave?
 */
bool ugm_room_drop(struct ugm_engine *e, struct ugm_block *b,
		   enum ugm_tier prefer)
{
	static const u8 any[] = { UGM_TIER_HOST, UGM_TIER_NONE,
				  UGM_TIER_FLASH };
	enum ugm_tier home = ugm_state_home(b->state), to = UGM_NR_TIERS;
	unsigned int i;

	if (b->state & UGM_S_DEAD) {
		ugm_engine_discard(e, b);
		return true;
	}
	if (b->range->space->opt.clean != UGM_CLEAN_DROP)
		return false;
	for (i = 0; i < ARRAY_SIZE(any) && to == UGM_NR_TIERS; i++)
		if (ugm_state_has_copy(b->state, (enum ugm_tier)any[i]) &&
		    (prefer == UGM_NR_TIERS || any[i] == prefer ||
		     any[i] == UGM_TIER_NONE))
			to = (enum ugm_tier)any[i];
	if (to == UGM_NR_TIERS)
		return false;
	if (to == UGM_TIER_NONE) {
		vacate(e, b);
		e->stats.dropped++;
		return true;
	}
	ugm_room_leave(e, b);
	release(e, b, home);
	e->copies[to]--;
	e->stats.dropped++;
	ugm_block_apply(b, UGM_EV_DROP, to);
	if (ugm_tier_is_memory(to))
		ugm_room_enter(e, b);
	return true;
}

/**
 * ugm_room_book() - take blocks from their mappings, to move them out
 * @e: engine
 * @blocks: blocks in memory, neither busy nor under way; those that somebody
 *          holds are taken out of the array
 * @nr: how many
 *
 * Context: the engine's serialisation.
 * Return: how many are booked, at the front of the array.
 */
unsigned int ugm_room_book(struct ugm_engine *e, struct ugm_block **blocks,
			   unsigned int nr)
{
	struct ugm_block *all[BATCH];
	unsigned int i, booked = 0;

	if (WARN_ON_ONCE(nr > BATCH))
		nr = BATCH;
	for (i = 0; i < nr; i++) {
		ugm_block_apply(blocks[i], UGM_EV_BOOK, UGM_TIER_NONE);
		all[i] = blocks[i];
	}
	e->ops->revoke(e, blocks, nr);
	for (i = 0; i < nr; i++) {
		if (blocks[i]) {
			blocks[booked++] = all[i];
			continue;
		}
		e->inexact |= UGM_INEXACT_HELD;
		ugm_block_apply(all[i], UGM_EV_CANCEL, UGM_TIER_NONE);
	}
	return booked;
}

/* Send a booked block away. Where there is no memory for that it stays. */
static bool send(struct ugm_engine *e, struct ugm_block *b,
		 const struct ugm_transfer *prefetch)
{
	enum ugm_tier home = ugm_state_home(b->state);
	struct ugm_transfer *t;

	if (ugm_room_drop(e, b, UGM_NR_TIERS))
		return true;
	t = ugm_transfer_new(e, b, (enum ugm_tier)(home + 1),
			     UGM_CAUSE_EVICTION);
	if (!t) {
		ugm_block_apply(b, UGM_EV_CANCEL, UGM_TIER_NONE);
		return false;
	}
	e->leaving[home]++;
	t->evict = true;
	t->booked = true;
	t->demand = !prefetch;
	if (prefetch)
		t->need = prefetch->need;
	ugm_transfer_queue(e, t);
	if (!prefetch)
		ugm_transfer_frees(e, t);
	return true;
}

static bool eligible(const struct ugm_block *b, bool prefetch, u8 evicts)
{
	if (b->state & (UGM_S_BUSY | UGM_S_PIN) || ugm_state_pins(b->state))
		return false;
	if (b->transfer && b->transfer->phase != UGM_PHASE_QUEUED)
		return false; /* a write-back: it is clean soon */
	return !prefetch || evicts == UGM_PREFETCH_EVICTS_ANY ||
	       !(b->state & UGM_S_PROTECT);
}

/* Victims in order, from where the last search ended. */
static unsigned int next_victims(struct ugm_engine *e, enum ugm_tier tier,
				 struct ugm_block **v, unsigned int max,
				 bool prefetch, u8 evicts)
{
	struct list_head **cursor = &e->cursor[tier][prefetch];
	struct list_head *head = &e->order[tier], *pos;
	unsigned int nr = 0;
	struct ugm_block *b;

	pos = *cursor ? (*cursor)->next : head->next;
	for (; pos != head && nr < max; pos = pos->next) {
		b = list_entry(pos, struct ugm_block, order);
		if (eligible(b, prefetch, evicts))
			v[nr++] = b;
		*cursor = pos;
	}
	return nr;
}

/* Victims by furthest pending need; of equal ones the oldest arrivals. */
static unsigned int furthest_victims(struct ugm_engine *e, enum ugm_tier tier,
				     struct ugm_block **v, unsigned int max,
				     bool prefetch, u8 evicts)
{
	u64 need[BATCH], n;
	unsigned int nr = 0, i;
	struct ugm_block *b;

	list_for_each_entry(b, &e->order[tier], order) {
		if (!eligible(b, prefetch, evicts))
			continue;
		n = ugm_hint_need(b);
		if (nr == max && n <= need[nr - 1])
			continue;
		i = nr < max ? nr++ : nr - 1;
		for (; i && need[i - 1] < n; i--) {
			need[i] = need[i - 1];
			v[i] = v[i - 1];
		}
		need[i] = n;
		v[i] = b;
	}
	return nr;
}

/* Evict up to @max blocks of @tier for @s. Is anything different now? */
static bool evict(struct ugm_engine *e, enum ugm_tier tier,
		  const struct ugm_space *s, u64 max,
		  const struct ugm_transfer *prefetch)
{
	u8 evicts = s->opt.prefetch_evicts;
	struct ugm_block *v[BATCH];
	bool progress = false;
	unsigned int nr, i;

	if (max > BATCH)
		max = BATCH;
	do {
		nr = s->opt.victim == UGM_VICTIM_NEED ?
			     furthest_victims(e, tier, v, (unsigned int)max,
					      prefetch, evicts) :
			     next_victims(e, tier, v, (unsigned int)max,
					  prefetch, evicts);
		if (!nr)
			return false;
		for (i = 0; i < nr; i++)
			if (v[i]->transfer)
				ugm_transfer_cancel(e, v[i]->transfer);
		nr = ugm_room_book(e, v, nr);
		for (i = 0; i < nr; i++)
			progress |= send(e, v[i], prefetch);
		/* All were held: those who are next in line are tried. */
	} while (!progress && s->opt.victim != UGM_VICTIM_NEED);
	return progress;
}

/*
 * Of the blocks that live in the other memory tier and have a copy in this one, the
 * one that came first. That is asked for each frame, so the search goes on where
 * the last one ended.
 */
static struct ugm_block *oldest_spare(struct ugm_engine *e, enum ugm_tier tier)
{
	struct list_head *head = &e->order[tier == UGM_TIER_GPU ? UGM_TIER_HOST : UGM_TIER_GPU];
	struct list_head *at = e->spare[tier] ?: head->next;

	if (!e->spares[tier])
		return NULL;
	while (at != head && spare_of(in_order(at)) != tier)
		at = at->next;
	e->spare[tier] = at;
	return at == head ? NULL : in_order(at);
}

/* The same for any tier; slots of flash seldom run out. */
static struct ugm_block *oldest_copy(struct ugm_engine *e, enum ugm_tier tier)
{
	struct ugm_block *b;
	unsigned int t;

	if (ugm_tier_is_memory(tier))
		return oldest_spare(e, tier);
	if (!e->copies[tier])
		return NULL;
	for (t = UGM_TIER_NONE + 1; t < UGM_TIER_FLASH; t++)
		list_for_each_entry(b, &e->order[t], order)
			if (ugm_state_has_copy(b->state, tier))
				return b;
	return NULL;
}

/**
 * ugm_room_reclaim() - give up one copy in a tier, the oldest arrival's
 * @e: engine
 * @tier: where room is short
 *
 * Context: the engine's serialisation.
 * Return: was there one?
 */
bool ugm_room_reclaim(struct ugm_engine *e, enum ugm_tier tier)
{
	struct ugm_block *b = oldest_copy(e, tier);

	if (!b)
		return false;
	ugm_room_forget(e, b, tier);
	return true;
}

/**
 * ugm_room_replace() - there is no memory for a block that a tier could hold
 * @e: engine
 * @t: a queued demand for it
 *
 * A block of the same space leaves, unless one is about to: memory of others may
 * be what they pay for, and of no use here.
 *
 * Context: the engine's serialisation.
 * Return: is anything different now?
 */
bool ugm_room_replace(struct ugm_engine *e, const struct ugm_transfer *t)
{
	struct ugm_block *b, *victim;

	if (!t->demand || t->evict || !ugm_tier_is_memory(t->dst) ||
	    e->freeing[t->dst])
		return false;
	list_for_each_entry(b, &e->order[t->dst], order) {
		if (b->range->space != t->block->range->space ||
		    !eligible(b, false, 0))
			continue;
		if (b->transfer)
			ugm_transfer_cancel(e, b->transfer);
		victim = b;
		if (ugm_room_book(e, &victim, 1))
			return send(e, b, NULL);
	}
	return false;
}

/* The first of the planned transfers towards a tier, if no demand is before it. */
static struct ugm_transfer *planned_head(struct ugm_engine *e,
					 enum ugm_tier tier, u64 *nr)
{
	struct ugm_transfer *t, *best = NULL;
	unsigned int src;

	*nr = 0;
	for (src = 0; src < UGM_NR_TIERS; src++) {
		if (!e->queue[src][tier].root)
			continue;
		t = container_of(e->queue[src][tier].root, struct ugm_transfer,
				 node);
		if (t->demand)
			return NULL;
		*nr += e->queue[src][tier].nr;
		if (!best || ugm_heap_before(&t->node, &best->node))
			best = t;
	}
	return best;
}

static void make_for_demand(struct ugm_engine *e, enum ugm_tier tier)
{
	struct ugm_transfer *t;
	struct ugm_demand *d;
	u64 have;

	if (list_empty(&e->demands))
		return;
	d = list_first_entry(&e->demands, struct ugm_demand, list);
	for (;;) {
		have = ugm_room_free(e, tier) + e->freeing[tier];
		if (e->wanted[tier] <= have)
			return;
		if (ugm_room_reclaim(e, tier))
			continue;
		if (!list_empty(&e->evicting[tier])) {
			t = list_first_entry(&e->evicting[tier],
					     struct ugm_transfer, list);
			ugm_transfer_frees(e, t);
			ugm_transfer_promote(e, t);
			continue;
		}
		if (!evict(e, tier, d->space, e->wanted[tier] - have, NULL))
			return;
	}
}

static void make_for_prefetch(struct ugm_engine *e, enum ugm_tier tier)
{
	struct ugm_transfer *head;
	u64 have, nr;

	for (;;) {
		head = planned_head(e, tier, &nr);
		if (!head || head->block->range->space->opt.prefetch_evicts ==
				     UGM_PREFETCH_EVICTS_NONE)
			return;
		have = ugm_room_free(e, tier) + e->leaving[tier];
		if (have >= e->wanted[tier] + PREFETCH_AHEAD ||
		    have >= e->wanted[tier] + nr)
			return;
		if (!evict(e, tier, head->block->range->space, 1, head))
			return;
	}
}

/**
 * ugm_room_make() - see that whoever waits for a frame will get one
 * @e: engine
 *
 * Context: the engine's serialisation.
 */
void ugm_room_make(struct ugm_engine *e)
{
	unsigned int t;

	for (t = UGM_TIER_NONE + 1; t < UGM_TIER_FLASH; t++)
		if (e->wanted[t])
			make_for_demand(e, (enum ugm_tier)t);
	make_for_prefetch(e, UGM_TIER_GPU);
}
