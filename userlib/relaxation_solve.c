// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "relaxation.h"

/* Units of the programme: numbers near 1 are what solvers like. */
#define BYTES 1e9
#define NS    1e9

/* What leaves the GPU tier; what leaves GPU and host tier. */
enum { LEVEL_GPU, LEVEL_FLASH, NR_LEVELS };

/* Kinds of versions: what is true of one kind is of no use to another. */
enum kind {
	KIND_INTERMEDIATE,
	KIND_GLOBAL,
	KIND_CONSTANT, /* globals that nothing writes */
	NR_KINDS
};

/**
 * struct slot - columns and rows of a kind in one interval at one level
 * @written: bytes written out in it
 * @first: bytes that leave for the first time since they changed
 * @again: bytes that leave once more
 * @back: bytes that come back
 * @away: bytes that are away at its end
 * @writable: row: bytes that changed and are not written yet
 * @credit: row: bytes written that have not left yet
 * @may_first: row: bytes that may leave for the first time and have not
 * @left: row: bytes that left for the first time, in gaps that go on
 * @may_again: row: bytes that may leave once more and have not
 * @early: row: bytes that are back and not due yet
 * @balance: row: bytes that are away
 */
struct slot {
	u32 written;
	u32 first;
	u32 again;
	u32 back;
	u32 away;
	u32 writable;
	u32 credit;
	u32 may_first;
	u32 left;
	u32 may_again;
	u32 early;
	u32 balance;
};

/**
 * struct flow - from the first change of a version of a kind to their last use
 * @from: the interval of that change
 * @nr: intervals until that use, up to two iterations; 0: there is no version
 * @slots: by level and interval, counted from @from on
 */
struct flow {
	u32 from;
	u32 nr;
	struct slot *slots[NR_LEVELS];
};

/**
 * struct version - a tensor between two writes, or many that look alike
 * @gap: its first gap
 * @nr_gaps: its gaps
 * @kind: its kind
 * @bytes: its size
 * @columns: of the first of those that look alike: by gap and level, what
 * leaves for the first time, and what once more
 * @like: the first of those that look alike
 */
struct version {
	u64 gap;
	u32 nr_gaps;
	enum kind kind;
	double bytes;
	u64 columns;
	u64 like;
};

/**
 * struct build - a programme in the making
 * @r: the relaxation
 * @lp: the programme
 * @stall: by interval, the column that says how long it stalls
 * @flows: by kind
 * @versions: all versions with a gap that spans a checkpoint
 * @nr_versions: how many
 * @columns: of all versions
 */
struct build {
	struct ugm_relaxation *r;
	struct ugm_lp *lp;
	u32 *stall;
	struct flow flows[NR_KINDS];
	struct version *versions;
	u64 nr_versions;
	u32 *columns;
};

static bool spans(const struct ugm_gap *gap)
{
	return gap->returns > gap->leaves;
}

/* A member of a slot. */
static u32 *member(struct slot *slot, size_t offset)
{
	return (u32 *)((char *)slot + offset);
}

/*
 * Rows of something that goes on from interval to interval: what there was +
 * what is added - what is taken = what there is then, at first nothing. The
 * columns of what there is are put at @column where it is not 0.
 */
static void chain(struct build *b, const struct flow *flow, unsigned int level,
		  size_t row, size_t column)
{
	struct slot *slots = flow->slots[level];
	u32 i, col, before = 0;

	for (i = 0; i < flow->nr; i++) {
		*member(&slots[i], row) = ugm_lp_row(b->lp, 0, 0);
		col = ugm_lp_column(b->lp, UGM_LP_INFINITE, 0);
		if (column)
			*member(&slots[i], column) = col;
		ugm_lp_add(b->lp, *member(&slots[i], row), col, -1);
		if (i)
			ugm_lp_add(b->lp, *member(&slots[i], row), before, 1);
		before = col;
	}
}

/* A column that is added to one row and taken from another. */
static u32 move(struct build *b, u32 from, u32 to, double cost)
{
	u32 column = ugm_lp_column(b->lp, UGM_LP_INFINITE, cost);

	ugm_lp_add(b->lp, from, column, -1);
	ugm_lp_add(b->lp, to, column, 1);
	return column;
}

