/* SPDX-License-Identifier: MIT */
#ifndef UGM_TRACE_WRITE_H
#define UGM_TRACE_WRITE_H

#include <stdio.h>

#include "error.h"
#include "pure.h"

/**
 * struct ugm_trace_writer - a trace being made
 * @tensors: lines of the tensors so far
 * @kernels: lines of the kernels so far
 * @tensor_text: behind @tensors
 * @kernel_text: behind @kernels
 * @tensor_len: length of @tensor_text
 * @kernel_len: length of @kernel_text
 * @nr_tensors: how many, and the id of the next
 * @nr_kernels: how many
 * @bytes: of all tensors
 * @global_bytes: of the global ones
 * @ideal_ns: sum of the durations
 *
 * Tensors and kernels may be added in any order; in the file tensors come
 * first.
 */
struct ugm_trace_writer {
	FILE *tensors;
	FILE *kernels;
	char *tensor_text;
	char *kernel_text;
	size_t tensor_len;
	size_t kernel_len;
	u32 nr_tensors;
	u32 nr_kernels;
	u64 bytes;
	u64 global_bytes;
	u64 ideal_ns;
};

/**
 * struct ugm_trace_kernel - a kernel to be written
 * @name: its name, without blanks
 * @duration_ns: how long it runs
 * @in: ids of the tensors it reads
 * @nr_in: how many
 * @out: ids of the tensors it writes
 * @nr_out: how many
 * @workspace: bytes of scratch memory
 */
struct ugm_trace_kernel {
	const char *name;
	u64 duration_ns;
	const u32 *in;
	u32 nr_in;
	const u32 *out;
	u32 nr_out;
	u64 workspace;
};

int ugm_trace_writer_open(struct ugm_trace_writer *w);
u32 ugm_trace_writer_tensor(struct ugm_trace_writer *w, u64 bytes, bool global,
			    const char *name);
void ugm_trace_writer_kernel(struct ugm_trace_writer *w,
			     const struct ugm_trace_kernel *k);
int ugm_trace_writer_save(struct ugm_trace_writer *w, const char *comment,
			  const char *path, struct ugm_error *err);
void ugm_trace_writer_close(struct ugm_trace_writer *w);

#endif /* UGM_TRACE_WRITE_H */
