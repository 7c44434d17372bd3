// SPDX-License-Identifier: MIT
#include "array.h"
#include "planner.h"

/**
 * DOC: lanes
 *
 * What each link does next. Into the GPU tier: what the launch under way
 * misses, then what is needed soonest, if the GPU tier has room for it until
 * then. Out of it: victims, as long as the GPU tier's curve exceeds its capacity
 * somewhere, then copies in advance. The flash link does the same for the host
 * tier.
 */

static void record(struct ugm_planner *p, u32 chunk, u8 op, u8 tier, u64 need)
{
	struct ugm_plan_move *moves;

	if (!p->recording)
		return;
	moves = ugm_array_room(p->moves, &p->moves_room, p->nr_moves + 1,
			       sizeof(*moves));
	if (!moves) {
		p->no_memory = true;
		return;
	}
	p->moves = moves;
	moves[p->nr_moves++] = (struct ugm_plan_move){
		.launch = p->slot,
		.need = need,
		.chunk = chunk,
		.op = op,
		.tier = tier,
	};
}

static u64 transfer_ns(const struct ugm_planner *p, unsigned int lane,
		       u32 chunk)
{
	const struct ugm_config *c = &p->layout->config;
	const struct ugm_plan_lane *beside =
		&p->lanes[lane == UGM_LINK_GPU_IN ? UGM_LINK_FLASH_READ :
						    UGM_LINK_FLASH_WRITE];
	double bandwidth;

	switch (lane) {
	case UGM_LINK_FLASH_READ:
		bandwidth = (double)c->flash_read_bytes_per_s;
		break;
	case UGM_LINK_FLASH_WRITE:
		bandwidth = (double)c->flash_write_bytes_per_s;
		break;
	default:
		bandwidth = (double)c->pcie_bytes_per_s;
		/* What goes between GPU and flash takes a turn of this link. */
		if (lane == UGM_LINK_GPU_IN && beside->chunk != UGM_PLAN_NONE &&
		    beside->dst == UGM_TIER_GPU)
			bandwidth -= (double)c->flash_read_bytes_per_s;
		if (lane == UGM_LINK_GPU_OUT &&
		    beside->chunk != UGM_PLAN_NONE &&
		    p->chunks[beside->chunk].home == UGM_TIER_GPU)
			bandwidth -= (double)c->flash_write_bytes_per_s;
		if (bandwidth < (double)c->pcie_bytes_per_s / 8)
			bandwidth = (double)c->pcie_bytes_per_s / 8;
	}
	return (u64)((double)p->chunks[chunk].bytes * 1e9 / bandwidth);
}

static u64 start(struct ugm_planner *p, unsigned int lane, u32 chunk, u8 dst,
		 bool copy)
{
	struct ugm_plan_lane *l = &p->lanes[lane];

	l->end_ns = p->now_ns + transfer_ns(p, lane, chunk);
	l->chunk = chunk;
	l->dst = dst;
	l->copy = copy;
	if (dst == UGM_TIER_GPU)
		p->used += p->chunks[chunk].nr;
	else if (dst == UGM_TIER_HOST)
		p->host_used += p->chunks[chunk].nr;
	ugm_plan_take(p, chunk);
	return l->end_ns;
}

/**
 * ugm_plan_cancel() - a transfer is given up
 * @p: planner
 * @chunk: a chunk that moves
 *
 * Context: any.
 */
void ugm_plan_cancel(struct ugm_planner *p, u32 chunk)
{
	struct ugm_plan_chunk *c = &p->chunks[chunk];
	unsigned int i;

	for (i = 0; i < UGM_NR_LINKS; i++) {
		if (p->lanes[i].chunk != chunk)
			continue;
		p->lanes[i].chunk = UGM_PLAN_NONE;
		if (p->lanes[i].dst == UGM_TIER_GPU)
			p->used -= c->nr;
		else if (p->lanes[i].dst == UGM_TIER_HOST)
			p->host_used -= c->nr;
	}
	ugm_plan_settle(p, chunk, c->home, c->copies);
}

/**
 * ugm_plan_arrived() - a transfer is over
 * @p: planner
 * @lane: its link
 *
 * Context: any.
 */
