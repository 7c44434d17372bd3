// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "array.h"
#include "page_model.h"

/**
 * DOC: the published page simulator
 *
 * A second opinion on schedules, with the assumptions of the simulator that was
 * published with G10 instead of the engine's. Transfers advance in ticks; a tick
 * moves so many pages of 4 KiB each way over the GPU link, of which flash has
 * its share, and allocates so many. Queues are first in, first out; a demand
 * waits where its page is queued. A page that enters a full GPU evicts the page
 * that arrived first, in the same tick, whoever needs it. A kernel starts with a
 * check of whole tensors, and ends when all pages are there, but not before its
 * duration and the handling of its faults, at the rate of the link they use, are
 * over.
 *
 * As all pages of a tensor are used together, only their numbers are kept: how
 * many of a tensor are in each tier, and in what order runs of them arrived.
 */

#define PAGE 4096ULL
/* 15,599 cycles at 1.2 GHz: in this time the GPU link moves 50 pages. */
#define TICK_NS (15599 / 1.2)
#define ALLOCATIONS_PER_TICK 3899ULL

/* Queues: by where the page comes from; those out of the GPU by where it goes. */
enum { DEMAND, PLANNED, NR_RANKS };

/**
 * struct run - pages of one tensor, one after another in a queue or an order
 * @tensor: tensor index
 * @life: its life; pages of an earlier one are gone
 * @nr: how many
 */
struct run {
	u32 tensor;
	u32 life;
	u64 nr;
};

/**
 * struct runs - a queue of them
 * @run: the runs
 * @head: first that counts
 * @end: end
 * @room: how many @run has room for
 */
struct runs {
	struct run *run;
	u64 head;
	u64 end;
	u64 room;
};

/**
 * struct pages - the pages of a tensor
 * @total: all of them
 * @at: where they are
 * @queued: of those, the ones that wait in a queue
 * @left: of the oldest runs in the arrival order, pages that are leaving or have
 *        left by another way
 * @life: counts up when the tensor dies
 * @dead: may be dropped
 * @spared: a prefetch must not evict it
 * @wanted: the running kernel needs it
 */
struct pages {
	u64 total;
	u64 at[UGM_NR_TIERS];
	u64 queued[UGM_NR_TIERS];
	u64 left;
	u32 life;
	bool dead;
	bool spared;
	bool wanted;
};

/**
 * struct budget - pages that can still move in a tick
 * @link: over the GPU link, into the GPU and out of it
 * @flash: of those from and to flash
 * @allocations: first touches
 */
struct budget {
	u64 link[2];
	u64 flash[2];
	u64 allocations;
};

enum { IN, OUT };

/**
 * struct model - the simulator
 * @trace: trace
 * @schedule: what is replayed
 * @tensors: by tensor index
 * @arrived: GPU pages in order of arrival
 * @cursor: where the search of a prefetch for a victim goes on
 * @in: queues of pages into the GPU, by rank and where they are
 * @out: queues of planned evictions, by where they go
 * @per_tick: a tick's budget
 * @link_bytes_per_s: at which faults are handled
 * @flash_bytes_per_s: likewise those of flash
 * @capacity: pages of the GPU and of the host
 * @used: likewise in use
 * @ticks: since the beginning
 * @moved: pages, by source and destination
 * @moves: all of them, ever
 * @no_memory: an array could not grow
 */
struct model {
	const struct ugm_trace *trace;
	const struct ugm_schedule *schedule;
	struct pages *tensors;
	struct runs arrived;
	u64 cursor;
	struct runs in[NR_RANKS][UGM_NR_TIERS];
	struct runs out[UGM_NR_TIERS];
	struct budget per_tick;
	u64 link_bytes_per_s;
	u64 flash_bytes_per_s;
	u64 capacity[UGM_NR_TIERS];
	u64 used[UGM_NR_TIERS];
	u64 ticks;
	u64 moved[UGM_NR_TIERS][UGM_NR_TIERS];
	u64 moves;
	bool no_memory;
};

static u64 min(u64 a, u64 b)
{
	return a < b ? a : b;
}

