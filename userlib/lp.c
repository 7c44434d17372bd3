// SPDX-License-Identifier: MIT
#include <limits.h>
#include <stdlib.h>

#include <coin/Clp_C_Interface.h>

#include "array.h"
#include "lp.h"

struct entry {
	u32 row;
	u32 column;
	double value;
};

struct column {
	double upper;
	double cost;
};

struct row {
	double lower;
	double upper;
};

/**
 * struct ugm_lp - a linear programme
 * @columns: columns, whose lower bound is 0
 * @nr_columns: how many
 * @columns_room: how many there is room for
 * @rows: rows
 * @nr_rows: how many
 * @rows_room: how many there is room for
 * @entries: coefficients, in no order
 * @nr_entries: how many
 * @entries_room: how many there is room for
 * @values: of the columns, once it is solved
 * @no_memory: something could not be added
 */
struct ugm_lp {
	struct column *columns;
	u64 nr_columns;
	u64 columns_room;
	struct row *rows;
	u64 nr_rows;
	u64 rows_room;
	struct entry *entries;
	u64 nr_entries;
	u64 entries_room;
	double *values;
	bool no_memory;
};

/**
 * ugm_lp_new() - an empty programme
 *
 * Context: any.
 * Return: it, or NULL; ugm_lp_free() it.
 */
struct ugm_lp *ugm_lp_new(void)
{
	return calloc(1, sizeof(struct ugm_lp));
}

/**
 * ugm_lp_free() - forget a programme
 * @lp: it, or NULL
 *
 * Context: any.
 */
void ugm_lp_free(struct ugm_lp *lp)
{
	if (!lp)
		return;
	free(lp->columns);
	free(lp->rows);
	free(lp->entries);
	free(lp->values);
	free(lp);
}

/**
 * ugm_lp_column() - add a column, which is not negative
 * @lp: programme
 * @upper: its upper bound
 * @cost: what one unit of it costs
 *
 * Context: any.
 * Return: its number; no memory shows when the programme is solved.
 */
u32 ugm_lp_column(struct ugm_lp *lp, double upper, double cost)
{
	struct column *c = ugm_array_room(lp->columns, &lp->columns_room,
					  lp->nr_columns + 1, sizeof(*c));

	if (!c) {
		lp->no_memory = true;
		return 0;
	}
	lp->columns = c;
	c[lp->nr_columns] = (struct column){upper, cost};
	return (u32)lp->nr_columns++;
}

/**
 * ugm_lp_row() - add a row
 * @lp: programme
 * @lower: its lower bound
 * @upper: its upper bound
 *
 * Context: any.
 * Return: its number; no memory shows when the programme is solved.
 */
u32 ugm_lp_row(struct ugm_lp *lp, double lower, double upper)
{
	struct row *r = ugm_array_room(lp->rows, &lp->rows_room,
				       lp->nr_rows + 1, sizeof(*r));

	if (!r) {
		lp->no_memory = true;
		return 0;
	}
	lp->rows = r;
	r[lp->nr_rows] = (struct row){lower, upper};
	return (u32)lp->nr_rows++;
}

/**
 * ugm_lp_add() - a column counts in a row
 * @lp: programme
 * @row: row
 * @column: column; at most once in each row
 * @value: how often
 *
 * Context: any.
 */
void ugm_lp_add(struct ugm_lp *lp, u32 row, u32 column, double value)
{
	struct entry *e = ugm_array_room(lp->entries, &lp->entries_room,
					 lp->nr_entries + 1, sizeof(*e));

	if (!e) {
		lp->no_memory = true;
		return;
	}
	lp->entries = e;
	e[lp->nr_entries++] = (struct entry){row, column, value};
}

/* The matrix by columns, as the solver wants it. */
struct matrix {
	CoinBigIndex *start;
	int *index;
	double *value;
	double *bounds;
};

