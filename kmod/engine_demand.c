// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "engine_internal.h"

/**
 * DOC: demands
 *
 * A demand is a launch, or a touch through a view. When it begins it pins its
 * blocks, releases the hints of its launch, takes frames for blocks that are
 * nowhere yet, and cuts the missing bytes of each operand into fault batches:
 * batch n of the demand queues its transfers n times the fault latency after
 * the begin, a block with the batch that holds its last byte. A block under way
 * is waited for; one that is only queued is promoted.
 *
 * ``overlap full``: it ends when the last operand has arrived, but not before
 * begin + duration + batches x fault latency. ``overlap none``: it ends its
 * duration after the last arrival.
 */

static u64 batches_of(const struct ugm_engine *e, u64 bytes)
{
	return div64_u64(bytes + e->m.fault_batch_bytes - 1,
			 e->m.fault_batch_bytes);
}

static bool covers(const struct ugm_operand *o, const struct ugm_block *b)
{
	return o->range == b->range && b->index >= o->first &&
	       b->index - o->first < o->nr;
}

static void set_alarm(struct ugm_engine *e, struct ugm_demand *d, u64 at,
		      u64 seq)
{
	ugm_heap_push(&e->alarms, &d->node, at, seq);
}

static bool alarm_set(const struct ugm_engine *e, const struct ugm_demand *d)
{
	return e->alarms.root == &d->node || d->node.prev;
}

static void clear_alarm(struct ugm_engine *e, struct ugm_demand *d)
{
	if (alarm_set(e, d))
		ugm_heap_remove(&e->alarms, &d->node);
}

/* All operands are there: the end is known. It comes before equal instants. */
static void arrived(struct ugm_engine *e, struct ugm_demand *d)
{
	u64 busy = d->begin_ns + d->duration_ns + d->batches * e->m.fault_ns;

	d->stage = UGM_DEMAND_RUNNING;
	d->arrived_ns = e->now_ns;
	d->end_ns = e->now_ns;
	if (d->launch && d->space->opt.overlap == UGM_OVERLAP_NONE)
		d->end_ns += d->duration_ns;
	else if (d->launch && busy > d->end_ns)
		d->end_ns = busy;
	clear_alarm(e, d);
	set_alarm(e, d, d->end_ns, 0);
}

/**
 * ugm_demand_arrived() - a block has arrived in memory
 * @e: engine
 * @b: block
 *
 * Context: the engine's serialisation.
 */
void ugm_demand_arrived(struct ugm_engine *e, struct ugm_block *b)
{
	struct ugm_demand *d;
	u64 before;
	u32 i;

	if (b->state & UGM_S_WRITTEN)
		ugm_room_write(e, b);
	list_for_each_entry(d, &e->demands, list) {
		if (d->stage != UGM_DEMAND_WAITING ||
		    d->tier != ugm_state_home(b->state))
			continue;
		before = d->missing;
		for (i = 0; i < d->nr_operands; i++)
			if (covers(&d->operands[i], b))
				d->missing--;
		if (before && !d->missing)
			arrived(e, d);
	}
}

/*
 * Will a transfer that is under way bring its block to a tier that somebody
 * waits for? An eviction that has not started may yet be sent elsewhere.
 */
static bool brings(const struct ugm_transfer *t, enum ugm_tier tier)
{
	return !t->copy && t->dst == tier &&
	       !(t->evict && t->phase == UGM_PHASE_QUEUED);
}

/* Fetch a block for a demand, or make what is on its way go first. */
static int fetch(struct ugm_engine *e, struct ugm_block *b, enum ugm_tier tier,
		 enum ugm_cause cause)
{
	struct ugm_transfer *t = b->transfer;

	ugm_block_flag(b, UGM_S_FAULT, false);
	if (t && !brings(t, tier)) {
		ugm_transfer_cancel(e, t);
		t = NULL;
	}
	if (ugm_state_home(b->state) == tier)
		return 0;
	if (t) {
		ugm_transfer_promote(e, t);
		return 0;
	}
	t = ugm_transfer_new(e, b, tier, cause);
	if (!t)
		return -ENOMEM;
	t->demand = true;
	ugm_transfer_queue(e, t);
	return 0;
}

/* Go on to the next block that waits for its batch, and set the alarm for it. */
static void next_batch(struct ugm_engine *e, struct ugm_demand *d)
{
	const struct ugm_operand *o;
	struct ugm_block *b;
	u64 n;

	for (; d->batch_operand < d->nr_operands; d->batch_operand++) {
		o = &d->operands[d->batch_operand];
		for (; d->batch_block < o->nr; d->batch_block++) {
			b = e->ops->block(e, o->range,
					  o->first + d->batch_block);
			if (!(b->state & UGM_S_FAULT))
				continue;
			n = d->batch_base +
			    batches_of(e, d->batch_bytes +
						  ugm_block_bytes(e, b));
			set_alarm(e, d, d->begin_ns + n * e->m.fault_ns,
				  ++e->seq);
			return;
		}
		d->batch_base += batches_of(e, d->batch_bytes);
		d->batch_bytes = 0;
		d->batch_block = 0;
	}
}

