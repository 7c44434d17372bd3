// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "planner.h"

/* Bytes of a chunk: enough blocks for little work, few enough to fit anywhere. */
#define CHUNK_BYTES   (16ULL << 20)
/*
 * What does not go as planned needs room in the host tier: so many bytes, but
 * not more than this part of it.
 */
#define RESERVE_BYTES (640ULL << 20)
#define RESERVE_PART  25
/* Moves during a launch that waits, for each chunk, before it is given up. */
#define PATIENCE      16

static int make_chunks(struct ugm_planner *p)
{
	const struct ugm_layout *l = p->layout;
	u32 per = (u32)(CHUNK_BYTES / l->block_bytes), i, left, first;
	u64 nr = 0;

	if (!per)
		per = 1;
	for (i = 0; i < l->trace->nr_tensors; i++)
		nr += (l->tensors[i].nr_blocks + per - 1) / per;
	if (nr >= UGM_PLAN_NONE)
		return -ENOMEM;
	p->chunks = calloc(nr + 1, sizeof(*p->chunks));
	p->missing = calloc(nr + 1, sizeof(*p->missing));
	if (!p->chunks || !p->missing)
		return -ENOMEM;
	for (i = 0; i < l->trace->nr_tensors; i++) {
		struct ugm_plan_tensor *t = &p->tensors[i];

		t->first_chunk = p->nr_chunks;
		for (first = 0; first < l->tensors[i].nr_blocks; first += per) {
			struct ugm_plan_chunk *c = &p->chunks[p->nr_chunks++];

			left = l->tensors[i].nr_blocks - first;
			c->tensor = i;
			c->first = first;
			c->nr = left < per ? left : per;
			c->bytes = c->nr * l->block_bytes;
			if (left <= per)
				c->bytes -= l->block_bytes -
					    l->tensors[i].tail_bytes;
		}
		t->nr_chunks = p->nr_chunks - t->first_chunk;
	}
	return 0;
}

/* How many blocks are live at each launch. */
static void count_live(struct ugm_planner *p)
{
	const struct ugm_layout *l = p->layout;
	s64 globals = 0, sum = 0;
	u32 i, k;

	for (i = 0; i < l->trace->nr_tensors; i++) {
		const struct ugm_plan_tensor *t = &p->tensors[i];
		s64 nr = l->tensors[i].nr_blocks;

		if (!nr || !t->nr_uses)
			continue;
		if (l->trace->tensors[i].global) {
			globals += nr;
			continue;
		}
		p->live[p->uses[t->first_use].kernel] += nr;
		p->live[p->uses[t->first_use + t->nr_uses - 1].kernel + 1] -=
			nr;
	}
	for (k = 0; k < p->n; k++) {
		sum += p->live[k];
		p->live[k] = sum + globals;
	}
}

/*
 * How far it is from each use to the last overfull launch in one of the gaps
 * before the next write. Backwards, and twice around for what is circular.
 */
static void measure_gaps(struct ugm_planner *p, const u32 *since, u32 tensor,
			 enum ugm_plan_level level)
{
	struct ugm_plan_tensor *t = &p->tensors[tensor];
	struct ugm_plan_use *u = &p->uses[t->first_use];
	bool global = p->layout->trace->tensors[tensor].global;
	u32 round, i, next, gap, last;

	for (round = 0; round < 2; round++) {
		for (i = t->nr_uses; i-- > 0;) {
			next = i + 1 < t->nr_uses ? i + 1 : 0;
			if (!next && !global)
				continue;
			gap = u[next].kernel + (next ? 0 : p->n) - u[i].kernel;
			last = since[(u[next].kernel + p->n - 1) % p->n] + 1;
			if (!u[next].writes && u[next].overfull[level])
				u[i].overfull[level] =
					gap + u[next].overfull[level];
			else if (last < gap)
				u[i].overfull[level] = gap - last;
		}
	}
}

static int find_gaps(struct ugm_planner *p, enum ugm_plan_level level)
{
	s64 room = p->capacity +
		   (level == UGM_PLAN_OVER_HOST ? p->host_capacity : 0);
	u32 *since = calloc(p->n, sizeof(*since));
	u32 i, k, far = 2 * p->n + 1;

	if (!since)
		return -ENOMEM;
	/* Launches from the last overfull one to each. */
	for (i = 0; i < 2 * p->n; i++) {
		k = i % p->n;
		far = p->live[k] > room ? 0 : far + 1;
		since[k] = far;
	}
	for (i = 0; i < p->layout->trace->nr_tensors; i++)
		measure_gaps(p, since, i, level);
	free(since);
	return 0;
}

