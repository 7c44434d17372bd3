// SPDX-License-Identifier: MIT
#include "gen_ops.h"

/*
 * Shapes and sizes as published with the models: "BERT: Pre-training of Deep
 * Bidirectional Transformers for Language Understanding" (2018; encoder and
 * pooler), "Language Models are Unsupervised Multitask Learners" (2019).
 */
const struct ugm_transformer ugm_transformers[] = {
	{ "bert-base", UGM_TRANSFORMER_BERT, 12, 768, 12, 3072, 30522, 512,
	  128, 109482240 },
	{ "bert-large", UGM_TRANSFORMER_BERT, 24, 1024, 16, 4096, 30522, 512,
	  128, 335141888 },
	{ "gpt2", UGM_TRANSFORMER_GPT, 12, 768, 12, 3072, 50257, 1024, 1024,
	  124439808 },
	{ "gpt2-medium", UGM_TRANSFORMER_GPT, 24, 1024, 16, 4096, 50257, 1024,
	  1024, 354823168 },
	{ "gpt2-large", UGM_TRANSFORMER_GPT, 36, 1280, 20, 5120, 50257, 1024,
	  1024, 774030080 },
	{ "gpt2-xl", UGM_TRANSFORMER_GPT, 48, 1600, 25, 6400, 50257, 1024,
	  1024, 1557611200 },
};

const unsigned int ugm_nr_transformers = ARRAY_SIZE(ugm_transformers);

/* Classes of the task that an encoder is trained for here. */
#define CLASSES 2
/* Sentences that a token may belong to. */
#define TOKEN_TYPES 2

/**
 * ugm_transformer_find() - a model by its name
 * @name: its name
 * @err: why not, with those that are there
 *
 * Context: any.
 * Return: the model, or NULL.
 */
const struct ugm_transformer *ugm_transformer_find(const char *name,
						   struct ugm_error *err)
{
	char list[256] = "";
	unsigned int i;
	size_t n = 0;

	for (i = 0; i < ugm_nr_transformers; i++) {
		if (!strcmp(name, ugm_transformers[i].name))
			return &ugm_transformers[i];
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s",
				      i ? ", " : "", ugm_transformers[i].name);
	}
	ugm_fail(err, -EINVAL, "model '%s' is not one of: %s", name, list);
	return NULL;
}

/**
 * struct build - a transformer being generated
 * @t: the iteration
 * @s: its shape
 * @batch: sequences
 * @rows: tokens of the batch
 * @mask: which tokens must not be seen
 */
struct build {
	struct tape *t;
	const struct ugm_transformer *s;
	u64 batch;
	u64 rows;
	value_t mask;
};

/* Names of an operator's parameters: "query.weight". */
static value_t parameter(struct build *b, const char *name, const char *what,
			 u64 elements)
{
	char full[64];

	snprintf(full, sizeof(full), "%s.%s", name, what);
	return tape_parameter(b->t, full, elements);
}

static value_t linear(struct build *b, const char *name, value_t x, u64 rows,
		      u64 in, u64 out)
{
	value_t weight = parameter(b, name, "weight", in * out);
	value_t bias = parameter(b, name, "bias", out);

	return tape_linear(b->t, name, x, weight, bias, rows, in, out);
}

static value_t layer_norm(struct build *b, const char *name, value_t x)
{
	value_t weight = parameter(b, name, "weight", b->s->hidden);
	value_t bias = parameter(b, name, "bias", b->s->hidden);

	return tape_layer_norm(b->t, name, x, weight, bias, b->rows);
}

static value_t embedding(struct build *b, const char *name, value_t ids,
			 u64 nr_ids, u64 table_rows, value_t *table)
{
	value_t weight = parameter(b, name, "weight", table_rows * b->s->hidden);

	if (table)
		*table = weight;
	return tape_embedding(b->t, name, ids, weight, nr_ids, b->s->hidden);
}

/* From queries, keys and values to the output projection. */
static value_t attend(struct build *b, const value_t qkv[3])
{
	const struct ugm_transformer *s = b->s;
	u64 matrices = b->batch * s->heads, width = s->hidden / s->heads;
	struct tape *t = b->t;
	value_t x;

	x = tape_matmul(t, "attention.scores", qkv[0], qkv[1], matrices, s->seq,
			width, s->seq);
	x = tape_scale_mask(t, "attention.scale_mask", x, b->mask);
	x = tape_softmax(t, "attention.softmax", x);
	x = tape_dropout(t, "attention.dropout", x);
	x = tape_matmul(t, "attention.context", x, qkv[2], matrices, s->seq,
			s->seq, width);
	x = tape_permute(t, "attention.merge_heads", x);
	x = linear(b, "attention.output", x, b->rows, s->hidden, s->hidden);
	return tape_dropout(t, "attention.output_dropout", x);
}

