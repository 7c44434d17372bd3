// SPDX-License-Identifier: MIT
#include "gen_ops.h"

/**
 * DOC: operators
 *
 * Each operator is data: what its forward kernel reads and makes, and which
 * kernels its derivative has. gen_tape.c makes kernels of it.
 */

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
	u64 bytes = rows * width * t->width;
	value_t y = tape_result(t, name, "", bytes);

	tape_op(t, name, &(struct op){
		.forward = {
			.in = { ids, table },
			.out = { y },
			.bytes = rows * INDEX_BYTES + 2 * bytes,
		},
		/* The ids are sorted, with their places, to add rows up in order. */
		.backward = { {
			.pass = "backward",
			.of = { table },
			.in = { ids },
			.flops = rows * width,
			.workspace = 2 * tape_bytes(t, ids),
			.twice = true,
		} },
	});
	return y;
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
	u128 flops = (u128)2 * rows * in * out;
	value_t y = tape_result(t, name, "", rows * out * t->width);

	tape_op(t, name, &(struct op){
		.forward = {
			.in = { x, weight, bias },
			.out = { y },
			.flops = flops,
			.matrix = true,
		},
		.backward = {
			{
				.pass = "backward_input",
				.of = { x },
				.in = { weight },
				.flops = flops,
				.matrix = true,
			}, {
				.pass = "backward_weight",
				.of = { weight },
				.in = { x },
				.flops = flops,
				.matrix = true,
			}, {
				.pass = "backward_bias",
				.of = { bias },
				.flops = rows * out,
			},
		},
	});
	return y;
}

/**
 * tape_matmul() - a batch of matrix products
 * @t: tape
 * @name: its name
 * @a: batch x m x k
 * @b: batch x k x n in any layout; some in the batch may share theirs
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
	u128 flops = (u128)2 * batch * m * k * n;
	value_t y = tape_result(t, name, "", batch * m * n * t->width);

	tape_op(t, name, &(struct op){
		.forward = {
			.in = { a, b },
			.out = { y },
			.flops = flops,
			.matrix = true,
		},
		.backward = {
			{
				.pass = "backward_a",
				.of = { a },
				.in = { b },
				.flops = flops,
				.matrix = true,
			}, {
				.pass = "backward_b",
				.of = { b },
				.in = { a },
				.flops = flops,
				.matrix = true,
			},
		},
	});
	return y;
}

/**
 * tape_attention() - attention in one kernel, block by block
 * @t: tape
 * @name: its name
 * @qkv: queries, keys and values
 * @mask: which tokens must not be seen, or NO_VALUE
 * @rows: rows of the scores, each with its own sum
 * @flops: of both matrix products
 *
 * The scores are never in memory: the derivative computes them again.
 *
 * Context: any.
 * Return: as large as the queries.
 */
value_t tape_attention(struct tape *t, const char *name, const value_t qkv[3],
		       value_t mask, u64 rows, u128 flops)
{
	value_t y = tape_result(t, name, "", tape_bytes(t, qkv[0]));
	value_t sums = tape_saved(t, name, ".sums", rows * FLOAT_BYTES);

	tape_op(t, name, &(struct op){
		.forward = {
			.in = { qkv[0], qkv[1], qkv[2], mask },
			.out = { y, sums },
			.flops = flops,
			.matrix = true,
		},
		.backward = { {
			.pass = "backward",
			.of = { qkv[0], qkv[1], qkv[2] },
			.in = { qkv[0], qkv[1], qkv[2], mask, y, sums },
			/* four products, and one to have the scores again */
			.flops = flops * 5 / 2,
			.matrix = true,
		} },
	});
	return y;
}

/**
 * tape_prepend() - the same token before every sequence
 * @t: tape
 * @name: its name
 * @x: sequences
 * @token: token
 * @rows: sequences
 *
 * Context: any.
 * Return: the longer sequences.
 */
