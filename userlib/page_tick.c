// SPDX-License-Identifier: MIT
#include "array.h"
#include "page_tick.h"

/*
 * A tick of the published page simulator. As all pages of a tensor are used
 * together, only their numbers are kept: how many of a tensor are in each tier,
 * and in what order runs of them arrived and are queued.
 */

#define IN  UGM_PAGE_IN
#define OUT UGM_PAGE_OUT

static u64 min(u64 a, u64 b)
{
	return a < b ? a : b;
}

static void push(struct ugm_page_model *m, struct ugm_page_queue *q, u32 tensor, u64 nr)
{
	struct ugm_page_run *p;

	if (!nr)
		return;
	if (q->end > q->head && q->run[q->end - 1].tensor == tensor) {
		q->run[q->end - 1].nr += nr;
		return;
	}
	if (q->end == q->room && q->head > q->room / 2) {
		q->end -= q->head;
		memmove(q->run, q->run + q->head, q->end * sizeof(*q->run));
		if (q == &m->arrived)
			m->cursor = m->cursor > q->head ? m->cursor - q->head : 0;
		q->head = 0;
	}
	p = ugm_array_room(q->run, &q->room, q->end + 1, sizeof(*p));
	if (!p) {
		m->no_memory = true;
		return;
	}
	q->run = p;
	p[q->end++] = (struct ugm_page_run){ tensor, nr };
}

static struct ugm_page_run *first(struct ugm_page_queue *q)
{
	while (q->head < q->end && !q->run[q->head].nr)
		q->head++;
	return q->head < q->end ? &q->run[q->head] : NULL;
}

static void enqueue(struct ugm_page_model *m, int rank, u32 tensor, u8 from, u64 nr)
{
	push(m, &m->in[rank][from], tensor, nr);
	m->tensors[tensor].queued[from] += nr;
	m->queued += nr;
	if (rank == UGM_PAGE_DEMAND)
		m->demanded += nr;
}

/**
 * ugm_page_queue_in() - queue all pages of a tensor in a tier for the GPU
 * @m: simulator
 * @rank: on demand or planned
 * @tensor: tensor index
 * @from: the tier
 *
 * Those that wait in a queue already stay where they are in it.
 *
 * Context: any.
 */
void ugm_page_queue_in(struct ugm_page_model *m, int rank, u32 tensor, u8 from)
{
	const struct ugm_pages *x = &m->tensors[tensor];

	enqueue(m, rank, tensor, from, x->at[from] - x->queued[from]);
}

/**
 * ugm_page_queue_out() - queue all pages of a tensor in the GPU for another tier
 * @m: simulator
 * @tensor: tensor index
 * @to: the tier
 *
 * Context: any.
 */
void ugm_page_queue_out(struct ugm_page_model *m, u32 tensor, u8 to)
{
	struct ugm_pages *x = &m->tensors[tensor];
	u64 nr = x->at[UGM_TIER_GPU] - x->queued[UGM_TIER_GPU];

	push(m, &m->out[to], tensor, nr);
	x->queued[UGM_TIER_GPU] += nr;
	x->gone += nr;
	m->queued += nr;
}

/**
 * ugm_page_rewind() - prefetches look for victims from the oldest arrival on
 * @m: simulator
 *
 * Context: any.
 */
void ugm_page_rewind(struct ugm_page_model *m)
{
	m->cursor = m->arrived.head;
}

/* Pages of a run in the order of arrival that are still there. */
static bool present(struct ugm_page_model *m, struct ugm_page_run *run)
{
	struct ugm_pages *x = &m->tensors[run->tensor];
	u64 gone = min(run->nr, x->gone);

	run->nr -= gone;
	x->gone -= gone;
	return run->nr;
}

/* The oldest arrivals, or the oldest that a prefetch may evict. */
static struct ugm_page_run *victims(struct ugm_page_model *m, bool any)
{
	struct ugm_page_queue *q = &m->arrived;
	struct ugm_page_run *run;

