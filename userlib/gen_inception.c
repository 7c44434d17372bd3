// SPDX-License-Identifier: MIT
#include "gen_image.h"

/**
 * struct unit - a convolution of a branch
 * @channels: of the result
 * @height: of its filters
 * @width: of its filters
 * @stride: 1: the size stays the same; 2: half as large, less what is missing at
 *          the edge
 */
struct unit {
	u64 channels;
	u64 height;
	u64 width;
	u64 stride;
};

#define MAX_UNITS 5
#define UNITS(...) ((const struct unit[MAX_UNITS]) { __VA_ARGS__ })

static struct image plain(struct net *n, struct image x, const char *name,
			  u64 channels, struct window w)
{
	return image_conv_norm(n, x, &(struct conv){
		.name = name, .channels = channels, .window = w,
	}, true);
}

static struct image convolve(struct net *n, const char *name, struct image x,
			     const struct unit *u)
{
	bool same = u->stride == 1;

	return plain(n, x, name, u->channels, (struct window){
		.height = u->height,
		.width = u->width,
		.stride = u->stride,
		.pad_height = same ? u->height / 2 : 0,
		.pad_width = same ? u->width / 2 : 0,
	});
}

/* Convolutions one after the other; the list ends without channels. */
static struct image branch(struct net *n, const char *name, struct image x,
			   const struct unit units[MAX_UNITS])
{
	char full[64];
	unsigned int i;

	for (i = 0; i < MAX_UNITS && units[i].channels; i++) {
		snprintf(full, sizeof(full), "%s.conv%u", name, i + 1);
		x = convolve(n, full, x, &units[i]);
	}
	return x;
}

static struct image mean_branch(struct net *n, struct image x, u64 channels)
{
	x = image_mean_pool(n, "branch_pool.pool", x,
			    image_square(3, 1, 1));
	return branch(n, "branch_pool", x,
		      UNITS({ channels, 1, 1, 1 }));
}

static struct image half_branch(struct net *n, struct image x)
{
	return image_max_pool(n, "branch_pool.pool", x,
			      image_square(3, 2, 0));
}

/* Filters of 5 x 5 and twice 3 x 3. */
static struct image mixed_5(struct net *n, struct image x, u64 channels)
{
	struct image b[4];

	b[0] = branch(n, "branch_1", x,
		      UNITS({ 64, 1, 1, 1 }));
	b[1] = branch(n, "branch_5", x,
		      UNITS({ 48, 1, 1, 1 }, { 64, 5, 5, 1 }));
	b[2] = branch(n, "branch_3", x,
		      UNITS({ 64, 1, 1, 1 }, { 96, 3, 3, 1 }, { 96, 3, 3, 1 }));
	b[3] = mean_branch(n, x, channels);
	return image_concat(n, "concat", b, 4);
}

/* Half as large. */
static struct image mixed_6a(struct net *n, struct image x, u64 unused)
{
	struct image b[3];

	b[0] = branch(n, "branch_3", x,
		      UNITS({ 384, 3, 3, 2 }));
	b[1] = branch(n, "branch_33", x,
		      UNITS({ 64, 1, 1, 1 }, { 96, 3, 3, 1 }, { 96, 3, 3, 2 }));
	b[2] = half_branch(n, x);
	return image_concat(n, "concat", b, 3);
}

/* Filters of 7 x 7 in two directions. */
static struct image mixed_6(struct net *n, struct image x, u64 channels)
{
	struct image b[4];

	b[0] = branch(n, "branch_1", x,
		      UNITS({ 192, 1, 1, 1 }));
	b[1] = branch(n, "branch_7", x,
		      UNITS({ channels, 1, 1, 1 }, { channels, 1, 7, 1 },
			    { 192, 7, 1, 1 }));
	b[2] = branch(n, "branch_77", x,
		      UNITS({ channels, 1, 1, 1 }, { channels, 7, 1, 1 },
			    { channels, 1, 7, 1 }, { channels, 7, 1, 1 }, { 192, 1, 7, 1 }));
	b[3] = mean_branch(n, x, 192);
	return image_concat(n, "concat", b, 4);
}

/* Half as large. */
static struct image mixed_7a(struct net *n, struct image x, u64 unused)
{
	struct image b[3];

	b[0] = branch(n, "branch_3", x,
		      UNITS({ 192, 1, 1, 1 }, { 320, 3, 3, 2 }));
	b[1] = branch(n, "branch_7", x,
		      UNITS({ 192, 1, 1, 1 }, { 192, 1, 7, 1 },
			    { 192, 7, 1, 1 }, { 192, 3, 3, 2 }));
	b[2] = half_branch(n, x);
	return image_concat(n, "concat", b, 3);
}

