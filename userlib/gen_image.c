// SPDX-License-Identifier: MIT
#include "gen_image.h"

/* Layers on images: see gen_layers.h. */

static u64 elements(const struct net *n, struct image x)
{
	return n->batch * x.channels * x.height * x.width;
}

/* How often a window fits. */
static u64 positions(struct net *n, u64 size, u64 pad, u64 window, u64 stride,
		     bool beyond)
{
	u64 padded = size + 2 * pad, free;

	if (padded < window) {
		n->too_small = true;
		return 1;
	}
	free = padded - window;
	/* None begins beyond the image. */
	if (beyond && free % stride && free / stride * stride + stride < size + pad)
		free += stride;
	return free / stride + 1;
}

static struct image slide(struct net *n, struct image x, struct window w)
{
	x.height = positions(n, x.height, w.pad_height, w.height, w.stride,
			     w.beyond);
	x.width = positions(n, x.width, w.pad_width, w.width, w.stride,
			    w.beyond);
	return x;
}

/**
 * image_load() - the images of the batch
 * @n: model
 * @labels: set to their classes
 *
 * Context: any.
 * Return: images.
 */
struct image image_load(struct net *n, value_t *labels)
{
	struct image x = { NO_VALUE, 3, n->s.image, n->s.image };

	x.v = tape_input(n->t, "images", elements(n, x) * n->t->width);
	*labels = tape_input(n->t, "labels", n->batch * INDEX_BYTES);
	tape_load(n->t, "load_batch", (value_t[]){ x.v, *labels }, 2);
	return x;
}

/**
 * image_conv() - a convolution layer
 * @n: model
 * @x: images
 * @c: layer
 *
 * Context: any.
 * Return: the output.
 */
struct image image_conv(struct net *n, struct image x, const struct conv *c)
{
	struct image y = slide(n, x, c->window);
	u64 groups = c->groups ? c->groups : 1;
	u64 taps = x.channels / groups * c->window.height * c->window.width;
	value_t weight, bias = NO_VALUE;

	y.channels = c->channels;
	weight = tape_parameter(n->t, c->name, "weight", c->channels * taps);
	if (c->bias)
		bias = tape_parameter(n->t, c->name, "bias", c->channels);
	y.v = tape_conv(n->t, c->name, x.v, weight, bias, elements(n, y), taps);
	return y;
}

/**
 * image_conv_norm() - a convolution layer and batch normalisation
 * @n: model
 * @x: images
 * @c: layer
 * @relu: and a rectified linear unit
 *
 * Context: any.
 * Return: the output.
 */
struct image image_conv_norm(struct net *n, struct image x,
			     const struct conv *c, bool relu)
{
	value_t parameters[2], running[2];
	struct tape *t = n->t;
	char name[64];

	x = image_conv(n, x, c);
	snprintf(name, sizeof(name), "%s.norm.running_mean", c->name);
	running[0] = tape_constant(t, name, x.channels * FLOAT_BYTES);
	snprintf(name, sizeof(name), "%s.norm.running_variance", c->name);
	running[1] = tape_constant(t, name, x.channels * FLOAT_BYTES);
	snprintf(name, sizeof(name), "%s.norm", c->name);
	parameters[0] = tape_parameter(t, name, "weight", x.channels);
	parameters[1] = tape_parameter(t, name, "bias", x.channels);
	x.v = tape_batch_norm(t, name, x.v, parameters, running, x.channels);
	snprintf(name, sizeof(name), "%s.relu", c->name);
	if (relu)
		tape_relu(t, name, x.v);
	return x;
}

static struct image pool(struct net *n, const char *name, struct image x,
			 struct window w, bool largest)
{
	value_t v = x.v;

	x = slide(n, x, w);
	x.v = tape_pool(n->t, name, v, elements(n, x), w.height * w.width,
			largest);
	return x;
}

/**
 * image_max_pool() - the largest of a window
 * @n: model
 * @name: its name
 * @x: images
 * @w: window
 *
 * Context: any.
 * Return: the output.
 */
struct image image_max_pool(struct net *n, const char *name, struct image x,
			    struct window w)
{
	return pool(n, name, x, w, true);
}

/**
 * image_mean_pool() - the mean of a window
 * @n: model
 * @name: its name
 * @x: images
 * @w: window
 *
 * Context: any.
 * Return: the output.
 */
struct image image_mean_pool(struct net *n, const char *name, struct image x,
			     struct window w)
{
	return pool(n, name, x, w, false);
}

/**
 * image_mean() - the mean of each channel
 * @n: model
 * @name: its name
 * @x: images
 *
 * Context: any.
 * Return: the output.
 */
struct image image_mean(struct net *n, const char *name, struct image x)
{
	return image_mean_pool(n, name, x, (struct window){
		.height = x.height, .width = x.width, .stride = 1,
	});
}

/**
 * image_concat() - channels of several images, one after the other
 * @n: model
 * @name: its name
 * @x: images
 * @nr: how many, at most 4
 *
 * Context: any.
 * Return: the output.
 */
struct image image_concat(struct net *n, const char *name,
			  const struct image *x, u32 nr)
{
	struct image y = x[0];
	value_t v[4];
	u32 i;

	y.channels = 0;
	for (i = 0; i < nr; i++) {
		y.channels += x[i].channels;
		v[i] = x[i].v;
	}
	y.v = tape_concat(n->t, name, v, nr);
	return y;
}

/**
 * image_residual_stages() - the blocks of a residual network
 * @n: model
 * @x: images
 * @block: a block; its stride is 2 where a later stage begins
 *
 * Context: any.
 * Return: the output of the last.
 */
struct image image_residual_stages(struct net *n, struct image x,
				   struct image (*block)(struct net *n,
							 struct image x,
							 u64 stage, u64 stride))
{
	struct tape *t = n->t;
	u64 i, k;

	for (i = 0; i < ARRAY_SIZE(n->s.blocks); i++) {
		for (k = 0; k < n->s.blocks[i]; k++) {
			snprintf(t->prefix, sizeof(t->prefix),
				 "stage%llu.block%llu.",
				 (unsigned long long)i + 1,
				 (unsigned long long)k);
			tape_begin_segment(t);
			x = block(n, x, i, i && !k ? 2 : 1);
			tape_end_segment(t);
		}
	}
	t->prefix[0] = '\0';
	return x;
}

/**
 * image_classify() - the mean of each channel, a linear layer and the loss
 * @n: model
 * @prefix: of names
 * @x: images
 * @labels: the right classes
 *
 * Context: any.
 */
void image_classify(struct net *n, const char *prefix, struct image x,
		    value_t labels)
{
	value_t v;

	snprintf(n->t->prefix, sizeof(n->t->prefix), "%s", prefix);
	v = image_mean(n, "pool", x).v;
	v = net_dropout(n, "dropout", v);
	v = net_linear(n, v, &(struct linear){
		.name = "classifier", .rows = n->batch,
		.in = x.channels, .out = n->s.classes,
	});
	tape_cross_entropy(n->t, "loss", v, labels, n->batch);
	n->t->prefix[0] = '\0';
}
