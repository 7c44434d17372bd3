// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "array.h"
#include "gen_tape.h"

#define FLOAT 4 /* bytes of an element */
#define INDEX 8 /* bytes of a token id */

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
	unsigned __int128 flops;
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
	unsigned __int128 flops;
	u64 bytes;
	u64 workspace;
};

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

static value_t new_value(struct tape *t, const char *name, const char *suffix,
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

static struct value *value_of(struct tape *t, value_t v)
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
		*bytes += value_of(t, from[i])->bytes;
		to[n++] = from[i];
	}
	return n;
}

static void emit(struct tape *t, const struct step *s)
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

static struct record *new_record(struct tape *t, const char *name)
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

/* What an operator makes. */
static value_t result(struct tape *t, struct record *r, const char *suffix,
		      u64 bytes)
{
	value_t y = new_value(t, r->name, suffix, bytes, false);

	value_of(t, y)->differentiable = true;
	return y;
}

static value_t new_grad(struct tape *t, value_t v)
{
	return new_value(t, value_of(t, v)->name, ".grad",
			 value_of(t, v)->bytes, false);
}

/* A gradient of a value is there: it is the only one, or is added to it. */
static void give_grad(struct tape *t, value_t v, value_t grad)
{
	struct value *value = value_of(t, v);
	value_t sum;

	if (!value->differentiable)
		return;
	if (value->grad == NO_VALUE) {
		value->grad = grad;
		return;
	}
	sum = new_grad(t, v);
	value = value_of(t, v);
	emit(t, &(struct step){
		.name = value->name,
		.pass = "accumulate_grad",
		.in = { value->grad, grad, NO_VALUE, NO_VALUE, NO_VALUE },
		.out = { sum, NO_VALUE, NO_VALUE },
		.flops = value->bytes / FLOAT,
	});
	value->grad = sum;
}

/* One kernel that makes the gradient of @v from @in. */
static void backward_kernel(struct tape *t, const struct record *r,
			    const char *pass, value_t v, const value_t in[5],
			    unsigned __int128 flops, u64 bytes, u64 workspace)
{
	struct step s = {
		.name = r->name,
		.pass = pass,
		.out = { NO_VALUE, NO_VALUE, NO_VALUE },
		.flops = flops,
		.bytes = bytes,
		.workspace = workspace,
	};

	if (!value_of(t, v)->differentiable)
		return;
	memcpy(s.in, in, sizeof(s.in));
	s.out[0] = new_grad(t, v);
	emit(t, &s);
	give_grad(t, v, s.out[0]);
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
	v = new_value(t, full, "", elements * FLOAT, true);
	value_of(t, v)->parameter = true;
	value_of(t, v)->differentiable = true;
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
	return new_value(t, name, "", bytes, true);
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
	return new_value(t, name, "", bytes, false);
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
	emit(t, &s);
}

static void embedding_backward(struct tape *t, const struct record *r)
{
	value_t dy = value_of(t, r->out[0])->grad;
	u64 ids = value_of(t, r->in[0])->bytes;

	/* The ids are sorted, with their places, to add rows up in order. */
	backward_kernel(t, r, "backward", r->in[1],
			(value_t[5]){ dy, r->in[0], NO_VALUE, NO_VALUE,
				      NO_VALUE },
			value_of(t, dy)->bytes / FLOAT,
			value_of(t, r->in[1])->bytes +
				2 * value_of(t, dy)->bytes + ids,
			2 * ids);
}

/**
 * tape_embedding() - rows of a table by their numbers
 * @t: tape
 * @name: its name
 * @ids: numbers
 * @table: table
 * @rows: how many numbers
 * @width: elements of a row
 *
 * Context: any.
 * Return: the rows.
 */
value_t tape_embedding(struct tape *t, const char *name, value_t ids,
		       value_t table, u64 rows, u64 width)
{
	struct record *r = new_record(t, name);

	r->backward = embedding_backward;
	r->in[0] = ids;
	r->in[1] = table;
	r->out[0] = result(t, r, "", rows * width * FLOAT);
	emit(t, &(struct step){
		.name = r->name,
		.pass = "forward",
		.in = { ids, table, NO_VALUE, NO_VALUE, NO_VALUE },
		.out = { r->out[0], NO_VALUE, NO_VALUE },
		.bytes = rows * INDEX + 2 * rows * width * FLOAT,
	});
	return r->out[0];
}

static void linear_backward(struct tape *t, const struct record *r)
{
	value_t dy = value_of(t, r->out[0])->grad;

	backward_kernel(t, r, "backward_input", r->in[0],
			(value_t[5]){ dy, r->in[1], NO_VALUE, NO_VALUE,
				      NO_VALUE },
			r->flops, 0, 0);
	backward_kernel(t, r, "backward_weight", r->in[1],
			(value_t[5]){ dy, r->in[0], NO_VALUE, NO_VALUE,
				      NO_VALUE },
			r->flops, 0, 0);
	backward_kernel(t, r, "backward_bias", r->in[2],
			(value_t[5]){ dy, NO_VALUE, NO_VALUE, NO_VALUE,
				      NO_VALUE },
			value_of(t, dy)->bytes / FLOAT, 0, 0);
}

