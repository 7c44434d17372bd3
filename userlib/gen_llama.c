// SPDX-License-Identifier: MIT
#include "gen_layers.h"

static value_t project(struct net *n, const char *name, value_t x, u64 in,
		       u64 out, bool adapt)
{
	return net_linear(n, x, &(struct linear){
		.name = name, .rows = n->rows, .in = in, .out = out,
		.no_bias = true, .adapt = adapt,
	});
}

static value_t layer(struct net *n, value_t x)
{
	const struct ugm_shape *s = &n->s;
	u64 kv = s->hidden / s->heads * s->kv_heads;
	struct tape *t = n->t;
	value_t qkv[3], y, gate;

	y = net_rms_norm(n, "attention.norm", x);
	qkv[0] = project(n, "attention.query", y, s->hidden, s->hidden, true);
	qkv[1] = project(n, "attention.key", y, s->hidden, kv, false);
	qkv[2] = project(n, "attention.value", y, s->hidden, kv, true);
	qkv[0] = tape_rotate(t, "attention.rotate_query", qkv[0], n->angles);
	qkv[1] = tape_rotate(t, "attention.rotate_key", qkv[1], n->angles);
	y = net_attention(n, qkv);
	y = project(n, "attention.output", y, s->hidden, s->hidden, false);
	x = tape_add(t, "attention.residual", x, y);
	y = net_rms_norm(n, "mlp.norm", x);
	gate = project(n, "mlp.gate", y, s->hidden, s->inner, false);
	gate = tape_silu(t, "mlp.silu", gate);
	y = project(n, "mlp.up", y, s->hidden, s->inner, false);
	y = tape_multiply(t, "mlp.multiply", gate, y);
	y = project(n, "mlp.down", y, s->inner, s->hidden, false);
	return tape_add(t, "mlp.residual", x, y);
}

static value_t logits(struct net *n, value_t ids)
{
	const struct ugm_shape *s = &n->s;
	u64 rows = n->rows;
	value_t x;

	n->angles = tape_constant(n->t, "rotary_angles",
				  n->tokens * (s->hidden / s->heads) *
					  FLOAT_BYTES);
	if (n->o->attention == UGM_ATTENTION_EAGER)
		n->mask = tape_constant(n->t, "causal_mask",
					s->seq * n->tokens);
	x = net_embedding(n, "embedding.token", ids, n->rows, s->vocabulary,
			  NULL);
	x = net_layers(n, x, layer);
	x = net_rms_norm(n, "norm", x);
	if (n->o->mode != UGM_MODE_TRAIN) {
		x = tape_one_token(n->t, "last_token", x, n->tokens);
		rows = n->batch;
	}
	return net_linear(n, x, &(struct linear){
		.name = "logits", .rows = rows, .in = s->hidden,
		.out = s->vocabulary, .no_bias = true,
	});
}

static void llama(struct net *n)
{
	net_language_model(n, logits);
}

static const struct ugm_family family = {
	.forward = llama,
	.attention = UGM_ATTENTION_FUSED,
	.decoder = true,
};

#define LLAMA(SEQ, VOCABULARY, LAYERS, HIDDEN, HEADS, KV_HEADS, INNER)      \
	{                                                                   \
		.seq = (SEQ), .vocabulary = (VOCABULARY),                   \
		.layers = (LAYERS), .hidden = (HIDDEN), .heads = (HEADS),   \
		.kv_heads = (KV_HEADS), .inner = (INNER),                   \
	}

/*
 * "Llama 2: Open Foundation and Fine-Tuned Chat Models" (2023), "The Llama 3
 * Herd of Models" (2024), and the configurations published with the weights.
 */
const struct ugm_model ugm_llama_models[] = {
	{ "llama2-7b", &family, LLAMA(4096, 32000, 32, 4096, 32, 32, 11008),
	  6738415616 },
	{ "llama2-13b", &family, LLAMA(4096, 32000, 40, 5120, 40, 40, 13824),
	  13015864320 },
	{ "llama2-70b", &family, LLAMA(4096, 32000, 80, 8192, 64, 8, 28672),
	  68976648192 },
	{ "llama3-8b", &family, LLAMA(8192, 128256, 32, 4096, 32, 8, 14336),
	  8030261248 },
	{ "llama3-70b", &family, LLAMA(8192, 128256, 80, 8192, 64, 8, 28672),
	  70553706496 },
	{ "llama3-405b", &family,
	  LLAMA(8192, 128256, 126, 16384, 128, 8, 53248), 405853388800 },
	{}
};
