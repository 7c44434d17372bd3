// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "array.h"
#include "gen_tape.h"

/**
 * tape_open() - begin an iteration
 * @t: filled; tape_close() it whatever is returned
 * @o: what is generated
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int tape_open(struct tape *t, const struct ugm_gen_options *o)
{
	memset(t, 0, sizeof(*t));
	t->o = o;
	t->width = o->type == UGM_TYPE_HALF ? 2 : FLOAT_BYTES;
	t->frozen = o->lora;
	t->again = U64_MAX;
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
	free(t->ops);
	free(t->segments);
	ugm_trace_writer_close(&t->w);
}

/**
 * tape_new_value() - a tensor
 * @t: tape
 * @prefix: of its name
 * @name: its name
 * @suffix: of its name
 * @v: what else is known of it
 *
 * Context: any.
 * Return: the value.
 */
value_t tape_new_value(struct tape *t, const char *prefix, const char *name,
		       const char *suffix, const struct value *v)
{
	struct value *p;

	p = ugm_array_room(t->values, &t->value_room, t->nr_values + 1,
			   sizeof(*p));
	if (!p) {
		t->no_memory = true;
		return NO_VALUE;
	}
	t->values = p;
	p += t->nr_values;
	*p = *v;
	if (asprintf(&p->name, "%s%s%s", prefix, name, suffix) < 0) {
		t->no_memory = true;
		return NO_VALUE;
	}
	t->nr_values++;
	return ugm_trace_writer_tensor(&t->w, p->bytes, p->global, p->name) + 1;
}

/**
 * tape_rewind() - run forward once more, with the same global values
 * @t: tape
 *
 * Parameters and constants that are made from now on are those of the first
 * time, in the same order.
 *
 * Context: any.
 */
void tape_rewind(struct tape *t)
{
	t->again = 0;
}

static value_t global_value(struct tape *t, const char *name, const char *what,
			    const struct value *v)
{
	const char *dot = *what ? "." : "";
	char full[128];

	while (t->again < t->nr_values)
		if (t->values[t->again++].global)
			return t->again;
	snprintf(full, sizeof(full), "%s%s%s", name, dot, what);
	return tape_new_value(t, t->prefix, full, "", v);
}

/**
 * tape_parameter() - a tensor that is trained, unless parameters are frozen
 * @t: tape
 * @name: of its operator
 * @what: which of that, "weight"
 * @elements: its elements
 *
 * Context: any.
 * Return: the value.
 */
value_t tape_parameter(struct tape *t, const char *name, const char *what,
		       u64 elements)
{
	return global_value(t, name, what, &(struct value){
		.bytes = elements * t->width,
		.elements = elements,
		.global = true,
		.parameter = true,
		.part = t->part,
		.differentiable = t->o->mode == UGM_MODE_TRAIN && !t->frozen,
	});
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
	return global_value(t, name, "", &(struct value){
		.bytes = bytes, .global = true,
	});
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
	return tape_new_value(t, "", name, "", &(struct value){ .bytes = bytes });
}

/**
 * tape_result() - what an operator makes, as far as the model is concerned
 * @t: tape
 * @name: the operator's
 * @suffix: of its name
 * @bytes: its size
 *
 * Context: any.
 * Return: the value.
 */
value_t tape_result(struct tape *t, const char *name, const char *suffix,
		    u64 bytes)
{
	return tape_new_value(t, t->prefix, name, suffix, &(struct value){
		.bytes = bytes, .result = true,
	});
}

/**
 * tape_saved() - what an operator makes for its derivative
 * @t: tape
 * @name: the operator's
 * @suffix: of its name
 * @bytes: its size
 *
 * Context: any.
 * Return: the value.
 */
value_t tape_saved(struct tape *t, const char *name, const char *suffix,
		   u64 bytes)
{
	return tape_new_value(t, t->prefix, name, suffix,
			      &(struct value){ .bytes = bytes });
}

/**
 * tape_bytes() - size of a value
 * @t: tape
 * @v: value, or NO_VALUE
 *
 * Context: any.
 * Return: bytes.
 */
u64 tape_bytes(const struct tape *t, value_t v)
{
	return v == NO_VALUE ? 0 : tape_value(t, v)->bytes;
}

/**
 * tape_elements() - elements of a value of the model's type
 * @t: tape
 * @v: value, or NO_VALUE
 *
 * Context: any.
 * Return: how many.
 */
u64 tape_elements(const struct tape *t, value_t v)
{
	return tape_bytes(t, v) / t->width;
}

static u32 pack(const struct tape *t, const value_t *from, u32 nr, u32 *ids,
		u64 *bytes)
{
	u32 i, n = 0;

	for (i = 0; i < nr; i++) {
		if (from[i] == NO_VALUE)
			continue;
		*bytes += tape_value(t, from[i])->bytes;
		ids[n++] = from[i] - 1;
	}
	return n;
}

/**
 * tape_emit() - a kernel
 * @t: tape
 * @name: of its operator
 * @pass: which of that
 * @s: kernel
 *
 * Context: any.
 */
