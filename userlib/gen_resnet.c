// SPDX-License-Identifier: MIT
#include "gen_image.h"

static struct image bottleneck(struct net *n, struct image x, u64 stage,
			       u64 stride)
{
	u64 width = 64ULL << stage, out = 4 * width;
	struct image y;

	y = image_conv_norm(n, x, &(struct conv){
		.name = "conv1", .channels = width,
		.window = image_square(1, stride, 0),
	}, true);
	y = image_conv_norm(n, y, &(struct conv){
		.name = "conv2", .channels = width,
		.window = image_square(3, 1, 1),
	}, true);
	y = image_conv_norm(n, y, &(struct conv){
		.name = "conv3", .channels = out,
		.window = image_square(1, 1, 0),
	}, false);
	if (x.channels != out)
		x = image_conv_norm(n, x, &(struct conv){
			.name = "shortcut", .channels = out,
			.window = image_square(1, stride, 0),
		}, false);
	y.v = tape_add(n->t, "residual", y.v, x.v);
	tape_relu(n->t, "relu", y.v);
	return y;
}

static void resnet(struct net *n)
{
	value_t labels;
	struct image x = image_load(n, &labels);

	x = image_conv_norm(n, x, &(struct conv){
		.name = "stem.conv", .channels = 64,
		.window = image_square(7, 2, 3),
	}, true);
	x = image_max_pool(n, "stem.pool", x, image_square(3, 2, 1));
	x = image_residual_stages(n, x, bottleneck);
	image_classify(n, "", x, labels);
}

static const struct ugm_family family = { .forward = resnet };

#define RESNET(...) { .image = 224, .classes = 1000, .blocks = { __VA_ARGS__ } }

/*
 * "Deep Residual Learning for Image Recognition" (2015): the first convolution
 * of a stage has the stride.
 */
const struct ugm_model ugm_resnet_models[] = {
	{ "resnet-50", &family, RESNET(3, 4, 6, 3), 25557032 },
	{ "resnet-101", &family, RESNET(3, 4, 23, 3), 44549160 },
	{ "resnet-152", &family, RESNET(3, 8, 36, 3), 60192808 },
	{}
};