static int make_flow(struct build *b, struct flow *flow, unsigned int level)
{
	double cost = b->r->traffic_cost;
	struct slot *slot;
	u32 i;

	flow->slots[level] = calloc(flow->nr + 1, sizeof(*slot));
	if (!flow->slots[level])
		return -ENOMEM;
	chain(b, flow, level, offsetof(struct slot, writable), 0);
	chain(b, flow, level, offsetof(struct slot, credit), 0);
	chain(b, flow, level, offsetof(struct slot, may_first), 0);
	chain(b, flow, level, offsetof(struct slot, left), 0);
	chain(b, flow, level, offsetof(struct slot, may_again), 0);
	chain(b, flow, level, offsetof(struct slot, early), 0);
	chain(b, flow, level, offsetof(struct slot, balance),
	      offsetof(struct slot, away));
	for (i = 0; i < flow->nr; i++) {
		slot = &flow->slots[level][i];
		slot->written = move(b, slot->writable, slot->credit, cost);
		slot->first = move(b, slot->credit, slot->balance, 0);
		ugm_lp_add(b->lp, slot->may_first, slot->first, -1);
		ugm_lp_add(b->lp, slot->left, slot->first, 1);
		slot->again = move(b, slot->may_again, slot->balance, 0);
		slot->back = move(b, slot->balance, slot->early, cost);
	}
	return 0;
}

/* A row counts a column of all kinds in an interval of any iteration. */
static void count(struct build *b, u32 row, unsigned int level, u32 interval,
		  size_t column, double value)
{
	u32 nr = b->r->nr_intervals, kind, i;

	for (kind = 0; kind < NR_KINDS; kind++) {
		const struct flow *flow = &b->flows[kind];

		for (i = (interval + nr - flow->from) % nr; i < flow->nr;
		     i += nr)
			ugm_lp_add(b->lp, row,
				   *member(&flow->slots[level][i], column),
				   value);
	}
}

/* A link carries no more in an interval than its bandwidth allows. */
static void limit(struct build *b, unsigned int level, u32 interval,
		  size_t column, u64 bandwidth)
{
	double rate = (double)bandwidth / BYTES;
	u32 row;

	row = ugm_lp_row(b->lp, -UGM_LP_INFINITE,
			 rate * ((double)b->r->duration_ns[interval] / NS));
	count(b, row, level, interval, column, 1);
	ugm_lp_add(b->lp, row, b->stall[interval], -rate);
}

static void make_limits(struct build *b)
{
	const struct ugm_layout *l = b->r->layout;
	const struct ugm_config *c = &l->config;
	double block = (double)l->block_bytes;
	double gpu = (double)(l->gpu_blocks - l->arena_blocks) * block *
		     b->r->gpu_share;
	double host = (double)l->host_blocks * block * b->r->host_share;
	const size_t written = offsetof(struct slot, written);
	const size_t back = offsetof(struct slot, back);
	const size_t away = offsetof(struct slot, away);
	u32 nr = b->r->nr_intervals, i, row;

	for (i = 0; i < nr; i++) {
		limit(b, LEVEL_GPU, i, back, c->pcie_bytes_per_s);
		limit(b, LEVEL_GPU, i, written, c->pcie_bytes_per_s);
		limit(b, LEVEL_FLASH, i, back, c->flash_read_bytes_per_s);
		limit(b, LEVEL_FLASH, i, written, c->flash_write_bytes_per_s);
		/* At the checkpoint where it ends. */
		row = ugm_lp_row(b->lp,
				 (b->r->live[(i + 1) % nr] - gpu) / BYTES,
				 UGM_LP_INFINITE);
		count(b, row, LEVEL_GPU, i, away, 1);
		row = ugm_lp_row(b->lp, -UGM_LP_INFINITE, host / BYTES);
		count(b, row, LEVEL_GPU, i, away, 1);
		count(b, row, LEVEL_FLASH, i, away, -1);
	}
}

/*
 * What may leave in one gap: @first for the first time, that has to be written,
 * @again once more, that left in a gap before. The version began in slot
 * @changed.
 */
static void make_gap(struct build *b, struct slot *changed, struct slot *leaves,
		     struct slot *returns, u32 first, u32 again)
{
	ugm_lp_add(b->lp, changed->writable, first, 1);
	ugm_lp_add(b->lp, leaves->may_first, first, 1);
	ugm_lp_add(b->lp, leaves->may_again, again, 1);
	ugm_lp_add(b->lp, returns->left, first, -1);
	ugm_lp_add(b->lp, returns->early, first, -1);
	ugm_lp_add(b->lp, returns->early, again, -1);
}

/*
 * Where a gap begins, counted on from the first change of its version, if the
 * one before it ended at @end.
 */
static u32 begin_of(const struct build *b, const struct ugm_gap *gap, u32 end)
{
	u32 nr = b->r->nr_intervals;

	return end + (gap->leaves + nr - end % nr) % nr;
}