static value_t feed_forward(struct build *b, value_t x)
{
	const struct ugm_transformer *s = b->s;

	x = linear(b, "mlp.up", x, b->rows, s->hidden, s->inner);
	x = tape_gelu(b->t, "mlp.gelu", x);
	x = linear(b, "mlp.down", x, b->rows, s->inner, s->hidden);
	return tape_dropout(b->t, "mlp.dropout", x);
}

static value_t encoder_layer(struct build *b, value_t x)
{
	static const char *const names[] = { "attention.query",
					     "attention.key",
					     "attention.value" };
	u64 hidden = b->s->hidden;
	value_t qkv[3], y;
	unsigned int i;

	for (i = 0; i < 3; i++)
		qkv[i] = linear(b, names[i], x, b->rows, hidden, hidden);
	y = attend(b, qkv);
	y = tape_add(b->t, "attention.residual", y, x);
	x = layer_norm(b, "attention.norm", y);
	y = feed_forward(b, x);
	y = tape_add(b->t, "mlp.residual", y, x);
	return layer_norm(b, "mlp.norm", y);
}

static value_t decoder_layer(struct build *b, value_t x)
{
	u64 hidden = b->s->hidden;
	value_t qkv[3], y;

	y = layer_norm(b, "attention.norm", x);
	y = linear(b, "attention.query_key_value", y, b->rows, hidden,
		   3 * hidden);
	tape_split(b->t, "attention.split_heads", y, qkv);
	y = attend(b, qkv);
	x = tape_add(b->t, "attention.residual", x, y);
	y = layer_norm(b, "mlp.norm", x);
	y = feed_forward(b, y);
	return tape_add(b->t, "mlp.residual", x, y);
}

static value_t layers(struct build *b, value_t x,
		      value_t (*layer)(struct build *b, value_t x))
{
	struct tape *t = b->t;
	u64 i;

	for (i = 0; i < b->s->layers && !t->no_memory; i++) {
		snprintf(t->prefix, sizeof(t->prefix), "layer%llu.",
			 (unsigned long long)i);
		x = layer(b, x);
	}
	t->prefix[0] = '\0';
	return x;
}

/* An encoder with its pooler, trained to classify sequences. */
static value_t bert(struct build *b, u64 *head)
{
	const struct ugm_transformer *s = b->s;
	struct tape *t = b->t;
	value_t ids[3], labels, positions, x, y;
	u64 model;

	ids[0] = tape_input(t, "token_ids", b->rows * INDEX_BYTES);
	ids[1] = tape_input(t, "token_types", b->rows * INDEX_BYTES);
	labels = tape_input(t, "labels", b->batch * INDEX_BYTES);
	b->mask = tape_input(t, "attention_mask", b->rows * FLOAT_BYTES);
	positions = tape_constant(t, "position_ids", s->seq * INDEX_BYTES);
	tape_load(t, "load_tokens", ids, 2);
	tape_load(t, "load_labels", (value_t[]){ labels, b->mask }, 2);

	x = embedding(b, "embedding.token", ids[0], b->rows, s->vocabulary,
		      NULL);
	y = embedding(b, "embedding.type", ids[1], b->rows, TOKEN_TYPES, NULL);
	x = tape_add(t, "embedding.add_type", x, y);
	y = embedding(b, "embedding.position", positions, s->seq, s->positions,
		      NULL);
	x = tape_add(t, "embedding.add_position", x, y);
	x = layer_norm(b, "embedding.norm", x);
	x = tape_dropout(t, "embedding.dropout", x);
	x = layers(b, x, encoder_layer);
	x = tape_first_token(t, "pooler.first_token", x, s->seq);
	x = linear(b, "pooler.dense", x, b->batch, s->hidden, s->hidden);
	x = tape_tanh(t, "pooler.tanh", x);
	model = tape_parameters(t);
	x = tape_dropout(t, "classifier.dropout", x);
	x = linear(b, "classifier", x, b->batch, s->hidden, CLASSES);
	*head = tape_parameters(t) - model;
	return tape_cross_entropy(t, "loss", x, labels, b->batch);
}

