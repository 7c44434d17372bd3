/* SPDX-License-Identifier: MIT */
#ifndef UGM_LP_H
#define UGM_LP_H

#include "pure.h"

/**
 * DOC: linear programmes
 *
 * Minimise a sum of columns under rows that bound sums of columns. Columns and
 * rows are added in any order and named by the numbers they get; CLP solves.
 *
 * How long that may take is told in pivots times rows, so that it does not depend
 * on the speed of a machine what is solved and what is given up. A core does some
 * 10^8 of them a second.
 */

struct ugm_lp;

#define UGM_LP_INFINITE 1e30

struct ugm_lp *ugm_lp_new(void);
void ugm_lp_free(struct ugm_lp *lp);
u32 ugm_lp_column(struct ugm_lp *lp, double upper, double cost);
u32 ugm_lp_row(struct ugm_lp *lp, double lower, double upper);
void ugm_lp_add(struct ugm_lp *lp, u32 row, u32 column, double value);
int ugm_lp_solve(struct ugm_lp *lp, double work, double *objective);
double ugm_lp_value(const struct ugm_lp *lp, u32 column);

#endif /* UGM_LP_H */
