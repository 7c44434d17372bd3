// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "array.h"
#include "planner.h"

/**
 * DOC: chunks
 *
 * Where each chunk is, what class it therefore belongs to, and what the curves
 * say of it.
 */

static unsigned int class_of(const struct ugm_plan_chunk *c)
{
	if (c->moving)
		return UGM_PLAN_AWAY;
	switch (c->home) {
	case UGM_TIER_GPU:
		return c->copies & 1 << UGM_TIER_HOST  ? UGM_PLAN_CLEAN :
		       c->copies & 1 << UGM_TIER_FLASH ? UGM_PLAN_BACKED :
							 UGM_PLAN_DIRTY;
	case UGM_TIER_HOST:
		return c->copies & 1 << UGM_TIER_FLASH ? UGM_PLAN_HOST_BACKED :
							 UGM_PLAN_HOST;
	case UGM_TIER_FLASH: return UGM_PLAN_FLASH;
	default: return UGM_PLAN_AWAY;
	}
}

static void classify(struct ugm_planner *p, struct ugm_plan_chunk *c)
{
	struct ugm_plan_tensor *t = &p->tensors[c->tensor];
	unsigned int class = class_of(c);

	if (class == c->class)
		return;
	t->nr[c->class]--;
	c->class = (u8) class;
	if (!t->nr[class]++ && class != UGM_PLAN_AWAY)
		ugm_plan_enqueue(p, c->tensor, class);
}

/**
 * ugm_plan_take() - a transfer takes a chunk
 * @p: planner
 * @chunk: chunk
 *
 * Context: any.
 */
void ugm_plan_take(struct ugm_planner *p, u32 chunk)
{
	p->chunks[chunk].moving = true;
	classify(p, &p->chunks[chunk]);
}

/**
 * ugm_plan_settle() - a chunk is somewhere, with copies elsewhere
 * @p: planner
 * @chunk: chunk
 * @home: enum ugm_tier
 * @copies: a bit a tier
 *
 * The caller accounts for the room. Context: any.
 */
void ugm_plan_settle(struct ugm_planner *p, u32 chunk, u8 home, u8 copies)
{
	struct ugm_plan_chunk *c = &p->chunks[chunk];
	u8 host = 1 << UGM_TIER_HOST;
	u32 *array;

	if (home != c->home)
		c->arrived = p->slot;
	if (home == UGM_TIER_GPU && copies & host &&
	    !(c->copies & host && c->home == home)) {
		array = ugm_array_room(p->copies, &p->copies_room,
				       p->nr_copies + 1, sizeof(*array));
		if (array) {
			p->copies = array;
			array[p->nr_copies++] = chunk;
		} else {
			p->no_memory = true;
		}
	}
	c->home = home;
	c->copies = copies;
	c->moving = false;
	classify(p, c);
}

/**
 * ugm_plan_forget_copies() - a chunk is written, or dead
 * @p: planner
 * @chunk: chunk in the GPU tier
 *
 * Context: any.
 */
void ugm_plan_forget_copies(struct ugm_planner *p, u32 chunk)
{
	struct ugm_plan_chunk *c = &p->chunks[chunk];

	if (c->copies & 1 << UGM_TIER_HOST)
		p->host_used -= c->nr;
	c->copies = 0;
	classify(p, c);
}

/**
 * ugm_plan_reclaim() - give up the oldest copy in the host tier
 * @p: planner
 *
 * Context: any.
 * Return: was there one?
 */
bool ugm_plan_reclaim(struct ugm_planner *p)
{
	struct ugm_plan_chunk *c;

	while (p->copies_head < p->nr_copies) {
		c = &p->chunks[p->copies[p->copies_head++]];
		if (c->home != UGM_TIER_GPU || c->moving ||
		    !(c->copies & 1 << UGM_TIER_HOST))
			continue;
		p->host_used -= c->nr;
		c->copies &= (u8) ~(1 << UGM_TIER_HOST);
		classify(p, c);
		return true;
	}
	return false;
}

static u64 nominal(const struct ugm_planner *p, u64 launch)
{
	return launch / p->n * p->start_ns[p->n] + p->start_ns[launch % p->n];
}

/**
 * ugm_plan_expected() - when a launch is expected to begin
 * @p: planner
 * @launch: launch after the one under way
 *
 * Context: any.
 */
u64 ugm_plan_expected(const struct ugm_planner *p, u64 launch)
{
	u64 began = nominal(p, p->slot), end = nominal(p, p->slot + 1);
	u64 at = p->slot_ns + (nominal(p, launch) - began);

	/* It takes longer than the last time: so does all that follows. */
	if (p->now_ns > p->slot_ns + (end - began))
		at += p->now_ns - p->slot_ns - (end - began);
	return at;
}

/**
 * ugm_plan_launch_at() - the first launch that begins at a time or later
 * @p: planner
 * @ns: time
 *
 * Context: any.
 */
