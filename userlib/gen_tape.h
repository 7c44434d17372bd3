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
 *
 * A lack of memory is noted in the tape and shows at its end.
 */

typedef u32 value_t;

#define NO_VALUE U32_MAX

#define FLOAT_BYTES 4 /* of an element */
#define INDEX_BYTES 8 /* of a token's number */

struct tape;

/**
 * struct value - a tensor of the iteration; its number is the tensor's id
 * @bytes: its size
 * @grad: its gradient so far, or NO_VALUE
 * @parameter: trained
 * @differentiable: a gradient of it is wanted
 * @name: its name
 */
struct value {
	u64 bytes;
	value_t grad;
	bool parameter;
	bool differentiable;
	char *name;
};

/**
 * struct record - an operator that has run forward
 * @backward: emits its derivative
 * @name: its name
 * @in: what it read
 * @out: what it made
 * @saved: what the derivative needs besides, or NO_VALUE
 * @flops: arithmetic of its forward kernel
 */
struct record {
	void (*backward)(struct tape *t, const struct record *r);
	char name[96];
	value_t in[3];
	value_t out[3];
	value_t saved;
	u128 flops;
};

/**
 * struct step - a kernel to be emitted
 * @name: of its operator
 * @pass: which kernel of that: "forward", "backward"
 * @in: what it reads; NO_VALUE entries are left out
 * @out: what it writes; NO_VALUE entries are left out
 * @flops: arithmetic
 * @bytes: memory traffic; 0: all of its operands once
 * @workspace: bytes of scratch memory
 */
struct step {
	const char *name;
	const char *pass;
	value_t in[5];
	value_t out[3];
	u128 flops;
	u64 bytes;
	u64 workspace;
};

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
value_t tape_input(struct tape *t, const char *name, u64 bytes);
void tape_load(struct tape *t, const char *name, const value_t *values, u32 nr);

/* For operators. */
struct value *tape_value(struct tape *t, value_t v);
value_t tape_tensor(struct tape *t, const char *name, const char *suffix,
		    u64 bytes, bool global);
struct record *tape_record(struct tape *t, const char *name);
value_t tape_result(struct tape *t, struct record *r, const char *suffix,
		    u64 bytes);
void tape_emit(struct tape *t, const struct step *s);
value_t tape_new_grad(struct tape *t, value_t v);
void tape_give_grad(struct tape *t, value_t v, value_t grad);
void tape_grad_kernel(struct tape *t, const struct record *r, value_t v,
		      const struct step *from);

#endif /* UGM_GEN_TAPE_H */
