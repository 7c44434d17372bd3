/* SPDX-License-Identifier: MIT */
#ifndef UGM_GEN_H
#define UGM_GEN_H

#include "error.h"
#include "pure.h"

typedef unsigned __int128 u128;

/**
 * DOC: generated traces
 *
 * A trace of one iteration of a published model, at any batch size, without
 * running it: an operator a kernel, as an eager framework runs it. A model is a
 * short function that calls layers (gen_layers.h), which make parameters and
 * call operators (gen_ops.h, gen_image.h). An operator is data: its forward
 * kernel, and the kernels of its derivative with what they read and whose
 * gradients they make. The tape (gen_tape.h) does the rest: which tensors stay
 * alive until the backward pass, where gradients add up, what is computed again
 * with recomputation, what a frozen parameter spares, and the optimizer.
 *
 * How long a kernel takes is a roofline of a named GPU: the larger of arithmetic
 * over peak rate and memory traffic over bandwidth, and the cost of a launch.
 * Real kernels are slower, which leaves more time to move data in; an efficiency
 * in percent makes all of them slower.
 */

enum ugm_optimizer {
	UGM_OPTIMIZER_DEFAULT, /* Adam, where there is one */
	UGM_OPTIMIZER_ADAM,
	UGM_OPTIMIZER_SGD,
};

enum ugm_gen_type {
	UGM_TYPE_FP32, /* all in single precision */
	UGM_TYPE_HALF, /* two bytes; the optimizer keeps single precision */
};

enum ugm_gen_mode {
	UGM_MODE_TRAIN, /* forward, loss, backward, optimizer */
	UGM_MODE_PREFILL, /* a prompt: fills the key-value cache */
	UGM_MODE_DECODE, /* the next token: reads it and adds to it */
};

enum ugm_attention {
	UGM_ATTENTION_MODEL, /* what the model was published with */
	UGM_ATTENTION_EAGER, /* a kernel an operator, scores in memory */
	UGM_ATTENTION_FUSED, /* one kernel, scores never in memory */
};

/**
 * struct ugm_gpu - what a roofline needs to know of a GPU
 * @name: its name on the command line
 * @flops_per_s: peak of single-precision arithmetic
 * @half_flops_per_s: peak of matrix products of two-byte numbers
 * @bytes_per_s: memory bandwidth
 */
struct ugm_gpu {
	const char *name;
	u64 flops_per_s;
	u64 half_flops_per_s;
	u64 bytes_per_s;
};

extern const struct ugm_gpu ugm_gpus[];
extern const unsigned int ugm_nr_gpus;

const struct ugm_gpu *ugm_gpu_find(const char *name, struct ugm_error *err);
u64 ugm_gpu_kernel_ns(const struct ugm_gpu *gpu, bool half, u32 percent,
		      u128 flops, u64 bytes);

/**
 * struct ugm_shape - the numbers of a model; those it does not have are 0
 * @seq: usual tokens of a sequence
 * @positions: rows of the position embedding; 0: it has none
 * @vocabulary: tokens
 * @layers: layers of a transformer
 * @hidden: width
 * @heads: attention heads
 * @kv_heads: heads of keys and values that groups of @heads share
 * @inner: width of the feed-forward network
 * @image: height and width of an image
 * @patch: height and width of what becomes a token of it
 * @classes: of images
 * @blocks: blocks of a residual network, stage by stage
 */
struct ugm_shape {
	u64 seq;
	u64 positions;
	u64 vocabulary;
	u64 layers;
	u64 hidden;
	u64 heads;
	u64 kv_heads;
	u64 inner;
	u64 image;
	u64 patch;
	u64 classes;
	u64 blocks[4];
};

struct net;

/**
 * struct ugm_family - models that differ in their numbers
 * @forward: runs the model forward in the mode that is asked for
 * @attention: enum ugm_attention that it was published with; 0: it has none
 * @decoder: has the modes prefill and decode
 */
struct ugm_family {
	void (*forward)(struct net *n);
	u32 attention;
	bool decoder;
};

/**
 * struct ugm_model - a published model
 * @name: its name on the command line
 * @family: how it is built
 * @shape: its numbers
 * @parameters: how many it has
 */
struct ugm_model {
	const char *name;
	const struct ugm_family *family;
	struct ugm_shape shape;
	u64 parameters;
};

const struct ugm_model *ugm_model_at(unsigned int i);
const struct ugm_model *ugm_model_find(const char *name, struct ugm_error *err);

/**
 * struct ugm_gen_options - what is generated
 * @model: the model
 * @gpu: whose roofline
 * @batch: sequences or images
 * @mode: enum ugm_gen_mode
 * @type: enum ugm_gen_type
 * @attention: enum ugm_attention
 * @optimizer: enum ugm_optimizer
 * @lora: rank of the matrices that are trained instead of the model; 0: none
 * @tokens: tokens to decode, one after the other; 0: one, where there are some
 * @efficiency: percent of the roofline that kernels reach; 0: all
 * @recompute: keep what enters a layer only, and compute the rest again
 * @shape: numbers that replace those of the model, where not 0
 */
struct ugm_gen_options {
	const struct ugm_model *model;
	const struct ugm_gpu *gpu;
	u64 batch;
	u32 mode;
	u32 type;
	u32 attention;
	u32 optimizer;
	u64 lora;
	u64 tokens;
	u64 efficiency;
	bool recompute;
	struct ugm_shape shape;
};

/**
 * struct ugm_gen_summary - what was generated
 * @parameters: of the model
 * @head_parameters: of the task's head, which published figures leave out
 * @trained_parameters: those that the optimizer changes
 * @kernels: kernels
 * @tensors: tensors
 * @ideal_ns: sum of the durations
 * @bytes: of all tensors
 */
struct ugm_gen_summary {
	u64 parameters;
	u64 head_parameters;
	u64 trained_parameters;
	u32 kernels;
	u32 tensors;
	u64 ideal_ns;
	u64 bytes;
};

int ugm_gen(const struct ugm_gen_options *o, const char *path,
	    struct ugm_gen_summary *summary, struct ugm_error *err);

#endif /* UGM_GEN_H */
