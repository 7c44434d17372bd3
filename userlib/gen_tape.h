/* SPDX-License-Identifier: MIT */
#ifndef UGM_GEN_TAPE_H
#define UGM_GEN_TAPE_H

#include "gen.h"
#include "trace_write.h"

/**
 * DOC: tape
 *
 * Operators are written down as they run forward. Then the tape is played
 * backward: each record emits the kernels of its derivative, which read the
 * gradient of what the operator made and whatever the derivative needs of the
 * forward pass. A value that is used several times has its gradients added up.
 */

typedef u32 value_t;
#define NO_VALUE U32_MAX

struct tape;
struct record;

/**
 * struct tape - an iteration being generated
 * @w: the trace
 * @gpu: whose roofline
 * @values: values
 * @nr_values: how many
 * @value_room: room in @values
 * @records: operators in forward order
 * @nr_records: how many
 * @record_room: room in @records
 * @prefix: prefix of names, "layer3."
 * @no_memory: something could not be noted: the trace is incomplete
 */
struct tape {
	struct ugm_trace_writer w;
	const struct ugm_gpu *gpu;
	struct value *values;
	u64 nr_values;
	u64 value_room;
	struct record *records;
	u64 nr_records;
	u64 record_room;
	char prefix[64];
	bool no_memory;
};

int tape_open(struct tape *t, const struct ugm_gpu *gpu);
void tape_close(struct tape *t);
void tape_backward(struct tape *t, value_t loss);
void tape_update(struct tape *t, u32 optimizer);
u64 tape_parameters(const struct tape *t);

value_t tape_parameter(struct tape *t, const char *name, u64 elements);
value_t tape_constant(struct tape *t, const char *name, u64 bytes);
void tape_load(struct tape *t, const char *name, const value_t *values, u32 nr);
value_t tape_input(struct tape *t, const char *name, u64 bytes);

value_t tape_embedding(struct tape *t, const char *name, value_t ids,
		       value_t table, u64 rows, u64 width);
value_t tape_linear(struct tape *t, const char *name, value_t x, value_t weight,
		    value_t bias, u64 rows, u64 in, u64 out);
value_t tape_matmul(struct tape *t, const char *name, value_t a, value_t b,
		    u64 batch, u64 m, u64 k, u64 n);
value_t tape_add(struct tape *t, const char *name, value_t a, value_t b);
value_t tape_scale_mask(struct tape *t, const char *name, value_t x,
			value_t mask);
value_t tape_softmax(struct tape *t, const char *name, value_t x);
value_t tape_dropout(struct tape *t, const char *name, value_t x);
value_t tape_gelu(struct tape *t, const char *name, value_t x);
value_t tape_tanh(struct tape *t, const char *name, value_t x);
value_t tape_layer_norm(struct tape *t, const char *name, value_t x,
			value_t weight, value_t bias, u64 rows);
void tape_split(struct tape *t, const char *name, value_t x, value_t parts[3]);
value_t tape_permute(struct tape *t, const char *name, value_t x);
value_t tape_first_token(struct tape *t, const char *name, value_t x, u64 seq);
value_t tape_cross_entropy(struct tape *t, const char *name, value_t logits,
			   value_t labels, u64 rows);

#endif /* UGM_GEN_TAPE_H */