/**
 * tape_linear() - x times the transposed weight, and the bias
 * @t: tape
 * @name: its name
 * @x: rows x in
 * @weight: out x in
 * @bias: out, or NO_VALUE
 * @rows: rows of @x
 * @in: columns of @x
 * @out: columns of the result
 *
 * Context: any.
 * Return: rows x out.
 */
value_t tape_linear(struct tape *t, const char *name, value_t x, value_t weight,
		    value_t bias, u64 rows, u64 in, u64 out)
{
	struct record *r = new_record(t, name);

	r->backward = linear_backward;
	r->in[0] = x;
	r->in[1] = weight;
	r->in[2] = bias;
	r->flops = (unsigned __int128)2 * rows * in * out;
	r->out[0] = result(t, r, "", rows * out * FLOAT);
	emit(t, &(struct step){
		.name = r->name,
		.pass = "forward",
		.in = { x, weight, bias, NO_VALUE, NO_VALUE },
		.out = { r->out[0], NO_VALUE, NO_VALUE },
		.flops = r->flops,
	});
	return r->out[0];
}

static void matmul_backward(struct tape *t, const struct record *r)
{
	value_t dy = value_of(t, r->out[0])->grad;

	backward_kernel(t, r, "backward_a", r->in[0],
			(value_t[5]){ dy, r->in[1], NO_VALUE, NO_VALUE,
				      NO_VALUE },
			r->flops, 0, 0);
	backward_kernel(t, r, "backward_b", r->in[1],
			(value_t[5]){ dy, r->in[0], NO_VALUE, NO_VALUE,
				      NO_VALUE },
			r->flops, 0, 0);
}

/**
 * tape_matmul() - a batch of matrix products
 * @t: tape
 * @name: its name
 * @a: batch x m x k
 * @b: batch x k x n, in any layout
 * @batch: matrices
 * @m: see @a
 * @k: see @a
 * @n: see @b
 *
 * Context: any.
 * Return: batch x m x n.
 */
value_t tape_matmul(struct tape *t, const char *name, value_t a, value_t b,
		    u64 batch, u64 m, u64 k, u64 n)
{
	struct record *r = new_record(t, name);

	r->backward = matmul_backward;
	r->in[0] = a;
	r->in[1] = b;
	r->flops = (unsigned __int128)2 * batch * m * k * n;
	r->out[0] = result(t, r, "", batch * m * n * FLOAT);
	emit(t, &(struct step){
		.name = r->name,
		.pass = "forward",
		.in = { a, b, NO_VALUE, NO_VALUE, NO_VALUE },
		.out = { r->out[0], NO_VALUE, NO_VALUE },
		.flops = r->flops,
	});
	return r->out[0];
}

static void add_backward(struct tape *t, const struct record *r)
{
	value_t dy = value_of(t, r->out[0])->grad;

	/* Both have the gradient of the sum: no kernel, no copy. */
	give_grad(t, r->in[0], dy);
	give_grad(t, r->in[1], dy);
}

/**
 * tape_add() - a sum, element by element
 * @t: tape
 * @name: its name
 * @a: summand, as large as the sum
 * @b: summand
 *
 * Context: any.
 * Return: the sum.
 */
value_t tape_add(struct tape *t, const char *name, value_t a, value_t b)
{
	struct record *r = new_record(t, name);
	u64 bytes = value_of(t, a)->bytes;

	r->backward = add_backward;
	r->in[0] = a;
	r->in[1] = b;
	r->out[0] = result(t, r, "", bytes);
	emit(t, &(struct step){
		.name = r->name,
		.pass = "forward",
		.in = { a, b, NO_VALUE, NO_VALUE, NO_VALUE },
		.out = { r->out[0], NO_VALUE, NO_VALUE },
		.flops = bytes / FLOAT,
	});
	return r->out[0];
}

/* The gradient of the one input, from that of the output and what was saved. */
static void unary_backward(struct tape *t, const struct record *r)
{
	value_t dy = value_of(t, r->out[0])->grad;

	backward_kernel(t, r, "backward", r->in[0],
			(value_t[5]){ dy, r->saved, NO_VALUE, NO_VALUE,
				      NO_VALUE },
			r->flops, 0, 0);
}

/**
 * struct unary - an operator with one differentiable input
 * @x: the input
 * @other: another one without a gradient, or NO_VALUE
 * @bytes: size of the output; 0: as the input
 * @flops: arithmetic by element of the output
 * @mask_bytes: size of a second output that the derivative needs, or 0
 * @saves: what the derivative needs
 */
