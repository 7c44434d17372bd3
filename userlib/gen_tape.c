// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "array.h"
#include "gen_tape.h"

#define NONE5 { NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE }

/**
 * tape_open() - begin an iteration
 * @t: filled; tape_close() it whatever is returned
 * @gpu: whose roofline
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int tape_open(struct tape *t, const struct ugm_gpu *gpu)
{
	memset(t, 0, sizeof(*t));
	t->gpu = gpu;
	return ugm_trace_writer_open(&t->w);
}

/**
 * tape_close() - forget an iteration
 * @t: tape
 *
 * Context: any.
 */
void tape_close(struct tape *t)
{
	u64 i;

	for (i = 0; i < t->nr_values; i++)
		free(t->values[i].name);
	free(t->values);
	free(t->records);
	ugm_trace_writer_close(&t->w);
}

/**
 * tape_tensor() - a tensor, not trained, without a gradient
 * @t: tape
 * @name: its name
 * @suffix: added to the name
 * @bytes: its size
 * @global: lives across iterations
 *
 * Context: any.
 * Return: the value.
 */
value_t tape_tensor(struct tape *t, const char *name, const char *suffix,
		    u64 bytes, bool global)
{
	struct value *p, v = { .bytes = bytes, .grad = NO_VALUE };

	p = ugm_array_room(t->values, &t->value_room, t->nr_values + 1,
			   sizeof(*p));
	if (!p || asprintf(&v.name, "%s%s", name, suffix) < 0) {
		if (p)
			t->values = p;
		t->no_memory = true;
		return NO_VALUE;
	}
	t->values = p;
	t->values[t->nr_values++] = v;
	return ugm_trace_writer_tensor(&t->w, bytes, global, v.name);
}

/**
 * tape_value() - what is known of a value
 * @t: tape
 * @v: value, or NO_VALUE
 *
 * Context: any.
 * Return: the value until the next is made, or an empty one.
 */
struct value *tape_value(struct tape *t, value_t v)
{
	static struct value nothing;

	if (v != NO_VALUE)
		return &t->values[v];
	nothing = (struct value){ .grad = NO_VALUE };
	return &nothing;
}

static u32 pack(struct tape *t, const value_t *from, u32 nr, u32 *to,
		u64 *bytes)
{
	u32 i, n = 0;

	for (i = 0; i < nr; i++) {
		if (from[i] == NO_VALUE)
			continue;
		*bytes += tape_value(t, from[i])->bytes;
		to[n++] = from[i];
	}
	return n;
}

/**
 * tape_emit() - add a kernel
 * @t: tape
 * @s: kernel
 *
 * Context: any.
 */
void tape_emit(struct tape *t, const struct step *s)
{
	u32 in[ARRAY_SIZE(s->in)], out[ARRAY_SIZE(s->out)];
	u64 bytes = 0;
	char name[128];
	struct ugm_trace_kernel k = {
		.name = name,
		.in = in,
		.nr_in = pack(t, s->in, ARRAY_SIZE(in), in, &bytes),
		.out = out,
		.nr_out = pack(t, s->out, ARRAY_SIZE(out), out, &bytes),
		.workspace = s->workspace,
	};

	snprintf(name, sizeof(name), "%s:%s", s->name, s->pass);
	k.duration_ns = ugm_gpu_kernel_ns(t->gpu, s->flops,
					  s->bytes ? s->bytes : bytes);
	ugm_trace_writer_kernel(&t->w, &k);
}

/**
 * tape_record() - note an operator
 * @t: tape
 * @name: its name, after the tape's prefix
 *
 * Context: any.
 * Return: the record to be filled, until the next is made.
 */
struct record *tape_record(struct tape *t, const char *name)
{
	static struct record lost;
	struct record *p;

	p = ugm_array_room(t->records, &t->record_room, t->nr_records + 1,
			   sizeof(*p));
	if (!p) {
		t->no_memory = true;
		return &lost;
	}
	t->records = p;
	p += t->nr_records++;
	*p = (struct record){
		.in = { NO_VALUE, NO_VALUE, NO_VALUE },
		.out = { NO_VALUE, NO_VALUE, NO_VALUE },
		.saved = NO_VALUE,
	};
	snprintf(p->name, sizeof(p->name), "%s%s", t->prefix, name);
	return p;
}

/**
 * tape_result() - what an operator makes
 * @t: tape
 * @r: operator
 * @suffix: of its name
 * @bytes: its size
 *
 * Context: any.
 * Return: the value.
 */
value_t tape_result(struct tape *t, struct record *r, const char *suffix,
		    u64 bytes)
{
	value_t y = tape_tensor(t, r->name, suffix, bytes, false);

	tape_value(t, y)->differentiable = true;
	return y;
}

/**
 * tape_new_grad() - a tensor for a gradient
 * @t: tape
 * @v: of this value
 *
 * Context: any.
 * Return: the tensor.
 */
value_t tape_new_grad(struct tape *t, value_t v)
{
	return tape_tensor(t, tape_value(t, v)->name, ".grad",
			 tape_value(t, v)->bytes, false);
}

/**
 * tape_give_grad() - a gradient of a value is there
 * @t: tape
 * @v: value
 * @grad: becomes its gradient, or is added to the one it has
 *
 * Context: any.
 */
