/* SPDX-License-Identifier: MIT */
#ifndef UGM_VITALITY_H
#define UGM_VITALITY_H

#include "trace.h"

/**
 * DOC: tensor vitality
 *
 * Kernels 0..n-1 of an iteration run in a fixed order, and time is circular:
 * the next iteration follows. A global tensor lives for ever; an intermediate
 * one is born at the first kernel that uses it and is dead after the last.
 * Between two consecutive uses a live tensor is inactive; a global one also from
 * its last use to its first in the next iteration. Planners start from who uses
 * a tensor, and when.
 */

/**
 * struct ugm_vitality - when each tensor is used
 * @trace: the trace
 * @kernels: kernels that use a tensor, ascending, tensor after tensor
 * @first: by tensor index, where its kernels begin in @kernels; one more entry
 *         says where the last one's end
 * @start_ns: when each kernel starts if nothing stalls; one more entry: the
 *            iteration's length
 */
struct ugm_vitality {
	const struct ugm_trace *trace;
	u32 *kernels;
	u64 *first;
	u64 *start_ns;
};

/**
 * struct ugm_period - a tensor is alive and nobody uses it
 * @tensor: index into &ugm_trace.tensors
 * @from: the last kernel that used it before
 * @to: the next that does; n or more: in the next iteration
 */
struct ugm_period {
	u32 tensor;
	u32 from;
	u32 to;
};

int ugm_vitality_analyse(const struct ugm_trace *trace,
			 struct ugm_vitality *v);
void ugm_vitality_free(struct ugm_vitality *v);
int ugm_vitality_periods(const struct ugm_vitality *v,
			 struct ugm_period **periods, u64 *nr);
void ugm_vitality_live(const struct ugm_vitality *v, u64 *bytes);
void ugm_vitality_active(const struct ugm_vitality *v, u64 *bytes);
u64 ugm_vitality_at(const struct ugm_vitality *v, u64 kernel);

/* Kernels that use a tensor, and how many. */
static inline const u32 *ugm_vitality_uses(const struct ugm_vitality *v,
					   u32 tensor, u64 *nr)
{
	*nr = v->first[tensor + 1] - v->first[tensor];
	return v->kernels + v->first[tensor];
}

/* How long a period is: from the end of one kernel to the start of another. */
static inline u64 ugm_period_ns(const struct ugm_vitality *v,
				const struct ugm_period *p)
{
	return ugm_vitality_at(v, p->to) - v->start_ns[p->from + 1];
}

#endif /* UGM_VITALITY_H */