	while (q->head < q->end && !present(m, &q->run[q->head]))
		q->head++;
	if (any)
		return q->head < q->end ? &q->run[q->head] : NULL;
	if (m->cursor < q->head)
		m->cursor = q->head;
	for (; m->cursor < q->end; m->cursor++) {
		run = &q->run[m->cursor];
		if (present(m, run) && !m->tensors[run->tensor].spared)
			return run;
	}
	return NULL;
}

/* Pages leave the GPU for another tier, or are dropped. */
static void leave(struct ugm_page_model *m, u32 tensor, u8 to, u64 nr)
{
	struct ugm_pages *x = &m->tensors[tensor];

	x->at[UGM_TIER_GPU] -= nr;
	x->at[to] += nr;
	m->used[UGM_TIER_GPU] -= nr;
	m->used[to] += nr;
	m->moved[UGM_TIER_GPU][to] += nr;
	if (x->wanted)
		enqueue(m, UGM_PAGE_DEMAND, tensor, to, nr);
}

static void arrive(struct ugm_page_model *m, u32 tensor, u8 from, u64 nr)
{
	struct ugm_pages *x = &m->tensors[tensor];

	x->at[from] -= nr;
	x->at[UGM_TIER_GPU] += nr;
	m->used[from] -= nr;
	m->used[UGM_TIER_GPU] += nr;
	m->moved[from][UGM_TIER_GPU] += nr;
	push(m, &m->arrived, tensor, nr);
}

static u64 host_room(const struct ugm_page_model *m)
{
	return m->capacity[UGM_TIER_HOST] - m->used[UGM_TIER_HOST];
}

/*
 * The GPU is full: evict up to @nr pages for pages from @from. Victims go to
 * the host while it has room; where a page leaves the host for the GPU, that is
 * room for the next victim. Returns how many; 0: the budget is used up, or
 * there is no victim, which is noted in @stuck.
 */
static u64 evict(struct ugm_page_model *m, struct ugm_page_budget *b, u8 from, u64 nr, bool any,
		 bool *stuck)
{
	u64 room = host_room(m);
	struct ugm_page_run *v;
	u8 to;

	if (!b->link[OUT] || (!room && !b->flash[OUT]))
		return 0;
	v = victims(m, any);
	if (!v) {
		*stuck = true;
		return 0;
	}
	nr = min(nr, v->nr);
	if (m->tensors[v->tensor].dead) {
		to = UGM_TIER_NONE;
	} else if (room) {
		to = UGM_TIER_HOST;
		nr = min(nr, b->link[OUT]);
		if (from != UGM_TIER_HOST)
			nr = min(nr, room);
		b->link[OUT] -= nr;
	} else {
		to = UGM_TIER_FLASH;
		nr = min(nr, min(b->flash[OUT], b->link[OUT]));
		if (from == UGM_TIER_HOST)
			nr = 1;
		b->link[OUT] -= nr;
		b->flash[OUT] -= nr;
	}
	v->nr -= nr;
	leave(m, v->tensor, to, nr);
	return nr;
}

/*
 * Serve a queue of pages into the GPU as far as this tick goes. Returns whether
 * that is over for want of a victim.
 */