value_t tape_prepend(struct tape *t, const char *name, value_t x, value_t token,
		     u64 rows)
{
	u64 tokens = rows * tape_bytes(t, token);
	value_t y = tape_result(t, name, "", tape_bytes(t, x) + tokens);

	tape_op(t, name, &(struct op){
		.forward = { .in = { x, token }, .out = { y } },
		.backward = { {
			.pass = "backward",
			.of = { x, token },
			.flops = tokens / t->width,
		} },
	});
	return y;
}

/**
 * tape_norm() - layer normalisation, or without @bias by the root mean square
 * @t: tape
 * @name: its name
 * @x: input
 * @weight: gain
 * @bias: offset, or NO_VALUE
 * @rows: rows of @x, each with its own mean and deviation
 *
 * Context: any.
 * Return: as large as @x.
 */
value_t tape_norm(struct tape *t, const char *name, value_t x, value_t weight,
		  value_t bias, u64 rows)
{
	u64 numbers = bias == NO_VALUE ? 1 : 2;
	u128 flops = (u128)8 * tape_elements(t, x);
	value_t y = tape_result(t, name, "", tape_bytes(t, x));
	value_t statistics = tape_saved(t, name, ".statistics",
					numbers * rows * FLOAT_BYTES);

	tape_op(t, name, &(struct op){
		.forward = {
			.in = { x, weight, bias },
			.out = { y, statistics },
			.flops = flops,
		},
		.backward = {
			{
				.pass = "backward_input",
				.of = { x },
				.in = { x, statistics, weight },
				.flops = flops,
			}, {
				.pass = "backward_parameters",
				.of = { weight, bias },
				.in = { x, statistics },
				.flops = flops,
			},
		},
	});
	return y;
}

/**
 * tape_split() - cut in queries, keys and values, each in its own layout
 * @t: tape
 * @name: its name
 * @x: input
 * @bytes: sizes of the parts
 * @parts: filled
 *
 * Context: any.
 */
void tape_split(struct tape *t, const char *name, value_t x, const u64 *bytes,
		value_t parts[3])
{
	static const char *const suffixes[] = { ".query", ".key", ".value" };
	unsigned int i;

	for (i = 0; i < 3; i++)
		parts[i] = tape_result(t, name, suffixes[i], bytes[i]);
	tape_op(t, name, &(struct op){
		.forward = {
			.in = { x },
			.out = { parts[0], parts[1], parts[2] },
		},
		.backward = { { .pass = "backward", .of = { x } } },
	});
}

/**
 * tape_append() - add keys or values to a cache of them
 * @t: tape
 * @name: its name
 * @x: what is added
 * @cache: cache, which keeps what else is in it
 *
 * Context: any.
 */
void tape_append(struct tape *t, const char *name, value_t x, value_t cache)
{
	bool whole = tape_bytes(t, x) == tape_bytes(t, cache);

	tape_op(t, name, &(struct op){
		.forward = {
			.in = { x, whole ? NO_VALUE : cache },
			.out = { cache },
			.bytes = 2 * tape_bytes(t, x),
		},
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
	u64 elements = tape_elements(t, logits);
	u128 flops = (u128)5 * elements + rows;
	value_t y = tape_result(t, name, "", FLOAT_BYTES);
	value_t log_probabilities = tape_saved(t, name, ".log_probabilities",
					       elements * FLOAT_BYTES);

	tape_op(t, name, &(struct op){
		.forward = {
			.in = { logits, labels },
			.out = { y, log_probabilities },
			.flops = flops,
		},
		.backward = { {
			.pass = "backward",
			.of = { logits },
			.in = { log_probabilities, labels },
			.flops = flops,
		} },
		.loss = true,
	});
	return y;
}

/**
 * tape_sample() - choose the next token of every sequence
 * @t: tape
 * @name: its name
 * @logits: rows x tokens
 * @rows: sequences
 *
 * Context: any.
 * Return: the tokens' numbers.
 */
value_t tape_sample(struct tape *t, const char *name, value_t logits, u64 rows)
{
	value_t ids = tape_saved(t, name, "", rows * INDEX_BYTES);

	tape_op(t, name, &(struct op){
		.forward = {
			.in = { logits },
			.out = { ids },
			.flops = (u128)5 * tape_elements(t, logits),
		},
	});
	return ids;
}
