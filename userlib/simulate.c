// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "launch_log.h"
#include "record.h"
#include "simulate.h"

/**
 * DOC: simulate
 *
 * The engine alone: no module, no data. Every real move is done as soon as the
 * model starts it, no page is ever held, and no frame is ever missing, so that
 * what remains is the model.
 */

/**
 * struct sim_range - a range and the states of its blocks
 * @range: as the engine sees it
 * @blocks: its blocks
 */
struct sim_range {
	struct ugm_range range;
	struct ugm_block *blocks;
};

/**
 * struct sim_transfer - a transfer and when it started
 * @transfer: as the engine sees it
 * @begin_ns: engine time
 */
struct sim_transfer {
	struct ugm_transfer transfer;
	u64 begin_ns;
};

/**
 * struct sim - a simulated device with one space
 * @engine: the model
 * @space: the space
 * @layout: the trace on its machine
 * @schedule: what is replayed
 * @ranges: by tensor index, the arena's last
 * @record: of the iteration under way, or NULL
 * @operands: of the launch under way
 * @transfers: transfers not in use, chained by their node
 * @hints: hints not in use, chained by their node
 */
struct sim {
	struct ugm_engine engine;
	struct ugm_space space;
	const struct ugm_layout *layout;
	const struct ugm_schedule *schedule;
	struct sim_range *ranges;
	struct ugm_record *record;
	struct ugm_operand *operands;
	struct ugm_transfer *transfers;
	struct ugm_hint *hints;
};

static struct sim *sim_of(struct ugm_engine *e)
{
	return container_of(e, struct sim, engine);
}

/* Every block exists: both callbacks are the same. */
static struct ugm_block *sim_block(struct ugm_engine *e,
				   struct ugm_range *range, u32 index)
{
	if (index >= range->nr_blocks)
		return NULL;
	return &container_of(range, struct sim_range, range)->blocks[index];
}

static struct ugm_transfer *sim_transfer_alloc(struct ugm_engine *e)
{
	struct sim *sim = sim_of(e);
	struct ugm_transfer *t = sim->transfers;

	if (!t)
		return calloc(1, sizeof(struct sim_transfer));
	sim->transfers = (struct ugm_transfer *)t->node.next;
	memset(t, 0, sizeof(*t));
	return t;
}

static void sim_transfer_free(struct ugm_engine *e, struct ugm_transfer *t)
{
	struct sim *sim = sim_of(e);

	t->node.next = (struct ugm_heap_node *)sim->transfers;
	sim->transfers = t;
}

static struct ugm_hint *hint_alloc(struct sim *sim)
{
	struct ugm_hint *h = sim->hints;

	if (!h)
		return calloc(1, sizeof(*h));
	sim->hints = (struct ugm_hint *)h->node.next;
	memset(h, 0, sizeof(*h));
	return h;
}

static void sim_hint_free(struct ugm_engine *e, struct ugm_hint *h,
			  u64 refused, u32 why)
{
	struct sim *sim = sim_of(e);

	h->node.next = (struct ugm_heap_node *)sim->hints;
	sim->hints = h;
}

static void sim_revoke(struct ugm_engine *e, struct ugm_block **blocks,
		       unsigned int nr)
{
}

static int sim_start(struct ugm_engine *e, struct ugm_transfer *t)
{
	container_of(t, struct sim_transfer, transfer)->begin_ns = e->now_ns;
	return 0;
}

static bool sim_moved(struct ugm_engine *e, struct ugm_transfer *t)
{
	return true;
}

static void sim_commit(struct ugm_engine *e, struct ugm_transfer *t)
{
	struct sim *sim = sim_of(e);
	struct sim_range *r =
		container_of(t->block->range, struct sim_range, range);

	if (sim->record)
		ugm_record_move(sim->record, (u32)(r - sim->ranges), t,
				container_of(t, struct sim_transfer, transfer)
					->begin_ns,
				e->now_ns, ugm_block_bytes(e, t->block));
}

static void sim_cancel(struct ugm_engine *e, struct ugm_transfer *t)
{
}

static int sim_alloc(struct ugm_engine *e, struct ugm_block *b,
		     enum ugm_tier tier)
{
	return 0;
}

static void sim_release(struct ugm_engine *e, struct ugm_block *b,
			enum ugm_tier tier)
{
}

static const struct ugm_engine_ops sim_ops = {
	.block = sim_block,
	.next_block = sim_block,
	.transfer_alloc = sim_transfer_alloc,
	.transfer_free = sim_transfer_free,
	.revoke = sim_revoke,
	.start = sim_start,
	.moved = sim_moved,
	.commit = sim_commit,
	.cancel = sim_cancel,
	.alloc = sim_alloc,
	.release = sim_release,
	.hint_free = sim_hint_free,
};

static u32 nr_ranges(const struct sim *sim)
{
	return sim->layout->trace->nr_tensors + 1;
}