/* A decoder, trained to predict the next token. */
static value_t gpt(struct build *b, u64 *head)
{
	const struct ugm_transformer *s = b->s;
	struct tape *t = b->t;
	value_t ids, labels, positions, table, x, y;

	ids = tape_input(t, "token_ids", b->rows * INDEX_BYTES);
	labels = tape_input(t, "labels", b->rows * INDEX_BYTES);
	positions = tape_constant(t, "position_ids", s->seq * INDEX_BYTES);
	b->mask = tape_constant(t, "causal_mask", s->seq * s->seq);
	tape_load(t, "load_batch", (value_t[]){ ids, labels }, 2);

	x = embedding(b, "embedding.token", ids, b->rows, s->vocabulary,
		      &table);
	y = embedding(b, "embedding.position", positions, s->seq, s->positions,
		      NULL);
	x = tape_add(t, "embedding.add_position", x, y);
	x = tape_dropout(t, "embedding.dropout", x);
	x = layers(b, x, decoder_layer);
	x = layer_norm(b, "norm", x);
	x = tape_linear(t, "logits", x, table, NO_VALUE, b->rows, s->hidden,
			s->vocabulary);
	*head = 0; /* tied to the token embedding */
	return tape_cross_entropy(t, "loss", x, labels, b->rows);
}

static int check(const struct ugm_gen_options *o, struct ugm_error *err)
{
	const struct ugm_transformer *s = &o->shape;
	const struct {
		const char *name;
		u64 value, max;
	} limits[] = {
		{ "batch", o->batch, 1 << 16 },
		{ "seq", s->seq, 1 << 16 },
		{ "layers", s->layers, 1 << 10 },
		{ "hidden", s->hidden, 1 << 16 },
		{ "heads", s->heads, 1 << 10 },
		{ "inner", s->inner, 1 << 18 },
		{ "vocabulary", s->vocabulary, 1 << 22 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(limits); i++)
		if (!limits[i].value || limits[i].value > limits[i].max)
			return ugm_fail(err, -ERANGE,
					"%s %llu: allowed are 1 to %llu",
					limits[i].name,
					(unsigned long long)limits[i].value,
					(unsigned long long)limits[i].max);
	if (s->hidden % s->heads)
		return ugm_fail(err, -EINVAL,
				"hidden %llu is not a multiple of heads %llu",
				(unsigned long long)s->hidden,
				(unsigned long long)s->heads);
	return 0;
}

static int save(struct tape *t, const struct ugm_gen_options *o,
		const char *path, struct ugm_gen_summary *summary,
		struct ugm_error *err)
{
	const struct ugm_transformer *s = &o->shape;
	char comment[512];

	*summary = (struct ugm_gen_summary){
		.parameters = tape_parameters(t) - summary->head_parameters,
		.head_parameters = summary->head_parameters,
		.kernels = t->w.nr_kernels,
		.tensors = t->w.nr_tensors,
		.ideal_ns = t->w.ideal_ns,
		.bytes = t->w.bytes,
	};
	snprintf(comment, sizeof(comment),
		 "ugm gen %s: parameters=%llu head_parameters=%llu batch=%llu seq=%llu layers=%llu hidden=%llu heads=%llu inner=%llu vocabulary=%llu optimizer=%s type=fp32 gpu=%s (roofline)",
		 s->name, (unsigned long long)summary->parameters,
		 (unsigned long long)summary->head_parameters,
		 (unsigned long long)o->batch, (unsigned long long)s->seq,
		 (unsigned long long)s->layers, (unsigned long long)s->hidden,
		 (unsigned long long)s->heads, (unsigned long long)s->inner,
		 (unsigned long long)s->vocabulary,
		 o->optimizer == UGM_OPTIMIZER_ADAM ? "adam" : "sgd",
		 o->gpu->name);
	return ugm_trace_writer_save(&t->w, comment, path, err);
}

/**
 * ugm_gen_transformer() - write the trace of one training iteration
 * @o: of what; a sequence longer than the published position embedding makes
 *     that as long as the sequence
 * @path: file, or "-" for the standard output
 * @summary: filled
 * @err: why not
 *
 * The same options give the same bytes.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL or -ERANGE: no such shape; or another negative errno.
 */
int ugm_gen_transformer(const struct ugm_gen_options *o, const char *path,
			struct ugm_gen_summary *summary, struct ugm_error *err)
{
	struct ugm_transformer shape = o->shape;
	struct build b = { .s = &shape, .batch = o->batch };
	struct tape tape;
	value_t loss;
	int ret;

	ret = check(o, err);
	if (ret)
		return ret;
	if (shape.positions < shape.seq)
		shape.positions = shape.seq;
	b.rows = o->batch * shape.seq;
	b.t = &tape;
	ret = tape_open(&tape, o->gpu);
	if (!ret) {
		loss = shape.kind == UGM_TRANSFORMER_BERT ?
			       bert(&b, &summary->head_parameters) :
			       gpt(&b, &summary->head_parameters);
		tape_backward(&tape, loss);
		tape_update(&tape, o->optimizer);
	}
	if (ret || tape.no_memory)
		ret = ugm_fail(err, -ENOMEM, "no memory");
	else
		ret = save(&tape, o, path, summary, err);
	tape_close(&tape);
	return ret;
}