static bool serve_in(struct ugm_page_model *m, struct ugm_page_budget *b, int rank, u8 from,
		     bool demand)
{
	struct ugm_page_queue *q = &m->in[rank][from];
	bool stuck = false,
	     any = demand || m->schedule->opt.prefetch_evicts == UGM_PREFETCH_EVICTS_ANY;
	struct ugm_page_run *run;
	struct ugm_pages *x;
	u64 nr, room;

	while ((run = first(q))) {
		x = &m->tensors[run->tensor];
		nr = run->nr;
		if (from == UGM_TIER_NONE || demand)
			nr = min(nr, b->arrivals);
		if (from != UGM_TIER_NONE)
			nr = min(nr, b->link[IN]);
		if (from == UGM_TIER_FLASH)
			nr = min(nr, b->flash[IN]);
		room = m->capacity[UGM_TIER_GPU] - m->used[UGM_TIER_GPU];
		if (room)
			nr = min(nr, room);
		else if (nr)
			nr = evict(m, b, from, nr, any || x->wanted, &stuck);
		if (!nr)
			break;
		/* An eviction may have put more into this queue, and moved it. */
		first(q)->nr -= nr;
		x->queued[from] -= nr;
		m->queued -= nr;
		if (rank == UGM_PAGE_DEMAND)
			m->demanded -= nr;
		arrive(m, (u32)(x - m->tensors), from, nr);
		b->arrivals -= min(nr, b->arrivals);
		if (from != UGM_TIER_NONE)
			b->link[IN] -= nr;
		if (from == UGM_TIER_FLASH)
			b->flash[IN] -= nr;
	}
	return stuck;
}

/* Likewise planned evictions; a full host passes them on to flash. */
static void serve_out(struct ugm_page_model *m, struct ugm_page_budget *b, u8 queue)
{
	struct ugm_page_queue *q = &m->out[queue];
	struct ugm_page_run *run;
	u8 to = queue;
	u64 nr;

	while ((run = first(q))) {
		if (to == UGM_TIER_HOST && !host_room(m))
			to = UGM_TIER_FLASH;
		nr = min(run->nr, b->link[OUT]);
		nr = min(nr, to == UGM_TIER_FLASH ? b->flash[OUT] : host_room(m));
		if (!nr)
			return;
		run->nr -= nr;
		m->tensors[run->tensor].queued[UGM_TIER_GPU] -= nr;
		m->queued -= nr;
		b->link[OUT] -= nr;
		if (to == UGM_TIER_FLASH)
			b->flash[OUT] -= nr;
		leave(m, run->tensor, to, nr);
	}
}

/**
 * ugm_page_tick() - one tick
 * @m: simulator
 * @waiting: a kernel waits for pages
 *
 * Where it waits, nothing crosses the link, and prefetches are not free to
 * evict what they like, prefetches are served as demand: what it waits for may
 * be among them.
 *
 * Context: any.
 * Return: whether a page moved.
 */
bool ugm_page_tick(struct ugm_page_model *m, bool waiting)
{
	struct ugm_page_budget b = m->per_tick;

	m->ticks++;
	serve_out(m, &b, UGM_TIER_FLASH);
	serve_out(m, &b, UGM_TIER_HOST);
	serve_in(m, &b, UGM_PAGE_DEMAND, UGM_TIER_FLASH, true);
	serve_in(m, &b, UGM_PAGE_DEMAND, UGM_TIER_HOST, true);
	serve_in(m, &b, UGM_PAGE_DEMAND, UGM_TIER_NONE, true);
	if (!serve_in(m, &b, UGM_PAGE_PLANNED, UGM_TIER_FLASH, false))
		serve_in(m, &b, UGM_PAGE_PLANNED, UGM_TIER_HOST, false);
	serve_in(m, &b, UGM_PAGE_PLANNED, UGM_TIER_NONE, false);
	if (waiting && m->schedule->opt.prefetch_evicts == UGM_PREFETCH_EVICTS_UNPROTECTED &&
	    b.link[IN] == m->per_tick.link[IN] && b.link[OUT] == m->per_tick.link[OUT]) {
		serve_in(m, &b, UGM_PAGE_PLANNED, UGM_TIER_FLASH, true);
		serve_in(m, &b, UGM_PAGE_PLANNED, UGM_TIER_HOST, true);
		serve_in(m, &b, UGM_PAGE_PLANNED, UGM_TIER_NONE, true);
	}
	return b.arrivals != m->per_tick.arrivals || b.link[OUT] != m->per_tick.link[OUT];
}