void tape_emit(struct tape *t, const char *name, const char *pass,
	       const struct step *s)
{
	u32 in[ARRAY_SIZE(s->in)], out[ARRAY_SIZE(s->out)];
	u64 bytes = 0;
	char full[128];
	struct ugm_trace_kernel k = {
		.name = full,
		.in = in,
		.nr_in = pack(t, s->in, ARRAY_SIZE(in), in, &bytes),
		.out = out,
		.nr_out = pack(t, s->out, ARRAY_SIZE(out), out, &bytes),
		.workspace = s->workspace,
	};

	snprintf(full, sizeof(full), "%s:%s", name, pass);
	k.duration_ns = ugm_gpu_kernel_ns(
		t->o->gpu, s->matrix && t->o->type == UGM_TYPE_HALF,
		(u32)t->o->efficiency, s->flops,
		(s->bytes ? s->bytes : bytes) + s->more_bytes);
	ugm_trace_writer_kernel(&t->w, &k);
}

/**
 * tape_load() - the kernel that brings the batch
 * @t: tape
 * @name: its name
 * @values: what it brings
 * @nr: how many
 *
 * Context: any.
 */
void tape_load(struct tape *t, const char *name, const value_t *values, u32 nr)
{
	struct step s = {};

	memcpy(s.out, values, nr * sizeof(*values));
	if (!t->no_memory)
		tape_emit(t, name, "copy", &s);
}

static void emit_op(struct tape *t, const char *name, const struct step *s)
{
	char full[96];

	snprintf(full, sizeof(full), "%s%s", t->prefix, name);
	if (!t->no_memory)
		tape_emit(t, full, "forward", s);
}

/**
 * tape_op() - run an operator forward
 * @t: tape
 * @name: its name, after the tape's prefix
 * @op: operator; its name is filled in here
 *
 * Context: any.
 */
void tape_op(struct tape *t, const char *name, const struct op *op)
{
	bool wanted = false;
	struct op *p;
	unsigned int i;

	if (t->o->mode != UGM_MODE_TRAIN) {
		emit_op(t, name, &op->forward);
		return;
	}
	p = ugm_array_room(t->ops, &t->op_room, t->nr_ops + 1, sizeof(*p));
	if (!p)
		t->no_memory = true;
	if (t->no_memory)
		return;
	t->ops = p;
	p += t->nr_ops++;
	*p = *op;
	snprintf(p->name, sizeof(p->name), "%s%s", t->prefix, name);
	for (i = 0; i < ARRAY_SIZE(p->forward.in); i++)
		wanted |= tape_differentiable(t, p->forward.in[i]);
	for (i = 0; i < ARRAY_SIZE(p->forward.out); i++)
		if (p->forward.out[i] && tape_value(t, p->forward.out[i])->result)
			tape_value(t, p->forward.out[i])->differentiable = wanted;
	emit_op(t, name, &p->forward);
}

/**
 * tape_begin_segment() - what follows is computed again, if that is asked for
 * @t: tape
 *
 * Context: any.
 */
void tape_begin_segment(struct tape *t)
{
	struct segment *p;

	if (!t->o->recompute)
		return;
	p = ugm_array_room(t->segments, &t->segment_room, t->nr_segments + 1,
			   sizeof(*p));
	if (!p) {
		t->no_memory = true;
		return;
	}
	t->segments = p;
	t->segments[t->nr_segments++] = (struct segment){ t->nr_ops, t->nr_ops };
}

/**
 * tape_end_segment() - what follows is not computed again
 * @t: tape
 *
 * Context: any.
 */
void tape_end_segment(struct tape *t)
{
	if (t->o->recompute && !t->no_memory)
		t->segments[t->nr_segments - 1].end = t->nr_ops;
}

/* Operations by parameter, roughly: moments, root, quotient, step. */
#define ADAM_FLOPS 12
#define SGD_FLOPS 2

/**
 * tape_update() - the optimizer: a kernel a parameter
 * @t: tape
 *
 * With two-byte numbers it keeps a copy in single precision, and its moments
 * are always that (mixed precision).
 *
 * Context: any.
 */
void tape_update(struct tape *t)
{
	bool adam = t->o->optimizer == UGM_OPTIMIZER_ADAM;
	value_t end = (value_t)t->nr_values, v;

	for (v = 1; !t->no_memory && v <= end; v++) {
		struct value p = *tape_value(t, v);
		struct value state = {
			.bytes = p.elements * FLOAT_BYTES,
			.global = true,
		};
		value_t m = NO_VALUE, s = NO_VALUE, master = NO_VALUE;

		if (!p.parameter || !p.differentiable)
			continue;
		if (adam) {
			m = tape_new_value(t, "", p.name, ".moment1", &state);
			s = tape_new_value(t, "", p.name, ".moment2", &state);
		}
		if (t->o->type == UGM_TYPE_HALF)
			master = tape_new_value(t, "", p.name, ".master", &state);
		if (t->no_memory)
			return;
		tape_emit(t, p.name, adam ? "adam" : "sgd", &(struct step){
			.in = { p.grad, v, m, s, master },
			.out = { v, m, s, master },
			.flops = (u128)(adam ? ADAM_FLOPS : SGD_FLOPS) * p.elements,
		});
	}
}

/**
 * tape_count() - count parameters
 * @t: tape
 * @summary: the counts of parameters in it are filled
 *
 * Context: any.
 */
void tape_count(const struct tape *t, struct ugm_gen_summary *summary)
{
	const struct value *v;

	summary->parameters = 0;
	summary->head_parameters = 0;
	summary->trained_parameters = 0;
	for (v = t->values; v < t->values + t->nr_values; v++) {
		if (v->part == PART_MODEL)
			summary->parameters += v->elements;
		else if (v->part == PART_HEAD)
			summary->head_parameters += v->elements;
		if (v->parameter && v->differentiable)
			summary->trained_parameters += v->elements;
	}
}
