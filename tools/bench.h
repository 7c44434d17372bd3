/* SPDX-License-Identifier: MIT */
#ifndef UGM_TOOLS_BENCH_H
#define UGM_TOOLS_BENCH_H

#include <stdbool.h>

#include "pure.h"

/**
 * struct bench_region - a part of a block device that may be overwritten
 * @path: the device
 * @offset: bytes from its start
 * @len: bytes
 */
struct bench_region {
	const char *path;
	u64 offset;
	u64 len;
};

int bench_io_discard(const struct bench_region *r);
int bench_io_loop(const struct bench_region *r, bool write, u64 block, unsigned int depth, u64 *ns);
int bench_io_fio(const struct bench_region *r, bool write, u64 block, unsigned int depth,
		 u64 *bytes_per_s);
u64 bench_copy_ns(u64 len);
int bench_kernel_copy(const char *device, u64 *bytes, u64 *ns);
u64 bench_fault_ns(char *memory, u64 len, u64 step, unsigned int threads);

#endif /* UGM_TOOLS_BENCH_H */
