// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "g10_links.h"

static struct ugm_g10_slot *make_slots(const struct ugm_trace *t, double bytes_per_ns)
{
	struct ugm_g10_slot *slots = calloc(t->nr_kernels, sizeof(*slots));
	u32 k;

	for (k = 0; slots && k < t->nr_kernels; k++)
		slots[k].capacity = bytes_per_ns * (double)t->kernels[k].duration_ns;
	return slots;
}

/**
 * ugm_g10_links_make() - links on which nothing is reserved
 * @l: filled; ugm_g10_links_free() it in any case
 * @trace: trace
 * @flash_bytes_per_ns: flash, each direction
 * @gpu_bytes_per_ns: GPU link, each direction
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_g10_links_make(struct ugm_g10_links *l, const struct ugm_trace *trace,
		       double flash_bytes_per_ns, double gpu_bytes_per_ns)
{
	int way, ret = 0;

	l->n = trace->nr_kernels;
	for (way = 0; way < UGM_G10_NR_WAYS; way++) {
		l->flash[way] = make_slots(trace, flash_bytes_per_ns);
		l->gpu[way] = make_slots(trace, gpu_bytes_per_ns);
		if (!l->flash[way] || !l->gpu[way])
			ret = -ENOMEM;
	}
	return ret;
}

/**
 * ugm_g10_links_reach() - the kernel at which a move is over
 * @l: links
 * @slots: one of them, in one direction
 * @bytes: that move
 * @from: kernel at which they start
 * @backward: search towards the begin of the iteration, not its end
 *
 * Context: any.
 * Return: the kernel; the last one there is if bandwidth is short.
 */
u32 ugm_g10_links_reach(const struct ugm_g10_links *l, const struct ugm_g10_slot *slots, s64 bytes,
			u32 from, bool backward)
{
	u32 last = backward ? 0 : l->n - 1, k;

	for (k = from; bytes > 0; k += backward ? -1 : 1) {
		if (!slots[k].full)
			bytes = (s64)((double)bytes - (slots[k].capacity - slots[k].used));
		if (bytes <= 0 || k == last)
			break;
	}
	return k;
}

static void use(struct ugm_g10_slot *slot, double bytes)
{
	slot->used += bytes;
	if (slot->used >= slot->capacity) {
		slot->used = slot->capacity;
		slot->full = true;
	}
}

/**
 * ugm_g10_links_reserve() - reserve bandwidth
 * @l: links
 * @host: the move is to or from the host, not flash
 * @way: UGM_G10_OUT or UGM_G10_IN
 * @bytes: that move
 * @from: kernel from which on
 *
 * Context: any.
 */
void ugm_g10_links_reserve(struct ugm_g10_links *l, bool host, int way, s64 bytes, u32 from)
{
	double left = (double)bytes, part;
	u32 k;

	for (k = from; k < l->n && left > 0; k++) {
		struct ugm_g10_slot *flash = &l->flash[way][k];
		struct ugm_g10_slot *gpu = &l->gpu[way][k];
		struct ugm_g10_slot *slot = host ? gpu : flash;
		double rest = gpu->capacity - flash->capacity;

		if (slot->full)
			continue;
		part = slot->capacity - slot->used;
		if (part > left)
			part = left;
		left -= part;
		use(slot, part);
		if (!host)
			use(gpu, part);
		else if (gpu->full)
			use(flash, flash->capacity);
		else if (gpu->used >= rest)
			use(flash, gpu->used - rest);
	}
}

/**
 * ugm_g10_links_free() - forget links
 * @l: links
 *
 * Context: any.
 */
void ugm_g10_links_free(struct ugm_g10_links *l)
{
	int way;

	for (way = 0; way < UGM_G10_NR_WAYS; way++) {
		free(l->flash[way]);
		free(l->gpu[way]);
	}
}
