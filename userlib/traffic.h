/* SPDX-License-Identifier: MIT */
#ifndef UGM_TRAFFIC_H
#define UGM_TRAFFIC_H

#include "engine.h"
#include "ugm.h"

/**
 * struct ugm_traffic - what a device has moved since the last reset
 * @bytes: full-size bytes by source, destination, lane and cause
 * @blocks: likewise in blocks
 */
struct ugm_traffic {
	u64 bytes[UGM_NR_TIERS][UGM_NR_TIERS][UGM_NR_LANES][UGM_NR_CAUSES];
	u64 blocks[UGM_NR_TIERS][UGM_NR_TIERS][UGM_NR_LANES][UGM_NR_CAUSES];
};

int ugm_traffic_read(struct ugm *space, struct ugm_traffic *t);

#endif /* UGM_TRAFFIC_H */
