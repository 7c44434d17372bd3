// SPDX-License-Identifier: MIT
#include "machine.h"

#define GIB (1ULL << 30)
#define MAX_ITERATIONS 1000000U

/*
 * "G10: Enabling An Efficient Unified GPU Memory and Storage Architecture with
 * Smart Tensor Migrations" (MICRO 2023), table 2: an A100-40GB on PCIe 3.0 x16
 * with a Z-NAND class SSD. Capacities are in units of 2^30 bytes, bandwidths in
 * units of 1e9 bytes per second.
 */
static const struct ugm_config presets[] = {
	{
		.preset = "g10-paper",
		.gpu_mem_bytes = 40 * GIB,
		.host_mem_bytes = 128 * GIB,
		.pcie_bytes_per_s = 15754000000ULL,
		.flash_read_bytes_per_s = 3200000000ULL,
		.flash_write_bytes_per_s = 3200000000ULL,
		.gpu_latency_ns = 0,
		.flash_latency_ns = 20000,
		.fault_ns = 45000,
		.fault_batch_bytes = 1 << 20,
		.overlap = UGM_OVERLAP_FULL,
		.scale = 1,
		.iterations = 3,
	},
	/* What the published simulators assume, in models of their own. */
	{
		.preset = "g10-artifact",
		.gpu_mem_bytes = 40 * GIB,
		.host_mem_bytes = 128 * GIB,
		.pcie_bytes_per_s = 15754000000ULL,
		.flash_read_bytes_per_s = 3200000000ULL,
		.flash_write_bytes_per_s = 3200000000ULL,
		.fault_batch_bytes = 1 << 20,
		.overlap = UGM_OVERLAP_FULL,
		.scale = 1,
		.iterations = 2,
		.published = true,
	},
};

/**
 * ugm_preset_names() - the presets there are
 *
 * Context: any.
 * Return: a constant string, names separated by ", ".
 */
const char *ugm_preset_names(void)
{
	return "g10-paper, g10-artifact";
}

/**
 * ugm_config_preset() - set everything from a preset
 * @config: filled
 * @name: name of the preset; NULL: the default
 * @err: why not
 *
 * Context: any.
 * Return: 0, or -EINVAL.
 */
int ugm_config_preset(struct ugm_config *config, const char *name,
		      struct ugm_error *err)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(presets); i++) {
		if (name && strcmp(name, presets[i].preset))
			continue;
		*config = presets[i];
		return ugm_drive_find(NULL, &config->drive, err);
	}
	return ugm_fail(err, -EINVAL, "preset: '%s' is not one of: %s", name,
			ugm_preset_names());
}

/**
 * ugm_config_check() - is it a machine that can be replayed on?
 * @config: a block size of 0 becomes the default
 * @err: why not
 *
 * Context: any.
 * Return: 0, or -EINVAL.
 */
int ugm_config_check(struct ugm_config *config, struct ugm_error *err)
{
	u64 b;

	if (!config->block_size)
		config->block_size = UGM_DEFAULT_BLOCK_SIZE;
	b = config->block_size;
	if (b < UGM_MIN_BLOCK_SIZE || b > UGM_MAX_BLOCK_SIZE || b & (b - 1))
		return ugm_fail(err, -EINVAL,
				"block size %llu: allowed are powers of two from %llu to %llu bytes",
				(unsigned long long)b, UGM_MIN_BLOCK_SIZE,
				UGM_MAX_BLOCK_SIZE);
	if (!config->scale || config->scale > (1ULL << 32) / b)
		return ugm_fail(err, -EINVAL,
				"scale %llu with blocks of %llu bytes: allowed are 1 to %llu (a block stands for at most 2^32 bytes)",
				(unsigned long long)config->scale,
				(unsigned long long)b,
				(unsigned long long)((1ULL << 32) / b));
	if (config->replan && config->noise <= 0)
		return ugm_fail(err, -EINVAL,
				"replan: without noise the durations are those planned with");
	if (!config->iterations || config->iterations > MAX_ITERATIONS)
		return ugm_fail(err, -EINVAL,
				"iterations %llu: allowed are 1 to %u",
				(unsigned long long)config->iterations,
				MAX_ITERATIONS);
	return 0;
}

/**
 * ugm_config_machine() - what the engine needs to know of it
 * @config: checked
 * @machine: filled
 *
 * Context: any.
 */
void ugm_config_machine(const struct ugm_config *config,
			struct ugm_machine *machine)
{
	*machine = (struct ugm_machine){
		.clock = UGM_CLOCK_VIRTUAL,
		.block_bytes = config->block_size * config->scale,
		.capacity = {
			[UGM_TIER_GPU] = config->gpu_mem_bytes,
			[UGM_TIER_HOST] = config->host_mem_bytes,
		},
		.bandwidth = {
			[UGM_LINK_GPU_IN] = config->pcie_bytes_per_s,
			[UGM_LINK_GPU_OUT] = config->pcie_bytes_per_s,
			[UGM_LINK_FLASH_READ] = config->flash_read_bytes_per_s,
			[UGM_LINK_FLASH_WRITE] =
				config->flash_write_bytes_per_s,
		},
		.gpu_latency_ns = config->gpu_latency_ns,
		.flash_latency_ns = config->flash_latency_ns,
		.fault_ns = config->fault_ns,
		.fault_batch_bytes = config->fault_batch_bytes,
	};
}
