/* SPDX-License-Identifier: MIT */
#ifndef UGM_GEN_TAPE_H
#define UGM_GEN_TAPE_H

#include "gen.h"
#include "trace_write.h"

/**
 * DOC: tape
 *
 * Operators are written down as they run forward. Then the tape is played
 * backward: each operator emits the kernels of its derivative, which read the
 * gradients of what it made and whatever else they need of the forward pass. A
 * value that is used several times has its gradients added up. A gradient that
 * nobody wants is not computed, and what only it would have read is not kept.
 *
 * Operators between tape_begin_segment() and tape_end_segment() are computed
 * again before their derivatives run, as far as these need it.
 *
 * A lack of memory is noted in the tape and shows at its end.
 */

/* A tensor of the iteration: its id + 1. */
typedef u32 value_t;

#define NO_VALUE 0

#define FLOAT_BYTES 4 /* of a number in single precision */
#define INDEX_BYTES 8 /* of a token's number */

/* What a parameter is a part of. */
enum tape_part {
	PART_MODEL,
	PART_HEAD, /* of the task that the model is trained for */
	PART_ADAPTER, /* trained instead of the model */
};

/**
 * struct value - what is known of a tensor
 * @bytes: its size
 * @elements: of a parameter
 * @grad: its gradient so far, or NO_VALUE
 * @again: its twin that was computed again, or NO_VALUE
 * @global: lives across iterations
 * @parameter: is trained, or could be
 * @part: enum tape_part of a parameter
 * @result: an operator's result, which has a gradient if an input has
 * @differentiable: a gradient of it is wanted
 * @needed: a derivative reads it (while a segment is computed again)
 * @name: its name
 */
struct value {
	u64 bytes;
	u64 elements;
	value_t grad;
	value_t again;
	bool global;
	bool parameter;
	u32 part;
	bool result;
	bool differentiable;
	bool needed;
	char *name;
};

/**
 * struct step - a kernel
 * @in: what it reads; NO_VALUE entries are left out
 * @out: what it writes; NO_VALUE entries are left out
 * @flops: arithmetic
 * @bytes: memory traffic; 0: all of its operands once
 * @more_bytes: besides these
 * @workspace: bytes of scratch memory
 * @matrix: a matrix product
 */
struct step {
	value_t in[11];
	value_t out[5];
	u128 flops;
	u64 bytes;
	u64 more_bytes;
	u64 workspace;
	bool matrix;
};

/**
 * struct derivative - a kernel of an operator's derivative
 * @pass: its name after the operator's
 * @of: whose gradients it makes
 * @in: what it reads besides the gradients of the operator's outputs
 * @flops: arithmetic
 * @workspace: bytes of scratch memory
 * @twice: reads the gradients twice
 * @matrix: a matrix product
 */
struct derivative {
	const char *pass;
	value_t of[4];
	value_t in[6];
	u128 flops;
	u64 workspace;
	bool twice;
	bool matrix;
};

/**
 * struct op - an operator
 * @name: its name
 * @forward: its kernel; an output that is an input too is changed in place
 * @backward: its derivative; ends where @pass is NULL
 * @hands_on: values that have the gradient of the output: no kernel
 * @loss: the backward pass begins here
 */
struct op {
	char name[96];
	struct step forward;
	struct derivative backward[3];
	value_t hands_on[2];
	bool loss;
};

/**
 * struct segment - operators that are computed again
 * @first: the first
 * @end: behind the last
 */
struct segment {
	u64 first;
	u64 end;
};

/**
 * struct tape - an iteration being generated
 * @w: the trace
 * @o: what is generated
 * @width: bytes of a number
 * @values: values by id
 * @nr_values: how many
 * @value_room: room in @values
 * @ops: operators in forward order
 * @nr_ops: how many
 * @op_room: room in @ops
 * @segments: segments in forward order
 * @nr_segments: how many
 * @segment_room: room in @segments
 * @prefix: prefix of names, "layer3."
 * @part: enum tape_part of parameters that are made now
 * @frozen: these are not trained
 * @again: where the next global value of the first pass is looked for; U64_MAX:
 *         this is the first
 * @no_memory: something could not be noted: the trace is incomplete
 */
struct tape {
	struct ugm_trace_writer w;
	const struct ugm_gen_options *o;
	u64 width;
	struct value *values;
	u64 nr_values;
	u64 value_room;
	struct op *ops;
	u64 nr_ops;
	u64 op_room;
	struct segment *segments;
	u64 nr_segments;
	u64 segment_room;
	char prefix[64];
	u32 part;
	bool frozen;
	u64 again;
	bool no_memory;
};

int tape_open(struct tape *t, const struct ugm_gen_options *o);
void tape_close(struct tape *t);
void tape_backward(struct tape *t);
void tape_update(struct tape *t);
void tape_count(const struct tape *t, struct ugm_gen_summary *summary);
void tape_rewind(struct tape *t);
void tape_begin_segment(struct tape *t);
void tape_end_segment(struct tape *t);

value_t tape_parameter(struct tape *t, const char *name, const char *what,
		       u64 elements);
value_t tape_constant(struct tape *t, const char *name, u64 bytes);
value_t tape_input(struct tape *t, const char *name, u64 bytes);
void tape_load(struct tape *t, const char *name, const value_t *values, u32 nr);

/* Good until the next value is made. */
static inline struct value *tape_value(const struct tape *t, value_t v)
{
	return &t->values[v - 1];
}

static inline bool tape_differentiable(const struct tape *t, value_t v)
{
	return v != NO_VALUE && tape_value(t, v)->differentiable;
}

value_t tape_new_value(struct tape *t, const char *prefix, const char *name,
		       const char *suffix, const struct value *v);
void tape_emit(struct tape *t, const char *name, const char *pass,
	       const struct step *s);

/* For operators. */
u64 tape_bytes(const struct tape *t, value_t v);
u64 tape_elements(const struct tape *t, value_t v);
value_t tape_result(struct tape *t, const char *name, const char *suffix,
		    u64 bytes);
value_t tape_saved(struct tape *t, const char *name, const char *suffix,
		   u64 bytes);
void tape_op(struct tape *t, const char *name, const struct op *op);

#endif /* UGM_GEN_TAPE_H */
