// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "engine_internal.h"

/**
 * DOC: hints
 *
 * A hint is held until the launch it names begins. It is advice: each block of
 * it that cannot be followed is counted with its reason, and nothing else
 * happens. Planned moves go by need; an eviction that names none is needed by
 * the launch at which it acts, for its room is.
 */

/* Blocks of an eviction booked in one go. */
#define BATCH 64

struct apply {
	struct ugm_engine *e;
	struct ugm_space *s;
	const struct ugm_hint *h;
	u64 refused;
	u32 why;
	struct ugm_block *victims[BATCH];
	unsigned int nr_victims;
};

static void refuse(struct apply *a, enum ugm_refusal why, u64 nr)
{
	a->s->refused[why] += nr;
	a->refused += nr;
	a->why = why;
}

static void follow(struct apply *a)
{
	a->s->followed[a->h->op]++;
}

static struct ugm_transfer *queue_planned(struct apply *a, struct ugm_block *b,
					  bool copy)
{
	struct ugm_transfer *t;

	t = ugm_transfer_new(a->e, b, (enum ugm_tier)a->h->tier,
			     UGM_CAUSE_PLANNED);
	if (!t) {
		refuse(a, UGM_REFUSED_MEMORY, 1);
		return NULL;
	}
	t->need = a->h->need;
	t->cookie = a->h->cookie;
	t->copy = copy;
	t->hinted = true;
	return t;
}

/*
 * A block that is already under way: may this hint go on with it? What waits in
 * a queue for something else is replaced, what has started is not disturbed.
 */
static bool clear_way(struct apply *a, struct ugm_block *b)
{
	struct ugm_transfer *t = b->transfer;

	if (!t)
		return true;
	if (t->phase != UGM_PHASE_QUEUED || t->demand) {
		refuse(a, UGM_REFUSED_BUSY, 1);
		return false;
	}
	ugm_transfer_refuse(a->e, t, UGM_REFUSED_CANCELLED);
	return true;
}

static void prefetch(struct apply *a, struct ugm_block *b)
{
	enum ugm_tier home = ugm_state_home(b->state);
	struct ugm_transfer *t = b->transfer;

	if (b->state & UGM_S_POISON) {
		refuse(a, UGM_REFUSED_POISON, 1);
		return;
	}
	if (home == a->h->tier) {
		/* What was leaving stays, also from under way; a demand keeps its own. */
		if (t && !t->copy && !ugm_state_pins(b->state))
			ugm_transfer_refuse(a->e, t, UGM_REFUSED_CANCELLED);
		refuse(a, UGM_REFUSED_RESIDENT, 1);
		return;
	}
	/* Towards the CPU a prefetch goes down; it does not take from a launch. */
	if (ugm_state_pins(b->state) && home != UGM_TIER_NONE) {
		refuse(a, UGM_REFUSED_IN_USE, 1);
		return;
	}
	if (t && !t->copy && t->dst == a->h->tier) {
		if (t->phase == UGM_PHASE_QUEUED && !t->demand &&
		    a->h->need < t->need)
			ugm_transfer_rekey(a->e, t, a->h->need);
		follow(a);
		return;
	}
	if (!clear_way(a, b))
		return;
	t = queue_planned(a, b, false);
	if (!t)
		return;
	ugm_transfer_queue(a->e, t);
	follow(a);
}

/* Book the victims collected so far, and queue or drop them. */
static void flush_victims(struct apply *a)
{
	struct ugm_engine *e = a->e;
	struct ugm_transfer *t;
	struct ugm_block *b;
	unsigned int nr, i;
	u64 need = a->h->need;

	nr = ugm_room_book(e, a->victims, a->nr_victims);
	if (nr < a->nr_victims)
		refuse(a, UGM_REFUSED_HELD, a->nr_victims - nr);
	a->nr_victims = 0;
	if (need == UGM_NEED_NONE)
		need = a->s->launches;
	for (i = 0; i < nr; i++) {
		b = a->victims[i];
		if (ugm_room_drop(e, b, (enum ugm_tier)a->h->tier)) {
			follow(a);
			continue;
		}
		t = queue_planned(a, b, false);
		if (!t) {
			ugm_block_apply(b, UGM_EV_CANCEL, UGM_TIER_NONE);
			continue;
		}
		e->leaving[t->src]++;
		t->evict = true;
		t->booked = true;
		t->need = need;
		ugm_transfer_queue(e, t);
		follow(a);
	}
}

