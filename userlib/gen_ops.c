// SPDX-License-Identifier: MIT
#include "gen_ops.h"

/**
 * DOC: operators
 *
 * Each operator is a forward function, which emits its kernel and notes it on
 * the tape, and a derivative, which emits the kernels of the backward pass.
 */

static void embedding_backward(struct tape *t, const struct record *r)
{
	value_t dy = tape_value(t, r->out[0])->grad;
	u64 ids = tape_value(t, r->in[0])->bytes;

	/* The ids are sorted, with their places, to add rows up in order. */
	tape_grad_kernel(t, r, r->in[1], &(struct step){
		.pass = "backward",
		.in = { dy, r->in[0], NO_VALUE, NO_VALUE, NO_VALUE },
		.flops = tape_value(t, dy)->bytes / FLOAT_BYTES,
		.bytes = tape_value(t, r->in[1])->bytes + 2 * tape_value(t, dy)->bytes + ids,
		.workspace = 2 * ids,
	});
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
	struct record *r = tape_record(t, name);

	r->backward = embedding_backward;
	r->in[0] = ids;
	r->in[1] = table;
	r->out[0] = tape_result(t, r, "", rows * width * FLOAT_BYTES);
	tape_emit(t, &(struct step){
		.name = r->name,
		.pass = "forward",
		.in = { ids, table, NO_VALUE, NO_VALUE, NO_VALUE },
		.out = { r->out[0], NO_VALUE, NO_VALUE },
		.bytes = rows * INDEX_BYTES + 2 * rows * width * FLOAT_BYTES,
	});
	return r->out[0];
}