/**
 * ugm_demand_alarm() - a fault batch is due, or the end of a demand
 * @e: engine
 * @d: demand, its alarm taken out
 *
 * Context: the engine's serialisation.
 */
void ugm_demand_alarm(struct ugm_engine *e, struct ugm_demand *d)
{
	const struct ugm_operand *o;
	struct ugm_block *b;

	if (d->stage == UGM_DEMAND_RUNNING) {
		ugm_demand_end(e, d, 0);
		return;
	}
	o = &d->operands[d->batch_operand];
	b = e->ops->block(e, o->range, o->first + d->batch_block);
	d->batch_bytes += ugm_block_bytes(e, b);
	d->batch_block++;
	if (fetch(e, b, (enum ugm_tier)d->tier, (enum ugm_cause)d->cause))
		ugm_demand_end(e, d, -ENOMEM);
	else if (d->stage == UGM_DEMAND_WAITING)
		next_batch(e, d);
}

/**
 * ugm_demand_unblock() - nothing moves: what a demand waits for in place goes first
 * @e: engine
 * @d: a demand that waits
 *
 * Under ``promote off`` a demand waits for a queued block where it is; if that
 * block waits for a frame that only a demand may have made free, it would wait
 * for ever.
 *
 * Context: the engine's serialisation.
 * Return: is anything different now?
 */
bool ugm_demand_unblock(struct ugm_engine *e, struct ugm_demand *d)
{
	const struct ugm_operand *o;
	struct ugm_block *b;
	bool progress = false;
	u32 i, j;

	for (i = 0; i < d->nr_operands; i++) {
		o = &d->operands[i];
		for (j = 0; j < o->nr; j++) {
			b = e->ops->block(e, o->range, o->first + j);
			if (!b->transfer || b->transfer->demand ||
			    b->transfer->copy)
				continue;
			ugm_transfer_promote(e, b->transfer);
			progress = true;
		}
	}
	return progress;
}

/* A block that @d needs and that is not there: how will it come? */
static int miss(struct ugm_engine *e, struct ugm_demand *d, struct ugm_block *b,
		u64 *bytes)
{
	const struct ugm_options *opt = &d->space->opt;
	struct ugm_transfer *t = b->transfer;

	d->missing++;
	if (ugm_state_home(b->state) == UGM_TIER_NONE)
		return fetch(e, b, (enum ugm_tier)d->tier,
			     (enum ugm_cause)d->cause);
	if (t && !brings(t, (enum ugm_tier)d->tier)) {
		ugm_transfer_cancel(e, t);
		t = NULL;
	}
	if (t && t->phase != UGM_PHASE_QUEUED) {
		ugm_transfer_promote(e, t);
		return 0;
	}
	if (t && (t->demand || !opt->promote))
		return 0;
	if (!t && d->launch && !opt->demand)
		return -ENODATA;
	if (!(b->state & UGM_S_FAULT)) {
		ugm_block_flag(b, UGM_S_FAULT, true);
		*bytes += ugm_block_bytes(e, b);
	}
	return 0;
}

static int enter_block(struct ugm_engine *e, struct ugm_demand *d,
		       const struct ugm_operand *o, struct ugm_block *b,
		       u64 *bytes)
{
	struct ugm_transfer *t = b->transfer;

	if (b->state & UGM_S_POISON)
		return -EIO;
	if (ugm_state_home(b->state) != d->tier)
		return miss(e, d, b, bytes);
	/* It was leaving, or a copy of what is now written was being made. */
	if (t && (!t->copy || o->mode & UGM_OPERAND_WRITE))
		ugm_transfer_cancel(e, t);
	if (o->mode & UGM_OPERAND_WRITE)
		ugm_room_write(e, b);
	if (d->launch)
		ugm_room_touch(e, b);
	return 0;
}

/* Let go of the blocks before (@operand, @block). */
static void unpin(struct ugm_engine *e, struct ugm_demand *d, u32 operand,
		  u32 block)
{
	const struct ugm_operand *o;
	struct ugm_block *b;
	u32 i, j, nr;

	for (i = 0; i <= operand && i < d->nr_operands; i++) {
		o = &d->operands[i];
		nr = i < operand ? o->nr : block;
		for (j = 0; j < nr; j++) {
			b = e->ops->block(e, o->range, o->first + j);
			ugm_block_apply(b, UGM_EV_UNPIN, UGM_TIER_NONE);
			/* A planned move may have brought it before its batch. */
			if (ugm_state_home(b->state) == d->tier)
				ugm_block_flag(b, UGM_S_FAULT, false);
		}
	}
	ugm_room_rescan(e);
}