static bool may_leave(struct apply *a, struct ugm_block *b)
{
	enum ugm_tier home = ugm_state_home(b->state);

	if (home == UGM_TIER_NONE) {
		refuse(a, UGM_REFUSED_ABSENT, 1);
		return false;
	}
	if (home >= a->h->tier) {
		refuse(a, UGM_REFUSED_RESIDENT, 1);
		return false;
	}
	if (b->range->arena || b->state & UGM_S_PIN ||
	    ugm_state_pins(b->state)) {
		refuse(a, UGM_REFUSED_IN_USE, 1);
		return false;
	}
	return true;
}

static void evict(struct apply *a, struct ugm_block *b)
{
	struct ugm_transfer *t = b->transfer;

	if (!may_leave(a, b))
		return;
	if (t && t->evict && t->dst == a->h->tier) {
		follow(a);
		return;
	}
	if (!clear_way(a, b))
		return;
	a->victims[a->nr_victims++] = b;
	if (a->nr_victims == BATCH)
		flush_victims(a);
}

static void write_back(struct apply *a, struct ugm_block *b)
{
	struct ugm_transfer *t;

	if (ugm_state_pins(b->state) && b->state & UGM_S_WRITTEN) {
		refuse(a, UGM_REFUSED_IN_USE, 1);
		return;
	}
	if (ugm_state_home(b->state) == UGM_TIER_NONE) {
		refuse(a, UGM_REFUSED_ABSENT, 1);
		return;
	}
	if (ugm_state_home(b->state) >= a->h->tier || b->range->arena ||
	    ugm_state_has_copy(b->state, (enum ugm_tier)a->h->tier)) {
		refuse(a, UGM_REFUSED_RESIDENT, 1);
		return;
	}
	if (b->transfer) {
		refuse(a, UGM_REFUSED_BUSY, 1);
		return;
	}
	t = queue_planned(a, b, true);
	if (!t)
		return;
	ugm_transfer_queue(a->e, t);
	follow(a);
}

static void discard(struct apply *a, struct ugm_block *b)
{
	enum ugm_tier home = ugm_state_home(b->state);

	if (ugm_state_pins(b->state) || b->range->arena) {
		refuse(a, UGM_REFUSED_IN_USE, 1);
		return;
	}
	follow(a);
	switch (a->s->opt.dead) {
	case UGM_DEAD_KEEP:
		return;
	case UGM_DEAD_LAZY:
		if (home == UGM_TIER_GPU) {
			ugm_block_flag(b, UGM_S_DEAD, true);
			return;
		}
		break;
	case UGM_DEAD_DROP:
		break;
	}
	ugm_engine_discard(a->e, b);
}

static void mark(struct apply *a, struct ugm_block *b)
{
	switch (a->h->op) {
	case UGM_OP_PIN:
		ugm_block_flag(b, UGM_S_PIN, true);
		break;
	case UGM_OP_UNPIN:
		ugm_block_flag(b, UGM_S_PIN, false);
		ugm_room_rescan(a->e);
		break;
	case UGM_OP_PROTECT:
		ugm_block_flag(b, UGM_S_PROTECT, true);
		break;
	default:
		ugm_block_flag(b, UGM_S_PROTECT, false);
		ugm_room_rescan(a->e);
		break;
	}
	follow(a);
}

/* Is a block that was never touched a block this hint speaks of? */
static bool creates(const struct ugm_hint *h)
{
	return h->op == UGM_OP_PIN || h->op == UGM_OP_PROTECT ||
	       (h->op == UGM_OP_PREFETCH && h->tier == UGM_TIER_GPU);
}

static void apply_block(struct apply *a, struct ugm_block *b)
{
	switch (a->h->op) {
	case UGM_OP_PREFETCH:
		prefetch(a, b);
		break;
	case UGM_OP_EVICT:
		evict(a, b);
		break;
	case UGM_OP_DISCARD:
		discard(a, b);
		break;
	case UGM_OP_WRITEBACK:
		write_back(a, b);
		break;
	default:
		mark(a, b);
		break;
	}
}