void ugm_plan_arrived(struct ugm_planner *p, unsigned int lane)
{
	struct ugm_plan_lane *l = &p->lanes[lane];
	u32 chunk = l->chunk;
	struct ugm_plan_chunk *c = &p->chunks[chunk];
	u8 copies = c->copies;

	l->chunk = UGM_PLAN_NONE;
	if (l->copy) {
		ugm_plan_settle(p, chunk, c->home, copies | (u8)(1 << l->dst));
		return;
	}
	if (c->home == UGM_TIER_GPU)
		p->used -= c->nr;
	else if (c->home == UGM_TIER_HOST && l->dst == UGM_TIER_FLASH)
		p->host_used -= c->nr;
	else
		copies |= (u8)(1 << c->home); /* it stays a valid copy */
	copies &= (u8) ~(1 << l->dst);
	ugm_plan_settle(p, chunk, l->dst, copies);
	if (c->written)
		ugm_plan_forget_copies(p, chunk);
}

static bool gpu_has_room(struct ugm_planner *p, u32 chunk, bool demand)
{
	s64 nr = p->chunks[chunk].nr;

	if (demand)
		return p->used + nr <= p->capacity;
	return p->used + p->missing_blocks + nr <= p->capacity &&
	       ugm_curve_max(&p->gpu, p->slot + 1,
			     p->tensors[p->chunks[chunk].tensor].next) +
			       nr <=
		       p->capacity;
}

/* Of what the launch under way misses, the first that is in a tier. */
static u32 missing_in(const struct ugm_planner *p, u8 tier)
{
	const struct ugm_plan_chunk *c;
	u32 i;

	for (i = 0; p->waiting && i < p->nr_missing; i++) {
		c = &p->chunks[p->missing[i]];
		if (c->home == tier && !c->moving)
			return p->missing[i];
	}
	return UGM_PLAN_NONE;
}

static void demand(struct ugm_planner *p, unsigned int lane, u32 chunk)
{
	p->missing_blocks -= p->chunks[chunk].nr;
	if (p->chunks[chunk].home == UGM_TIER_FLASH)
		ugm_plan_out_of_flash(p, chunk);
	record(p, chunk, UGM_OP_PREFETCH, UGM_TIER_GPU, p->slot);
	start(p, lane, chunk, UGM_TIER_GPU, false);
}

static void choose_in(struct ugm_planner *p)
{
	u32 chunk = missing_in(p, UGM_TIER_HOST), tensor;

	if (chunk != UGM_PLAN_NONE) {
		if (gpu_has_room(p, chunk, true))
			demand(p, UGM_LINK_GPU_IN, chunk);
		return;
	}
	chunk = ugm_plan_first(p, UGM_PLAN_Q_FROM_HOST, &tensor);
	if (chunk == UGM_PLAN_NONE || !gpu_has_room(p, chunk, false))
		return;
	record(p, chunk, UGM_OP_PREFETCH, UGM_TIER_GPU,
	       p->tensors[tensor].next);
	ugm_plan_come(p, chunk);
	start(p, UGM_LINK_GPU_IN, chunk, UGM_TIER_GPU, false);
}

static void choose_read(struct ugm_planner *p)
{
	u32 chunk = missing_in(p, UGM_TIER_FLASH), tensor;
	u64 next;
	s64 nr;

	if (chunk != UGM_PLAN_NONE) {
		if (gpu_has_room(p, chunk, true))
			demand(p, UGM_LINK_FLASH_READ, chunk);
		return;
	}
	chunk = ugm_plan_first(p, UGM_PLAN_Q_FROM_FLASH, &tensor);
	if (chunk == UGM_PLAN_NONE)
		return;
	next = p->tensors[tensor].next;
	nr = p->chunks[chunk].nr;
	while (p->host_used + nr > p->host_limit && ugm_plan_reclaim(p))
		;
	if (p->host_used + nr <= p->host_limit &&
	    ugm_curve_max(&p->host, p->slot + 1, next) + nr <= p->host_limit) {
		record(p, chunk, UGM_OP_PREFETCH, UGM_TIER_HOST, next);
		ugm_plan_out_of_flash(p, chunk);
		start(p, UGM_LINK_FLASH_READ, chunk, UGM_TIER_HOST, false);
	} else if (gpu_has_room(p, chunk, false)) {
		record(p, chunk, UGM_OP_PREFETCH, UGM_TIER_GPU, next);
		ugm_plan_out_of_flash(p, chunk);
		ugm_plan_come(p, chunk);
		start(p, UGM_LINK_FLASH_READ, chunk, UGM_TIER_GPU, false);
	}
}

/* The best victim of one queue that is needed after launch @beyond. */
static double victim(struct ugm_planner *p, enum ugm_plan_queue q, u64 beyond,
		     double weight, u32 *chunk)
{
	u32 tensor;

	*chunk = ugm_plan_first(p, q, &tensor);
	if (*chunk == UGM_PLAN_NONE || p->tensors[tensor].next <= beyond)
		return 0;
	return weight * (double)(ugm_plan_expected(p, p->tensors[tensor].next) -
				 p->now_ns);
}

