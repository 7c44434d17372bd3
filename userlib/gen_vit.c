// SPDX-License-Identifier: MIT
#include "gen_image.h"

/* An encoder of patches, trained to classify images. */
static void vit(struct net *n)
{
	u64 hidden = n->s.hidden, patches = n->s.image / n->s.patch;
	struct tape *t = n->t;
	value_t labels, class, positions, x;
	struct image image = image_load(n, &labels);

	n->tokens = patches * patches + 1;
	n->rows = n->batch * n->tokens;
	image = image_conv(n, image, &(struct conv){
		.name = "embedding.patch", .channels = hidden,
		.window = image_square(n->s.patch, n->s.patch, 0), .bias = true,
	});
	class = tape_parameter(t, "embedding", "class", hidden);
	positions = tape_parameter(t, "embedding", "position",
				   n->tokens * hidden);
	x = tape_permute(t, "embedding.tokens", image.v);
	x = tape_prepend(t, "embedding.prepend_class", x, class, n->batch);
	x = tape_add_to_each(t, "embedding.add_position", x, positions);
	x = net_layers(n, x, net_fused_layer);
	x = net_layer_norm(n, "norm", x);
	x = tape_one_token(t, "class_token", x, n->tokens);
	t->frozen = false;
	x = net_linear(n, x, &(struct linear){
		.name = "classifier", .rows = n->batch,
		.in = hidden, .out = n->s.classes,
	});
	tape_cross_entropy(t, "loss", x, labels, n->batch);
}

static const struct ugm_family family = {
	.forward = vit,
	.attention = UGM_ATTENTION_EAGER,
};

#define VIT(PATCH, LAYERS, HIDDEN, HEADS)                                   \
	{                                                                   \
		.layers = (LAYERS), .hidden = (HIDDEN), .heads = (HEADS),   \
		.inner = 4 * (HIDDEN), .image = 224, .patch = (PATCH),      \
		.classes = 1000,                                            \
	}

/*
 * "An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale"
 * (2020), and "How to train your ViT?" (2021) for the small one.
 */
const struct ugm_model ugm_vit_models[] = {
	{ "vit-base", &family, VIT(16, 12, 768, 12), 86567656 },
	{ "vit-base-32", &family, VIT(32, 12, 768, 12), 88224232 },
	{ "vit-large", &family, VIT(16, 24, 1024, 16), 304326632 },
	{ "vit-small-32", &family, VIT(32, 12, 384, 6), 22878952 },
	{}
};
