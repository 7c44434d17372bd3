/* SPDX-License-Identifier: MIT */
#ifndef UGM_TOOLS_MEASURE_H
#define UGM_TOOLS_MEASURE_H

#include "pure.h"
#include "server.h"
#include "ugm.h"

/**
 * DOC: measuring a device
 *
 * A space of its own under the real clock, with memory whose blocks are moved
 * and touched while the wall's time is taken. The flash server runs as it does
 * in a replay. Hints are advice: a move counts only if all of it arrived.
 */

/**
 * struct measure - a device being measured
 * @device: device node, or NULL
 * @space: our space
 * @info: of the device
 * @was: its machine, put back at the end
 * @real: the real clock is set
 * @server: flash server
 * @unit: bytes of a block
 * @blocks: blocks of the memory
 * @host: the memory, host view
 * @gpu: likewise, GPU view
 */
struct measure {
	const char *device;
	struct ugm *space;
	struct ugm_ioc_info info;
	struct ugm_ioc_machine was;
	bool real;
	struct ugm_server server;
	u64 unit;
	u64 blocks;
	char *host;
	char *gpu;
};

#define MEASURE_MAX 1024

/**
 * struct samples - what was measured of one thing
 * @v: values
 * @nr: how many; more than MEASURE_MAX are left out
 */
struct samples {
	u64 v[MEASURE_MAX];
	unsigned int nr;
};

int measure_begin(struct measure *m, const char *device, u64 bytes);
void measure_end(struct measure *m);
int measure_info(struct ugm *space, const char *device, struct ugm_ioc_info *info);
int measure_size(const char *device, const struct ugm_ioc_info *info, u64 unit, u64 usual,
		 u64 *bytes);
int measure_move(struct measure *m, u64 first, u64 nr, u32 tier, u64 *ns);
int measure_round_trip(struct measure *m, u64 first, u64 nr, u32 tier, u64 *out_ns, u64 *in_ns);
int measure_failed(const struct measure *m, u32 tier, int error);
u64 measure_touch(struct measure *m, u64 block);
u64 measure_rate(u64 bytes, u64 ns);
int option_rounds(const char *what, const char *text, void *target, struct ugm_error *err);
void samples_add(struct samples *s, u64 v);
u64 samples_median(struct samples *s);

#endif /* UGM_TOOLS_MEASURE_H */