void tape_give_grad(struct tape *t, value_t v, value_t grad)
{
	struct value *value = tape_value(t, v);
	value_t sum;

	if (!value->differentiable)
		return;
	if (value->grad == NO_VALUE) {
		value->grad = grad;
		return;
	}
	sum = tape_new_grad(t, v);
	value = tape_value(t, v);
	tape_emit(t, &(struct step){
		.name = value->name,
		.pass = "accumulate_grad",
		.in = { value->grad, grad, NO_VALUE, NO_VALUE, NO_VALUE },
		.out = { sum, NO_VALUE, NO_VALUE },
		.flops = value->bytes / FLOAT_BYTES,
	});
	value->grad = sum;
}

/**
 * tape_grad_kernel() - one kernel that makes a gradient
 * @t: tape
 * @r: operator whose derivative it is
 * @v: value whose gradient it makes; one that wants none gets no kernel
 * @from: the kernel; its name and outputs are filled in here
 *
 * Context: any.
 */
void tape_grad_kernel(struct tape *t, const struct record *r, value_t v,
		      const struct step *from)
{
	struct step s = *from;

	if (!tape_value(t, v)->differentiable)
		return;
	s.name = r->name;
	s.out[0] = tape_new_grad(t, v);
	s.out[1] = s.out[2] = NO_VALUE;
	tape_emit(t, &s);
	tape_give_grad(t, v, s.out[0]);
}

/**
 * tape_parameter() - a trained tensor
 * @t: tape
 * @name: its name
 * @elements: its elements
 *
 * Context: any.
 * Return: the value.
 */
value_t tape_parameter(struct tape *t, const char *name, u64 elements)
{
	char full[128];
	value_t v;

	snprintf(full, sizeof(full), "%s%s", t->prefix, name);
	v = tape_tensor(t, full, "", elements * FLOAT_BYTES, true);
	tape_value(t, v)->parameter = true;
	tape_value(t, v)->differentiable = true;
	return v;
}

/**
 * tape_constant() - a tensor that stays and is not trained
 * @t: tape
 * @name: its name
 * @bytes: its size
 *
 * Context: any.
 * Return: the value.
 */
value_t tape_constant(struct tape *t, const char *name, u64 bytes)
{
	return tape_tensor(t, name, "", bytes, true);
}

/**
 * tape_input() - a tensor of the batch; tape_load() makes it
 * @t: tape
 * @name: its name
 * @bytes: its size
 *
 * Context: any.
 * Return: the value.
 */
value_t tape_input(struct tape *t, const char *name, u64 bytes)
{
	return tape_tensor(t, name, "", bytes, false);
}

/**
 * tape_load() - the kernel that brings the batch
 * @t: tape
 * @name: its name
 * @values: what it brings
 * @nr: how many, at most 3
 *
 * Context: any.
 */
void tape_load(struct tape *t, const char *name, const value_t *values, u32 nr)
{
	struct step s = {
		.name = name,
		.pass = "copy",
		.in = NONE5,
		.out = { NO_VALUE, NO_VALUE, NO_VALUE },
	};

	memcpy(s.out, values, nr * sizeof(*values));
	tape_emit(t, &s);
}

/**
 * tape_backward() - play the tape backward
 * @t: tape
 * @loss: where it starts: its gradient is one
 *
 * Context: any.
 */
void tape_backward(struct tape *t, value_t loss)
{
	u64 i = t->nr_records;

	while (!t->no_memory && i--) {
		const struct record *r = &t->records[i];

		if (r->out[0] == loss ||
		    tape_value(t, r->out[0])->grad != NO_VALUE)
			r->backward(t, r);
	}
}

/* Operations by parameter, roughly: moments, root, quotient, step. */
#define ADAM_FLOPS 12
#define SGD_FLOPS 2

/**
 * tape_update() - the optimizer: a kernel a parameter
 * @t: tape
 * @optimizer: enum ugm_optimizer
 *
 * Context: any.
 */
void tape_update(struct tape *t, u32 optimizer)
{
	bool adam = optimizer == UGM_OPTIMIZER_ADAM;
	value_t end = (value_t)t->nr_values, v;

	for (v = 0; !t->no_memory && v < end; v++) {
		struct value value = t->values[v];
		value_t m = NO_VALUE, s = NO_VALUE;

		if (!value.parameter)
			continue;
		if (adam) {
			m = tape_tensor(t, value.name, ".moment1", value.bytes,
				      true);
			s = tape_tensor(t, value.name, ".moment2", value.bytes,
				      true);
		}
		tape_emit(t, &(struct step){
			.name = value.name,
			.pass = adam ? "adam" : "sgd",
			.in = { value.grad, v, m, s, NO_VALUE },
			.out = { v, m, s },
			.flops = (u128)(adam ? ADAM_FLOPS :
							    SGD_FLOPS) *
				 (value.bytes / FLOAT_BYTES),
		});
	}
}

/**
 * tape_parameters() - how many elements are trained
 * @t: tape
 *
 * Context: any.
 */
u64 tape_parameters(const struct tape *t)
{
	u64 sum = 0, i;

	for (i = 0; i < t->nr_values; i++)
		if (t->values[i].parameter)
			sum += t->values[i].bytes / FLOAT_BYTES;
	return sum;
}