static void push(struct model *m, struct runs *r, u32 tensor, u64 nr)
{
	u32 life = m->tensors[tensor].life;
	struct run *last = r->end > r->head ? &r->run[r->end - 1] : NULL;
	struct run *p;

	if (!nr)
		return;
	if (last && last->tensor == tensor && last->life == life) {
		last->nr += nr;
		return;
	}
	if (r->end == r->room && r->head > r->room / 2) {
		r->end -= r->head;
		memmove(r->run, r->run + r->head, r->end * sizeof(*r->run));
		if (r == &m->arrived)
			m->cursor = m->cursor > r->head ? m->cursor - r->head : 0;
		r->head = 0;
	}
	p = ugm_array_room(r->run, &r->room, r->end + 1, sizeof(*p));
	if (!p) {
		m->no_memory = true;
		return;
	}
	r->run = p;
	p[r->end++] = (struct run){ tensor, life, nr };
}

/* The first run of a queue whose tensor still lives. */
static struct run *first(struct model *m, struct runs *r)
{
	struct run *run;

	for (; r->head < r->end; r->head++) {
		run = &r->run[r->head];
		if (run->nr && run->life == m->tensors[run->tensor].life)
			return run;
	}
	return NULL;
}

/* Pages of a run that are still there as it says. */
static bool present(struct model *m, struct run *run)
{
	struct pages *x = &m->tensors[run->tensor];
	u64 gone;

	if (run->life != x->life)
		run->nr = 0;
	gone = min(run->nr, x->left);
	run->nr -= gone;
	x->left -= gone;
	return run->nr;
}

/* The oldest arrivals, or the oldest that a prefetch may evict. */
static struct run *victims(struct model *m, bool demand)
{
	struct runs *r = &m->arrived;
	struct run *run;

	while (r->head < r->end && !present(m, &r->run[r->head]))
		r->head++;
	if (demand)
		return r->head < r->end ? &r->run[r->head] : NULL;
	if (m->cursor < r->head)
		m->cursor = r->head;
	for (; m->cursor < r->end; m->cursor++) {
		run = &r->run[m->cursor];
		if (present(m, run) && !m->tensors[run->tensor].spared)
			return run;
	}
	return NULL;
}

static void queue_in(struct model *m, int rank, u32 tensor, u8 from, u64 nr)
{
	push(m, &m->in[rank][from], tensor, nr);
	m->tensors[tensor].queued[from] += nr;
}

/* Pages leave the GPU for another tier, or are dropped. */
static void leave(struct model *m, u32 tensor, u8 to, u64 nr)
{
	struct pages *x = &m->tensors[tensor];

	x->at[UGM_TIER_GPU] -= nr;
	x->at[to] += nr;
	m->used[UGM_TIER_GPU] -= nr;
	m->used[to] += nr;
	m->moved[UGM_TIER_GPU][to] += nr;
	m->moves += nr;
	if (x->wanted)
		queue_in(m, DEMAND, tensor, to, nr);
}

/* Make room for up to @nr pages; how many there is room for then. */
static u64 make_room(struct model *m, struct budget *b, u64 nr, bool demand)
{
	u64 room = m->capacity[UGM_TIER_GPU] - m->used[UGM_TIER_GPU];
	struct run *v;
	u64 part;
	u8 to;

	while (room < nr && (v = victims(m, demand))) {
		part = min(v->nr, nr - room);
		if (m->tensors[v->tensor].dead) {
			to = UGM_TIER_NONE;
		} else if (m->used[UGM_TIER_HOST] < m->capacity[UGM_TIER_HOST] &&
			   b->link[OUT]) {
			to = UGM_TIER_HOST;
			part = min(part, b->link[OUT]);
			part = min(part, m->capacity[UGM_TIER_HOST] -
					 m->used[UGM_TIER_HOST]);
			b->link[OUT] -= part;
		} else if (min(b->flash[OUT], b->link[OUT])) {
			to = UGM_TIER_FLASH;
			part = min(part, min(b->flash[OUT], b->link[OUT]));
			b->link[OUT] -= part;
			b->flash[OUT] -= part;
		} else {
			break;
		}
		v->nr -= part;
		leave(m, v->tensor, to, part);
		room += part;
	}
	return min(room, nr);
}

