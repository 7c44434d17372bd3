/* SPDX-License-Identifier: MIT */
#ifndef UGM_CURVE_H
#define UGM_CURVE_H

#include "pure.h"

/**
 * DOC: curves
 *
 * A number per launch over the next iteration, circular: launch l and launch
 * l + n share a place, and the window that is looked at never spans more than n
 * launches. A segment tree: adding to a range, the largest of a range, and the
 * first launch over a limit take O(log n).
 */

/**
 * struct ugm_curve - a curve
 * @n: launches of an iteration
 * @size: leaves of the tree, a power of two
 * @max: by node, the largest below it without what its ancestors add
 * @add: by node, added to everything below it
 */
struct ugm_curve {
	u32 n;
	u32 size;
	s64 *max;
	s64 *add;
};

int ugm_curve_init(struct ugm_curve *c, u32 n);
void ugm_curve_free(struct ugm_curve *c);
void ugm_curve_add(struct ugm_curve *c, u64 from, u64 to, s64 value);
void ugm_curve_set(struct ugm_curve *c, u64 launch, s64 value);
s64 ugm_curve_max(const struct ugm_curve *c, u64 from, u64 to);
u64 ugm_curve_first_over(const struct ugm_curve *c, u64 from, u64 to,
			 s64 limit);

#endif /* UGM_CURVE_H */