static int make_uses(struct ugm_planner *p)
{
	const struct ugm_trace *trace = p->layout->trace;
	u32 k, i;
	int ret = ugm_vitality_analyse(trace, &p->vitality);

	if (ret)
		return ret;
	p->uses = calloc(trace->nr_uses + 1, sizeof(*p->uses));
	if (!p->uses)
		return -ENOMEM;
	for (i = 0; i < trace->nr_tensors; i++)
		p->tensors[i].first_use = p->vitality.first[i];
	for (k = 0; k < trace->nr_kernels; k++) {
		const struct ugm_use *use = ugm_kernel_uses(trace, k);

		for (i = 0; i < trace->kernels[k].nr_uses; i++) {
			struct ugm_plan_tensor *t = &p->tensors[use[i].tensor];

			p->uses[t->first_use + t->nr_uses++] =
				(struct ugm_plan_use){
					.kernel = k,
					.writes = use[i].mode &
						  UGM_OPERAND_WRITE,
				};
		}
	}
	return 0;
}

/**
 * ugm_planner_make() - a planner for a trace on a machine
 * @layout: that; must stay
 * @planner: the planner; ugm_planner_free() it
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_planner_make(const struct ugm_layout *layout,
		     struct ugm_planner **planner)
{
	const struct ugm_trace *trace = layout->trace;
	struct ugm_planner *p = calloc(1, sizeof(*p));
	int ret = -ENOMEM;

	*planner = p;
	if (!p)
		return ret;
	p->layout = layout;
	p->n = trace->nr_kernels;
	p->capacity = (s64)(layout->gpu_blocks - layout->arena_blocks);
	p->host_capacity = (s64)layout->host_blocks;
	p->tensors = calloc((size_t)trace->nr_tensors + 1, sizeof(*p->tensors));
	p->live = calloc((size_t)p->n + 1, sizeof(*p->live));
	p->away = calloc((size_t)p->n + 1, sizeof(*p->away));
	p->flashed = calloc((size_t)p->n + 1, sizeof(*p->flashed));
	p->start_ns = calloc((size_t)p->n + 1, sizeof(*p->start_ns));
	p->length_ns = calloc((size_t)p->n + 1, sizeof(*p->length_ns));
	if (p->tensors && p->live && p->away && p->flashed && p->start_ns &&
	    p->length_ns)
		ret = make_uses(p);
	if (!ret)
		ret = make_chunks(p);
	if (!ret) {
		count_live(p);
		ret = find_gaps(p, UGM_PLAN_OVER_GPU) ?:
		      find_gaps(p, UGM_PLAN_OVER_HOST);
	}
	if (!ret &&
	    (ugm_curve_init(&p->gpu, p->n) || ugm_curve_init(&p->host, p->n)))
		ret = -ENOMEM;
	if (ret) {
		ugm_planner_free(p);
		*planner = NULL;
	}
	return ret;
}

/**
 * ugm_planner_free() - forget a planner
 * @p: planner, or NULL
 *
 * Context: any.
 */
void ugm_planner_free(struct ugm_planner *p)
{
	unsigned int q;

	if (!p)
		return;
	for (q = 0; q < UGM_PLAN_NR_QUEUES; q++)
		free(p->queues[q].entries);
	ugm_curve_free(&p->gpu);
	ugm_curve_free(&p->host);
	ugm_vitality_free(&p->vitality);
	free(p->tensors);
	free(p->chunks);
	free(p->missing);
	free(p->uses);
	free(p->live);
	free(p->away);
	free(p->flashed);
	free(p->start_ns);
	free(p->length_ns);
	free(p->deferred);
	free(p->copies);
	free(p->moves);
	free(p);
}

/* Is a chunk that the launch uses leaving, or copied while it is written? */
static bool in_the_way(const struct ugm_planner *p, u32 chunk)
{
	const struct ugm_plan_lane *l = p->lanes;

	while (l->chunk != chunk)
		l++;
	return l->copy ? p->chunks[chunk].written : l->dst != UGM_TIER_GPU;
}

/* Launch under way: what does it miss? */
static void enter(struct ugm_planner *p)
{
	const struct ugm_trace *trace = p->layout->trace;
	u32 k = (u32)(p->slot % p->n), i, j;
	const struct ugm_use *use = ugm_kernel_uses(trace, k);

	p->nr_missing = 0;
	p->missing_blocks = 0;
	p->waiting = true;
	for (i = 0; i < trace->kernels[k].nr_uses; i++) {
		struct ugm_plan_tensor *t = &p->tensors[use[i].tensor];
		bool writes = use[i].mode & UGM_OPERAND_WRITE;

		for (j = t->first_chunk; j < t->first_chunk + t->nr_chunks;
		     j++) {
			struct ugm_plan_chunk *c = &p->chunks[j];

			c->written = writes;
			if (c->moving && in_the_way(p, j))
				ugm_plan_cancel(p, j);
			if (c->home == UGM_TIER_GPU) {
				if (writes)
					ugm_plan_forget_copies(p, j);
				continue;
			}
			p->missing[p->nr_missing++] = j;
			if (!c->moving)
				p->missing_blocks += c->nr;
		}
	}
}