/* Serve a queue of pages into the GPU as far as this tick goes. */
static void serve_in(struct model *m, struct budget *b, int rank, u8 from,
		     bool as_demand)
{
	struct runs *q = &m->in[rank][from];
	struct pages *x;
	struct run *run;
	u64 nr;

	while ((run = first(m, q))) {
		x = &m->tensors[run->tensor];
		nr = run->nr;
		nr = min(nr, from == UGM_TIER_NONE ? b->allocations : b->link[IN]);
		if (from == UGM_TIER_FLASH)
			nr = min(nr, b->flash[IN]);
		/* One at a time where the page that leaves may need its room. */
		nr = make_room(m, b, nr, as_demand);
		if (!nr)
			return;
		/* An eviction may have put more into this queue. */
		run = first(m, q);
		run->nr -= nr;
		x->queued[from] -= nr;
		x->at[from] -= nr;
		x->at[UGM_TIER_GPU] += nr;
		m->used[from] -= nr;
		m->used[UGM_TIER_GPU] += nr;
		m->moved[from][UGM_TIER_GPU] += nr;
		m->moves += nr;
		push(m, &m->arrived, (u32)(x - m->tensors), nr);
		if (from == UGM_TIER_NONE)
			b->allocations -= nr;
		else
			b->link[IN] -= nr;
		if (from == UGM_TIER_FLASH)
			b->flash[IN] -= nr;
	}
}

/* Likewise planned evictions; a full host passes them on to flash. */
static void serve_out(struct model *m, struct budget *b, u8 queue)
{
	struct runs *q = &m->out[queue];
	struct run *run;
	u8 to = queue;
	u64 nr;

	while ((run = first(m, q))) {
		if (m->used[to] >= m->capacity[to])
			to = UGM_TIER_FLASH;
		nr = min(run->nr, b->link[OUT]);
		nr = min(nr, to == UGM_TIER_FLASH ?
				     b->flash[OUT] :
				     m->capacity[to] - m->used[to]);
		if (!nr)
			return;
		run->nr -= nr;
		m->tensors[run->tensor].queued[UGM_TIER_GPU] -= nr;
		b->link[OUT] -= nr;
		if (to == UGM_TIER_FLASH)
			b->flash[OUT] -= nr;
		leave(m, run->tensor, to, nr);
	}
}

static const u8 order[] = { UGM_TIER_FLASH, UGM_TIER_HOST, UGM_TIER_NONE };

static bool waiting(struct model *m)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(order); i++)
		if (first(m, &m->in[DEMAND][order[i]]) ||
		    first(m, &m->in[PLANNED][order[i]]) ||
		    (order[i] && first(m, &m->out[order[i]])))
			return true;
	return false;
}

/* One tick. @stalled: a kernel waits; then what is planned must not be stuck. */
static void tick(struct model *m, bool stalled)
{
	struct budget b = m->per_tick;
	u64 before = m->moves;
	unsigned int i;

	serve_out(m, &b, UGM_TIER_FLASH);
	serve_out(m, &b, UGM_TIER_HOST);
	for (i = 0; i < ARRAY_SIZE(order); i++)
		serve_in(m, &b, DEMAND, order[i], true);
	for (i = 0; i < ARRAY_SIZE(order); i++)
		serve_in(m, &b, PLANNED, order[i],
			 m->schedule->opt.prefetch_evicts ==
				 UGM_PREFETCH_EVICTS_ANY);
	if (stalled && m->moves == before)
		for (i = 0; i < ARRAY_SIZE(order); i++)
			serve_in(m, &b, PLANNED, order[i], true);
	m->ticks++;
}

static void die(struct model *m, u32 tensor)
{
	struct pages *x = &m->tensors[tensor];
	unsigned int t;

	for (t = UGM_TIER_NONE + 1; t < UGM_NR_TIERS; t++) {
		m->used[t] -= x->at[t];
		x->at[t] = 0;
		x->queued[t] = 0;
	}
	x->at[UGM_TIER_NONE] = x->total;
	x->queued[UGM_TIER_NONE] = 0;
	x->left = 0;
	x->life++;
	x->dead = false;
}