static void apply(struct ugm_engine *e, struct ugm_space *s, struct ugm_hint *h)
{
	struct apply a = { .e = e, .s = s, .h = h };
	struct ugm_block *b;
	u32 i = h->first, end = h->first + h->nr, created = 0;

	if (!h->range) {
		refuse(&a, UGM_REFUSED_STALE, h->nr);
		e->ops->hint_free(e, h, a.refused, a.why);
		return;
	}
	list_del_init(&h->of_range);
	while (i < end) {
		/* More blocks than the tier holds would be of no use there. */
		if (creates(h) && created < e->capacity[UGM_TIER_GPU]) {
			b = e->ops->block(e, h->range, i);
			created++;
			if (!b) {
				refuse(&a, UGM_REFUSED_MEMORY, end - i);
				break;
			}
		} else {
			b = e->ops->next_block(e, h->range, i);
			if (!b || b->index >= end) {
				refuse(&a, UGM_REFUSED_ABSENT, end - i);
				break;
			}
			if (b->index > i)
				refuse(&a, UGM_REFUSED_ABSENT, b->index - i);
		}
		i = b->index + 1;
		apply_block(&a, b);
	}
	if (a.nr_victims)
		flush_victims(&a);
	e->ops->hint_free(e, h, a.refused, a.why);
}

/**
 * ugm_engine_hint() - take a hint
 * @e: engine
 * @s: its space
 * @h: hint with range, blocks, at, need, op and tier set; the engine's until it
 *     is given back by ops->hint_free, which may be at once
 *
 * Context: the engine's serialisation.
 */
void ugm_engine_hint(struct ugm_engine *e, struct ugm_space *s,
		     struct ugm_hint *h)
{
	list_add_tail(&h->of_range, &h->range->hints);
	if (h->at == UGM_AT_NOW || h->at < s->launches) {
		apply(e, s, h);
		return;
	}
	ugm_heap_push(&s->pending, &h->node, h->at, ++e->seq);
}

/**
 * ugm_hint_release() - act on the hints that the next launch releases
 * @e: engine
 * @s: a space whose next launch begins
 *
 * Context: the engine's serialisation.
 */
void ugm_hint_release(struct ugm_engine *e, struct ugm_space *s)
{
	struct ugm_heap_node *n;

	while ((n = s->pending.root) && n->key <= s->launches) {
		ugm_heap_remove(&s->pending, n);
		apply(e, s, container_of(n, struct ugm_hint, node));
	}
}

/**
 * ugm_hint_need() - which launch needs a block next, as far as hints tell
 * @b: block
 *
 * Context: the engine's serialisation.
 * Return: launch number, or UGM_NEED_NONE.
 */
u64 ugm_hint_need(const struct ugm_block *b)
{
	u64 need = UGM_NEED_NONE;
	struct ugm_hint *h;

	if (b->transfer && !b->transfer->copy)
		need = b->transfer->need;
	list_for_each_entry(h, &b->range->hints, of_range)
		if (h->op == UGM_OP_PREFETCH && b->index >= h->first &&
		    b->index - h->first < h->nr && h->need < need)
			need = h->need;
	return need;
}

/**
 * ugm_engine_forget_range() - a range ends: its pending hints mean nothing now
 * @e: engine
 * @r: range; its blocks are discarded by the caller
 *
 * Context: the engine's serialisation.
 */
void ugm_engine_forget_range(struct ugm_engine *e, struct ugm_range *r)
{
	struct ugm_hint *h, *next;

	(void)e;
	list_for_each_entry_safe(h, next, &r->hints, of_range) {
		list_del_init(&h->of_range);
		h->range = NULL;
	}
}

/**
 * ugm_engine_drop_hints() - a space ends: so do its pending hints
 * @e: engine
 * @s: space
 *
 * Context: the engine's serialisation.
 */
void ugm_engine_drop_hints(struct ugm_engine *e, struct ugm_space *s)
{
	struct ugm_heap_node *n;
	struct ugm_hint *h;

	while ((n = s->pending.root)) {
		ugm_heap_remove(&s->pending, n);
		h = container_of(n, struct ugm_hint, node);
		if (h->range)
			list_del_init(&h->of_range);
		s->refused[UGM_REFUSED_STALE] += h->nr;
		e->ops->hint_free(e, h, h->nr, UGM_REFUSED_STALE);
	}
}