static int make_matrix(const struct ugm_lp *lp, struct matrix *m)
{
	u64 i, at;

	m->start = calloc(lp->nr_columns + 2, sizeof(*m->start));
	m->index = calloc(lp->nr_entries + 1, sizeof(*m->index));
	m->value = calloc(lp->nr_entries + 1, sizeof(*m->value));
	m->bounds = calloc(3 * lp->nr_columns + 2 * lp->nr_rows + 1,
			   sizeof(*m->bounds));
	if (!m->start || !m->index || !m->value || !m->bounds)
		return -ENOMEM;
	/* Counting sort; entry c + 1 counts up to where column c begins next. */
	for (i = 0; i < lp->nr_entries; i++)
		m->start[lp->entries[i].column + 2]++;
	for (i = 2; i < lp->nr_columns + 2; i++)
		m->start[i] += m->start[i - 1];
	for (i = 0; i < lp->nr_entries; i++) {
		at = (u64)m->start[lp->entries[i].column + 1]++;
		m->index[at] = (int)lp->entries[i].row;
		m->value[at] = lp->entries[i].value;
	}
	for (i = 0; i < lp->nr_columns; i++) {
		m->bounds[lp->nr_columns + i] = lp->columns[i].upper;
		m->bounds[2 * lp->nr_columns + i] = lp->columns[i].cost;
	}
	for (i = 0; i < lp->nr_rows; i++) {
		m->bounds[3 * lp->nr_columns + i] = lp->rows[i].lower;
		m->bounds[3 * lp->nr_columns + lp->nr_rows + i] =
			lp->rows[i].upper;
	}
	return 0;
}

static int solve(struct ugm_lp *lp, const struct matrix *m, double work,
		 double *objective)
{
	const double *upper = m->bounds + lp->nr_columns;
	const double *rows = m->bounds + 3 * lp->nr_columns;
	double pivots = work / (double)(lp->nr_rows + 1);
	Clp_Simplex *model = Clp_newModel();
	int ret = 0;

	if (!model)
		return -ENOMEM;
	Clp_setLogLevel(model, 0);
	if (pivots < INT_MAX)
		Clp_setMaximumIterations(model, (int)pivots);
	Clp_loadProblem(model, (int)lp->nr_columns, (int)lp->nr_rows, m->start,
			m->index, m->value, m->bounds, upper,
			upper + lp->nr_columns, rows, rows + lp->nr_rows);
	Clp_initialSolve(model);
	switch (Clp_status(model)) {
	case 0:
		*objective = Clp_objectiveValue(model);
		memcpy(lp->values, Clp_primalColumnSolution(model),
		       lp->nr_columns * sizeof(*lp->values));
		break;
	case 1:
		ret = -ERANGE;
		break;
	default:
		ret = -ETIME;
		break;
	}
	Clp_deleteModel(model);
	return ret;
}

/**
 * ugm_lp_solve() - find the cheapest columns
 * @lp: programme
 * @work: how long that may take: pivots times rows
 * @objective: what they cost
 *
 * Context: any.
 * Return: 0; -ERANGE: nothing satisfies the rows; -ETIME: it takes too long;
 * -ENOMEM.
 */
int ugm_lp_solve(struct ugm_lp *lp, double work, double *objective)
{
	struct matrix m = {};
	int ret = lp->no_memory ? -ENOMEM : 0;

	free(lp->values);
	lp->values = calloc(lp->nr_columns + 1, sizeof(*lp->values));
	if (!lp->values)
		ret = -ENOMEM;
	if (!ret)
		ret = make_matrix(lp, &m);
	if (!ret)
		ret = solve(lp, &m, work, objective);
	free(m.start);
	free(m.index);
	free(m.value);
	free(m.bounds);
	return ret;
}

/**
 * ugm_lp_value() - how much of a column the solution has
 * @lp: a solved programme
 * @column: column
 *
 * Context: any.
 */
double ugm_lp_value(const struct ugm_lp *lp, u32 column)
{
	return lp->values[column];
}
