// SPDX-License-Identifier: GPL-2.0
/* Curves and linear programmes against what can be worked out by hand. */
#include "unit.h"

#include "curve.h"
#include "lp.h"

static s64 slow_max(const s64 *v, u32 n, u64 from, u64 to)
{
	s64 best = INT64_MIN;
	u64 l;

	for (l = from; l < to; l++)
		if (v[l % n] > best)
			best = v[l % n];
	return best;
}

static u64 slow_first(const s64 *v, u32 n, u64 from, u64 to, s64 limit)
{
	u64 l;

	for (l = from; l < to; l++)
		if (v[l % n] > limit)
			return l;
	return to;
}

/* Every operation against an array, with windows that wrap. */
static void against_an_array(void **unused)
{
	u64 seed = 3, from, to, round, step;
	s64 v[40], value;
	struct ugm_curve c;
	u32 n;

	for (round = 0; round < 200; round++) {
		n = 1 + (u32)(next_random(&seed) % 40);
		memset(v, 0, sizeof(v));
		assert_int_equal(ugm_curve_init(&c, n), 0);
		for (step = 0; step < 200; step++) {
			from = next_random(&seed) % (3 * n);
			to = from + next_random(&seed) % (n + 1);
			value = (s64)(next_random(&seed) % 200) - 100;
			if (step % 5) {
				ugm_curve_add(&c, from, to, value);
				for (u64 l = from; l < to; l++)
					v[l % n] += value;
			} else {
				ugm_curve_set(&c, from, value);
				v[from % n] = value;
			}
			if (from < to)
				assert_int_equal(ugm_curve_max(&c, from, to),
						 slow_max(v, n, from, to));
			assert_int_equal(ugm_curve_first_over(&c, from, to,
							      value),
					 slow_first(v, n, from, to, value));
		}
		ugm_curve_free(&c);
	}
}

/* An empty window has no largest value that counts, and no launch over any. */
static void empty_window(void **unused)
{
	struct ugm_curve c;

	assert_int_equal(ugm_curve_init(&c, 7), 0);
	assert_true(ugm_curve_max(&c, 3, 3) < -(1LL << 60));
	assert_int_equal(ugm_curve_first_over(&c, 3, 3, -5), 3);
	ugm_curve_free(&c);
}

/* The least x + 2y, where x + y >= 4, x + 3y >= 6 and x <= 3: x = 3, y = 1. */
static void programme(void **unused)
{
	struct ugm_lp *lp = ugm_lp_new();
	u32 x = ugm_lp_column(lp, 3, 1),
	    y = ugm_lp_column(lp, UGM_LP_INFINITE, 2);
	u32 a = ugm_lp_row(lp, 4, UGM_LP_INFINITE);
	u32 b = ugm_lp_row(lp, 6, UGM_LP_INFINITE);
	double cost;

	ugm_lp_add(lp, b, y, 3);
	ugm_lp_add(lp, a, x, 1);
	ugm_lp_add(lp, a, y, 1);
	ugm_lp_add(lp, b, x, 1);
	assert_int_equal(ugm_lp_solve(lp, 1e6, &cost), 0);
	assert_true(cost > 4.999 && cost < 5.001);
	assert_true(ugm_lp_value(lp, x) > 2.999);
	assert_true(ugm_lp_value(lp, y) < 1.001);
	ugm_lp_free(lp);
}

/* Rows that contradict each other. */
static void impossible(void **unused)
{
	struct ugm_lp *lp = ugm_lp_new();
	u32 x = ugm_lp_column(lp, 1, 1), row = ugm_lp_row(lp, 2, 3);
	double cost;

	ugm_lp_add(lp, row, x, 1);
	assert_int_equal(ugm_lp_solve(lp, 1e6, &cost), -ERANGE);
	ugm_lp_free(lp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_an_array),
		cmocka_unit_test(empty_window),
		cmocka_unit_test(programme),
		cmocka_unit_test(impossible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
