/* SPDX-License-Identifier: MIT */
#ifndef UGM_GEN_LAYERS_H
#define UGM_GEN_LAYERS_H

#include "gen_ops.h"

/**
 * DOC: layers
 *
 * What models are made of: operators together with their parameters.
 */

/**
 * struct net - a model being generated
 * @t: the iteration
 * @o: what is generated
 * @s: numbers of the model
 * @batch: sequences or images
 * @tokens: of a sequence, in this pass
 * @rows: tokens of the batch
 * @mask: which tokens must not be seen, or NO_VALUE
 * @angles: of a rotary position embedding, or NO_VALUE
 * @dropout: the model has dropout
 * @too_small: nothing is left of the image
 */
struct net {
	struct tape *t;
	const struct ugm_gen_options *o;
	struct ugm_shape s;
	u64 batch;
	u64 tokens;
	u64 rows;
	value_t mask;
	value_t angles;
	bool dropout;
	bool too_small;
};

/**
 * struct linear - a linear layer
 * @name: its name
 * @rows: rows of the input
 * @in: columns of the input
 * @out: columns of the output
 * @no_bias: it has none
 * @adapt: has an adapter if there are some
 */
struct linear {
	const char *name;
	u64 rows;
	u64 in;
	u64 out;
	bool no_bias;
	bool adapt;
};

value_t net_linear(struct net *n, value_t x, const struct linear *l);
value_t net_layer_norm(struct net *n, const char *name, value_t x);
value_t net_rms_norm(struct net *n, const char *name, value_t x);
value_t net_embedding(struct net *n, const char *name, value_t ids, u64 nr_ids,
		      u64 table_rows, value_t *table);
value_t net_dropout(struct net *n, const char *name, value_t x);
value_t net_attention(struct net *n, const value_t qkv[3]);
value_t net_feed_forward(struct net *n, value_t x);
value_t net_fused_layer(struct net *n, value_t x);
value_t net_layers(struct net *n, value_t x,
		   value_t (*layer)(struct net *n, value_t x));
void net_language_model(struct net *n,
			value_t (*logits)(struct net *n, value_t ids));

/* Tables of models, each in its own file; they end without a name. */
extern const struct ugm_model ugm_bert_models[];
extern const struct ugm_model ugm_gpt_models[];
extern const struct ugm_model ugm_llama_models[];
extern const struct ugm_model ugm_vit_models[];
extern const struct ugm_model ugm_resnet_models[];
extern const struct ugm_model ugm_senet_models[];
extern const struct ugm_model ugm_inception_models[];

#endif /* UGM_GEN_LAYERS_H */
