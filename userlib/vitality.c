// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "array.h"
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
	v->start_ns = calloc((size_t)trace->nr_kernels + 1,
			     sizeof(*v->start_ns));
	v->trace = trace;
	if (!v->kernels || !v->first || !v->start_ns) {
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

		v->start_ns[k + 1] =
			v->start_ns[k] + trace->kernels[k].duration_ns;
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
	free(v->start_ns);
	memset(v, 0, sizeof(*v));
}

/**
 * ugm_vitality_at() - when a kernel starts, also one of the next iteration
 * @v: vitality
 * @kernel: 0..2n
 *
 * Context: any.
 * Return: ns since the start of the iteration, if nothing stalls.
 */
u64 ugm_vitality_at(const struct ugm_vitality *v, u64 kernel)
{
	u64 n = v->trace->nr_kernels;

	return kernel <= n ? v->start_ns[kernel] :
			     v->start_ns[n] + v->start_ns[kernel - n];
}

static int add_period(struct ugm_period **periods, u64 *nr, u64 *room,
		      u32 tensor, u32 from, u32 to)
{
	struct ugm_period *p;

	if (to - from < 2)
		return 0;
	p = ugm_array_room(*periods, room, *nr + 1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	*periods = p;
	p[(*nr)++] = (struct ugm_period){ tensor, from, to };
	return 0;
}

/**
 * ugm_vitality_periods() - all inactive periods
 * @v: vitality
 * @periods: filled, by tensor and then by time; free() it
 * @nr: how many
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_vitality_periods(const struct ugm_vitality *v,
			 struct ugm_period **periods, u64 *nr)
{
	const struct ugm_trace *t = v->trace;
	u64 room = 0, uses, i;
	const u32 *k;
	int ret = 0;
	u32 x;

	*periods = NULL;
	*nr = 0;
	for (x = 0; x < t->nr_tensors && !ret; x++) {
		k = ugm_vitality_uses(v, x, &uses);
		for (i = 1; i < uses && !ret; i++)
			ret = add_period(periods, nr, &room, x, k[i - 1], k[i]);
		if (uses && t->tensors[x].global && !ret)
			ret = add_period(periods, nr, &room, x, k[uses - 1],
					 k[0] + t->nr_kernels);
	}
	if (ret) {
		free(*periods);
		*periods = NULL;
	}
	return ret;
}

/* From differences to sums. */
static void accumulate(u64 *bytes, u32 nr)
{
	u32 k;

	for (k = 1; k < nr; k++)
		bytes[k] += bytes[k - 1];
}

/**
 * ugm_vitality_live() - the pressure curve: bytes alive during each kernel
 * @v: vitality
 * @bytes: by kernel, filled
 *
 * Context: any.
 */
void ugm_vitality_live(const struct ugm_vitality *v, u64 *bytes)
{
	const struct ugm_trace *t = v->trace;
	const u32 *k;
	u64 uses;
	u32 x;

	memset(bytes, 0, t->nr_kernels * sizeof(*bytes));
	for (x = 0; x < t->nr_tensors; x++) {
		k = ugm_vitality_uses(v, x, &uses);
		if (t->tensors[x].global) {
			bytes[0] += t->tensors[x].bytes;
		} else if (uses) {
			bytes[k[0]] += t->tensors[x].bytes;
			if (k[uses - 1] + 1 < t->nr_kernels)
				bytes[k[uses - 1] + 1] -= t->tensors[x].bytes;
		}
	}
	accumulate(bytes, t->nr_kernels);
}

/**
 * ugm_vitality_active() - bytes that each kernel uses
 * @v: vitality
 * @bytes: by kernel, filled
 *
 * Context: any.
 */
void ugm_vitality_active(const struct ugm_vitality *v, u64 *bytes)
{
	const struct ugm_trace *t = v->trace;
	u32 k, i;

	for (k = 0; k < t->nr_kernels; k++) {
		bytes[k] = 0;
		for (i = 0; i < t->kernels[k].nr_uses; i++)
			bytes[k] += t->tensors[ugm_kernel_uses(t, k)[i].tensor]
					    .bytes;
	}
}
