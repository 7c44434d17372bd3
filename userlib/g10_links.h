/* SPDX-License-Identifier: MIT */
#ifndef UGM_G10_LINKS_H
#define UGM_G10_LINKS_H

#include "vitality.h"

/**
 * DOC: bandwidth as G10's published scheduler accounts for it
 *
 * Flash and the GPU link have a capacity during each kernel, in each direction.
 * It is always reserved forward, also where it was searched backward. What
 * crosses flash also crosses the link; a move to or from the host takes of
 * flash's bandwidth what exceeds the rest of the link, again with each move.
 */

enum { UGM_G10_OUT, UGM_G10_IN, UGM_G10_NR_WAYS };

/**
 * struct ugm_g10_slot - a link during a kernel
 * @capacity: bytes it can move
 * @used: bytes that are reserved
 * @full: nothing is left
 */
struct ugm_g10_slot {
	double capacity;
	double used;
	bool full;
};

/**
 * struct ugm_g10_links - both links
 * @n: kernels
 * @flash: flash, by direction and kernel
 * @gpu: likewise the GPU link
 */
struct ugm_g10_links {
	u32 n;
	struct ugm_g10_slot *flash[UGM_G10_NR_WAYS];
	struct ugm_g10_slot *gpu[UGM_G10_NR_WAYS];
};

int ugm_g10_links_make(struct ugm_g10_links *l, const struct ugm_trace *trace,
		       double flash_bytes_per_ns, double gpu_bytes_per_ns);
u32 ugm_g10_links_reach(const struct ugm_g10_links *l, const struct ugm_g10_slot *slots, s64 bytes,
			u32 from, bool backward);
void ugm_g10_links_reserve(struct ugm_g10_links *l, bool host, int way, s64 bytes, u32 from);
void ugm_g10_links_free(struct ugm_g10_links *l);

#endif /* UGM_G10_LINKS_H */
