// SPDX-License-Identifier: MIT
#include "gen_layers.h"

/* Classes of the task that an encoder is trained for here. */
#define CLASSES 2
/* Sentences that a token may belong to. */
#define TOKEN_TYPES 2

static value_t encoder_layer(struct net *n, value_t x)
{
	static const char *const names[] = { "attention.query",
					     "attention.key",
					     "attention.value" };
	u64 hidden = n->s.hidden;
	value_t qkv[3], y;
	unsigned int i;

	for (i = 0; i < 3; i++)
		qkv[i] = net_linear(n, x, &(struct linear){
			.name = names[i], .rows = n->rows,
			.in = hidden, .out = hidden, .adapt = i != 1,
		});
	y = net_attention(n, qkv);
	y = net_linear(n, y, &(struct linear){
		.name = "attention.output", .rows = n->rows,
		.in = hidden, .out = hidden,
	});
	y = net_dropout(n, "attention.output_dropout", y);
	y = tape_add(n->t, "attention.residual", y, x);
	x = net_layer_norm(n, "attention.norm", y);
	y = net_feed_forward(n, x);
	y = tape_add(n->t, "mlp.residual", y, x);
	return net_layer_norm(n, "mlp.norm", y);
}

static value_t embeddings(struct net *n, value_t ids, value_t types,
			  value_t positions)
{
	value_t x, y;

	x = net_embedding(n, "embedding.token", ids, n->rows, n->s.vocabulary,
			  NULL);
	y = net_embedding(n, "embedding.type", types, n->rows, TOKEN_TYPES,
			  NULL);
	x = tape_add(n->t, "embedding.add_type", x, y);
	y = net_embedding(n, "embedding.position", positions, n->tokens,
			  n->s.positions, NULL);
	x = tape_add(n->t, "embedding.add_position", x, y);
	x = net_layer_norm(n, "embedding.norm", x);
	return net_dropout(n, "embedding.dropout", x);
}

/* An encoder with its pooler, trained to classify sequences. */
static void bert(struct net *n)
{
	struct tape *t = n->t;
	u64 hidden = n->s.hidden;
	value_t ids, types, labels, positions, x;

	n->dropout = true;
	ids = tape_input(t, "token_ids", n->rows * INDEX_BYTES);
	types = tape_input(t, "token_types", n->rows * INDEX_BYTES);
	labels = tape_input(t, "labels", n->batch * INDEX_BYTES);
	n->mask = tape_input(t, "attention_mask", n->rows * FLOAT_BYTES);
	positions = tape_constant(t, "position_ids", n->tokens * INDEX_BYTES);
	tape_load(t, "load_tokens", (value_t[]){ ids, types }, 2);
	tape_load(t, "load_labels", (value_t[]){ labels, n->mask }, 2);

	x = embeddings(n, ids, types, positions);
	x = net_layers(n, x, encoder_layer);
	x = tape_one_token(t, "pooler.first_token", x, n->tokens);
	x = net_linear(n, x, &(struct linear){
		.name = "pooler.dense", .rows = n->batch,
		.in = hidden, .out = hidden,
	});
	x = tape_tanh(t, "pooler.tanh", x);
	t->part = PART_HEAD;
	t->frozen = false;
	x = net_dropout(n, "classifier.dropout", x);
	x = net_linear(n, x, &(struct linear){
		.name = "classifier", .rows = n->batch,
		.in = hidden, .out = CLASSES,
	});
	tape_cross_entropy(t, "loss", x, labels, n->batch);
}

static const struct ugm_family family = {
	.forward = bert,
	.attention = UGM_ATTENTION_EAGER,
};

#define BERT(LAYERS, HIDDEN, HEADS)                                         \
	{                                                                   \
		.seq = 128, .positions = 512, .vocabulary = 30522,          \
		.layers = (LAYERS), .hidden = (HIDDEN), .heads = (HEADS),   \
		.inner = 4 * (HIDDEN),                                      \
	}

/*
 * "BERT: Pre-training of Deep Bidirectional Transformers for Language
 * Understanding" (2018); encoder and pooler are counted.
 */
const struct ugm_model ugm_bert_models[] = {
	{ "bert-base", &family, BERT(12, 768, 12), 109482240 },
	{ "bert-large", &family, BERT(24, 1024, 16), 335141888 },
	/* to be given another shape */
	{ "transformer", &family, BERT(12, 768, 12), 109482240 },
	{}
};