static void linear_backward(struct tape *t, const struct record *r)
{
	value_t dy = tape_value(t, r->out[0])->grad;

	tape_grad_kernel(t, r, r->in[0], &(struct step){
		.pass = "backward_input",
		.in = { dy, r->in[1], NO_VALUE, NO_VALUE, NO_VALUE },
		.flops = r->flops,
	});
	tape_grad_kernel(t, r, r->in[1], &(struct step){
		.pass = "backward_weight",
		.in = { dy, r->in[0], NO_VALUE, NO_VALUE, NO_VALUE },
		.flops = r->flops,
	});
	tape_grad_kernel(t, r, r->in[2], &(struct step){
		.pass = "backward_bias",
		.in = { dy, NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE },
		.flops = tape_value(t, dy)->bytes / FLOAT_BYTES,
	});
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
	struct record *r = tape_record(t, name);

	r->backward = linear_backward;
	r->in[0] = x;
	r->in[1] = weight;
	r->in[2] = bias;
	r->flops = (u128)2 * rows * in * out;
	r->out[0] = tape_result(t, r, "", rows * out * FLOAT_BYTES);
	tape_emit(t, &(struct step){
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
	value_t dy = tape_value(t, r->out[0])->grad;

	tape_grad_kernel(t, r, r->in[0], &(struct step){
		.pass = "backward_a",
		.in = { dy, r->in[1], NO_VALUE, NO_VALUE, NO_VALUE },
		.flops = r->flops,
	});
	tape_grad_kernel(t, r, r->in[1], &(struct step){
		.pass = "backward_b",
		.in = { dy, r->in[0], NO_VALUE, NO_VALUE, NO_VALUE },
		.flops = r->flops,
	});
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
	struct record *r = tape_record(t, name);

	r->backward = matmul_backward;
	r->in[0] = a;
	r->in[1] = b;
	r->flops = (u128)2 * batch * m * k * n;
	r->out[0] = tape_result(t, r, "", batch * m * n * FLOAT_BYTES);
	tape_emit(t, &(struct step){
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
	value_t dy = tape_value(t, r->out[0])->grad;

	/* Both have the gradient of the sum: no kernel, no copy. */
	tape_give_grad(t, r->in[0], dy);
	tape_give_grad(t, r->in[1], dy);
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
	struct record *r = tape_record(t, name);
	u64 bytes = tape_value(t, a)->bytes;

	r->backward = add_backward;
	r->in[0] = a;
	r->in[1] = b;
	r->out[0] = tape_result(t, r, "", bytes);
	tape_emit(t, &(struct step){
		.name = r->name,
		.pass = "forward",
		.in = { a, b, NO_VALUE, NO_VALUE, NO_VALUE },
		.out = { r->out[0], NO_VALUE, NO_VALUE },
		.flops = bytes / FLOAT_BYTES,
	});
	return r->out[0];
}

/* The gradient of the one input, from that of the output and what was saved. */
static void unary_backward(struct tape *t, const struct record *r)
{
	value_t dy = tape_value(t, r->out[0])->grad;

	tape_grad_kernel(t, r, r->in[0], &(struct step){
		.pass = "backward",
		.in = { dy, r->saved, NO_VALUE, NO_VALUE, NO_VALUE },
		.flops = r->flops,
	});
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
	u64 bytes = u->bytes ? u->bytes : tape_value(t, u->x)->bytes;
	struct record *r = tape_record(t, name);
	value_t mask = NO_VALUE;

	r->backward = unary_backward;
	r->in[0] = u->x;
	r->flops = (u128)u->flops * (bytes / FLOAT_BYTES);
	r->out[0] = tape_result(t, r, "", bytes);
	if (u->mask_bytes)
		mask = tape_tensor(t, r->name, ".mask", u->mask_bytes, false);
	r->saved = u->saves == SAVES_INPUT  ? u->x :
		   u->saves == SAVES_OUTPUT ? r->out[0] :
					      mask;
	tape_emit(t, &(struct step){
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
		.mask_bytes = tape_value(t, x)->bytes / FLOAT_BYTES,
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
		.x = x, .other = NO_VALUE, .bytes = tape_value(t, x)->bytes / seq,
	});
}

static void layer_norm_backward(struct tape *t, const struct record *r)
{
	value_t dy = tape_value(t, r->out[0])->grad;
	struct step s = {
		.name = r->name,
		.pass = "backward_parameters",
		.in = { dy, r->in[0], r->saved, NO_VALUE, NO_VALUE },
		.flops = r->flops,
	};

	tape_grad_kernel(t, r, r->in[0], &(struct step){
		.pass = "backward_input",
		.in = { dy, r->in[0], r->saved, r->in[1], NO_VALUE },
		.flops = r->flops,
	});
	s.out[0] = tape_new_grad(t, r->in[1]);
	s.out[1] = tape_new_grad(t, r->in[2]);
	s.out[2] = NO_VALUE;
	tape_emit(t, &s);
	tape_give_grad(t, r->in[1], s.out[0]);
	tape_give_grad(t, r->in[2], s.out[1]);
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
	struct record *r = tape_record(t, name);
	u64 bytes = tape_value(t, x)->bytes;

	r->backward = layer_norm_backward;
	r->in[0] = x;
	r->in[1] = weight;
	r->in[2] = bias;
	r->flops = (u128)8 * (bytes / FLOAT_BYTES);
	r->out[0] = tape_result(t, r, "", bytes);
	r->saved = tape_tensor(t, r->name, ".statistics", 2 * rows * FLOAT_BYTES, false);
	tape_emit(t, &(struct step){
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
	tape_grad_kernel(t, r, r->in[0], &(struct step){
		.pass = "backward",
		.in = { tape_value(t, r->out[0])->grad, tape_value(t, r->out[1])->grad, tape_value(t, r->out[2])->grad, NO_VALUE, NO_VALUE },
	});
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
	struct record *r = tape_record(t, name);
	unsigned int i;

	r->backward = split_backward;
	r->in[0] = x;
	for (i = 0; i < 3; i++)
		r->out[i] = tape_result(t, r, suffixes[i],
				   tape_value(t, x)->bytes / 3);
	tape_emit(t, &(struct step){
		.name = r->name,
		.pass = "forward",
		.in = { x, NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE },
		.out = { r->out[0], r->out[1], r->out[2] },
	});
	memcpy(parts, r->out, sizeof(r->out));
}

static void cross_entropy_backward(struct tape *t, const struct record *r)
{
	tape_grad_kernel(t, r, r->in[0], &(struct step){
		.pass = "backward",
		.in = { r->saved, r->in[1], NO_VALUE, NO_VALUE, NO_VALUE },
		.flops = r->flops,
	});
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
	struct record *r = tape_record(t, name);
	u64 bytes = tape_value(t, logits)->bytes;

	r->backward = cross_entropy_backward;
	r->in[0] = logits;
	r->in[1] = labels;
	r->flops = (u128)5 * (bytes / FLOAT_BYTES) + rows;
	r->out[0] = tape_result(t, r, "", FLOAT_BYTES);
	r->saved = tape_tensor(t, r->name, ".log_probabilities", bytes, false);
	tape_emit(t, &(struct step){
		.name = r->name,
		.pass = "forward",
		.in = { logits, labels, NO_VALUE, NO_VALUE, NO_VALUE },
		.out = { r->out[0], r->saved, NO_VALUE },
		.flops = r->flops,
	});
	return r->out[0];
}
