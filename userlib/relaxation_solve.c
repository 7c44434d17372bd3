// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "relaxation.h"

/* Units of the programme: numbers near 1 are what solvers like. */
#define BYTES 1e9
#define NS    1e9

/* What leaves the GPU tier; what leaves GPU and host tier. */
enum { LEVEL_GPU, LEVEL_FLASH, NR_LEVELS };

/* Intermediates and globals: what one has written is of no use to the other. */
enum { NR_CLASSES = 2 };

/**
 * struct flow - columns and rows of one interval at one level
 * @written: bytes written out in it, by class
 * @first: bytes that leave for the first time since they changed, by class
 * @again: bytes that leave once more
 * @back: bytes that come back
 * @away: bytes that are away at its checkpoint
 * @writable: row: bytes that changed and are not written yet, by class
 * @credit: row: bytes written that have not left yet, by class
 * @may_first: row: bytes that may leave for the first time and have not
 * @left: row: bytes that left for the first time, in gaps that go on, by class
 * @may_again: row: bytes that may leave once more and have not
 * @early: row: bytes that are back and not due yet
 * @balance: row: bytes that are away
 */
struct flow {
	u32 written[NR_CLASSES];
	u32 first[NR_CLASSES];
	u32 again;
	u32 back;
	u32 away;
	u32 writable[NR_CLASSES];
	u32 credit[NR_CLASSES];
	u32 may_first[NR_CLASSES];
	u32 left[NR_CLASSES];
	u32 may_again;
	u32 early;
	u32 balance;
};

/**
 * struct version - a tensor between two writes, or many that look alike
 * @gap: its first gap
 * @nr_gaps: its gaps
 * @bytes: its size
 * @columns: of the first of those that look alike: by gap and level, what
 * leaves for the first time, and what once more
 * @like: the first of those that look alike
 */
struct version {
	u64 gap;
	u32 nr_gaps;
	double bytes;
	u64 columns;
	u64 like;
};

/**
 * struct build - a programme in the making
 * @r: the relaxation
 * @lp: the programme
 * @stall: by interval, the column that says how long it stalls
 * @flows: by level and interval
 * @start: by level, row: what is away at the first checkpoint
 * @changed: by level and class, row: what changed before it and may leave later
 * @versions: all versions with a gap that spans a checkpoint
 * @nr_versions: how many
 * @columns: of all versions
 */
struct build {
	struct ugm_relaxation *r;
	struct ugm_lp *lp;
	u32 *stall;
	struct flow *flows[NR_LEVELS];
	u32 start[NR_LEVELS];
	u32 changed[NR_LEVELS][NR_CLASSES];
	struct version *versions;
	u64 nr_versions;
	u32 *columns;
};

static bool spans(const struct ugm_gap *gap)
{
	return gap->returns > gap->leaves;
}

static unsigned int class_of(const struct build *b, const struct ugm_gap *gap)
{
	return b->r->layout->trace->tensors[gap->tensor].global;
}

static u32 *row_of(struct flow *f, size_t offset)
{
	return (u32 *)((char *)f + offset);
}

/*
 * Rows of something that goes on from interval to interval, around the circle:
 * what there was + what is added - what is taken = what there is then. The
 * column of what there is at each checkpoint is returned for the first one, and
 * put at @column where it is not 0.
 */
static u32 circle(struct build *b, unsigned int level, size_t row,
		  size_t column)
{
	u32 nr = b->r->nr_intervals, i, col, first = 0;
	struct flow *f = b->flows[level];

	for (i = 0; i < nr; i++)
		*row_of(&f[i], row) = ugm_lp_row(b->lp, 0, 0);
	for (i = 0; i < nr; i++) {
		col = ugm_lp_column(b->lp, UGM_LP_INFINITE, 0);
		if (!i)
			first = col;
		if (column)
			*row_of(&f[i], column) = col;
		if (nr == 1)
			break;
		ugm_lp_add(b->lp, *row_of(&f[i], row), col, 1);
		ugm_lp_add(b->lp, *row_of(&f[(i + nr - 1) % nr], row), col, -1);
	}
	return first;
}

/* A column that is added to one row and taken from another. */
static u32 move(struct build *b, u32 from, u32 to)
{
	u32 column = ugm_lp_column(b->lp, UGM_LP_INFINITE, 0);

	ugm_lp_add(b->lp, from, column, -1);
	ugm_lp_add(b->lp, to, column, 1);
	return column;
}

