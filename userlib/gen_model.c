// SPDX-License-Identifier: MIT
#include <stddef.h>

#include "gen_layers.h"

static const struct ugm_model *const tables[] = {
	ugm_bert_models,
	ugm_gpt_models,
	ugm_llama_models,
	ugm_vit_models,
	ugm_inception_models,
	ugm_resnet_models,
	ugm_senet_models,
};

/**
 * ugm_model_at() - the models there are
 * @i: which
 *
 * Context: any.
 * Return: the model, or NULL: these are all.
 */
const struct ugm_model *ugm_model_at(unsigned int i)
{
	const struct ugm_model *m;
	unsigned int k;

	for (k = 0; k < ARRAY_SIZE(tables); k++)
		for (m = tables[k]; m->name; m++)
			if (!i--)
				return m;
	return NULL;
}

/**
 * ugm_model_find() - a model by its name
 * @name: its name
 * @err: why not, with those that are there
 *
 * Context: any.
 * Return: the model, or NULL.
 */
const struct ugm_model *ugm_model_find(const char *name, struct ugm_error *err)
{
	const struct ugm_model *m;
	char list[512] = "";
	unsigned int i;
	size_t n = 0;

	for (i = 0; (m = ugm_model_at(i)); i++) {
		if (!strcmp(name, m->name))
			return m;
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s",
				      i ? ", " : "", m->name);
	}
	ugm_fail(err, -EINVAL, "model '%s' is not one of: %s", name, list);
	return NULL;
}

/* Numbers of a model that can be given instead of the published ones. */
static const struct {
	const char *name;
	size_t offset;
	u64 max;
} numbers[] = {
	{ "seq", offsetof(struct ugm_shape, seq), 1 << 16 },
	{ "layers", offsetof(struct ugm_shape, layers), 1 << 12 },
	{ "hidden", offsetof(struct ugm_shape, hidden), 1 << 16 },
	{ "heads", offsetof(struct ugm_shape, heads), 1 << 10 },
	{ "kv-heads", offsetof(struct ugm_shape, kv_heads), 1 << 10 },
	{ "inner", offsetof(struct ugm_shape, inner), 1 << 18 },
	{ "vocabulary", offsetof(struct ugm_shape, vocabulary), 1 << 22 },
	{ "image", offsetof(struct ugm_shape, image), 1 << 12 },
};

#define MAX_BATCH (1 << 16)
/* One layer of a token is about twenty kernels. */
#define MAX_DECODED_LAYERS (1 << 16)

static u64 *number(struct ugm_shape *s, unsigned int i)
{
	return (u64 *)((char *)s + numbers[i].offset);
}

static int check_number(const char *name, u64 value, u64 max,
			struct ugm_error *err)
{
	if (value && value <= max)
		return 0;
	return ugm_fail(err, -ERANGE, "%s %llu: allowed are 1 to %llu", name,
			(unsigned long long)value, (unsigned long long)max);
}

static int check_multiple(const char *of, u64 value, const char *by, u64 unit,
			  struct ugm_error *err)
{
	if (!unit || value % unit == 0)
		return 0;
	return ugm_fail(err, -EINVAL, "%s %llu is not a multiple of %s %llu",
			of, (unsigned long long)value, by,
			(unsigned long long)unit);
}

/* The model's numbers, and those that were given instead. */
static int resolve_shape(const struct ugm_gen_options *o, struct ugm_shape *s,
			 struct ugm_error *err)
{
	struct ugm_shape given = o->shape;
	unsigned int i;
	int ret;

	*s = o->model->shape;
	ret = check_number("batch", o->batch, MAX_BATCH, err);
	for (i = 0; !ret && i < ARRAY_SIZE(numbers); i++) {
		if (!*number(&given, i))
			continue;
		if (!*number(s, i))
			return ugm_fail(err, -EINVAL, "%s %llu: %s has none",
					numbers[i].name,
					(unsigned long long)*number(&given, i),
					o->model->name);
		*number(s, i) = *number(&given, i);
		ret = check_number(numbers[i].name, *number(s, i),
				   numbers[i].max, err);
	}
	if (!ret)
		ret = check_multiple("hidden", s->hidden, "heads", s->heads,
				     err);
	if (!ret)
		ret = check_multiple("heads", s->heads, "kv-heads", s->kv_heads,
				     err);
	if (!ret)
		ret = check_multiple("image", s->image, "patch", s->patch, err);
	if (s->positions && s->positions < s->seq)
		s->positions = s->seq;
	return ret;
}

/* What is for training only. */
static int check_inference(const struct ugm_gen_options *o,
			   const struct ugm_shape *s, struct ugm_error *err)
{
	const char *mode = o->mode == UGM_MODE_DECODE ? "decode" : "prefill";
	int ret;

	if (!o->model->family->decoder)
		return ugm_fail(err, -EINVAL,
				"mode %s: %s is not a decoder; allowed is train",
				mode, o->model->name);
	if (o->optimizer || o->lora || o->recompute)
		return ugm_fail(err, -EINVAL, "%s: in mode train only, not %s",
				o->optimizer ? "optimizer" :
				o->lora	     ? "lora" :
					       "recompute",
				mode);
	if (o->mode != UGM_MODE_DECODE || !o->tokens)
		return 0;
	ret = check_number("tokens", o->tokens, s->seq, err);
	if (!ret && o->tokens * s->layers > MAX_DECODED_LAYERS)
		ret = ugm_fail(err, -ERANGE,
			       "tokens %llu: allowed are 1 to %u with %llu layers",
			       (unsigned long long)o->tokens,
			       (unsigned int)(MAX_DECODED_LAYERS / s->layers),
			       (unsigned long long)s->layers);
	return ret;
}