u64 ugm_plan_launch_at(const struct ugm_planner *p, u64 ns)
{
	u64 lo = p->slot + 1, hi = p->slot + p->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (ugm_plan_expected(p, mid) >= ns)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/**
 * ugm_plan_expect() - launches are expected to take as long as in this iteration
 * @p: planner, at the end of an iteration
 *
 * Context: any.
 */
void ugm_plan_expect(struct ugm_planner *p)
{
	u32 k;

	for (k = 0; k < p->n; k++)
		p->start_ns[k + 1] = p->start_ns[k] + p->length_ns[k];
}

/**
 * ugm_plan_blocks() - how many blocks some chunks of a tensor are
 * @p: planner
 * @tensor: tensor
 * @chunks: how many chunks
 *
 * Context: any.
 */
s64 ugm_plan_blocks(const struct ugm_planner *p, u32 tensor, u32 chunks)
{
	const struct ugm_plan_tensor *t = &p->tensors[tensor];
	s64 nr = (s64)chunks * p->chunks[t->first_chunk].nr;
	s64 all = p->layout->tensors[tensor].nr_blocks;

	return nr < all ? nr : all;
}

static void on_curve(struct ugm_planner *p, struct ugm_curve *curve, u32 chunk,
		     u64 from, int sign)
{
	const struct ugm_plan_chunk *c = &p->chunks[chunk];

	ugm_curve_add(curve, from, p->tensors[c->tensor].next,
		      sign * (s64)c->nr);
}

/**
 * ugm_plan_leave() - a chunk leaves the GPU tier until its next use
 * @p: planner
 * @chunk: chunk
 * @gone_ns: when its room is free
 *
 * Context: any.
 */
void ugm_plan_leave(struct ugm_planner *p, u32 chunk, u64 gone_ns)
{
	on_curve(p, &p->gpu, chunk,
		 gone_ns > p->now_ns ? ugm_plan_launch_at(p, gone_ns) : p->slot,
		 -1);
}

/**
 * ugm_plan_come() - a chunk that was to come at its next use comes now
 * @p: planner
 * @chunk: chunk
 *
 * Context: any.
 */
void ugm_plan_come(struct ugm_planner *p, u32 chunk)
{
	on_curve(p, &p->gpu, chunk, p->slot, 1);
}

/**
 * ugm_plan_in_flash() - the host tier need not hold a chunk until its next use
 * @p: planner
 * @chunk: chunk
 * @gone_ns: when its room is free
 *
 * Context: any.
 */
void ugm_plan_in_flash(struct ugm_planner *p, u32 chunk, u64 gone_ns)
{
	on_curve(p, &p->host, chunk,
		 gone_ns > p->now_ns ? ugm_plan_launch_at(p, gone_ns) : p->slot,
		 -1);
}

/**
 * ugm_plan_out_of_flash() - a chunk in flash comes back before its next use
 * @p: planner
 * @chunk: chunk
 *
 * Context: any.
 */
void ugm_plan_out_of_flash(struct ugm_planner *p, u32 chunk)
{
	on_curve(p, &p->host, chunk, p->slot, 1);
}

/* What lies ahead of a tensor whose next use is @t->cursor, of iteration @it. */
static void look_ahead(struct ugm_planner *p, u32 tensor, u64 it)
{
	struct ugm_plan_tensor *t = &p->tensors[tensor];
	const struct ugm_plan_use *next = &p->uses[t->first_use + t->cursor];
	const struct ugm_plan_use *last =
		&p->uses[t->first_use + (t->cursor ? t->cursor : t->nr_uses) -
			 1];
	u64 used = (t->cursor ? it : it - 1) * p->n + last->kernel;
	unsigned int i;

	t->next = it * p->n + next->kernel;
	for (i = 0; i < UGM_PLAN_NR_LEVELS; i++)
		t->overfull[i] = last->overfull[i] ? used + last->overfull[i] :
						     UGM_NEED_NONE;
}

/* What is to be away until the tensor's next use is still there. */
static void begin_gap(struct ugm_planner *p, u32 tensor)
{
	struct ugm_plan_tensor *t = &p->tensors[tensor];
	const struct ugm_plan_use *u =
		&p->uses[t->first_use + (t->cursor ? t->cursor : t->nr_uses) -
			 1];

	t->leave = u->leave;
	t->flash = u->flash;
	t->flash_copy = u->flash_copy;
	ugm_curve_add(&p->gpu, p->slot, t->next,
		      ugm_plan_blocks(p, tensor, u->leave));
	if (p->set.guide == UGM_PLAN_GUIDED)
		ugm_curve_add(&p->host, p->slot, t->next,
			      ugm_plan_blocks(p, tensor, u->flash));
}

static void die(struct ugm_planner *p, u32 tensor)
{
	struct ugm_plan_tensor *t = &p->tensors[tensor];
	u32 i;

	for (i = t->first_chunk; i < t->first_chunk + t->nr_chunks; i++) {
		if (p->chunks[i].moving)
			ugm_plan_cancel(p, i);
		ugm_plan_forget_copies(p, i);
		if (p->chunks[i].home == UGM_TIER_GPU)
			p->used -= p->chunks[i].nr;
		ugm_plan_settle(p, i, UGM_TIER_NONE, 0);
	}
}

/**
 * ugm_plan_used() - the launch before this one used a tensor
 * @p: planner
 * @tensor: tensor
 *
 * Context: any.
 */
void ugm_plan_used(struct ugm_planner *p, u32 tensor)
{
	struct ugm_plan_tensor *t = &p->tensors[tensor];
	u64 it = (p->slot - 1) / p->n;
	unsigned int class;

	if (++t->cursor == t->nr_uses) {
		t->cursor = 0;
		it++;
		if (!p->layout->trace->tensors[tensor].global)
			die(p, tensor);
	}
	look_ahead(p, tensor, it);
	if (t->cursor || p->layout->trace->tensors[tensor].global)
		begin_gap(p, tensor);
	for (class = UGM_PLAN_AWAY + 1; class < UGM_PLAN_NR_CLASSES; class++)
		if (t->nr[class])
			ugm_plan_enqueue(p, tensor, class);
}

/* What the GPU tier has to hold at a launch. */
static s64 inside(const struct ugm_planner *p, u32 kernel)
{
	return p->live[kernel] - p->away[kernel];
}

/* What the host tier has to hold at a launch. */
static s64 outside(const struct ugm_planner *p, u32 kernel)
{
	if (p->set.guide == UGM_PLAN_GUIDED)
		return p->away[kernel] - p->flashed[kernel];
	return p->live[kernel] > p->capacity ? p->live[kernel] - p->capacity :
					       0;
}

/**
 * ugm_plan_advance() - the launch under way has ended
 * @p: planner
 *
 * Context: any.
 */
void ugm_plan_advance(struct ugm_planner *p)
{
	u32 k = (u32)(p->slot % p->n);

	p->length_ns[k] = p->now_ns - p->slot_ns;
	ugm_curve_set(&p->gpu, p->slot, inside(p, k));
	ugm_curve_set(&p->host, p->slot, outside(p, k));
	p->slot++;
	p->slot_ns = p->now_ns;
	ugm_plan_resume(p);
	if (p->copies_head > p->nr_copies / 2) {
		memmove(p->copies, p->copies + p->copies_head,
			(p->nr_copies - p->copies_head) * sizeof(*p->copies));
		p->nr_copies -= p->copies_head;
		p->copies_head = 0;
	}
}

/**
 * ugm_plan_begin() - everything is where it is before the first iteration
 * @p: planner
 *
 * Global tensors are in flash, all else is nowhere. The first iteration has the
 * number 1, so that there is one before it.
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_plan_begin(struct ugm_planner *p)
{
	const struct ugm_trace *trace = p->layout->trace;
	struct ugm_plan_tensor *t;
	unsigned int q;
	u32 i, j, k;

	for (q = 0; q < UGM_PLAN_NR_QUEUES; q++)
		p->queues[q].nr = 0;
	for (i = 0; i < UGM_NR_LINKS; i++)
		p->lanes[i].chunk = UGM_PLAN_NONE;
	p->used = p->host_used = 0;
	p->copies_head = p->nr_copies = 0;
	p->nr_moves = p->nr_deferred = 0;
	p->now_ns = p->slot_ns = 0;
	p->slot = p->n;
	for (k = 0; k < p->n; k++) {
		ugm_curve_set(&p->gpu, k, inside(p, k));
		ugm_curve_set(&p->host, k, outside(p, k));
	}
	for (i = 0; i < trace->nr_tensors; i++) {
		t = &p->tensors[i];
		t->cursor = t->leave = t->flash = 0;
		if (!t->nr_chunks || !t->nr_uses)
			continue;
		memset(t->nr, 0, sizeof(t->nr));
		t->nr[UGM_PLAN_AWAY] = t->nr_chunks;
		look_ahead(p, i, 1);
		if (trace->tensors[i].global) {
			begin_gap(p, i);
			t->leave = t->flash = 0;
		}
		for (j = t->first_chunk; j < t->first_chunk + t->nr_chunks;
		     j++) {
			struct ugm_plan_chunk *c = &p->chunks[j];

			c->class = UGM_PLAN_AWAY;
			c->home = UGM_TIER_NONE;
			c->copies = 0;
			c->moving = c->written = false;
			c->arrived = 0;
			if (!trace->tensors[i].global)
				continue;
			ugm_plan_settle(p, j, UGM_TIER_FLASH, 0);
			c->arrived = 0;
			ugm_plan_leave(p, j, 0);
			ugm_plan_in_flash(p, j, 0);
		}
	}
	return p->no_memory ? -ENOMEM : 0;
}
