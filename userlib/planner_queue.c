// SPDX-License-Identifier: MIT
#include "array.h"
#include "planner.h"

/**
 * DOC: queues of tensors
 *
 * Who leaves or comes next is asked of queues of tensors, furthest or soonest
 * next use first. A queue is a binary heap whose entries are not looked for
 * when they become void: an entry counts as long as its key is the tensor's and
 * the tensor has chunks of the queue's classes.
 */

static const u32 queue_classes[UGM_PLAN_NR_QUEUES] = {
	[UGM_PLAN_Q_CLEAN] = 1 << UGM_PLAN_CLEAN,
	[UGM_PLAN_Q_BACKED] = 1 << UGM_PLAN_BACKED,
	[UGM_PLAN_Q_DIRTY] = 1 << UGM_PLAN_DIRTY,
	[UGM_PLAN_Q_HOST] = 1 << UGM_PLAN_HOST,
	[UGM_PLAN_Q_HOST_BACKED] = 1 << UGM_PLAN_HOST_BACKED,
	[UGM_PLAN_Q_LEAVE] = 1 << UGM_PLAN_CLEAN | 1 << UGM_PLAN_BACKED |
			     1 << UGM_PLAN_DIRTY,
	[UGM_PLAN_Q_TO_FLASH] = 1 << UGM_PLAN_HOST | 1 << UGM_PLAN_HOST_BACKED,
	[UGM_PLAN_Q_FROM_HOST] = 1 << UGM_PLAN_HOST | 1 << UGM_PLAN_HOST_BACKED,
	[UGM_PLAN_Q_FROM_FLASH] = 1 << UGM_PLAN_FLASH,
	[UGM_PLAN_Q_FLASH_COPY] = 1 << UGM_PLAN_CLEAN | 1 << UGM_PLAN_DIRTY |
				  1 << UGM_PLAN_HOST,
	[UGM_PLAN_Q_WRITE_BACK] = 1 << UGM_PLAN_DIRTY | 1 << UGM_PLAN_BACKED,
	[UGM_PLAN_Q_BACK_UP] = 1 << UGM_PLAN_CLEAN | 1 << UGM_PLAN_DIRTY |
			       1 << UGM_PLAN_HOST,
};

static s64 key_of(const struct ugm_planner *p, const struct ugm_plan_tensor *t,
		  enum ugm_plan_queue q)
{
	return q == UGM_PLAN_Q_FROM_HOST || q == UGM_PLAN_Q_FROM_FLASH ?
		       (s64)t->next :
		       -(s64)t->next;
}

static bool belongs(const struct ugm_plan_tensor *t, enum ugm_plan_queue q)
{
	unsigned int c;

	if (t->next == UGM_NEED_NONE ||
	    (q == UGM_PLAN_Q_WRITE_BACK &&
	     t->overfull[UGM_PLAN_OVER_GPU] == UGM_NEED_NONE) ||
	    (q == UGM_PLAN_Q_BACK_UP &&
	     t->overfull[UGM_PLAN_OVER_HOST] == UGM_NEED_NONE) ||
	    (q == UGM_PLAN_Q_FLASH_COPY && !t->flash_copy) ||
	    (q == UGM_PLAN_Q_LEAVE && !t->leave) ||
	    (q == UGM_PLAN_Q_TO_FLASH && !t->flash))
		return false;
	for (c = 0; c < UGM_PLAN_NR_CLASSES; c++)
		if (queue_classes[q] & 1u << c && t->nr[c])
			return true;
	return false;
}

static void push(struct ugm_planner *p, enum ugm_plan_queue q, u32 tensor)
{
	struct ugm_plan_heap *h = &p->queues[q];
	struct ugm_plan_entry e = {key_of(p, &p->tensors[tensor], q), tensor};
	struct ugm_plan_entry *entries;
	u64 i, up;

	entries = ugm_array_room(h->entries, &h->room, h->nr + 1,
				 sizeof(*entries));
	if (!entries) {
		p->no_memory = true;
		return;
	}
	h->entries = entries;
	for (i = h->nr++; i; i = up) {
		up = (i - 1) / 2;
		if (entries[up].key <= e.key)
			break;
		entries[i] = entries[up];
	}
	entries[i] = e;
}

/**
 * ugm_plan_pop() - take the first entry out of a queue
 * @p: planner
 * @q: a queue that is not empty
 *
 * Context: any.
 */