/* Clean data leaves the host tier for nothing until @nr blocks fit. */
static bool host_has_room(struct ugm_planner *p, s64 nr)
{
	u32 tensor, chunk;

	while (p->host_used + nr > p->host_limit) {
		if (ugm_plan_reclaim(p))
			continue;
		chunk = ugm_plan_first(p, UGM_PLAN_Q_HOST_BACKED, &tensor);
		if (chunk == UGM_PLAN_NONE)
			return false;
		record(p, chunk, UGM_OP_EVICT, UGM_TIER_FLASH, UGM_NEED_NONE);
		p->host_used -= p->chunks[chunk].nr;
		ugm_plan_settle(p, chunk, UGM_TIER_FLASH, 0);
		ugm_plan_in_flash(p, chunk, 0);
	}
	return true;
}

static void less(u32 *counter)
{
	if (*counter)
		--*counter;
}

static void drop(struct ugm_planner *p, u32 chunk, u8 tier)
{
	struct ugm_plan_chunk *c = &p->chunks[chunk];

	less(&p->tensors[c->tensor].leave);
	if (tier == UGM_TIER_FLASH)
		less(&p->tensors[c->tensor].flash);

	record(p, chunk, UGM_OP_EVICT, tier, UGM_NEED_NONE);
	p->used -= c->nr;
	ugm_plan_settle(p, chunk, tier, c->copies & (u8) ~(1 << tier));
	ugm_plan_leave(p, chunk, 0);
	if (tier == UGM_TIER_FLASH)
		ugm_plan_in_flash(p, chunk, 0);
}

static void send(struct ugm_planner *p, u32 chunk)
{
	u64 gone;

	if (host_has_room(p, p->chunks[chunk].nr)) {
		less(&p->tensors[p->chunks[chunk].tensor].leave);
		record(p, chunk, UGM_OP_EVICT, UGM_TIER_HOST, UGM_NEED_NONE);
		gone = start(p, UGM_LINK_GPU_OUT, chunk, UGM_TIER_HOST, false);
		ugm_plan_leave(p, chunk, gone);
	} else if (p->lanes[UGM_LINK_FLASH_WRITE].chunk == UGM_PLAN_NONE) {
		less(&p->tensors[p->chunks[chunk].tensor].leave);
		less(&p->tensors[p->chunks[chunk].tensor].flash);
		record(p, chunk, UGM_OP_EVICT, UGM_TIER_FLASH, UGM_NEED_NONE);
		gone = start(p, UGM_LINK_FLASH_WRITE, chunk, UGM_TIER_FLASH,
			     false);
		ugm_plan_leave(p, chunk, gone);
		ugm_plan_in_flash(p, chunk, gone);
	}
}

/* Chunks of a tensor that are in a tier, or have a copy there. */
static u32 there(const struct ugm_planner *p, u32 tensor, u8 tier)
{
	const struct ugm_plan_tensor *t = &p->tensors[tensor];
	u32 i, nr = 0;

	for (i = t->first_chunk; i < t->first_chunk + t->nr_chunks; i++)
		nr += p->chunks[i].home == tier ||
		      p->chunks[i].copies & 1 << tier;
	return nr;
}

static void write_back(struct ugm_planner *p)
{
	u32 tensor, chunk;

	while ((chunk = ugm_plan_first(p, UGM_PLAN_Q_WRITE_BACK, &tensor)) !=
	       UGM_PLAN_NONE) {
		if (p->tensors[tensor].overfull[UGM_PLAN_OVER_GPU] <= p->slot ||
		    p->tensors[tensor].next <= p->slot) {
			ugm_plan_pop(p, UGM_PLAN_Q_WRITE_BACK);
			continue;
		}
		if (p->host_used + p->chunks[chunk].nr > p->host_limit)
			return;
		record(p, chunk, UGM_OP_WRITEBACK, UGM_TIER_HOST,
		       p->tensors[tensor].overfull[UGM_PLAN_OVER_GPU]);
		start(p, UGM_LINK_GPU_OUT, chunk, UGM_TIER_HOST, true);
		return;
	}
}

/* A chunk of a class of a tensor that came before this launch, or none. */
static u32 find(struct ugm_planner *p, u32 tensor, unsigned int class)
{
	const struct ugm_plan_tensor *t = &p->tensors[tensor];
	u32 i;

	for (i = t->first_chunk;
	     t->nr[class] && i < t->first_chunk + t->nr_chunks; i++)
		if (p->chunks[i].class == class &&
		    ugm_plan_movable(p, &p->chunks[i]))
			return i;
	return UGM_PLAN_NONE;
}