/* Two directions at once. */
static struct image both_ways(struct net *n, const char *name, struct image x)
{
	struct image b[2];
	char full[64];

	snprintf(full, sizeof(full), "%s.across", name);
	b[0] = convolve(n, full, x, &(struct unit){ 384, 1, 3, 1 });
	snprintf(full, sizeof(full), "%s.down", name);
	b[1] = convolve(n, full, x, &(struct unit){ 384, 3, 1, 1 });
	snprintf(full, sizeof(full), "%s.concat", name);
	return image_concat(n, full, b, 2);
}

static struct image mixed_7(struct net *n, struct image x, u64 unused)
{
	struct image b[4];

	b[0] = branch(n, "branch_1", x,
		      UNITS({ 320, 1, 1, 1 }));
	b[1] = branch(n, "branch_3", x,
		      UNITS({ 384, 1, 1, 1 }));
	b[1] = both_ways(n, "branch_3", b[1]);
	b[2] = branch(n, "branch_33", x,
		      UNITS({ 448, 1, 1, 1 }, { 384, 3, 3, 1 }));
	b[2] = both_ways(n, "branch_33", b[2]);
	b[3] = mean_branch(n, x, 192);
	return image_concat(n, "concat", b, 4);
}

static const struct {
	const char *name;
	struct image (*block)(struct net *n, struct image x, u64 channels);
	u64 channels;
} blocks[] = {
	{ "mixed_5b.", mixed_5, 32 },  { "mixed_5c.", mixed_5, 64 },
	{ "mixed_5d.", mixed_5, 64 },  { "mixed_6a.", mixed_6a, 0 },
	{ "mixed_6b.", mixed_6, 128 }, { "mixed_6c.", mixed_6, 160 },
	{ "mixed_6d.", mixed_6, 160 }, { "mixed_6e.", mixed_6, 192 },
	{ "mixed_7a.", mixed_7a, 0 },  { "mixed_7b.", mixed_7, 0 },
	{ "mixed_7c.", mixed_7, 0 },
};

#define AUXILIARY_AFTER 7

/* A second loss, half-way. */
static void second_loss(struct net *n, struct image x, value_t labels)
{
	snprintf(n->t->prefix, sizeof(n->t->prefix), "auxiliary.");
	x = image_mean_pool(n, "stem.pool", x, image_square(5, 3, 0));
	x = plain(n, x, "conv1", 128, image_square(1, 1, 0));
	x = plain(n, x, "conv2", 768, image_square(5, 1, 0));
	n->dropout = false;
	image_classify(n, "auxiliary.", x, labels);
}

static void inception(struct net *n, bool with_auxiliary)
{
	struct tape *t = n->t;
	struct image x, half;
	value_t labels;
	unsigned int i;

	x = image_load(n, &labels);
	x = plain(n, x, "stem.conv1", 32, image_square(3, 2, 0));
	x = plain(n, x, "stem.conv2", 32, image_square(3, 1, 0));
	x = plain(n, x, "stem.conv3", 64, image_square(3, 1, 1));
	x = image_max_pool(n, "stem.pool1", x, image_square(3, 2, 0));
	x = plain(n, x, "stem.conv4", 80, image_square(1, 1, 0));
	x = plain(n, x, "stem.conv5", 192, image_square(3, 1, 0));
	x = image_max_pool(n, "stem.pool2", x, image_square(3, 2, 0));
	half = x;
	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		snprintf(t->prefix, sizeof(t->prefix), "%s", blocks[i].name);
		tape_begin_segment(t);
		x = blocks[i].block(n, x, blocks[i].channels);
		tape_end_segment(t);
		if (i == AUXILIARY_AFTER)
			half = x;
	}
	if (with_auxiliary)
		second_loss(n, half, labels);
	n->dropout = true;
	image_classify(n, "", x, labels);
}

static void inception_v3(struct net *n)
{
	inception(n, false);
}

static void inception_v3_aux(struct net *n)
{
	inception(n, true);
}

static const struct ugm_family without_auxiliary = { .forward = inception_v3 };
static const struct ugm_family with_auxiliary = { .forward = inception_v3_aux };

/*
 * "Rethinking the Inception Architecture for Computer Vision" (2015), without
 * and with the auxiliary classifier.
 */
const struct ugm_model ugm_inception_models[] = {
	{ "inception-v3", &without_auxiliary, { .image = 299, .classes = 1000 }, 23834568 },
	{ "inception-v3-aux", &with_auxiliary,
	  { .image = 299, .classes = 1000 }, 27161264 },
	{}
};
