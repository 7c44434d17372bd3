// SPDX-License-Identifier: MIT
#include "gen_image.h"

/* Operators on images: see gen_ops.c. */

/**
 * tape_conv() - convolution, as an implicit matrix product without scratch memory
 * @t: tape
 * @name: its name
 * @x: images
 * @weight: filters
 * @bias: one for each filter, or NO_VALUE
 * @elements: of the result
 * @taps: of a filter
 *
 * Context: any.
 * Return: @elements.
 */
value_t tape_conv(struct tape *t, const char *name, value_t x, value_t weight,
		  value_t bias, u64 elements, u64 taps)
{
	/* Each element is a product of its own: a row of taps, one output. */
	return tape_linear(t, name, x, weight, bias, elements, taps, 1);
}

/**
 * tape_batch_norm() - batch normalisation
 * @t: tape
 * @name: its name
 * @x: images
 * @parameters: gain and offset
 * @running: mean and variance over iterations
 * @channels: of the images
 *
 * Context: any.
 * Return: as large as @x.
 */
value_t tape_batch_norm(struct tape *t, const char *name, value_t x,
			const value_t parameters[2], const value_t running[2],
			u64 channels)
{
	u128 flops = (u128)8 * tape_elements(t, x);
	value_t y = tape_result(t, name, "", tape_bytes(t, x));
	value_t statistics = tape_saved(t, name, ".statistics",
					2 * channels * FLOAT_BYTES);

	tape_op(t, name, &(struct op){
		.forward = {
			.in = { x, parameters[0], parameters[1], running[0],
				running[1] },
			.out = { y, statistics, running[0], running[1] },
			.flops = flops,
		},
		.backward = { {
			.pass = "backward",
			.of = { x, parameters[0], parameters[1] },
			.in = { x, statistics, parameters[0] },
			.flops = flops,
		} },
	});
	return y;
}

/**
 * tape_relu() - rectified linear unit, in place
 * @t: tape
 * @name: its name
 * @x: changed
 *
 * Context: any.
 */
void tape_relu(struct tape *t, const char *name, value_t x)
{
	tape_op(t, name, &(struct op){
		.forward = {
			.in = { x },
			.out = { x },
			.flops = tape_elements(t, x),
		},
		.backward = { {
			.pass = "backward",
			.of = { x },
			.in = { x },
			.flops = tape_elements(t, x),
		} },
	});
}

/**
 * tape_pool() - largest or mean value of a window
 * @t: tape
 * @name: its name
 * @x: images
 * @elements: of the result
 * @window: elements of a window
 * @largest: the largest, not the mean
 *
 * Context: any.
 * Return: @elements.
 */
value_t tape_pool(struct tape *t, const char *name, value_t x, u64 elements,
		  u64 window, bool largest)
{
	value_t y = tape_result(t, name, "", elements * t->width);
	value_t which = NO_VALUE;

	if (largest)
		which = tape_saved(t, name, ".indices", elements * INDEX_BYTES);
	tape_op(t, name, &(struct op){
		.forward = {
			.in = { x },
			.out = { y, which },
			.flops = (u128)elements * window,
		},
		.backward = { {
			.pass = "backward",
			.of = { x },
			.in = { which },
			.flops = (u128)elements * (largest ? 1 : window),
		} },
	});
	return y;
}

/**
 * tape_concat() - channels of several images, one after the other
 * @t: tape
 * @name: its name
 * @x: images
 * @nr: how many, at most 4
 *
 * Context: any.
 * Return: all of @x.
 */
value_t tape_concat(struct tape *t, const char *name, const value_t *x, u32 nr)
{
	struct op op = { .backward = { { .pass = "backward" } } };
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		op.forward.in[i] = x[i];
		op.backward[0].of[i] = x[i];
		bytes += tape_bytes(t, x[i]);
	}
	op.forward.out[0] = tape_result(t, name, "", bytes);
	tape_op(t, name, &op);
	return op.forward.out[0];
}
