/* SPDX-License-Identifier: MIT */
#ifndef UGM_FLASHNEURON_PUBLISHED_H
#define UGM_FLASHNEURON_PUBLISHED_H

#include "layout.h"
#include "schedule.h"

/**
 * DOC: FlashNeuron as published
 *
 * As it was published as a baseline of G10: tensors of the forward pass that
 * the backward pass needs are written to flash, in order of first use, until
 * the rest fits beside the global tensors and the largest kernel. Each leaves
 * at the start of the last period of its that begins by the end of the forward
 * pass. When it comes back is decided at run time.
 */

int ugm_flashneuron_published(const struct ugm_layout *layout, u32 loss, struct ugm_schedule *s,
			      struct ugm_error *err);

#endif /* UGM_FLASHNEURON_PUBLISHED_H */
