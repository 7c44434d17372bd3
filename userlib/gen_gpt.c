// SPDX-License-Identifier: MIT
#include "gen_layers.h"

static value_t logits(struct net *n, value_t ids)
{
	const struct ugm_shape *s = &n->s;
	value_t positions, table, x, y;
	struct tape *t = n->t;

	positions = tape_constant(t, "position_ids", s->seq * INDEX_BYTES);
	if (n->o->attention == UGM_ATTENTION_EAGER)
		n->mask = tape_constant(t, "causal_mask", s->seq * n->tokens);
	x = net_embedding(n, "embedding.token", ids, n->rows, s->vocabulary,
			  &table);
	y = net_embedding(n, "embedding.position", positions, n->tokens,
			  s->positions, NULL);
	x = tape_add(t, "embedding.add_position", x, y);
	x = net_dropout(n, "embedding.dropout", x);
	x = net_layers(n, x, net_fused_layer);
	x = net_layer_norm(n, "norm", x);
	if (n->o->mode == UGM_MODE_TRAIN)
		return tape_linear(t, "logits", x, table, NO_VALUE, n->rows,
				   s->hidden, s->vocabulary);
	x = tape_one_token(t, "last_token", x, n->tokens);
	return tape_linear(t, "logits", x, table, NO_VALUE, n->batch, s->hidden,
			   s->vocabulary);
}

static void gpt(struct net *n)
{
	n->dropout = true;
	net_language_model(n, logits);
}

static const struct ugm_family family = {
	.forward = gpt,
	.attention = UGM_ATTENTION_EAGER,
	.decoder = true,
};

#define GPT(SEQ, LAYERS, HIDDEN, HEADS)                                     \
	{                                                                   \
		.seq = (SEQ), .positions = (SEQ), .vocabulary = 50257,      \
		.layers = (LAYERS), .hidden = (HIDDEN), .heads = (HEADS),   \
		.inner = 4 * (HIDDEN),                                      \
	}

/*
 * "Language Models are Unsupervised Multitask Learners" (2019), and table 2.1 of
 * "Language Models are Few-Shot Learners" (2020). The latter gives sizes only
 * roughly, for its 1.3B model heads that do not add up to the width (here 16),
 * and for its 13B model a width that is not its heads' (here 5120).
 */
const struct ugm_model ugm_gpt_models[] = {
	{ "gpt2", &family, GPT(1024, 12, 768, 12), 124439808 },
	{ "gpt2-medium", &family, GPT(1024, 24, 1024, 16), 354823168 },
	{ "gpt2-large", &family, GPT(1024, 36, 1280, 20), 774030080 },
	{ "gpt2-xl", &family, GPT(1024, 48, 1600, 25), 1557611200 },
	{ "gpt3-125m", &family, GPT(2048, 12, 768, 12), 125226240 },
	{ "gpt3-350m", &family, GPT(2048, 24, 1024, 16), 355871744 },
	{ "gpt3-760m", &family, GPT(2048, 24, 1536, 16), 760300032 },
	{ "gpt3-1.3b", &family, GPT(2048, 24, 2048, 16), 1315723264 },
	{ "gpt3-2.7b", &family, GPT(2048, 32, 2560, 32), 2651553280 },
	{ "gpt3-6.7b", &family, GPT(2048, 32, 4096, 32), 6658404352 },
	{ "gpt3-13b", &family, GPT(2048, 40, 5120, 40), 12853386240 },
	{ "gpt3-175b", &family, GPT(2048, 96, 12288, 96), 174604259328 },
	{}
};