static int make_range(struct sim *sim, u32 index, u64 tag, u32 nr_blocks,
		      u64 tail_bytes)
{
	struct sim_range *r = &sim->ranges[index];
	u32 i;

	ugm_range_init(&r->range, &sim->space, tag, nr_blocks, tail_bytes);
	if (!nr_blocks)
		return 0;
	r->blocks = calloc(nr_blocks, sizeof(*r->blocks));
	if (!r->blocks)
		return -ENOMEM;
	for (i = 0; i < nr_blocks; i++)
		ugm_block_init(&r->blocks[i], &r->range, i);
	return 0;
}

static int place(struct sim *sim, struct sim_range *r, enum ugm_tier tier)
{
	u32 i;
	int ret = 0;

	for (i = 0; i < r->range.nr_blocks && !ret; i++)
		ret = ugm_engine_place(&sim->engine, &r->blocks[i], tier);
	return ret;
}

/* The arena in the GPU tier, the global tensors in flash, all else nowhere. */
static int set_up(struct sim *sim)
{
	const struct ugm_layout *l = sim->layout;
	const struct ugm_trace *t = l->trace;
	struct sim_range *arena;
	u32 i;
	int ret;

	sim->ranges = calloc(nr_ranges(sim), sizeof(*sim->ranges));
	sim->operands = calloc(UGM_TRACE_MAX_OPERANDS, sizeof(*sim->operands));
	if (!sim->ranges || !sim->operands)
		return -ENOMEM;

	arena = &sim->ranges[t->nr_tensors];
	ret = make_range(sim, t->nr_tensors, l->arena_tag, l->arena_blocks,
			 l->block_bytes);
	arena->range.arena = true;
	if (!ret)
		ret = place(sim, arena, UGM_TIER_GPU);
	for (i = 0; i < t->nr_tensors && !ret; i++) {
		ret = make_range(sim, i, t->tensors[i].id,
				 l->tensors[i].nr_blocks,
				 l->tensors[i].tail_bytes);
		if (!ret && t->tensors[i].global)
			ret = place(sim, &sim->ranges[i], UGM_TIER_FLASH);
	}
	ugm_space_reset(&sim->space);
	return ret ? ret : ugm_engine_reset(&sim->engine);
}

static void range_free(struct sim_range *r)
{
	u32 i;

	/* The last hints may have left transfers under way. */
	for (i = 0; r->blocks && i < r->range.nr_blocks; i++)
		free(r->blocks[i].transfer);
	free(r->blocks);
}

static void tear_down(struct sim *sim)
{
	struct ugm_transfer *t;
	struct ugm_hint *h;
	u32 i;

	ugm_engine_drop_hints(&sim->engine, &sim->space);
	while ((t = sim->transfers)) {
		sim->transfers = (struct ugm_transfer *)t->node.next;
		free(t);
	}
	while ((h = sim->hints)) {
		sim->hints = (struct ugm_hint *)h->node.next;
		free(h);
	}
	if (sim->ranges)
		for (i = 0; i < nr_ranges(sim); i++)
			range_free(&sim->ranges[i]);
	free(sim->ranges);
	free(sim->operands);
}

/* Hand over the hints of one launch, from @next on; returns the one after. */
static int give_hints(struct sim *sim, u64 *next, u64 kernel, u64 shift)
{
	const struct ugm_schedule *s = sim->schedule;

	for (; *next < s->nr_hints && s->hints[*next].at == kernel; ++*next) {
		const struct ugm_schedule_hint *from = &s->hints[*next];
		struct ugm_span span = ugm_layout_hint(sim->layout, from);
		struct ugm_hint *h;

		if (!span.nr)
			continue;
		h = hint_alloc(sim);
		if (!h)
			return -ENOMEM;
		h->range = &sim->ranges[from->tensor].range;
		h->first = span.first;
		h->nr = span.nr;
		h->at = from->at + shift;
		h->need = from->need == UGM_NEED_NONE ? UGM_NEED_NONE :
							from->need + shift;
		h->op = from->op;
		h->tier = from->tier;
		ugm_engine_hint(&sim->engine, &sim->space, h);
	}
	return 0;
}

static int launch(struct sim *sim, u32 kernel, struct ugm_demand *d)
{
	const struct ugm_trace *t = sim->layout->trace;
	const struct ugm_use *use = ugm_kernel_uses(t, kernel);
	u32 i;
	int ret;

	*d = (struct ugm_demand){
		.space = &sim->space,
		.operands = sim->operands,
		.duration_ns = t->kernels[kernel].duration_ns,
		.launch = true,
		.cause = UGM_CAUSE_DEMAND,
		.tier = UGM_TIER_GPU,
	};
	for (i = 0; i < t->kernels[kernel].nr_uses; i++) {
		struct ugm_range *r = &sim->ranges[use[i].tensor].range;

		if (!r->nr_blocks)
			continue;
		sim->operands[d->nr_operands++] = (struct ugm_operand){
			.range = r,
			.nr = r->nr_blocks,
			.mode = use[i].mode,
		};
	}
	ugm_engine_begin(&sim->engine, d);
	ret = ugm_engine_run(&sim->engine, d);
	if (ret > 0) {
		/* Nothing real is ever under way here: there is no victim. */
		ugm_engine_abort(&sim->engine, d);
		ret = -ENOSPC;
	}
	return ret;
}