void ugm_plan_pop(struct ugm_planner *p, enum ugm_plan_queue q)
{
	struct ugm_plan_heap *h = &p->queues[q];
	struct ugm_plan_entry last = h->entries[--h->nr];
	u64 i = 0, down;

	while ((down = 2 * i + 1) < h->nr) {
		if (down + 1 < h->nr &&
		    h->entries[down + 1].key < h->entries[down].key)
			down++;
		if (last.key <= h->entries[down].key)
			break;
		h->entries[i] = h->entries[down];
		i = down;
	}
	if (h->nr)
		h->entries[i] = last;
}

/**
 * ugm_plan_top() - the first tensor of a queue
 * @p: planner
 * @q: queue
 * @tensor: that tensor
 *
 * Context: any.
 * Return: is there one?
 */
bool ugm_plan_top(struct ugm_planner *p, enum ugm_plan_queue q, u32 *tensor)
{
	struct ugm_plan_heap *h = &p->queues[q];
	struct ugm_plan_tensor *t;

	for (; h->nr; ugm_plan_pop(p, q)) {
		t = &p->tensors[h->entries[0].tensor];
		if (!belongs(t, q) || key_of(p, t, q) != h->entries[0].key)
			continue;
		*tensor = h->entries[0].tensor;
		return true;
	}
	return false;
}

/**
 * ugm_plan_defer() - leave the first entry of a queue alone until the next launch
 * @p: planner
 * @q: a queue that is not empty
 *
 * Context: any.
 */
void ugm_plan_defer(struct ugm_planner *p, enum ugm_plan_queue q)
{
	struct ugm_plan_deferred *d;

	d = ugm_array_room(p->deferred, &p->deferred_room, p->nr_deferred + 1,
			   sizeof(*d));
	if (d) {
		p->deferred = d;
		d[p->nr_deferred++] = (struct ugm_plan_deferred){
			.tensor = p->queues[q].entries[0].tensor,
			.queue = (u8)q,
		};
	} else {
		p->no_memory = true;
	}
	ugm_plan_pop(p, q);
}

/**
 * ugm_plan_resume() - what was deferred counts again
 * @p: planner, at the begin of a launch
 *
 * Context: any.
 */
void ugm_plan_resume(struct ugm_planner *p)
{
	const struct ugm_plan_deferred *d;
	u64 i;

	for (i = 0; i < p->nr_deferred; i++) {
		d = &p->deferred[i];
		if (belongs(&p->tensors[d->tensor], (enum ugm_plan_queue)d->queue))
			push(p, (enum ugm_plan_queue)d->queue, d->tensor);
	}
	p->nr_deferred = 0;
}

/* A chunk because of which a tensor is in a queue, and that may move; or none. */
static u32 find(const struct ugm_planner *p, u32 tensor, enum ugm_plan_queue q)
{
	const struct ugm_plan_tensor *t = &p->tensors[tensor];
	u32 i;

	for (i = t->first_chunk; i < t->first_chunk + t->nr_chunks; i++)
		if (queue_classes[q] & 1u << p->chunks[i].class &&
		    ugm_plan_movable(p, &p->chunks[i]))
			return i;
	return UGM_PLAN_NONE;
}

/**
 * ugm_plan_first() - the first chunk of a queue that may move
 * @p: planner
 * @q: queue
 * @tensor: its tensor, the first of the queue now
 *
 * What came to its home during this launch is left where it is, for hints of one
 * launch all act at its begin; but not in the GPU tier while a launch waits.
 * Tensors of which nothing else is there are deferred.
 *
 * Context: any.
 * Return: a chunk, or UGM_PLAN_NONE.
 */
u32 ugm_plan_first(struct ugm_planner *p, enum ugm_plan_queue q, u32 *tensor)
{
	u32 chunk;

	while (ugm_plan_top(p, q, tensor)) {
		chunk = find(p, *tensor, q);
		if (chunk != UGM_PLAN_NONE)
			return chunk;
		ugm_plan_defer(p, q);
	}
	return UGM_PLAN_NONE;
}

/**
 * ugm_plan_enqueue() - a tensor has chunks of a class, or its next use is
 * another
 * @p: planner
 * @tensor: tensor
 * @class: enum ugm_plan_class
 *
 * Context: any.
 */
void ugm_plan_enqueue(struct ugm_planner *p, u32 tensor, unsigned int class)
{
	unsigned int q;

	for (q = 0; q < UGM_PLAN_NR_QUEUES; q++)
		if (queue_classes[q] & 1u << class &&
		    belongs(&p->tensors[tensor], (enum ugm_plan_queue)q))
			push(p, (enum ugm_plan_queue)q, tensor);
}