static void give_hint(struct model *m, const struct ugm_schedule_hint *h)
{
	struct pages *x = &m->tensors[h->tensor];
	u64 nr;
	u8 t;

	switch (h->op) {
	case UGM_OP_PROTECT:
		x->spared = true;
		break;
	case UGM_OP_UNPROTECT:
		x->spared = false;
		break;
	case UGM_OP_DISCARD:
		if (m->schedule->opt.dead == UGM_DEAD_DROP)
			die(m, h->tensor);
		else
			x->dead = m->schedule->opt.dead == UGM_DEAD_LAZY;
		break;
	case UGM_OP_EVICT:
		nr = x->at[UGM_TIER_GPU] - x->queued[UGM_TIER_GPU];
		push(m, &m->out[h->tier], h->tensor, nr);
		x->queued[UGM_TIER_GPU] += nr;
		x->left += nr;
		break;
	case UGM_OP_PREFETCH:
		for (t = 0; t < UGM_NR_TIERS; t++)
			if (t != UGM_TIER_GPU)
				queue_in(m, PLANNED, h->tensor, t,
					 x->at[t] - x->queued[t]);
		break;
	default:
		break;
	}
}

/*
 * Ask for what a kernel lacks. The result is the time that its faults cost;
 * pages that are on their way are no faults. Those of flash are handled beside
 * all others.
 */
static double demand(struct model *m, u32 kernel)
{
	const struct ugm_use *use = ugm_kernel_uses(m->trace, kernel);
	u64 pages[2] = {}, nr;
	double link, flash;
	u32 i, times;
	u8 t;

	for (i = 0; i < m->trace->kernels[kernel].nr_uses; i++) {
		struct pages *x = &m->tensors[use[i].tensor];

		x->wanted = true;
		x->dead = false;
		/* A fault of a reader and one of a writer are two. */
		times = use[i].mode == (UGM_OPERAND_READ | UGM_OPERAND_WRITE) ?
				2 : 1;
		for (t = 0; t < UGM_NR_TIERS; t++) {
			if (t == UGM_TIER_GPU)
				continue;
			nr = x->at[t] - x->queued[t];
			queue_in(m, DEMAND, use[i].tensor, t, nr);
			pages[t == UGM_TIER_FLASH] += nr * times;
		}
	}
	link = (double)pages[0] * PAGE * 1e9 / (double)m->link_bytes_per_s;
	flash = (double)pages[1] * PAGE * 1e9 / (double)m->flash_bytes_per_s;
	return link > flash ? link : flash;
}

/* Are all operands of a kernel there, and none of them about to leave? */
static bool ready(const struct model *m, u32 kernel)
{
	const struct ugm_use *use = ugm_kernel_uses(m->trace, kernel);
	u32 i;

	for (i = 0; i < m->trace->kernels[kernel].nr_uses; i++) {
		const struct pages *x = &m->tensors[use[i].tensor];

		if (x->at[UGM_TIER_GPU] < x->total ||
		    x->queued[UGM_TIER_GPU])
			return false;
	}
	return true;
}

/* Run a kernel that begins at @now; returns when it ends, or a negative errno. */
static double launch(struct model *m, u32 kernel, double now)
{
	const struct ugm_use *use = ugm_kernel_uses(m->trace, kernel);
	double end = now + (double)m->trace->kernels[kernel].duration_ns;
	u64 before, idle;
	u32 i;

	m->cursor = m->arrived.head;
	end += demand(m, kernel);
	while (!ready(m, kernel)) {
		before = m->moves;
		tick(m, true);
		idle = m->moves == before ? idle + 1 : 0;
		if (m->no_memory || idle)
			return m->no_memory ? -ENOMEM : -ENOSPC;
	}
	if (end < (double)m->ticks * TICK_NS)
		end = (double)m->ticks * TICK_NS;
	while ((double)(m->ticks + 1) * TICK_NS <= end) {
		if (!waiting(m)) {
			m->ticks = (u64)(end / TICK_NS);
			break;
		}
		tick(m, false);
	}
	for (i = 0; i < m->trace->kernels[kernel].nr_uses; i++)
		m->tensors[use[i].tensor].wanted = false;
	return end;
}

