/* SPDX-License-Identifier: MIT */
#ifndef UGM_MACHINE_H
#define UGM_MACHINE_H

#include "error.h"
#include "engine.h"
#include "drive.h"

/**
 * DOC: machines
 *
 * A machine is everything besides trace and policy that determines a result:
 * capacities (in units of 2^30), bandwidths (in units of 1e9), latencies, and
 * how the replay is scaled. A preset names a complete one; options change
 * single numbers of it.
 */

/**
 * struct ugm_config - a machine and how it is replayed
 * @preset: name of the preset it started from
 * @gpu_mem_bytes: full-size capacity of the GPU tier
 * @host_mem_bytes: full-size capacity of the host tier
 * @pcie_bytes_per_s: GPU link, each direction
 * @flash_read_bytes_per_s: flash link, read
 * @flash_write_bytes_per_s: flash link, write
 * @gpu_latency_ns: added to each move between GPU and host
 * @flash_latency_ns: added to each move that involves flash
 * @fault_ns: handling latency of a fault batch
 * @fault_batch_bytes: full-size bytes of a fault batch at most
 * @overlap: enum ugm_overlap
 * @overlap_given: it was asked for, and overrides a schedule's option
 * @scale: full-size bytes per device byte
 * @block_size: device bytes of a block; 0: the device's, or the default
 * @iterations: how often the trace is run; the second is the result
 * @published: the assumptions of G10's published simulator instead of ours, for
 *             predictions only; see Documentation
 * @target_factor: of the memory that planners of G10's family aim at; published
 *                 for single traces. 0: the planner's own
 * @noise: kernels take up to this share more or less than planned with
 * @seed: of the noise
 * @noise_per_name: it is drawn once for each kernel name, not for each call
 * @replan: the plan is made again from the durations that were observed
 * @drive: whose wear is told
 */
struct ugm_config {
	const char *preset;
	u64 gpu_mem_bytes;
	u64 host_mem_bytes;
	u64 pcie_bytes_per_s;
	u64 flash_read_bytes_per_s;
	u64 flash_write_bytes_per_s;
	u64 gpu_latency_ns;
	u64 flash_latency_ns;
	u64 fault_ns;
	u64 fault_batch_bytes;
	u32 overlap;
	bool overlap_given;
	u64 scale;
	u64 block_size;
	u64 iterations;
	bool published;
	double target_factor;
	double noise;
	u64 seed;
	u32 noise_per_name;
	bool replan;
	struct ugm_drive drive;
};

#define UGM_DEFAULT_BLOCK_SIZE (2ULL << 20)
#define UGM_MIN_BLOCK_SIZE (4ULL << 10)
#define UGM_MAX_BLOCK_SIZE (2ULL << 20)

/* What planners aim at: what was asked for, or their own. */
static inline double ugm_config_target_factor(const struct ugm_config *config,
					      double own)
{
	return config->target_factor > 0 ? config->target_factor : own;
}

int ugm_config_preset(struct ugm_config *config, const char *name,
		      struct ugm_error *err);
int ugm_config_check(struct ugm_config *config, struct ugm_error *err);
void ugm_config_machine(const struct ugm_config *config,
			struct ugm_machine *machine);
const char *ugm_preset_names(void);

#endif /* UGM_MACHINE_H */
