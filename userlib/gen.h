/* SPDX-License-Identifier: MIT */
#ifndef UGM_GEN_H
#define UGM_GEN_H

#include "error.h"
#include "pure.h"

typedef unsigned __int128 u128;

/**
 * DOC: generated traces
 *
 * A trace of one training iteration of a published model, at any batch size and
 * sequence length, without running it: forward, loss, backward and optimizer,
 * an operator a kernel, as an eager framework runs it in single precision.
 * Which tensors a backward kernel reads follows from the operators' derivatives
 * (gen_tape.c). How long a kernel takes is a roofline of a named GPU: the
 * larger of arithmetic over peak rate and memory traffic over bandwidth, and
 * the cost of a launch. Real kernels reach less; what they leave to a memory
 * system to hide is therefore more.
 */

/**
 * struct ugm_gpu - what a roofline needs to know of a GPU
 * @name: its name on the command line
 * @flops_per_s: peak of single-precision arithmetic
 * @bytes_per_s: memory bandwidth
 */
struct ugm_gpu {
	const char *name;
	u64 flops_per_s;
	u64 bytes_per_s;
};

extern const struct ugm_gpu ugm_gpus[];
extern const unsigned int ugm_nr_gpus;

const struct ugm_gpu *ugm_gpu_find(const char *name, struct ugm_error *err);
u64 ugm_gpu_kernel_ns(const struct ugm_gpu *gpu, u128 flops, u64 bytes);

enum ugm_transformer_kind {
	UGM_TRANSFORMER_BERT, /* encoder, norm after, pooler and classifier */
	UGM_TRANSFORMER_GPT, /* decoder, norm before, tied language-model head */
};

/**
 * struct ugm_transformer - the shape of a transformer
 * @name: its name on the command line
 * @kind: enum ugm_transformer_kind
 * @layers: layers
 * @hidden: width
 * @heads: attention heads
 * @inner: width of the feed-forward network
 * @vocabulary: tokens
 * @positions: rows of the position embedding
 * @seq: usual sequence length
 * @parameters: published number of parameters
 */
struct ugm_transformer {
	const char *name;
	u32 kind;
	u64 layers;
	u64 hidden;
	u64 heads;
	u64 inner;
	u64 vocabulary;
	u64 positions;
	u64 seq;
	u64 parameters;
};

extern const struct ugm_transformer ugm_transformers[];
extern const unsigned int ugm_nr_transformers;

enum ugm_optimizer { UGM_OPTIMIZER_ADAM, UGM_OPTIMIZER_SGD };

/**
 * struct ugm_gen_options - what is generated
 * @shape: the model
 * @gpu: whose roofline
 * @batch: sequences
 * @optimizer: enum ugm_optimizer
 */
struct ugm_gen_options {
	struct ugm_transformer shape;
	const struct ugm_gpu *gpu;
	u64 batch;
	u32 optimizer;
};

/**
 * struct ugm_gen_summary - what was generated
 * @parameters: of the model
 * @head_parameters: of the task's head, which published figures leave out
 * @kernels: kernels
 * @tensors: tensors
 * @ideal_ns: sum of the durations
 * @bytes: of all tensors
 */
struct ugm_gen_summary {
	u64 parameters;
	u64 head_parameters;
	u32 kernels;
	u32 tensors;
	u64 ideal_ns;
	u64 bytes;
};

const struct ugm_transformer *ugm_transformer_find(const char *name,
						   struct ugm_error *err);
int ugm_gen_transformer(const struct ugm_gen_options *o, const char *path,
			struct ugm_gen_summary *summary, struct ugm_error *err);

#endif /* UGM_GEN_H */