/*
 * Something that is to leave, and would help launch @over, does. Is there
 * anything left to be done at once?
 */
static bool leave_as_told(struct ugm_planner *p, u64 over)
{
	bool idle = p->lanes[UGM_LINK_GPU_OUT].chunk == UGM_PLAN_NONE;
	struct ugm_plan_tensor *t;
	u32 tensor, chunk;

	while (ugm_plan_top(p, UGM_PLAN_Q_LEAVE, &tensor)) {
		t = &p->tensors[tensor];
		if (t->next <= over)
			return false;
		chunk = find(p, tensor, UGM_PLAN_CLEAN);
		if (chunk != UGM_PLAN_NONE) {
			drop(p, chunk, UGM_TIER_HOST);
			return true;
		}
		chunk = find(p, tensor, UGM_PLAN_BACKED);
		if (chunk != UGM_PLAN_NONE && t->flash) {
			drop(p, chunk, UGM_TIER_FLASH);
			return true;
		}
		if (chunk == UGM_PLAN_NONE)
			chunk = find(p, tensor, UGM_PLAN_DIRTY);
		if (chunk != UGM_PLAN_NONE) {
			if (idle)
				send(p, chunk);
			return false;
		}
		ugm_plan_defer(p, UGM_PLAN_Q_LEAVE);
	}
	return false;
}

/* The best victim for launch @over. Is there anything left to be done at once? */
static bool leave_anyway(struct ugm_planner *p, u64 over)
{
	u32 clean, backed, dirty;
	double c, b, d;

	c = victim(p, UGM_PLAN_Q_CLEAN, over, p->set.clean_weight, &clean);
	b = victim(p, UGM_PLAN_Q_BACKED, over, 1, &backed);
	d = victim(p, UGM_PLAN_Q_DIRTY, over, 1, &dirty);
	if (c > 0 && c >= b && c >= d) {
		drop(p, clean, UGM_TIER_HOST);
		return true;
	}
	if ((b > 0 || d > 0) &&
	    p->lanes[UGM_LINK_GPU_OUT].chunk == UGM_PLAN_NONE)
		send(p, b >= d ? backed : dirty);
	return false;
}

/* What a tier holds before victims leave. */
static s64 full(const struct ugm_planner *p, s64 capacity)
{
	return capacity - (s64)(p->set.headroom * (double)capacity);
}

static void choose_out(struct ugm_planner *p)
{
	u64 from = p->waiting ? p->slot : p->slot + 1, over;
	s64 most = full(p, p->capacity);

	do {
		over = ugm_curve_first_over(&p->gpu, from, p->slot + p->n,
					    most);
	} while (over < p->slot + p->n &&
		 (leave_as_told(p, over) || leave_anyway(p, over)));
	if (p->set.write_back &&
	    p->lanes[UGM_LINK_GPU_OUT].chunk == UGM_PLAN_NONE)
		write_back(p);
}

static void to_flash(struct ugm_planner *p, u32 chunk)
{
	u64 gone = 0;

	less(&p->tensors[p->chunks[chunk].tensor].flash);
	if (p->chunks[chunk].class == UGM_PLAN_HOST) {
		gone = start(p, UGM_LINK_FLASH_WRITE, chunk, UGM_TIER_FLASH,
			     false);
	} else {
		p->host_used -= p->chunks[chunk].nr;
		ugm_plan_settle(p, chunk, UGM_TIER_FLASH, 0);
	}
	record(p, chunk, UGM_OP_EVICT, UGM_TIER_FLASH, UGM_NEED_NONE);
	ugm_plan_in_flash(p, chunk, gone);
}

/* The best victim of the host tier for launch @over, or none. */
static u32 host_victim(struct ugm_planner *p, u64 over)
{
	u32 tensor, backed, dirty;
	double b, d;

	while (ugm_plan_top(p, UGM_PLAN_Q_TO_FLASH, &tensor) &&
	       p->tensors[tensor].next > over) {
		backed = find(p, tensor, UGM_PLAN_HOST_BACKED);
		if (backed != UGM_PLAN_NONE)
			return backed;
		dirty = find(p, tensor, UGM_PLAN_HOST);
		if (dirty != UGM_PLAN_NONE)
			return dirty;
		ugm_plan_defer(p, UGM_PLAN_Q_TO_FLASH);
	}
	b = victim(p, UGM_PLAN_Q_HOST_BACKED, over, p->set.clean_weight,
		   &backed);
	d = victim(p, UGM_PLAN_Q_HOST, over, 1, &dirty);
	return b > 0 && b >= d ? backed : d > 0 ? dirty : UGM_PLAN_NONE;
}

