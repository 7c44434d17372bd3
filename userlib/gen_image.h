/* SPDX-License-Identifier: MIT */
#ifndef UGM_GEN_IMAGE_H
#define UGM_GEN_IMAGE_H

#include "gen_layers.h"

/**
 * struct image - a batch of images, or of maps of features
 * @v: the value
 * @channels: of each
 * @height: of each
 * @width: of each
 */
struct image {
	value_t v;
	u64 channels;
	u64 height;
	u64 width;
};

/**
 * struct window - what slides over an image
 * @height: its height
 * @width: its width
 * @stride: how far it goes
 * @pad_height: rows added above and below
 * @pad_width: columns added on both sides
 * @beyond: goes on until everything was in it
 */
struct window {
	u64 height;
	u64 width;
	u64 stride;
	u64 pad_height;
	u64 pad_width;
	bool beyond;
};

/**
 * struct conv - a convolution layer
 * @name: its name
 * @channels: of the result
 * @window: its filters
 * @groups: of channels that know nothing of the others; 0: 1
 * @bias: it has one
 */
struct conv {
	const char *name;
	u64 channels;
	struct window window;
	u64 groups;
	bool bias;
};

/* As high as wide, with @pad on every side. */
static inline struct window image_square(u64 size, u64 stride, u64 pad)
{
	return (struct window){
		.height = size, .width = size, .stride = stride,
		.pad_height = pad, .pad_width = pad,
	};
}

struct image image_load(struct net *n, value_t *labels);
struct image image_conv(struct net *n, struct image x, const struct conv *c);
struct image image_conv_norm(struct net *n, struct image x,
			     const struct conv *c, bool relu);
struct image image_max_pool(struct net *n, const char *name, struct image x,
			    struct window w);
struct image image_mean_pool(struct net *n, const char *name, struct image x,
			     struct window w);
struct image image_mean(struct net *n, const char *name, struct image x);
struct image image_concat(struct net *n, const char *name,
			  const struct image *x, u32 nr);
struct image image_residual_stages(struct net *n, struct image x,
				   struct image (*block)(struct net *n,
							 struct image x,
							 u64 stage, u64 stride));
void image_classify(struct net *n, const char *prefix, struct image x,
		    value_t labels);

/* Operators. */
value_t tape_conv(struct tape *t, const char *name, value_t x, value_t weight,
		  value_t bias, u64 elements, u64 taps);
value_t tape_batch_norm(struct tape *t, const char *name, value_t x,
			const value_t parameters[2], const value_t running[2],
			u64 channels);
void tape_relu(struct tape *t, const char *name, value_t x);
value_t tape_pool(struct tape *t, const char *name, value_t x, u64 elements,
		  u64 window, bool largest);
value_t tape_concat(struct tape *t, const char *name, const value_t *x, u32 nr);

#endif /* UGM_GEN_IMAGE_H */