static void make_flows(struct build *b, unsigned int level)
{
	struct ugm_lp *lp = b->lp;
	struct flow *f;
	u32 i, c, row, changed;

	/* away = all that may be, less what has not left, less what is back */
	row = ugm_lp_row(lp, 0, 0);
	b->start[level] = row;
	for (c = 0; c < NR_CLASSES; c++) {
		/* written, or not yet, or gone: all of what may leave */
		changed = ugm_lp_row(lp, 0, 0);
		b->changed[level][c] = changed;
		ugm_lp_add(lp, changed,
			   circle(b, level, offsetof(struct flow, writable[c]),
				  0),
			   1);
		ugm_lp_add(lp, changed,
			   circle(b, level, offsetof(struct flow, credit[c]),
				  0),
			   1);
		ugm_lp_add(lp, changed,
			   circle(b, level, offsetof(struct flow, left[c]), 0),
			   1);
		ugm_lp_add(lp, row,
			   circle(b, level, offsetof(struct flow, may_first[c]),
				  0),
			   1);
	}
	ugm_lp_add(lp, row,
		   circle(b, level, offsetof(struct flow, may_again), 0), 1);
	ugm_lp_add(lp, row, circle(b, level, offsetof(struct flow, early), 0),
		   1);
	ugm_lp_add(lp, row,
		   circle(b, level, offsetof(struct flow, balance),
			  offsetof(struct flow, away)),
		   1);
	for (i = 0; i < b->r->nr_intervals; i++) {
		f = &b->flows[level][i];
		for (c = 0; c < NR_CLASSES; c++) {
			f->written[c] = move(b, f->writable[c], f->credit[c]);
			f->first[c] = move(b, f->credit[c], f->balance);
			ugm_lp_add(lp, f->may_first[c], f->first[c], -1);
			ugm_lp_add(lp, f->left[c], f->first[c], 1);
		}
		f->again = move(b, f->may_again, f->balance);
		f->back = move(b, f->balance, f->early);
	}
}

/* A link carries no more in an interval than its bandwidth allows. */
static void limit(struct build *b, u32 interval, u64 bandwidth,
		  const u32 *columns, unsigned int nr)
{
	double rate = (double)bandwidth / BYTES;
	unsigned int i;
	u32 row;

	row = ugm_lp_row(b->lp, -UGM_LP_INFINITE,
			 rate * ((double)b->r->duration_ns[interval] / NS));
	for (i = 0; i < nr; i++)
		ugm_lp_add(b->lp, row, columns[i], 1);
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
	struct flow *g, *f;
	u32 i, row;

	for (i = 0; i < b->r->nr_intervals; i++) {
		g = &b->flows[LEVEL_GPU][i];
		f = &b->flows[LEVEL_FLASH][i];
		limit(b, i, c->pcie_bytes_per_s, &g->back, 1);
		limit(b, i, c->pcie_bytes_per_s, g->written, NR_CLASSES);
		limit(b, i, c->flash_read_bytes_per_s, &f->back, 1);
		limit(b, i, c->flash_write_bytes_per_s, f->written, NR_CLASSES);
		row = ugm_lp_row(b->lp, (b->r->live[i] - gpu) / BYTES,
				 UGM_LP_INFINITE);
		ugm_lp_add(b->lp, row, g->away, 1);
		row = ugm_lp_row(b->lp, -UGM_LP_INFINITE, host / BYTES);
		ugm_lp_add(b->lp, row, g->away, 1);
		ugm_lp_add(b->lp, row, f->away, -1);
	}
}

/*
 * What may leave in one gap at one level: @f for the first time, that has to be
 * written, @again once more, that left in a gap before. The version began in
 * interval @changed; counted on from there, the gap ends in interval @end.
 */
static void make_gap(struct build *b, unsigned int level,
		     const struct ugm_gap *gap, u32 changed, u32 end, u32 f,
		     u32 again)
{
	u32 nr = b->r->nr_intervals, c = class_of(b, gap);
	struct flow *at = &b->flows[level][gap->leaves % nr];
	struct flow *back = &b->flows[level][gap->returns % nr];

	ugm_lp_add(b->lp, b->flows[level][changed].writable[c], f, 1);
	ugm_lp_add(b->lp, at->may_first[c], f, 1);
	ugm_lp_add(b->lp, at->may_again, again, 1);
	ugm_lp_add(b->lp, back->left[c], f, -1);
	if (end >= nr)
		ugm_lp_add(b->lp, b->changed[level][c], f, -(double)(end / nr));
	ugm_lp_add(b->lp, back->early, f, -1);
	ugm_lp_add(b->lp, back->early, again, -1);
	if (gap->returns >= nr) {
		ugm_lp_add(b->lp, b->start[level], f, -1);
		ugm_lp_add(b->lp, b->start[level], again, -1);
	}
}