static void make_version(struct build *b, struct version *v, double bytes)
{
	const struct ugm_gap *gap = &b->r->gaps[v->gap];
	const struct flow *flow = &b->flows[v->kind];
	u32 *columns = &b->columns[v->columns], *col;
	double first = v->kind == KIND_CONSTANT ? 0 : bytes / BYTES;
	u32 changed = gap->leaves, begin, end = changed;
	u32 i, j, level, row, sum[NR_LEVELS];
	struct slot *slots;

	/* All gaps: no more leaves for the first time than there is. */
	for (level = 0; level < NR_LEVELS; level++)
		sum[level] = ugm_lp_row(b->lp, 0, first);
	for (i = 0; i < v->nr_gaps; i++, gap++) {
		col = &columns[i * 2 * NR_LEVELS];
		begin = begin_of(b, gap, end);
		end = begin + gap->returns - gap->leaves;
		for (level = 0; level < NR_LEVELS; level++, col += 2) {
			bool some = spans(gap);

			col[0] = ugm_lp_column(b->lp, some ? first : 0, 0);
			col[1] = ugm_lp_column(
				b->lp, some && (i || !first) ? bytes / BYTES : 0,
				0);
			if (!some)
				continue;
			slots = flow->slots[level] - flow->from;
			make_gap(b, &slots[changed], &slots[begin], &slots[end],
				 col[0], col[1]);
			ugm_lp_add(b->lp, sum[level], col[0], 1);
			if (!first || !i)
				continue;
			/* Once more: at most what left before. */
			row = ugm_lp_row(b->lp, 0, UGM_LP_INFINITE);
			ugm_lp_add(b->lp, row, col[1], -1);
			for (j = 0; j < i; j++)
				ugm_lp_add(
					b->lp, row,
					columns[(j * NR_LEVELS + level) * 2],
					1);
		}
		/* What is away is part of the tensor, in flash part of that. */
		col = &columns[i * 2 * NR_LEVELS];
		row = ugm_lp_row(b->lp, 0, bytes / BYTES);
		ugm_lp_add(b->lp, row, col[0], 1);
		ugm_lp_add(b->lp, row, col[1], 1);
		row = ugm_lp_row(b->lp, 0, UGM_LP_INFINITE);
		ugm_lp_add(b->lp, row, col[0], 1);
		ugm_lp_add(b->lp, row, col[1], 1);
		ugm_lp_add(b->lp, row, col[2], -1);
		ugm_lp_add(b->lp, row, col[3], -1);
	}
}

/* Versions look alike when their gaps leave and return in the same intervals. */
static int compare_versions(const void *x, const void *y, void *data)
{
	const struct version *v = x, *w = y;
	const struct build *b = data;
	const struct ugm_gap *g = &b->r->gaps[v->gap], *h = &b->r->gaps[w->gap];
	unsigned int i;
	s64 d;

	d = (s64)v->kind - w->kind;
	if (!d)
		d = (s64)v->nr_gaps - w->nr_gaps;
	for (i = 0; i < v->nr_gaps && !d; i++) {
		d = (s64)g[i].leaves - h[i].leaves;
		if (!d)
			d = (s64)g[i].returns - h[i].returns;
	}
	return d < 0 ? -1 : d > 0;
}

static void find_versions(struct build *b)
{
	struct ugm_relaxation *r = b->r;
	u64 i, end;
	bool some;
	u32 cp;

	for (i = 0; i < r->nr_gaps; i = end) {
		const struct ugm_gap *gap = &r->gaps[i];
		const struct ugm_tensor *t =
			&r->layout->trace->tensors[gap->tensor];

		some = spans(gap);
		for (end = i + 1; end < r->nr_gaps && !r->gaps[end].first;
		     end++)
			some |= spans(&r->gaps[end]);
		if (!some)
			continue;
		if (gap->written || t->global) {
			b->versions[b->nr_versions++] = (struct version){
				.gap = i,
				.nr_gaps = (u32)(end - i),
				.kind = !t->global   ? KIND_INTERMEDIATE :
					gap->written ? KIND_GLOBAL :
						       KIND_CONSTANT,
				.bytes = (double)t->bytes,
			};
			continue;
		}
		/* Zeros: they leave and come back at no cost. */
		for (; i < end; i++)
			for (cp = r->gaps[i].leaves + 1;
			     cp <= r->gaps[i].returns; cp++)
				r->live[cp % r->nr_intervals] -=
					(double)t->bytes;
	}
}