struct unary {
	value_t x;
	value_t other;
	u64 bytes;
	u64 flops;
	u64 mask_bytes;
	enum { SAVES_NOTHING, SAVES_INPUT, SAVES_OUTPUT, SAVES_MASK } saves;
};

static value_t unary(struct tape *t, const char *name, const struct unary *u)
{
	u64 bytes = u->bytes ? u->bytes : value_of(t, u->x)->bytes;
	struct record *r = new_record(t, name);
	value_t mask = NO_VALUE;

	r->backward = unary_backward;
	r->in[0] = u->x;
	r->flops = (unsigned __int128)u->flops * (bytes / FLOAT);
	r->out[0] = result(t, r, "", bytes);
	if (u->mask_bytes)
		mask = new_value(t, r->name, ".mask", u->mask_bytes, false);
	r->saved = u->saves == SAVES_INPUT  ? u->x :
		   u->saves == SAVES_OUTPUT ? r->out[0] :
					      mask;
	emit(t, &(struct step){
		.name = r->name,
		.pass = "forward",
		.in = { u->x, u->other, NO_VALUE, NO_VALUE, NO_VALUE },
		.out = { r->out[0], mask, NO_VALUE },
		.flops = r->flops,
		.bytes = u->bytes ? 2 * bytes : 0,
	});
	return r->out[0];
}

/**
 * tape_scale_mask() - attention scores, scaled, with what must not be seen
 * masked
 * @t: tape
 * @name: its name
 * @x: scores
 * @mask: mask
 *
 * Context: any.
 * Return: as large as @x.
 */
value_t tape_scale_mask(struct tape *t, const char *name, value_t x,
			value_t mask)
{
	return unary(t, name, &(struct unary){
		.x = x, .other = mask, .flops = 2,
	});
}

/**
 * tape_softmax() - softmax over rows
 * @t: tape
 * @name: its name
 * @x: input
 *
 * Context: any.
 * Return: as large as @x.
 */
value_t tape_softmax(struct tape *t, const char *name, value_t x)
{
	return unary(t, name, &(struct unary){
		.x = x, .other = NO_VALUE, .flops = 5, .saves = SAVES_OUTPUT,
	});
}

/**
 * tape_dropout() - dropout, with a mask of a byte by element
 * @t: tape
 * @name: its name
 * @x: input
 *
 * Context: any.
 * Return: as large as @x.
 */
value_t tape_dropout(struct tape *t, const char *name, value_t x)
{
	return unary(t, name, &(struct unary){
		.x = x, .other = NO_VALUE, .flops = 2,
		.mask_bytes = value_of(t, x)->bytes / FLOAT,
		.saves = SAVES_MASK,
	});
}

/**
 * tape_gelu() - Gaussian error linear unit
 * @t: tape
 * @name: its name
 * @x: input
 *
 * Context: any.
 * Return: as large as @x.
 */
value_t tape_gelu(struct tape *t, const char *name, value_t x)
{
	return unary(t, name, &(struct unary){
		.x = x, .other = NO_VALUE, .flops = 8, .saves = SAVES_INPUT,
	});
}

/**
 * tape_tanh() - hyperbolic tangent
 * @t: tape
 * @name: its name
 * @x: input
 *
 * Context: any.
 * Return: as large as @x.
 */
value_t tape_tanh(struct tape *t, const char *name, value_t x)
{
	return unary(t, name, &(struct unary){
		.x = x, .other = NO_VALUE, .flops = 8, .saves = SAVES_OUTPUT,
	});
}

/**
 * tape_permute() - a copy in another layout
 * @t: tape
 * @name: its name
 * @x: input
 *
 * Context: any.
 * Return: as large as @x.
 */
value_t tape_permute(struct tape *t, const char *name, value_t x)
{
	return unary(t, name, &(struct unary){ .x = x, .other = NO_VALUE });
}

/**
 * tape_first_token() - the first token of every sequence
 * @t: tape
 * @name: its name
 * @x: input
 * @seq: tokens of a sequence
 *
 * Context: any.
 * Return: @x / @seq.
 */
value_t tape_first_token(struct tape *t, const char *name, value_t x, u64 seq)
{
	return unary(t, name, &(struct unary){
		.x = x, .other = NO_VALUE, .bytes = value_of(t, x)->bytes / seq,
	});
}

static void layer_norm_backward(struct tape *t, const struct record *r)
{
	value_t dy = value_of(t, r->out[0])->grad;
	struct step s = {
		.name = r->name,
		.pass = "backward_parameters",
		.in = { dy, r->in[0], r->saved, NO_VALUE, NO_VALUE },
		.flops = r->flops,
	};

	backward_kernel(t, r, "backward_input", r->in[0],
			(value_t[5]){ dy, r->in[0], r->saved, r->in[1],
				      NO_VALUE },
			r->flops, 0, 0);
	s.out[0] = new_grad(t, r->in[1]);
	s.out[1] = new_grad(t, r->in[2]);
	s.out[2] = NO_VALUE;
	emit(t, &s);
	give_grad(t, r->in[1], s.out[0]);
	give_grad(t, r->in[2], s.out[1]);
}

