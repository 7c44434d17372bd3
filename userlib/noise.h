/* SPDX-License-Identifier: MIT */
#ifndef UGM_NOISE_H
#define UGM_NOISE_H

#include "machine.h"
#include "trace.h"

int ugm_noise_apply(const struct ugm_trace *trace,
		    const struct ugm_config *config, struct ugm_trace *noisy);
void ugm_noise_free(struct ugm_trace *noisy);

#endif /* UGM_NOISE_H */
