// SPDX-License-Identifier: MIT
#include "gen_ops.h"

/* Operators that go through their input element by element: see gen_ops.c. */

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
	value_t y = tape_result(t, name, "", tape_bytes(t, a));

	tape_op(t, name, &(struct op){
		.forward = {
			.in = { a, b },
			.out = { y },
			.flops = tape_elements(t, a),
		},
		.hands_on = { a, b },
	});
	return y;
}

/**
 * tape_add_to_each() - a sum, the same summand for each of the batch
 * @t: tape
 * @name: its name
 * @a: summands
 * @b: what is added to each
 *
 * Context: any.
 * Return: the sums.
 */
value_t tape_add_to_each(struct tape *t, const char *name, value_t a, value_t b)
{
	value_t y = tape_result(t, name, "", tape_bytes(t, a));
	u64 elements = tape_elements(t, a);

	tape_op(t, name, &(struct op){
		.forward = { .in = { a, b }, .out = { y }, .flops = elements },
		.backward = { {
			.pass = "backward",
			.of = { b },
			.flops = elements,
		} },
		.hands_on = { a },
	});
	return y;
}

/**
 * tape_multiply() - a product, element by element
 * @t: tape
 * @name: its name
 * @a: factor, as large as the product
 * @b: factor, perhaps one for many elements of @a
 *
 * Context: any.
 * Return: the product.
 */
value_t tape_multiply(struct tape *t, const char *name, value_t a, value_t b)
{
	value_t y = tape_result(t, name, "", tape_bytes(t, a));
	u64 elements = tape_elements(t, a);

	tape_op(t, name, &(struct op){
		.forward = {
			.in = { a, b },
			.out = { y },
			.flops = elements,
		},
		.backward = {
			{
				.pass = "backward_a",
				.of = { a },
				.in = { b },
				.flops = elements,
			}, {
				.pass = "backward_b",
				.of = { b },
				.in = { a },
				.flops = 2 * elements,
			},
		},
	});
	return y;
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
	enum {
		SAVES_NOTHING,
		SAVES_INPUT,
		SAVES_OTHER,
		SAVES_OUTPUT,
		SAVES_MASK
	} saves;
};

static value_t unary(struct tape *t, const char *name, const struct unary *u)
{
	u64 bytes = u->bytes ? u->bytes : tape_bytes(t, u->x);
	u128 flops = (u128)u->flops * (bytes / t->width);
	value_t y = tape_result(t, name, "", bytes), mask = NO_VALUE;

	if (u->mask_bytes)
		mask = tape_saved(t, name, ".mask", u->mask_bytes);
	tape_op(t, name, &(struct op){
		.forward = {
			.in = { u->x, u->other },
			.out = { y, mask },
			.flops = flops,
			.bytes = u->bytes ? 2 * bytes : 0,
		},
		.backward = { {
			.pass = "backward",
			.of = { u->x },
			.in = { u->saves == SAVES_INPUT  ? u->x :
				u->saves == SAVES_OTHER  ? u->other :
				u->saves == SAVES_OUTPUT ? y :
							   mask },
			.flops = flops,
		} },
	});
	return y;
}

/**
 * tape_scale_mask() - attention scores, scaled, with what must not be seen
 * masked
 * @t: tape
 * @name: its name
 * @x: scores
 * @mask: mask, or NO_VALUE
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
 * tape_rotate() - rotary position embedding
 * @t: tape
 * @name: its name
 * @x: queries or keys
 * @angles: sines and cosines
 *
 * Context: any.
 * Return: as large as @x.
 */
value_t tape_rotate(struct tape *t, const char *name, value_t x, value_t angles)
{
	return unary(t, name, &(struct unary){
		.x = x, .other = angles, .flops = 3, .saves = SAVES_OTHER,
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
		.x = x, .flops = 5, .saves = SAVES_OUTPUT,
	});
}

/**
 * tape_dropout() - dropout, with a mask of a byte by element
 * @t: tape
 * @name: its name
 * @x: input
 *
 * Context: any.
 * Return: as large as @x; outside training, @x.
 */
value_t tape_dropout(struct tape *t, const char *name, value_t x)
{
	if (t->o->mode != UGM_MODE_TRAIN)
		return x;
	return unary(t, name, &(struct unary){
		.x = x, .flops = 2, .mask_bytes = tape_elements(t, x),
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
		.x = x, .flops = 8, .saves = SAVES_INPUT,
	});
}

/**
 * tape_silu() - sigmoid linear unit
 * @t: tape
 * @name: its name
 * @x: input
 *
 * Context: any.
 * Return: as large as @x.
 */
value_t tape_silu(struct tape *t, const char *name, value_t x)
{
	return unary(t, name, &(struct unary){
		.x = x, .flops = 5, .saves = SAVES_INPUT,
	});
}

/**
 * tape_sigmoid() - sigmoid
 * @t: tape
 * @name: its name
 * @x: input
 *
 * Context: any.
 * Return: as large as @x.
 */
value_t tape_sigmoid(struct tape *t, const char *name, value_t x)
{
	return unary(t, name, &(struct unary){
		.x = x, .flops = 4, .saves = SAVES_OUTPUT,
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
		.x = x, .flops = 8, .saves = SAVES_OUTPUT,
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
	return unary(t, name, &(struct unary){ .x = x });
}

/**
 * tape_one_token() - one token of every sequence
 * @t: tape
 * @name: its name
 * @x: input
 * @seq: tokens of a sequence
 *
 * Context: any.
 * Return: @x / @seq.
 */
value_t tape_one_token(struct tape *t, const char *name, value_t x, u64 seq)
{
	return unary(t, name, &(struct unary){
		.x = x, .bytes = tape_bytes(t, x) / seq,
	});
}