/*
 * A chunk of a tensor in memory that flash has no copy of, or none. @later: there
 * will be one when it has come to rest.
 */
static u32 uncopied(const struct ugm_planner *p, u32 tensor, bool *later)
{
	const struct ugm_plan_tensor *t = &p->tensors[tensor];
	const struct ugm_plan_chunk *c;
	u32 i;

	*later = false;
	for (i = t->first_chunk; i < t->first_chunk + t->nr_chunks; i++) {
		c = &p->chunks[i];
		if (c->home == UGM_TIER_NONE || c->home == UGM_TIER_FLASH ||
		    c->copies & 1 << UGM_TIER_FLASH)
			continue;
		if (!c->moving && ugm_plan_movable(p, c))
			return i;
		*later = true;
	}
	return UGM_PLAN_NONE;
}

/*
 * Has flash use for more copies of a tensor: those that the relaxation counts
 * on, or any that help where both memory tiers overflow?
 */
static bool wanted_in_flash(const struct ugm_planner *p, u32 tensor,
			    enum ugm_plan_queue q)
{
	const struct ugm_plan_tensor *t = &p->tensors[tensor];

	if (t->next <= p->slot)
		return false;
	if (q == UGM_PLAN_Q_FLASH_COPY)
		return there(p, tensor, UGM_TIER_FLASH) < t->flash_copy;
	return t->overfull[UGM_PLAN_OVER_HOST] > p->slot;
}

/* A copy in flash, of the first of a queue that has use for one. */
static void copy_to_flash(struct ugm_planner *p, enum ugm_plan_queue q)
{
	u32 tensor, chunk;
	bool later;

	while (p->lanes[UGM_LINK_FLASH_WRITE].chunk == UGM_PLAN_NONE &&
	       ugm_plan_top(p, q, &tensor)) {
		if (!wanted_in_flash(p, tensor, q)) {
			ugm_plan_pop(p, q);
			continue;
		}
		chunk = uncopied(p, tensor, &later);
		if (chunk == UGM_PLAN_NONE) {
			if (later)
				ugm_plan_defer(p, q);
			else
				ugm_plan_pop(p, q);
			continue;
		}
		record(p, chunk, UGM_OP_WRITEBACK, UGM_TIER_FLASH,
		       p->tensors[tensor].next);
		start(p, UGM_LINK_FLASH_WRITE, chunk, UGM_TIER_FLASH, true);
	}
}

static void choose_write(struct ugm_planner *p)
{
	s64 most = full(p, p->host_limit);
	u64 over;
	u32 chunk;

	for (;;) {
		over = ugm_curve_first_over(&p->host, p->slot + 1,
					    p->slot + p->n, most);
		if (over == p->slot + p->n)
			break;
		chunk = host_victim(p, over);
		if (chunk == UGM_PLAN_NONE)
			break;
		if (p->chunks[chunk].class == UGM_PLAN_HOST &&
		    p->lanes[UGM_LINK_FLASH_WRITE].chunk != UGM_PLAN_NONE)
			return;
		to_flash(p, chunk);
	}
	if (p->set.write_back) {
		copy_to_flash(p, UGM_PLAN_Q_FLASH_COPY);
		copy_to_flash(p, UGM_PLAN_Q_BACK_UP);
	}
}

/* First touches take what room there is. */
static void allocate(struct ugm_planner *p)
{
	struct ugm_plan_chunk *c;
	u32 i;

	for (i = 0; p->waiting && i < p->nr_missing; i++) {
		c = &p->chunks[p->missing[i]];
		if (c->home != UGM_TIER_NONE || p->used + c->nr > p->capacity)
			continue;
		p->used += c->nr;
		p->missing_blocks -= c->nr;
		ugm_plan_settle(p, p->missing[i], UGM_TIER_GPU, 0);
	}
}

/**
 * ugm_plan_dispatch() - start what can be started now
 * @p: planner
 *
 * Context: any.
 * Return: is any link busy?
 */
bool ugm_plan_dispatch(struct ugm_planner *p)
{
	const struct ugm_plan_lane *l = p->lanes;
	bool busy = false;
	unsigned int i;

	allocate(p);
	if (l[UGM_LINK_FLASH_READ].chunk == UGM_PLAN_NONE)
		choose_read(p);
	if (l[UGM_LINK_GPU_IN].chunk == UGM_PLAN_NONE)
		choose_in(p);
	choose_out(p);
	choose_write(p);
	allocate(p);
	for (i = 0; i < UGM_NR_LINKS; i++)
		busy |= l[i].chunk != UGM_PLAN_NONE;
	return busy;
}
