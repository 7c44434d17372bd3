// SPDX-License-Identifier: MIT
#include "gen_layers.h"

static u64 head_width(const struct net *n)
{
	return n->s.hidden / n->s.heads;
}

static u64 kv_heads(const struct net *n)
{
	return n->s.kv_heads ? n->s.kv_heads : n->s.heads;
}

/* Keys or values of all tokens so far; those of this pass are added to them. */
static value_t cached(struct net *n, const char *name, value_t x)
{
	u64 row = kv_heads(n) * head_width(n) * n->t->width;
	value_t cache;
	char full[64];

	snprintf(full, sizeof(full), "%s_cache", name);
	cache = tape_constant(n->t, full, n->batch * n->s.seq * row);
	tape_append(n->t, full, x, cache);
	return n->o->mode == UGM_MODE_DECODE ? cache : x;
}

/* Every operator by itself: the scores are in memory. */
static value_t eager(struct net *n, const value_t qkv[3], u64 keys)
{
	u64 matrices = n->batch * n->s.heads, width = head_width(n);
	struct tape *t = n->t;
	value_t x;

	x = tape_matmul(t, "attention.scores", qkv[0], qkv[1], matrices,
			n->tokens, width, keys);
	x = tape_scale_mask(t, "attention.scale_mask", x, n->mask);
	x = tape_softmax(t, "attention.softmax", x);
	x = net_dropout(n, "attention.dropout", x);
	x = tape_matmul(t, "attention.context", x, qkv[2], matrices, n->tokens,
			keys, width);
	return tape_permute(t, "attention.merge_heads", x);
}

/**
 * net_attention() - attention between queries, keys and values
 * @n: model
 * @qkv: queries, keys and values of the tokens of this pass
 *
 * Context: any.
 * Return: the context of each token.
 */
value_t net_attention(struct net *n, const value_t qkv[3])
{
	u64 keys = n->s.seq ? n->s.seq : n->tokens;
	u64 rows = n->rows * n->s.heads;
	/* Of what is after a token nothing is computed. */
	u32 causal = n->o->model->family->decoder &&
		     n->o->mode != UGM_MODE_DECODE;
	value_t in[3] = { qkv[0], qkv[1], qkv[2] };

	if (n->o->mode != UGM_MODE_TRAIN) {
		in[1] = cached(n, "attention.key", qkv[1]);
		in[2] = cached(n, "attention.value", qkv[2]);
	}
	if (n->o->attention != UGM_ATTENTION_FUSED)
		return eager(n, in, keys);
	return tape_attention(n->t, "attention.fused", in, n->mask, rows,
			      (u128)(causal ? 2 : 4) * rows * keys *
				      head_width(n));
}

/**
 * net_feed_forward() - two linear layers with GELU between
 * @n: model
 * @x: tokens
 *
 * Context: any.
 * Return: the output.
 */
value_t net_feed_forward(struct net *n, value_t x)
{
	x = net_linear(n, x, &(struct linear){
		.name = "mlp.up", .rows = n->rows,
		.in = n->s.hidden, .out = n->s.inner,
	});
	x = tape_gelu(n->t, "mlp.gelu", x);
	x = net_linear(n, x, &(struct linear){
		.name = "mlp.down", .rows = n->rows,
		.in = n->s.inner, .out = n->s.hidden,
	});
	return net_dropout(n, "mlp.dropout", x);
}

/**
 * net_fused_layer() - a layer with the norm before, and one matrix for queries,
 * keys and values
 * @n: model
 * @x: tokens
 *
 * Context: any.
 * Return: the output.
 */
value_t net_fused_layer(struct net *n, value_t x)
{
	u64 hidden = n->s.hidden, part;
	value_t qkv[3], y;

	y = net_layer_norm(n, "attention.norm", x);
	y = net_linear(n, y, &(struct linear){
		.name = "attention.query_key_value", .rows = n->rows,
		.in = hidden, .out = 3 * hidden, .adapt = true,
	});
	part = tape_bytes(n->t, y) / 3;
	tape_split(n->t, "attention.split_heads", y,
		   (u64[]){ part, part, part }, qkv);
	y = net_attention(n, qkv);
	y = net_linear(n, y, &(struct linear){
		.name = "attention.output", .rows = n->rows,
		.in = hidden, .out = hidden,
	});
	y = net_dropout(n, "attention.output_dropout", y);
	x = tape_add(n->t, "attention.residual", x, y);
	y = net_layer_norm(n, "mlp.norm", x);
	y = net_feed_forward(n, y);
	return tape_add(n->t, "mlp.residual", x, y);
}

/**
 * net_layers() - the layers of a transformer
 * @n: model
 * @x: tokens
 * @layer: one of them
 *
 * Context: any.
 * Return: the output of the last.
 */
value_t net_layers(struct net *n, value_t x,
		   value_t (*layer)(struct net *n, value_t x))
{
	struct tape *t = n->t;
	u64 i;

	for (i = 0; i < n->s.layers && !t->no_memory; i++) {
		snprintf(t->prefix, sizeof(t->prefix), "layer%llu.",
			 (unsigned long long)i);
		tape_begin_segment(t);
		x = layer(n, x);
		tape_end_segment(t);
	}
	t->prefix[0] = '\0';
	return x;
}

/**
 * net_language_model() - a decoder, trained to predict the next token, or used
 * @n: model
 * @logits: what comes next, for each token in training, else for the last one
 *
 * Context: any.
 */
void net_language_model(struct net *n,
			value_t (*logits)(struct net *n, value_t ids))
{
	value_t ids, labels = NO_VALUE, x;
	struct tape *t = n->t;
	u64 i;

	ids = tape_input(t, "token_ids", n->rows * INDEX_BYTES);
	if (n->o->mode == UGM_MODE_TRAIN)
		labels = tape_input(t, "labels", n->rows * INDEX_BYTES);
	tape_load(t, "load_batch", (value_t[]){ ids, labels }, 2);
	if (n->o->mode == UGM_MODE_TRAIN) {
		x = logits(n, ids);
		tape_cross_entropy(t, "loss", x, labels, n->rows);
		return;
	}
	for (i = 0; i < n->o->tokens && !t->no_memory; i++) {
		if (i)
			tape_rewind(t);
		x = logits(n, ids);
		ids = tape_sample(t, "sample", x, n->batch);
	}
}
