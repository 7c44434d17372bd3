// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "flashneuron_published.h"
#include "vitality.h"

/* What is kept may take so much beside the global tensors and any kernel. */
static s64 room_of(const struct ugm_layout *layout)
{
	const struct ugm_config *c = &layout->config;
	const struct ugm_trace *t = layout->trace;
	u64 global = 0, largest = 0, need;
	u32 x, k, i;

	for (x = 0; x < t->nr_tensors; x++)
		if (t->tensors[x].global)
			global += t->tensors[x].bytes;
	for (k = 0; k < t->nr_kernels; k++) {
		need = 0;
		for (i = 0; i < t->kernels[k].nr_uses; i++)
			need += t->tensors[ugm_kernel_uses(t, k)[i].tensor].bytes;
		if (need > largest)
			largest = need;
	}
	return (s64)((double)c->gpu_mem_bytes * ugm_config_target_factor(c, 1)) - (s64)global -
	       (s64)largest;
}

/* Tensors that are needed at @loss or after, in order of first use; how many. */
static u32 find_offloadable(const struct ugm_vitality *v, u32 loss, u32 *found, s64 *bytes)
{
	const struct ugm_trace *t = v->trace;
	const struct ugm_use *use;
	const u32 *kernels;
	u32 nr = 0, k, i, x;
	u64 uses;

	*bytes = 0;
	for (k = 0; k < loss; k++) {
		use = ugm_kernel_uses(t, k);
		for (i = t->kernels[k].nr_uses; i-- > 0;) {
			x = use[i].tensor;
			kernels = ugm_vitality_uses(v, x, &uses);
			if (t->tensors[x].global || kernels[0] != k || kernels[uses - 1] < loss)
				continue;
			found[nr++] = x;
			*bytes += (s64)t->tensors[x].bytes;
		}
	}
	return nr;
}

/* First kernel of the last period that begins at @loss or before; 0: none. */
static u32 leaves_at(const struct ugm_vitality *v, u32 tensor, u32 loss)
{
	const u32 *kernels;
	u32 start = 0;
	u64 uses, i;

	kernels = ugm_vitality_uses(v, tensor, &uses);
	for (i = 1; i < uses && kernels[i - 1] < loss; i++)
		if (kernels[i] - kernels[i - 1] > 1)
			start = kernels[i - 1] + 1;
	return start;
}

/**
 * ugm_flashneuron_published() - what leaves when, as published
 * @layout: the trace on its machine
 * @loss: kernel that begins the backward pass
 * @s: initialised; filled
 * @err: why not
 *
 * Context: any.
 * Return: 0; -ENOSPC: what cannot leave does not fit; -ENOMEM.
 */
int ugm_flashneuron_published(const struct ugm_layout *layout, u32 loss, struct ugm_schedule *s,
			      struct ugm_error *err)
{
	const struct ugm_trace *t = layout->trace;
	u32 *found = calloc((size_t)t->nr_tensors + 1, sizeof(*found));
	s64 kept = 0, room = room_of(layout);
	struct ugm_vitality v;
	u32 nr, i, at;
	int ret;

	s->opt.demand = false;
	ret = found ? ugm_vitality_analyse(t, &v) : -ENOMEM;
	if (ret) {
		free(found);
		return ret;
	}
	nr = find_offloadable(&v, loss, found, &kept);
	for (i = 0; i < nr && kept >= room && !ret; i++) {
		at = leaves_at(&v, found[i], loss);
		if (!at)
			continue;
		kept -= (s64)t->tensors[found[i]].bytes;
		ret = ugm_schedule_add(s, &(struct ugm_schedule_hint){
						  .at = at,
						  .need = loss,
						  .tensor = found[i],
						  .op = UGM_OP_EVICT,
						  .tier = UGM_TIER_FLASH,
						  .len = t->tensors[found[i]].bytes,
					  });
	}
	if (!ret && (room <= 0 || kept > room))
		ret = ugm_fail(
			err, -ENOSPC,
			"%s: flashneuron: the global tensors and the largest kernel leave %lld bytes for %lld that stay",
			t->name, (long long)(room > 0 ? room : 0), (long long)kept);
	ugm_vitality_free(&v);
	free(found);
	return ret;
}
