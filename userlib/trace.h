/* SPDX-License-Identifier: MIT */
#ifndef UGM_TRACE_H
#define UGM_TRACE_H

#include "error.h"
#include "pure.h"

/**
 * DOC: traces
 *
 * A trace is one training iteration: tensors, and kernels in the order in which
 * they run, each with the tensors it reads and writes. A file of it is text,
 * may be compressed with gzip, and may have comments ('#')::
 *
 *     # ugm-trace 1
 *     tensor <id> <bytes> <global|intermediate> <name>
 *     kernel <index> <duration_ns> <name> in=<ids> out=<ids> workspace=<bytes>
 *
 * A tensor in both lists is read and written. Sizes are full-size bytes.
 * A workspace is an intermediate tensor that its one kernel writes; its id is
 * the largest of the file + 1 + the number of the workspace.
 */

/* Of the file's format; what would be read otherwise needs another. */
#define UGM_TRACE_VERSION 1
/* As many as one launch can name (UGM_IOC_LAUNCH). */
#define UGM_TRACE_MAX_OPERANDS 4096
/* Bytes of all tensors together: far from overflow in every sum. */
#define UGM_TRACE_MAX_BYTES (1ULL << 60)

/**
 * struct ugm_tensor - a tensor
 * @id: its number in the file, and its 64-bit tag everywhere else
 * @bytes: full-size bytes, not zero
 * @global: lives across iterations (weights and the like)
 * @workspace: scratch memory of one kernel, not named in the file
 * @name: its name
 */
struct ugm_tensor {
	u64 id;
	u64 bytes;
	bool global;
	bool workspace;
	char *name;
};

/**
 * struct ugm_use - one kernel's use of one tensor
 * @tensor: index into &ugm_trace.tensors
 * @mode: UGM_OPERAND_READ and/or UGM_OPERAND_WRITE
 */
struct ugm_use {
	u32 tensor;
	u32 mode;
};

/**
 * struct ugm_kernel - a kernel of the iteration
 * @duration_ns: how long it runs with every operand resident
 * @name: its name
 * @first_use: its first entry in &ugm_trace.uses
 * @nr_uses: how many; inputs first, then outputs, then the workspace, no tensor
 *           twice
 */
struct ugm_kernel {
	u64 duration_ns;
	char *name;
	u64 first_use;
	u32 nr_uses;
};

/**
 * struct ugm_trace - one training iteration
 * @name: base name of its file, without .trace and .gz
 * @path: the file
 * @tensors: in file order, then the workspaces
 * @nr_tensors: how many
 * @kernels: in the order in which they run
 * @nr_kernels: how many, not zero
 * @uses: of all kernels
 * @nr_uses: how many
 * @ideal_ns: sum of the durations
 */
struct ugm_trace {
	char *name;
	char *path;
	struct ugm_tensor *tensors;
	u32 nr_tensors;
	struct ugm_kernel *kernels;
	u32 nr_kernels;
	struct ugm_use *uses;
	u64 nr_uses;
	u64 ideal_ns;
	/* private: open-addressed, tensor index + 1 by id */
	u32 *by_id;
	u32 by_id_mask;
};

int ugm_trace_read(const char *path, struct ugm_trace **trace,
		   struct ugm_error *err);
int ugm_trace_add(struct ugm_trace *trace, u64 id, u64 bytes);
void ugm_trace_free(struct ugm_trace *trace);
s64 ugm_trace_find(const struct ugm_trace *trace, u64 id);

static inline const struct ugm_use *
ugm_kernel_uses(const struct ugm_trace *t, u32 kernel)
{
	return t->uses + t->kernels[kernel].first_use;
}

#endif /* UGM_TRACE_H */