static void leave(struct ugm_planner *p)
{
	const struct ugm_trace *trace = p->layout->trace;
	u32 k = (u32)(p->slot % p->n), i, j;
	const struct ugm_use *use = ugm_kernel_uses(trace, k);

	ugm_plan_advance(p);
	for (i = 0; i < trace->kernels[k].nr_uses; i++) {
		struct ugm_plan_tensor *t = &p->tensors[use[i].tensor];

		for (j = t->first_chunk; j < t->first_chunk + t->nr_chunks; j++)
			p->chunks[j].written = false;
		if (t->nr_chunks)
			ugm_plan_used(p, use[i].tensor);
	}
}

/* Until @end, or until something arrives before. Did anything? */
static bool pass(struct ugm_planner *p, u64 end)
{
	unsigned int i, first = UGM_NR_LINKS;

	for (i = 0; i < UGM_NR_LINKS; i++)
		if (p->lanes[i].chunk != UGM_PLAN_NONE &&
		    p->lanes[i].end_ns <= end) {
			end = p->lanes[i].end_ns;
			first = i;
		}
	if (end > p->now_ns)
		p->now_ns = end;
	if (first == UGM_NR_LINKS)
		return false;
	ugm_plan_arrived(p, first);
	return true;
}

static bool complete(struct ugm_planner *p)
{
	u32 i, nr = 0;

	for (i = 0; i < p->nr_missing; i++)
		if (p->chunks[p->missing[i]].home != UGM_TIER_GPU)
			p->missing[nr++] = p->missing[i];
	p->nr_missing = nr;
	return !nr;
}

static int launch(struct ugm_planner *p)
{
	u64 duration = p->layout->trace->kernels[p->slot % p->n].duration_ns,
	    end, steps;

	enter(p);
	/* Each chunk may come and go a few times, but not for ever. */
	for (steps = PATIENCE * ((u64)p->nr_chunks + PATIENCE);; steps--) {
		bool busy = ugm_plan_dispatch(p);

		if (complete(p))
			break;
		if (!busy || !steps)
			return -EDEADLK;
		pass(p, U64_MAX);
	}
	p->waiting = false;
	end = p->now_ns + duration;
	if (p->layout->config.overlap == UGM_OVERLAP_FULL) {
		end = p->slot_ns + duration;
		if (end < p->now_ns)
			end = p->now_ns;
	}
	do
		ugm_plan_dispatch(p);
	while (pass(p, end));
	leave(p);
	return p->no_memory ? -ENOMEM : 0;
}

static s64 host_reserve(const struct ugm_planner *p)
{
	s64 blocks = (s64)(RESERVE_BYTES / p->layout->block_bytes);
	s64 part = p->host_capacity / RESERVE_PART;

	return (s64)(p->set.reserve *
		     (double)(blocks < part ? blocks : part));
}

/**
 * ugm_planner_play() - play iterations, and write down the last
 * @p: planner
 * @set: what is tried
 * @iterations: how many, not 0
 * @iteration_ns: time of the last one, as the planner sees it
 *
 * Context: any.
 * Return: 0; -EDEADLK: it found no way (a launch does not fit); -ENOMEM.
 */
int ugm_planner_play(struct ugm_planner *p, const struct ugm_plan_setting *set,
		     unsigned int iterations, u64 *iteration_ns)
{
	unsigned int it;
	u64 began;
	u32 k;
	int ret;

	p->set = *set;
	p->host_limit = p->host_capacity - host_reserve(p);
	ugm_plan_follow(p);
	for (k = 0; k < p->n; k++)
		p->start_ns[k + 1] = p->start_ns[k] +
				     p->layout->trace->kernels[k].duration_ns;
	ret = ugm_plan_begin(p);
	for (it = 0; it < iterations && !ret; it++) {
		p->recording = it + 1 == iterations;
		began = p->now_ns;
		for (k = 0; k < p->n && !ret; k++)
			ret = launch(p);
		*iteration_ns = p->now_ns - began;
		/* The first is cold: it tells nothing of those that follow. */
		if (it && !ret)
			ugm_plan_expect(p);
	}
	return ret;
}