static int enter_operands(struct ugm_engine *e, struct ugm_demand *d)
{
	const struct ugm_operand *o;
	struct ugm_block *b;
	u64 bytes;
	u32 i, j;
	int err;

	for (i = 0; i < d->nr_operands; i++) {
		o = &d->operands[i];
		bytes = 0;
		for (j = 0; j < o->nr; j++) {
			b = e->ops->block(e, o->range, o->first + j);
			err = !b ? -ENOMEM :
				   ugm_state_apply(&b->state, UGM_EV_PIN,
						   UGM_TIER_NONE) ?
				   -EBUSY :
				   0;
			if (err) {
				unpin(e, d, i, j);
				return err;
			}
			if (o->mode & UGM_OPERAND_WRITE)
				ugm_block_flag(b, UGM_S_WRITTEN, true);
			ugm_block_flag(b, UGM_S_DEAD, false);
			err = enter_block(e, d, o, b, &bytes);
			if (err) {
				unpin(e, d, i, j + 1);
				return err;
			}
		}
		d->fault_bytes += bytes;
		d->batches += batches_of(e, bytes);
	}
	return 0;
}

/**
 * ugm_demand_enter() - a demand begins
 * @e: engine
 * @d: a new demand
 *
 * Context: the engine's serialisation.
 * Return: 0, or why it cannot: -ENOMEM, -EIO (poisoned), -ENODATA (``demand
 * off``), -EBUSY (too many at once on one block).
 */
int ugm_demand_enter(struct ugm_engine *e, struct ugm_demand *d)
{
	int err;

	if (e->demands.next != e->demands.prev)
		e->inexact |= UGM_INEXACT_SHARED;
	d->begin_ns = e->now_ns;
	if (d->launch) {
		d->number = d->space->launches;
		ugm_hint_release(e, d->space);
		d->space->launches++;
	}
	ugm_room_rescan(e);
	err = enter_operands(e, d);
	if (err) {
		d->batch_operand = 0;
		d->batch_block = 0;
		return err;
	}
	if (!d->launch && d->missing)
		e->inexact |= UGM_INEXACT_TOUCH;
	d->stage = UGM_DEMAND_WAITING;
	if (!d->missing)
		arrived(e, d);
	else
		next_batch(e, d);
	return 0;
}

/* Fetch a block for somebody else who waits for it, if anybody does. */
static void hand_over(struct ugm_engine *e, struct ugm_block *b)
{
	struct ugm_demand *d;
	u32 i;

	ugm_block_flag(b, UGM_S_FAULT, false);
	list_for_each_entry(d, &e->demands, list)
		for (i = 0; i < d->nr_operands; i++)
			if (d->stage == UGM_DEMAND_WAITING &&
			    covers(&d->operands[i], b)) {
				fetch(e, b, (enum ugm_tier)d->tier,
				      (enum ugm_cause)d->cause);
				return;
			}
}

/*
 * Others may wait for blocks of a demand that is over: for a batch of it that
 * will not come, or in another tier than this one, which gave up their moves.
 */
static void hand_over_all(struct ugm_engine *e, struct ugm_demand *d)
{
	const struct ugm_operand *o;
	struct ugm_block *b;
	u32 i, j;

	for (i = 0; i < d->nr_operands; i++) {
		o = &d->operands[i];
		for (j = 0; j < o->nr; j++) {
			b = e->ops->next_block(e, o->range, o->first + j);
			if (!b || b->index - o->first >= o->nr)
				break;
			j = b->index - o->first;
			if (b->state & UGM_S_FAULT ?
				    d->error :
				    !b->transfer || b->transfer->copy)
				hand_over(e, b);
		}
	}
}

/**
 * ugm_demand_end() - a demand ends, well or badly
 * @e: engine
 * @d: demand; off all lists afterwards
 * @error: 0, or why it failed
 *
 * Context: the engine's serialisation.
 */
void ugm_demand_end(struct ugm_engine *e, struct ugm_demand *d, int error)
{
	bool entered = d->stage == UGM_DEMAND_WAITING ||
		       d->stage == UGM_DEMAND_RUNNING;

	clear_alarm(e, d);
	list_del_init(&d->list);
	d->stage = UGM_DEMAND_ENDED;
	d->error = error;
	d->done = true;
	if (entered)
		unpin(e, d, d->nr_operands, 0);
	if (error || !list_empty(&e->demands))
		hand_over_all(e, d);
}

/**
 * ugm_engine_begin() - enlist a demand
 * @e: engine
 * @d: demand with its questions set and all else zero; it begins when
 *     ugm_engine_run() has handled what is due before it
 *
 * Context: the engine's serialisation.
 */
void ugm_engine_begin(struct ugm_engine *e, struct ugm_demand *d)
{
	d->stage = UGM_DEMAND_NEW;
	list_add_tail(&d->list, &e->demands);
}

/**
 * ugm_engine_abort() - the caller of a demand gives up
 * @e: engine
 * @d: demand
 *
 * What it asked for still comes. Context: the engine's serialisation.
 */
void ugm_engine_abort(struct ugm_engine *e, struct ugm_demand *d)
{
	if (!d->done)
		ugm_demand_end(e, d, -EINTR);
}