/* How far the versions of each kind reach. */
static void find_flows(struct build *b)
{
	u32 last[NR_KINDS] = {}, end, i;
	const struct version *v;
	const struct ugm_gap *gap;
	struct flow *flow;

	for (v = b->versions; v < b->versions + b->nr_versions; v++) {
		gap = &b->r->gaps[v->gap];
		flow = &b->flows[v->kind];
		if (!flow->nr || gap->leaves < flow->from)
			flow->from = gap->leaves;
		for (end = gap->leaves, i = 0; i < v->nr_gaps; i++)
			end = begin_of(b, &gap[i], end) + gap[i].returns -
			      gap[i].leaves;
		if (end > last[v->kind])
			last[v->kind] = end;
		flow->nr = last[v->kind] + 1 - flow->from;
	}
}

static int make_versions(struct build *b)
{
	struct version *v;
	u64 i, end, columns = 0;
	double bytes;

	for (i = 0; i < b->nr_versions; i++) {
		b->versions[i].columns = columns;
		columns += b->versions[i].nr_gaps * 2 * NR_LEVELS;
	}
	b->columns = calloc(columns + 1, sizeof(*b->columns));
	if (!b->columns)
		return -ENOMEM;
	qsort_r(b->versions, b->nr_versions, sizeof(*b->versions),
		compare_versions, b);
	for (i = 0; i < b->nr_versions; i = end) {
		bytes = 0;
		for (end = i;
		     end < b->nr_versions &&
		     !compare_versions(&b->versions[i], &b->versions[end], b);
		     end++) {
			v = &b->versions[end];
			bytes += v->bytes;
			v->like = i;
		}
		make_version(b, &b->versions[i], bytes);
		b->versions[i].bytes = bytes;
	}
	return 0;
}

/*
 * Of versions that look alike the solution says how much of all is away: take
 * one after the other whole, in the same order for each gap and level.
 */
static double share_of(const struct build *b, const u32 *columns,
		       double before, double bytes)
{
	double all = (ugm_lp_value(b->lp, columns[0]) +
		      ugm_lp_value(b->lp, columns[1])) * BYTES;
	double share = (all - before) / bytes;

	return share < 0 ? 0 : share > 1 ? 1 : share;
}

static void take_solution(struct build *b)
{
	double bytes, before = 0;
	const struct version *v, *like;
	const u32 *col;
	struct ugm_gap *gap;
	u32 j;

	for (v = b->versions; v < b->versions + b->nr_versions; v++) {
		like = &b->versions[v->like];
		gap = &b->r->gaps[v->gap];
		bytes = (double)b->r->layout->trace->tensors[gap->tensor].bytes;
		if (v == like)
			before = 0;
		col = &b->columns[like->columns];
		for (j = 0; j < v->nr_gaps; j++, gap++, col += 2 * NR_LEVELS) {
			gap->away = share_of(b, col, before, bytes);
			gap->flash = share_of(b, col + 2, before, bytes);
		}
		before += bytes;
	}
}

static int build(struct build *b)
{
	u32 nr = b->r->nr_intervals, i;
	unsigned int level;

	b->lp = ugm_lp_new();
	b->stall = calloc(nr, sizeof(*b->stall));
	b->versions = calloc(b->r->nr_gaps + 1, sizeof(*b->versions));
	if (!b->lp || !b->stall || !b->versions)
		return -ENOMEM;
	/* A launch that runs does not stall. */
	for (i = 0; i < nr; i++)
		b->stall[i] = ugm_lp_column(
			b->lp, b->r->checkpoints[i] % 2 ? UGM_LP_INFINITE : 0,
			1);
	find_versions(b);
	find_flows(b);
	for (i = 0; i < NR_KINDS; i++)
		for (level = 0; level < NR_LEVELS; level++)
			if (make_flow(b, &b->flows[i], level))
				return -ENOMEM;
	if (make_versions(b))
		return -ENOMEM;
	make_limits(b);
	return 0;
}

/**
 * ugm_relaxation_solve() - how much stall there is at least, and why
 * @r: relaxation, not solved before
 * @work: how long it may take, as for ugm_lp_solve()
 *
 * Context: any.
 * Return: 0; -ETIME: it takes longer; -ERANGE: it is infeasible, which should
 * not be; -ENOMEM.
 */
int ugm_relaxation_solve(struct ugm_relaxation *r, double work)
{
	struct build b = {.r = r};
	unsigned int i, level;
	double stall = 0;
	int ret = build(&b);

	if (!ret)
		ret = ugm_lp_solve(b.lp, work, &stall);
	if (!ret) {
		r->stall_ns = stall * NS;
		take_solution(&b);
	}
	ugm_lp_free(b.lp);
	free(b.stall);
	free(b.versions);
	free(b.columns);
	for (i = 0; i < NR_KINDS; i++)
		for (level = 0; level < NR_LEVELS; level++)
			free(b.flows[i].slots[level]);
	return ret;
}
