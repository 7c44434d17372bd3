// SPDX-License-Identifier: MIT
#include "gen_layers.h"

/* y plus (x A) B, of which A and B alone are trained (low-rank adaptation). */
static value_t adapt(struct net *n, value_t x, value_t y, const struct linear *l)
{
	struct tape *t = n->t;
	u64 rank = n->o->lora;
	bool frozen = t->frozen;
	value_t a, b;
	char name[64];

	t->frozen = false;
	t->part = PART_ADAPTER;
	snprintf(name, sizeof(name), "%s.lora_a", l->name);
	a = tape_parameter(t, name, "weight", l->in * rank);
	x = tape_linear(t, name, x, a, NO_VALUE, l->rows, l->in, rank);
	snprintf(name, sizeof(name), "%s.lora_b", l->name);
	b = tape_parameter(t, name, "weight", rank * l->out);
	x = tape_linear(t, name, x, b, NO_VALUE, l->rows, rank, l->out);
	snprintf(name, sizeof(name), "%s.lora_add", l->name);
	t->part = PART_MODEL;
	t->frozen = frozen;
	return tape_add(t, name, y, x);
}

/**
 * net_linear() - a linear layer
 * @n: model
 * @x: input
 * @l: layer
 *
 * Context: any.
 * Return: the output.
 */
value_t net_linear(struct net *n, value_t x, const struct linear *l)
{
	struct tape *t = n->t;
	value_t weight, bias = NO_VALUE, y;

	weight = tape_parameter(t, l->name, "weight", l->in * l->out);
	if (!l->no_bias)
		bias = tape_parameter(t, l->name, "bias", l->out);
	y = tape_linear(t, l->name, x, weight, bias, l->rows, l->in, l->out);
	return l->adapt && n->o->lora ? adapt(n, x, y, l) : y;
}

/**
 * net_layer_norm() - layer normalisation of tokens
 * @n: model
 * @name: its name
 * @x: input
 *
 * Context: any.
 * Return: the output.
 */
value_t net_layer_norm(struct net *n, const char *name, value_t x)
{
	value_t weight = tape_parameter(n->t, name, "weight", n->s.hidden);
	value_t bias = tape_parameter(n->t, name, "bias", n->s.hidden);

	return tape_norm(n->t, name, x, weight, bias, n->rows);
}

/**
 * net_rms_norm() - normalisation of tokens by their root mean square
 * @n: model
 * @name: its name
 * @x: input
 *
 * Context: any.
 * Return: the output.
 */
value_t net_rms_norm(struct net *n, const char *name, value_t x)
{
	value_t weight = tape_parameter(n->t, name, "weight", n->s.hidden);

	return tape_norm(n->t, name, x, weight, NO_VALUE, n->rows);
}

/**
 * net_embedding() - vectors for numbers
 * @n: model
 * @name: its name
 * @ids: numbers
 * @nr_ids: how many
 * @table_rows: numbers there are
 * @table: set to the table, or NULL
 *
 * Context: any.
 * Return: the output.
 */
value_t net_embedding(struct net *n, const char *name, value_t ids, u64 nr_ids,
		      u64 table_rows, value_t *table)
{
	value_t weight = tape_parameter(n->t, name, "weight",
					table_rows * n->s.hidden);

	if (table)
		*table = weight;
	return tape_embedding(n->t, name, ids, weight, nr_ids, n->s.hidden);
}

/**
 * net_dropout() - dropout, if the model has that
 * @n: model
 * @name: its name
 * @x: input
 *
 * Context: any.
 * Return: the output.
 */
value_t net_dropout(struct net *n, const char *name, value_t x)
{
	return n->dropout ? tape_dropout(n->t, name, x) : x;
}