static void make_version(struct build *b, struct version *v, double bytes)
{
	const struct ugm_gap *gap = &b->r->gaps[v->gap];
	u32 changed = gap->leaves, i, j, level, row, sum[NR_LEVELS];
	u32 *columns = &b->columns[v->columns], *col;
	double first = gap->written ? bytes / BYTES : 0;
	u32 nr = b->r->nr_intervals, end = changed;

	/* All gaps: no more leaves for the first time than there is. */
	for (level = 0; level < NR_LEVELS; level++)
		sum[level] = ugm_lp_row(b->lp, 0, first);
	for (i = 0; i < v->nr_gaps; i++, gap++) {
		col = &columns[i * 2 * NR_LEVELS];
		/* A gap begins where the one before has ended. */
		end += (gap->leaves + nr - end % nr) % nr + gap->returns -
		       gap->leaves;
		for (level = 0; level < NR_LEVELS; level++) {
			bool some = spans(gap);

			col[2 * level] =
				ugm_lp_column(b->lp, some ? first : 0, 0);
			col[2 * level + 1] = ugm_lp_column(
				b->lp,
				some && (i || !gap->written) ? bytes / BYTES :
							       0,
				0);
			if (!some)
				continue;
			make_gap(b, level, gap, changed, end, col[2 * level],
				 col[2 * level + 1]);
			ugm_lp_add(b->lp, sum[level], col[2 * level], 1);
			if (!gap->written || !i)
				continue;
			/* Once more: at most what left before. */
			row = ugm_lp_row(b->lp, 0, UGM_LP_INFINITE);
			ugm_lp_add(b->lp, row, col[2 * level + 1], -1);
			for (j = 0; j < i; j++)
				ugm_lp_add(
					b->lp, row,
					columns[j * 2 * NR_LEVELS + 2 * level],
					1);
		}
		/* What is away is part of the tensor, in flash part of that. */
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

	d = (s64)class_of(b, g) - class_of(b, h);
	if (!d)
		d = (s64)g->written - h->written;
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

static int make_versions(struct build *b)
{
	struct version *v;
	u64 i, end, columns = 0;
	double bytes;

	find_versions(b);
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

static void take_solution(struct build *b)
{
	const struct version *v, *like;
	const u32 *columns;
	struct ugm_gap *gap;
	u64 i;
	u32 j;

	for (i = 0; i < b->nr_versions; i++) {
		v = &b->versions[i];
		like = &b->versions[v->like];
		for (j = 0; j < v->nr_gaps; j++) {
			gap = &b->r->gaps[v->gap + j];
			columns =
				&b->columns[like->columns + j * 2 * NR_LEVELS];
			gap->away = (ugm_lp_value(b->lp, columns[0]) +
				     ugm_lp_value(b->lp, columns[1])) *
				    BYTES / like->bytes;
			gap->flash = (ugm_lp_value(b->lp, columns[2]) +
				      ugm_lp_value(b->lp, columns[3])) *
				     BYTES / like->bytes;
		}
	}
}

static int build(struct build *b)
{
	u32 nr = b->r->nr_intervals, i;
	unsigned int level;

	b->lp = ugm_lp_new();
	b->stall = calloc(nr, sizeof(*b->stall));
	b->versions = calloc(b->r->nr_gaps + 1, sizeof(*b->versions));
	for (level = 0; level < NR_LEVELS; level++)
		b->flows[level] = calloc(nr, sizeof(*b->flows[level]));
	if (!b->lp || !b->stall || !b->versions || !b->flows[0] || !b->flows[1])
		return -ENOMEM;
	/* A launch that runs does not stall. */
	for (i = 0; i < nr; i++)
		b->stall[i] = ugm_lp_column(
			b->lp, b->r->checkpoints[i] % 2 ? UGM_LP_INFINITE : 0,
			1);
	for (level = 0; level < NR_LEVELS; level++)
		make_flows(b, level);
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
	free(b.flows[0]);
	free(b.flows[1]);
	return ret;
}
