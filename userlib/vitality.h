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
 * Planners start from who uses a tensor, and when.
 */

/**
 * struct ugm_vitality - when each tensor is used
 * @kernels: kernels that use a tensor, ascending, tensor after tensor
 * @first: by tensor index, where its kernels begin in @kernels; one more entry
 *         says where the last one's end
 */
struct ugm_vitality {
	u32 *kernels;
	u64 *first;
};

int ugm_vitality_analyse(const struct ugm_trace *trace,
			 struct ugm_vitality *v);
void ugm_vitality_free(struct ugm_vitality *v);

/* Kernels that use a tensor, and how many. */
static inline const u32 *ugm_vitality_uses(const struct ugm_vitality *v,
					   u32 tensor, u64 *nr)
{
	*nr = v->first[tensor + 1] - v->first[tensor];
	return v->kernels + v->first[tensor];
}

#endif /* UGM_VITALITY_H */