/**
 * tape_layer_norm() - layer normalisation
 * @t: tape
 * @name: its name
 * @x: input
 * @weight: gain
 * @bias: offset
 * @rows: rows of @x, each with its own mean and deviation
 *
 * Context: any.
 * Return: as large as @x.
 */
value_t tape_layer_norm(struct tape *t, const char *name, value_t x,
			value_t weight, value_t bias, u64 rows)
{
	struct record *r = new_record(t, name);
	u64 bytes = value_of(t, x)->bytes;

	r->backward = layer_norm_backward;
	r->in[0] = x;
	r->in[1] = weight;
	r->in[2] = bias;
	r->flops = (unsigned __int128)8 * (bytes / FLOAT);
	r->out[0] = result(t, r, "", bytes);
	r->saved = new_value(t, r->name, ".statistics", 2 * rows * FLOAT, false);
	emit(t, &(struct step){
		.name = r->name,
		.pass = "forward",
		.in = { x, weight, bias, NO_VALUE, NO_VALUE },
		.out = { r->out[0], r->saved, NO_VALUE },
		.flops = r->flops,
	});
	return r->out[0];
}

static void split_backward(struct tape *t, const struct record *r)
{
	backward_kernel(t, r, "backward", r->in[0],
			(value_t[5]){ value_of(t, r->out[0])->grad,
				      value_of(t, r->out[1])->grad,
				      value_of(t, r->out[2])->grad, NO_VALUE,
				      NO_VALUE },
			0, 0, 0);
}

/**
 * tape_split() - cut in three, each part copied into its own layout
 * @t: tape
 * @name: its name
 * @x: input
 * @parts: a third of @x each
 *
 * Context: any.
 */
void tape_split(struct tape *t, const char *name, value_t x, value_t parts[3])
{
	static const char *const suffixes[] = { ".query", ".key", ".value" };
	struct record *r = new_record(t, name);
	unsigned int i;

	r->backward = split_backward;
	r->in[0] = x;
	for (i = 0; i < 3; i++)
		r->out[i] = result(t, r, suffixes[i],
				   value_of(t, x)->bytes / 3);
	emit(t, &(struct step){
		.name = r->name,
		.pass = "forward",
		.in = { x, NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE },
		.out = { r->out[0], r->out[1], r->out[2] },
	});
	memcpy(parts, r->out, sizeof(r->out));
}

static void cross_entropy_backward(struct tape *t, const struct record *r)
{
	backward_kernel(t, r, "backward", r->in[0],
			(value_t[5]){ r->saved, r->in[1], NO_VALUE, NO_VALUE,
				      NO_VALUE },
			r->flops, 0, 0);
}

/**
 * tape_cross_entropy() - the loss
 * @t: tape
 * @name: its name
 * @logits: rows x classes
 * @labels: the right class of each row
 * @rows: rows
 *
 * Context: any.
 * Return: the loss, one number.
 */
value_t tape_cross_entropy(struct tape *t, const char *name, value_t logits,
			   value_t labels, u64 rows)
{
	struct record *r = new_record(t, name);
	u64 bytes = value_of(t, logits)->bytes;

	r->backward = cross_entropy_backward;
	r->in[0] = logits;
	r->in[1] = labels;
	r->flops = (unsigned __int128)5 * (bytes / FLOAT) + rows;
	r->out[0] = result(t, r, "", FLOAT);
	r->saved = new_value(t, r->name, ".log_probabilities", bytes, false);
	emit(t, &(struct step){
		.name = r->name,
		.pass = "forward",
		.in = { logits, labels, NO_VALUE, NO_VALUE, NO_VALUE },
		.out = { r->out[0], r->saved, NO_VALUE },
		.flops = r->flops,
	});
	return r->out[0];
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
		    value_of(t, r->out[0])->grad != NO_VALUE)
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
			m = new_value(t, value.name, ".moment1", value.bytes,
				      true);
			s = new_value(t, value.name, ".moment2", value.bytes,
				      true);
		}
		emit(t, &(struct step){
			.name = value.name,
			.pass = adam ? "adam" : "sgd",
			.in = { value.grad, v, m, s, NO_VALUE },
			.out = { v, m, s },
			.flops = (unsigned __int128)(adam ? ADAM_FLOPS :
							    SGD_FLOPS) *
				 (value.bytes / FLOAT),
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
			sum += t->values[i].bytes / FLOAT;
	return sum;
}
