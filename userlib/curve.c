// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "curve.h"

/* Less than any value, and far from overflow when values are added to it. */
#define LOWEST (-(1LL << 61))

static s64 larger(s64 a, s64 b)
{
	return a > b ? a : b;
}

/**
 * ugm_curve_init() - a curve of zeros
 * @c: curve; ugm_curve_free() it
 * @n: launches of an iteration, not 0
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_curve_init(struct ugm_curve *c, u32 n)
{
	u32 i;

	c->n = n;
	c->size = 1;
	while (c->size < n)
		c->size *= 2;
	c->max = calloc(2 * (size_t)c->size, sizeof(*c->max));
	c->add = calloc(2 * (size_t)c->size, sizeof(*c->add));
	if (!c->max || !c->add) {
		ugm_curve_free(c);
		return -ENOMEM;
	}
	for (i = n; i < c->size; i++)
		c->max[c->size + i] = LOWEST;
	for (i = c->size - 1; i; i--)
		c->max[i] = larger(c->max[2 * i], c->max[2 * i + 1]);
	return 0;
}

/**
 * ugm_curve_free() - forget a curve
 * @c: curve
 *
 * Context: any.
 */
void ugm_curve_free(struct ugm_curve *c)
{
	free(c->max);
	free(c->add);
	c->max = NULL;
	c->add = NULL;
}

/* Nodes are visited from the root; [@lo, @hi) is what @node covers. */
static void tree_add(struct ugm_curve *c, u32 node, u32 lo, u32 hi, u32 from,
		     u32 to, s64 value)
{
	u32 mid = lo + (hi - lo) / 2;

	if (from <= lo && hi <= to) {
		c->max[node] += value;
		c->add[node] += value;
		return;
	}
	if (from < mid)
		tree_add(c, 2 * node, lo, mid, from, to, value);
	if (to > mid)
		tree_add(c, 2 * node + 1, mid, hi, from, to, value);
	c->max[node] =
		larger(c->max[2 * node], c->max[2 * node + 1]) + c->add[node];
}

static s64 tree_max(const struct ugm_curve *c, u32 node, u32 lo, u32 hi,
		    u32 from, u32 to)
{
	u32 mid = lo + (hi - lo) / 2;
	s64 best = LOWEST;

	if (from <= lo && hi <= to)
		return c->max[node];
	if (from < mid)
		best = tree_max(c, 2 * node, lo, mid, from, to);
	if (to > mid)
		best = larger(best,
			      tree_max(c, 2 * node + 1, mid, hi, from, to));
	return best + c->add[node];
}

/* The first place over @limit, or @to. */
static u32 tree_first(const struct ugm_curve *c, u32 node, u32 lo, u32 hi,
		      u32 from, u32 to, s64 limit)
{
	u32 mid = lo + (hi - lo) / 2, found;

	if (c->max[node] <= limit || from >= hi || to <= lo)
		return to;
	if (hi - lo == 1)
		return lo;
	limit -= c->add[node];
	found = tree_first(c, 2 * node, lo, mid, from, to, limit);
	return found < to ?
		       found :
		       tree_first(c, 2 * node + 1, mid, hi, from, to, limit);
}

/**
 * ugm_curve_add() - add to a range of launches
 * @c: curve
 * @from: first launch
 * @to: the one after the last, at most @from + n; no more than @from: none
 * @value: what is added
 *
 * Context: any.
 */
void ugm_curve_add(struct ugm_curve *c, u64 from, u64 to, s64 value)
{
	u32 lo = (u32)(from % c->n);
	u64 nr = to > from ? to - from : 0;

	if (nr > c->n - lo) {
		tree_add(c, 1, 0, c->size, 0, (u32)(nr - (c->n - lo)), value);
		nr = c->n - lo;
	}
	if (nr)
		tree_add(c, 1, 0, c->size, lo, lo + (u32)nr, value);
}

/**
 * ugm_curve_set() - give one launch a value
 * @c: curve
 * @launch: launch
 * @value: its value
 *
 * Context: any.
 */
void ugm_curve_set(struct ugm_curve *c, u64 launch, s64 value)
{
	ugm_curve_add(c, launch, launch + 1,
		      value - ugm_curve_max(c, launch, launch + 1));
}

/**
 * ugm_curve_max() - the largest value of a range
 * @c: curve
 * @from: first launch
 * @to: the one after the last, at most @from + n
 *
 * Context: any.
 * Return: the largest; less than any value where the range is empty.
 */
s64 ugm_curve_max(const struct ugm_curve *c, u64 from, u64 to)
{
	u32 lo = (u32)(from % c->n);
	u64 nr = to > from ? to - from : 0;
	s64 best = LOWEST;

	if (nr > c->n - lo) {
		best = tree_max(c, 1, 0, c->size, 0, (u32)(nr - (c->n - lo)));
		nr = c->n - lo;
	}
	if (nr)
		best = larger(best,
			      tree_max(c, 1, 0, c->size, lo, lo + (u32)nr));
	return best;
}

/**
 * ugm_curve_first_over() - the first launch whose value exceeds a limit
 * @c: curve
 * @from: first launch looked at
 * @to: the one after the last, at most @from + n
 * @limit: limit
 *
 * Context: any.
 * Return: the launch, or @to where there is none.
 */
u64 ugm_curve_first_over(const struct ugm_curve *c, u64 from, u64 to, s64 limit)
{
	u32 lo = (u32)(from % c->n), found;
	u64 nr = to > from ? to - from : 0, head = nr;

	if (!nr)
		return to;
	if (head > c->n - lo)
		head = c->n - lo;
	found = tree_first(c, 1, 0, c->size, lo, lo + (u32)head, limit);
	if (found < lo + head)
		return from + (found - lo);
	if (head == nr)
		return to;
	found = tree_first(c, 1, 0, c->size, 0, (u32)(nr - head), limit);
	return from + head + found;
}