static int check(const struct ugm_gen_options *o, const struct ugm_shape *s,
		 struct ugm_error *err)
{
	const char *name = o->model->name;

	if (o->tokens && o->mode != UGM_MODE_DECODE)
		return ugm_fail(err, -EINVAL,
				"tokens %llu: in mode decode only",
				(unsigned long long)o->tokens);
	if (o->attention && !o->model->family->attention)
		return ugm_fail(err, -EINVAL, "attention: %s has none", name);
	if (o->lora && !o->model->family->attention)
		return ugm_fail(err, -EINVAL,
				"lora %llu: %s has no attention to adapt",
				(unsigned long long)o->lora, name);
	if (o->efficiency > 100)
		return ugm_fail(err, -ERANGE,
				"efficiency %llu: allowed are 1 to 100 percent",
				(unsigned long long)o->efficiency);
	if (o->lora > s->hidden)
		return ugm_fail(err, -ERANGE, "lora %llu: allowed are 1 to %llu",
				(unsigned long long)o->lora,
				(unsigned long long)s->hidden);
	return o->mode == UGM_MODE_TRAIN ? 0 : check_inference(o, s, err);
}

/* First line of the trace: how to make it again. */
static void describe(const struct net *n, const struct ugm_gen_summary *summary,
		     char *text, size_t size)
{
	static const char *const modes[] = { "train", "prefill", "decode" };
	const struct ugm_gen_options *o = n->o;
	struct ugm_shape s = n->s;
	unsigned int i;
	int len;

	len = snprintf(text, size,
		       "ugm gen %s: parameters=%llu head_parameters=%llu batch=%llu",
		       o->model->name, (unsigned long long)summary->parameters,
		       (unsigned long long)summary->head_parameters,
		       (unsigned long long)o->batch);
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (*number(&s, i))
			len += snprintf(text + len, size - (size_t)len,
					" %s=%llu", numbers[i].name,
					(unsigned long long)*number(&s, i));
	if (o->mode == UGM_MODE_TRAIN)
		len += snprintf(text + len, size - (size_t)len, " optimizer=%s",
				o->optimizer == UGM_OPTIMIZER_ADAM ? "adam" :
								     "sgd");
	else
		len += snprintf(text + len, size - (size_t)len,
				" mode=%s tokens=%llu", modes[o->mode],
				(unsigned long long)o->tokens);
	if (o->lora)
		len += snprintf(text + len, size - (size_t)len,
				" lora=%llu trained_parameters=%llu",
				(unsigned long long)o->lora,
				(unsigned long long)summary->trained_parameters);
	if (o->attention == UGM_ATTENTION_FUSED)
		len += snprintf(text + len, size - (size_t)len,
				" attention=fused");
	if (o->efficiency != 100)
		len += snprintf(text + len, size - (size_t)len,
				" efficiency=%llu",
				(unsigned long long)o->efficiency);
	snprintf(text + len, size - (size_t)len,
		 "%s type=%s gpu=%s (roofline)",
		 o->recompute ? " recompute" : "",
		 o->type == UGM_TYPE_HALF ? "half" : "fp32", o->gpu->name);
}

static int generate(struct net *n, const char *path,
		    struct ugm_gen_summary *summary, struct ugm_error *err)
{
	struct tape *t = n->t;
	char comment[512];

	n->o->model->family->forward(n);
	if (n->too_small)
		return ugm_fail(err, -ERANGE, "image %llu: too small for %s",
				(unsigned long long)n->s.image,
				n->o->model->name);
	if (n->o->mode == UGM_MODE_TRAIN) {
		tape_backward(t);
		tape_update(t);
	}
	if (t->no_memory)
		return ugm_fail(err, -ENOMEM, "no memory");
	tape_count(t, summary);
	summary->kernels = t->w.nr_kernels;
	summary->tensors = t->w.nr_tensors;
	summary->ideal_ns = t->w.ideal_ns;
	summary->bytes = t->w.bytes;
	describe(n, summary, comment, sizeof(comment));
	return ugm_trace_writer_save(&t->w, comment, path, err);
}

/**
 * ugm_gen() - write the trace of one iteration of a model
 * @o: of what; a sequence longer than the published position embedding makes
 *     that as long as the sequence
 * @path: file, or "-" for the standard output
 * @summary: filled
 * @err: why not
 *
 * The same options give the same bytes.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL or -ERANGE: there is no such thing; or another negative
 * errno.
 */
int ugm_gen(const struct ugm_gen_options *o, const char *path,
	    struct ugm_gen_summary *summary, struct ugm_error *err)
{
	struct ugm_gen_options options = *o;
	struct tape tape;
	struct net n = { .t = &tape, .o = &options, .batch = o->batch };
	int ret;

	ret = resolve_shape(o, &n.s, err);
	if (!ret)
		ret = check(o, &n.s, err);
	if (ret)
		return ret;
	if (!o->efficiency)
		options.efficiency = 100;
	if (!options.attention)
		options.attention = o->model->family->attention;
	if (o->mode == UGM_MODE_TRAIN && !o->optimizer)
		options.optimizer = UGM_OPTIMIZER_ADAM;
	if (o->mode != UGM_MODE_TRAIN && !o->tokens)
		options.tokens = 1;
	n.tokens = o->mode == UGM_MODE_DECODE ? 1 : n.s.seq;
	n.rows = n.batch * n.tokens;
	ret = tape_open(&tape, &options);
	if (ret)
		ugm_fail(err, ret, "no memory");
	else
		ret = generate(&n, path, summary, err);
	tape_close(&tape);
	return ret;
}
