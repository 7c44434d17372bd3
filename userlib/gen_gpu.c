// SPDX-License-Identifier: MIT
#include "gen.h"

/*
 * Vendor's data sheets: FP32 without tensor cores, FP16 with tensor cores and
 * without sparsity, and memory bandwidth.
 */
const struct ugm_gpu ugm_gpus[] = {
	/* NVIDIA A100 Tensor Core GPU data sheet, 40 GB and 80 GB SXM */
	{ "a100-40gb", 19500000000000ULL, 312000000000000ULL,
	  1555000000000ULL },
	{ "a100-80gb", 19500000000000ULL, 312000000000000ULL,
	  2039000000000ULL },
	/* NVIDIA V100 Tensor Core GPU data sheet, SXM2 */
	{ "v100-32gb", 15700000000000ULL, 125000000000000ULL,
	  900000000000ULL },
	/* NVIDIA H100 Tensor Core GPU data sheet, SXM */
	{ "h100-80gb", 67000000000000ULL, 989400000000000ULL,
	  3350000000000ULL },
	/* NVIDIA T4 data sheet */
	{ "t4-16gb", 8100000000000ULL, 65000000000000ULL,
	  320000000000ULL },
};

const unsigned int ugm_nr_gpus = ARRAY_SIZE(ugm_gpus);

/* From the CPU's call to the GPU's first instruction, typically. */
#define LAUNCH_NS 5000

/**
 * ugm_gpu_find() - a GPU by its name
 * @name: its name
 * @err: why not, with those that are there
 *
 * Context: any.
 * Return: the GPU, or NULL.
 */
const struct ugm_gpu *ugm_gpu_find(const char *name, struct ugm_error *err)
{
	char list[128] = "";
	unsigned int i;
	size_t n = 0;

	for (i = 0; i < ugm_nr_gpus; i++) {
		if (!strcmp(name, ugm_gpus[i].name))
			return &ugm_gpus[i];
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s",
				      i ? ", " : "", ugm_gpus[i].name);
	}
	ugm_fail(err, -EINVAL, "GPU '%s' is not one of: %s", name, list);
	return NULL;
}

/**
 * ugm_gpu_kernel_ns() - how long a kernel takes by the roofline
 * @gpu: GPU
 * @half: its arithmetic is matrix products of two-byte numbers
 * @percent: share of the roofline that it reaches
 * @flops: arithmetic operations
 * @bytes: bytes read and written
 *
 * Context: any.
 * Return: ns, at most U64_MAX.
 */
u64 ugm_gpu_kernel_ns(const struct ugm_gpu *gpu, bool half, u32 percent,
		      u128 flops, u64 bytes)
{
	u64 rate = half ? gpu->half_flops_per_s : gpu->flops_per_s;
	u128 arithmetic, memory, ns;

	arithmetic = (flops * 1000000000 + rate - 1) / rate;
	memory = ((u128)bytes * 1000000000 + gpu->bytes_per_s - 1) /
		 gpu->bytes_per_s;
	ns = LAUNCH_NS +
	     (arithmetic > memory ? arithmetic : memory) * 100 / percent;
	return ns > U64_MAX ? U64_MAX : (u64)ns;
}