/* Of the whole space. */
static u64 digest(struct sim *sim)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < nr_ranges(sim); i++)
		sum += ugm_engine_digest(&sim->engine, &sim->ranges[i].range);
	return sum;
}

static void traffic(const struct ugm_engine *e,
		    u64 bytes[UGM_NR_TIERS][UGM_NR_TIERS])
{
	unsigned int src, dst, lane, cause;

	for (src = 0; src < UGM_NR_TIERS; src++) {
		for (dst = 0; dst < UGM_NR_TIERS; dst++) {
			bytes[src][dst] = 0;
			for (lane = 0; lane < UGM_NR_LANES; lane++)
				for (cause = 0; cause < UGM_NR_CAUSES; cause++)
					bytes[src][dst] +=
						e->stats.bytes[src][dst][lane]
							      [cause];
		}
	}
}

/* One iteration: its time and what it moved are added to the result. */
static int iterate(struct sim *sim, u64 iteration, struct ugm_output *launches,
		   struct ugm_progress *progress, struct ugm_result *result,
		   struct ugm_error *err)
{
	const struct ugm_trace *t = sim->layout->trace;
	u64 before[UGM_NR_TIERS][UGM_NR_TIERS], after[UGM_NR_TIERS][UGM_NR_TIERS];
	u64 began = sim->engine.now_ns, shift = iteration * t->nr_kernels;
	u64 next = 0;
	struct ugm_demand d;
	u32 k, src, dst;
	int ret;

	traffic(&sim->engine, before);
	sim->record = iteration == ugm_result_iteration(result->iterations) ?
			      result->record : NULL;
	if (sim->record && ugm_record_begin(sim->record, t->nr_kernels, began))
		return ugm_fail(err, -ENOMEM, "%s: no memory", t->name);
	for (k = 0; k < t->nr_kernels; k++) {
		ret = give_hints(sim, &next, k, shift);
		if (!ret)
			ret = launch(sim, k, &d);
		if (ret)
			return ugm_launch_fail(t, k, iteration, ret, err);
		if (launches)
			ugm_launch_log_line(launches, d.number, d.begin_ns,
					    d.end_ns,
					    ugm_launch_log_digests(d.number) ?
						    digest(sim) : 0);
		if (sim->record)
			ugm_record_launch(sim->record, &sim->engine, k, &d);
		ugm_progress_update(progress, shift + k + 1);
	}
	result->iterations_ns[iteration] = d.end_ns - began;
	if (iteration != ugm_result_iteration(result->iterations))
		return 0;
	traffic(&sim->engine, after);
	for (src = 0; src < UGM_NR_TIERS; src++)
		for (dst = 0; dst < UGM_NR_TIERS; dst++)
			result->traffic_bytes[src][dst] =
				after[src][dst] - before[src][dst];
	return 0;
}

/**
 * ugm_simulate() - predict what a schedule costs
 * @layout: the trace on its machine
 * @s: schedule
 * @launches: log of launches, or NULL
 * @progress: counts launches, or NULL
 * @result: initialised for the number of iterations; filled
 * @err: why not
 *
 * Context: may sleep.
 * Return: 0; -ENODATA: a launch missed an operand, and demand is off; -ENOMEM;
 * or another negative errno.
 */
int ugm_simulate(const struct ugm_layout *layout, const struct ugm_schedule *s,
		 struct ugm_output *launches, struct ugm_progress *progress,
		 struct ugm_result *result, struct ugm_error *err)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	struct ugm_machine machine;
	u64 i;
	int ret;

	if (!sim)
		return ugm_fail(err, -ENOMEM, "no memory");
	sim->layout = layout;
	sim->schedule = s;
	ugm_config_machine(&layout->config, &machine);
	ugm_engine_init(&sim->engine, &sim_ops);
	ugm_space_init(&sim->space);
	sim->space.opt = s->opt;
	ret = ugm_engine_set_machine(&sim->engine, &machine);
	if (!ret)
		ret = set_up(sim);
	if (ret)
		ugm_fail(err, ret, "%s: set-up: %s", layout->trace->name,
			 strerror(-ret));
	for (i = 0; i < result->iterations && !ret; i++)
		ret = iterate(sim, i, launches, progress, result, err);
	result->inexact = sim->engine.inexact;
	if (!ret)
		ugm_result_finish(result);
	tear_down(sim);
	free(sim);
	return ret;
}
