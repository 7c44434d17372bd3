// SPDX-License-Identifier: MIT
#include "gen_image.h"

#define CARDINALITY 64
#define REDUCTION 16

/* Each channel by a factor that follows from the means of all. */
static struct image squeeze_excite(struct net *n, struct image x)
{
	struct tape *t = n->t;
	struct image s;

	s = image_mean(n, "squeeze", x);
	s = image_conv(n, s, &(struct conv){
		.name = "reduce", .channels = x.channels / REDUCTION,
		.window = image_square(1, 1, 0), .bias = true,
	});
	tape_relu(t, "reduce.relu", s.v);
	s = image_conv(n, s, &(struct conv){
		.name = "expand", .channels = x.channels,
		.window = image_square(1, 1, 0), .bias = true,
	});
	s.v = tape_sigmoid(t, "excite", s.v);
	x.v = tape_multiply(t, "scale", x.v, s.v);
	return x;
}

static struct image bottleneck(struct net *n, struct image x, u64 stage,
			       u64 stride)
{
	u64 width = 64ULL << stage, out = 4 * width;
	struct image y;

	y = image_conv_norm(n, x, &(struct conv){
		.name = "conv1", .channels = 2 * width,
		.window = image_square(1, 1, 0),
	}, true);
	y = image_conv_norm(n, y, &(struct conv){
		.name = "conv2", .channels = out,
		.window = image_square(3, stride, 1), .groups = CARDINALITY,
	}, true);
	y = image_conv_norm(n, y, &(struct conv){
		.name = "conv3", .channels = out,
		.window = image_square(1, 1, 0),
	}, false);
	y = squeeze_excite(n, y);
	if (x.channels != out)
		x = image_conv_norm(n, x, &(struct conv){
			.name = "shortcut", .channels = out,
			.window = stage ? image_square(3, stride, 1) :
					  image_square(1, stride, 0),
		}, false);
	y.v = tape_add(n->t, "residual", y.v, x.v);
	tape_relu(n->t, "relu", y.v);
	return y;
}

static void senet(struct net *n)
{
	static const struct {
		const char *name;
		u64 channels;
		u64 stride;
	} stem[] = {
		{ "stem.conv1", 64, 2 },
		{ "stem.conv2", 64, 1 },
		{ "stem.conv3", 128, 1 },
	};
	struct window pool = image_square(3, 2, 0);
	value_t labels;
	struct image x = image_load(n, &labels);
	unsigned int i;

	n->dropout = true;
	for (i = 0; i < ARRAY_SIZE(stem); i++)
		x = image_conv_norm(n, x, &(struct conv){
			.name = stem[i].name, .channels = stem[i].channels,
			.window = image_square(3, stem[i].stride, 1),
		}, true);
	pool.beyond = true;
	x = image_max_pool(n, "stem.pool", x, pool);
	x = image_residual_stages(n, x, bottleneck);
	image_classify(n, "", x, labels);
}

static const struct ugm_family family = { .forward = senet };

/* "Squeeze-and-Excitation Networks" (2017), and the published weights. */
const struct ugm_model ugm_senet_models[] = {
	{ "senet-154", &family,
	  { .image = 224, .classes = 1000, .blocks = { 3, 8, 36, 3 } },
	  115088984 },
	{}
};
