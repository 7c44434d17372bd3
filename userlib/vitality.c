// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "vitality.h"

/**
 * ugm_vitality_analyse() - find out when each tensor is used
 * @trace: trace
 * @v: filled; ugm_vitality_free() it
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_vitality_analyse(const struct ugm_trace *trace, struct ugm_vitality *v)
{
	u64 i, sum = 0;
	u32 k;

	v->kernels = calloc(trace->nr_uses + 1, sizeof(*v->kernels));
	v->first = calloc((size_t)trace->nr_tensors + 2, sizeof(*v->first));
	if (!v->kernels || !v->first) {
		ugm_vitality_free(v);
		return -ENOMEM;
	}
	/* Counting sort; entry t + 1 counts up to where tensor t begins next. */
	for (i = 0; i < trace->nr_uses; i++)
		v->first[trace->uses[i].tensor + 2]++;
	for (i = 0; i < trace->nr_tensors; i++) {
		sum += v->first[i + 2];
		v->first[i + 2] = sum;
	}
	for (k = 0; k < trace->nr_kernels; k++) {
		const struct ugm_use *use = ugm_kernel_uses(trace, k);

		for (i = 0; i < trace->kernels[k].nr_uses; i++)
			v->kernels[v->first[use[i].tensor + 1]++] = k;
	}
	return 0;
}

/**
 * ugm_vitality_free() - forget it
 * @v: vitality
 *
 * Context: any.
 */
void ugm_vitality_free(struct ugm_vitality *v)
{
	free(v->kernels);
	free(v->first);
	memset(v, 0, sizeof(*v));
}