static int set_up(struct model *m, const struct ugm_layout *layout)
{
	const struct ugm_config *c = &layout->config;
	u64 flash[2] = { c->flash_read_bytes_per_s, c->flash_write_bytes_per_s };
	unsigned int i;
	u32 x;

	m->trace = layout->trace;
	m->capacity[UGM_TIER_GPU] = c->gpu_mem_bytes / PAGE;
	m->capacity[UGM_TIER_HOST] = c->host_mem_bytes / PAGE;
	m->capacity[UGM_TIER_FLASH] = U64_MAX;
	for (i = 0; i < 2; i++) {
		m->per_tick.link[i] = (u64)((double)c->pcie_bytes_per_s *
					    TICK_NS / 1e9 / PAGE);
		m->per_tick.flash[i] = (u64)((double)flash[i] * TICK_NS / 1e9 /
					     PAGE);
		if (!m->per_tick.link[i] || !m->per_tick.flash[i])
			return -EINVAL;
	}
	m->link_bytes_per_s = c->pcie_bytes_per_s;
	m->flash_bytes_per_s = min(flash[0], flash[1]);
	m->per_tick.allocations = ALLOCATIONS_PER_TICK;
	m->tensors = calloc(m->trace->nr_tensors + 1, sizeof(*m->tensors));
	if (!m->tensors)
		return -ENOMEM;
	for (x = 0; x < m->trace->nr_tensors; x++) {
		struct pages *p = &m->tensors[x];
		u8 home = m->trace->tensors[x].global ? UGM_TIER_FLASH :
							UGM_TIER_NONE;

		p->total = (m->trace->tensors[x].bytes + PAGE - 1) / PAGE;
		p->at[home] = p->total;
		m->used[home] += p->total;
	}
	return 0;
}

static void tear_down(struct model *m)
{
	unsigned int r, t;

	for (t = 0; t < UGM_NR_TIERS; t++) {
		for (r = 0; r < NR_RANKS; r++)
			free(m->in[r][t].run);
		free(m->out[t].run);
	}
	free(m->arrived.run);
	free(m->tensors);
}

static int iterate(struct model *m, u64 iteration, double *now,
		   struct ugm_progress *progress, struct ugm_result *r,
		   struct ugm_error *err)
{
	const struct ugm_schedule *s = m->schedule;
	double began = *now;
	u64 next = 0;
	u32 k;

	memset(m->moved, 0, sizeof(m->moved));
	for (k = 0; k < m->trace->nr_kernels; k++) {
		for (; next < s->nr_hints && s->hints[next].at == k; next++)
			give_hint(m, &s->hints[next]);
		*now = launch(m, k, *now);
		if (*now < 0)
			return ugm_fail(err, (int)*now,
					"%s: kernel %u (%s) of iteration %llu: %s",
					m->trace->name, k,
					m->trace->kernels[k].name,
					(unsigned long long)iteration + 1,
					strerror((int)-*now));
		ugm_progress_update(progress,
				    iteration * m->trace->nr_kernels + k + 1);
	}
	r->iterations_ns[iteration] = (u64)(*now - began);
	return 0;
}

/**
 * ugm_page_model() - what a schedule costs in the published page simulator
 * @layout: the trace on its machine
 * @s: schedule; hints are about whole tensors
 * @progress: counts launches, or NULL
 * @result: initialised for the number of iterations; filled
 * @err: why not
 *
 * Context: may sleep.
 * Return: 0 or a negative errno.
 */
int ugm_page_model(const struct ugm_layout *layout,
		   const struct ugm_schedule *s, struct ugm_progress *progress,
		   struct ugm_result *result, struct ugm_error *err)
{
	struct model m = { .schedule = s };
	unsigned int src, dst;
	double now = 0;
	u64 i;
	int ret;

	ret = set_up(&m, layout);
	if (ret)
		ugm_fail(err, ret, "%s: set-up: %s", layout->trace->name,
			 ret == -EINVAL ? "a tick moves less than one page" :
					  strerror(-ret));
	result->fastest = true;
	for (i = 0; i < result->iterations && !ret; i++) {
		ret = iterate(&m, i, &now, progress, result, err);
		if (ret || !ugm_result_is(result, i))
			continue;
		for (src = 0; src < UGM_NR_TIERS; src++)
			for (dst = 0; dst < UGM_NR_TIERS; dst++)
				result->traffic_bytes[src][dst] =
					m.moved[src][dst] * PAGE;
	}
	if (!ret)
		ugm_result_finish(result);
	tear_down(&m);
	return ret;
}
