// SPDX-License-Identifier: GPL-2.0
/* Generated traces: published sizes, a valid file, the same one every time. */
#include "unit.h"

#include "engine.h"
#include "gen.h"
#include "trace.h"

#define PATH "/tmp/ugm-unit-gen.trace"

static struct ugm_gen_options options(const char *model, u64 batch, u64 seq)
{
	struct ugm_gen_options o = { .batch = batch, .shape.seq = seq };
	struct ugm_error err;

	o.model = ugm_model_find(model, &err);
	assert_non_null(o.model);
	o.gpu = ugm_gpu_find("a100-40gb", &err);
	return o;
}

static struct ugm_gen_summary generate(const struct ugm_gen_options *o)
{
	struct ugm_gen_summary summary;
	struct ugm_error err;

	if (ugm_gen(o, PATH, &summary, &err))
		fail_msg("%s: %s", o->model->name, err.text);
	return summary;
}

static struct ugm_trace *read_back(void)
{
	struct ugm_trace *t;
	struct ugm_error err;

	if (ugm_trace_read(PATH, &t, &err))
		fail_msg("%s", err.text);
	unlink(PATH);
	return t;
}

/*
 * As published: to the last parameter where that is so, else in the digits that
 * papers give, which they round generously.
 */
static const struct {
	const char *model;
	u64 parameters;
	u64 tolerance;
} published[] = {
	{ "bert-base", 109482240, 0 },
	{ "bert-large", 335141888, 0 },
	{ "gpt2", 124439808, 0 },
	{ "gpt2-medium", 354823168, 0 },
	{ "gpt2-large", 774030080, 0 },
	{ "gpt2-xl", 1557611200, 0 },
	{ "gpt3-125m", 125000000, 1000000 },
	{ "gpt3-350m", 350000000, 6000000 },
	{ "gpt3-760m", 760000000, 1000000 },
	{ "gpt3-1.3b", 1300000000, 20000000 },
	{ "gpt3-2.7b", 2700000000, 50000000 },
	{ "gpt3-6.7b", 6700000000, 50000000 },
	{ "gpt3-13b", 13000000000, 150000000 },
	{ "gpt3-175b", 175000000000, 500000000 },
	{ "llama2-7b", 6738415616, 0 },
	{ "llama2-13b", 13015864320, 0 },
	{ "llama2-70b", 68976648192, 0 },
	{ "llama3-8b", 8030261248, 0 },
	{ "llama3-70b", 70553706496, 0 },
	{ "llama3-405b", 405853388800, 0 },
	{ "vit-base", 86567656, 0 },
	{ "vit-base-32", 88224232, 0 },
	{ "vit-large", 304326632, 0 },
	{ "vit-small-32", 22878952, 0 },
	{ "inception-v3", 23834568, 0 },
	{ "inception-v3-aux", 27161264, 0 },
	{ "resnet-50", 25557032, 0 },
	{ "resnet-101", 44549160, 0 },
	{ "resnet-152", 60192808, 0 },
	{ "senet-154", 115088984, 0 },
};

static void published_parameters(void **unused)
{
	char comment[1024], want[64];
	struct ugm_gen_summary s;
	const struct ugm_model *m;
	struct ugm_error err;
	unsigned int i;
	FILE *f;

	for (i = 0; i < ARRAY_SIZE(published); i++) {
		m = ugm_model_find(published[i].model, &err);
		assert_non_null(m);
		assert_in_range(m->parameters,
				published[i].parameters - published[i].tolerance,
				published[i].parameters + published[i].tolerance);
	}
	for (i = 0; (m = ugm_model_at(i)); i++) {
		struct ugm_gen_options o = options(m->name, 1, m->shape.seq ? 32 : 0);

		s = generate(&o);
		if (s.parameters != m->parameters)
			fail_msg("%s has %llu parameters", m->name,
				 (unsigned long long)s.parameters);
		assert_int_equal(s.trained_parameters,
				 s.parameters + s.head_parameters);
		snprintf(want, sizeof(want), " parameters=%llu ",
			 (unsigned long long)m->parameters);
		f = fopen(PATH, "r");
		/* The first line tells the version of the format. */
		assert_non_null(fgets(comment, sizeof(comment), f));
		assert_string_equal(comment, "# ugm-trace 1\n");
		assert_non_null(fgets(comment, sizeof(comment), f));
		fclose(f);
		assert_non_null(strstr(comment, want));
	}
	unlink(PATH);
}

/*
 * Products and sums of one image or of one token's layers forward, in 1e9, as
 * published with the models: the shapes between the parameters are right too.
 */
static void published_arithmetic(void **unused)
{
	static const struct {
		const char *model;
		double giga;
	} known[] = {
		{ "resnet-50", 3.8 },	 { "resnet-101", 7.6 },
		{ "resnet-152", 11.3 },	 { "inception-v3", 5.71 },
		{ "senet-154", 20.7 },	 { "vit-base", 17.56 },
		{ "vit-large", 61.55 },
	};
	/* Matrix products take a ns each; all else takes no time. */
	static const struct ugm_gpu gpu = { "test", 1ULL << 62, 1000000000, 1ULL << 62 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		struct ugm_gen_options o = options(known[i].model, 1, 0);
		double giga = 0;
		struct ugm_trace *t;
		u32 k;

		o.type = UGM_TYPE_HALF;
		o.gpu = &gpu;
		generate(&o);
		t = read_back();
		for (k = 0; k < t->nr_kernels; k++)
			if (strstr(t->kernels[k].name, ":forward"))
				giga += (double)(t->kernels[k].duration_ns - 5001) / 2e9;
		if (giga < known[i].giga * 0.98 || giga > known[i].giga * 1.02)
			fail_msg("%s: %f", known[i].model, giga);
		ugm_trace_free(t);
	}
}

/* A matrix of adapters is trained for each projection that has one. */
static void adapters(void **unused)
{
	struct ugm_gen_options o = options("llama3-8b", 1, 32);

	o.lora = 16;
	/* 32 layers, query 4096 to 4096 and value 4096 to 1024 */
	assert_int_equal(generate(&o).trained_parameters,
			 32 * 16 * (4096 + 4096 + 4096 + 1024));
	o = options("gpt2", 1, 32);
	o.lora = 4;
	/* 12 layers, one matrix 768 to 2304 */
	assert_int_equal(generate(&o).trained_parameters, 12 * 4 * (768 + 2304));
	o = options("bert-base", 1, 32);
	o.lora = 4;
	/* and the classifier */
	assert_int_equal(generate(&o).trained_parameters,
			 12 * 2 * 4 * (768 + 768) + 2 * 768 + 2);
	o = options("vit-small-32", 1, 0);
	o.lora = 4;
	assert_int_equal(generate(&o).trained_parameters,
			 12 * 4 * (384 + 3 * 384) + 1000 * 384 + 1000);
	unlink(PATH);
}

/* Every tensor is written before it is read, and the reader accepts it. */
static struct ugm_trace *valid_trace(const struct ugm_gen_options *o)
{
	struct ugm_gen_summary summary = generate(o);
	struct ugm_trace *t = read_back();
	bool *written, *read;
	u32 k, u, i;

	assert_int_equal(t->nr_kernels, summary.kernels);
	assert_int_equal(t->ideal_ns, summary.ideal_ns);
	written = calloc(t->nr_tensors, sizeof(*written));
	read = calloc(t->nr_tensors, sizeof(*read));
	for (k = 0; k < t->nr_kernels; k++) {
		const struct ugm_use *use = ugm_kernel_uses(t, k);

		assert_true(t->kernels[k].duration_ns > 0);
		assert_true(t->kernels[k].nr_uses > 0);
		for (u = 0; u < t->kernels[k].nr_uses; u++) {
			const struct ugm_tensor *x = &t->tensors[use[u].tensor];

			if (use[u].mode & UGM_OPERAND_READ && !x->global &&
			    !written[use[u].tensor])
				fail_msg("%s reads %s, which nothing wrote",
					 t->kernels[k].name, x->name);
			written[use[u].tensor] |= use[u].mode & UGM_OPERAND_WRITE;
			read[use[u].tensor] |= use[u].mode & UGM_OPERAND_READ;
		}
	}
	for (i = 0; i < t->nr_tensors; i++) {
		const char *name = t->tensors[i].name;
		size_t len = strlen(name);

		if (!t->tensors[i].global && !written[i])
			fail_msg("nothing writes %s", name);
		/* A gradient that is not used should not have been made. */
		if (len > 5 && !strcmp(name + len - 5, ".grad") && !read[i])
			fail_msg("nothing reads %s", name);
	}
	free(written);
	free(read);
	return t;
}

static u64 global_bytes(const struct ugm_trace *t)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < t->nr_tensors; i++)
		if (t->tensors[i].global)
			bytes += t->tensors[i].bytes;
	return bytes;
}

/* Of the parameters @by bytes each are kept across iterations. */
static void keeps(const struct ugm_gen_options *o, u64 by)
{
	struct ugm_trace *t = valid_trace(o);
	u64 bytes = o->model->parameters * by;

	assert_in_range(global_bytes(t), bytes, bytes * 101 / 100 + (16 << 20));
	ugm_trace_free(t);
}

static void training(void **unused)
{
	static const char *const models[] = { "bert-base", "gpt2", "llama2-7b",
					      "vit-small-32" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(models); i++) {
		struct ugm_gen_options o = options(models[i], 4, 0);

		/* weights and two moments; weights */
		keeps(&o, 12);
		o.optimizer = UGM_OPTIMIZER_SGD;
		keeps(&o, 4);
		o.attention = UGM_ATTENTION_FUSED;
		keeps(&o, 4);
		/* and what the optimizer has in single precision */
		o.type = UGM_TYPE_HALF;
		keeps(&o, 6);
		o.optimizer = UGM_OPTIMIZER_ADAM;
		keeps(&o, 14);
		/* all but nothing is trained */
		o.lora = 2;
		keeps(&o, 2);
		o.recompute = true;
		keeps(&o, 2);
	}
}

static void training_of_images(void **unused)
{
	static const char *const models[] = { "inception-v3-aux", "resnet-50",
					      "senet-154" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(models); i++) {
		struct ugm_gen_options o = options(models[i], 2, 0);

		keeps(&o, 12);
		o.optimizer = UGM_OPTIMIZER_SGD;
		o.type = UGM_TYPE_HALF;
		keeps(&o, 6);
		o.recompute = true;
		keeps(&o, 6);
	}
}

/* What is changed in place is not there twice. */
static void in_place(void **unused)
{
	struct ugm_gen_options o = options("resnet-50", 1, 0);
	struct ugm_trace *t = valid_trace(&o);
	u32 k, changed = 0;

	for (k = 0; k < t->nr_kernels; k++) {
		const struct ugm_use *use = ugm_kernel_uses(t, k);

		if (!strstr(t->kernels[k].name, "relu:forward"))
			continue;
		assert_int_equal(t->kernels[k].nr_uses, 1);
		assert_int_equal(use->mode, UGM_OPERAND_READ | UGM_OPERAND_WRITE);
		changed++;
	}
	assert_int_equal(changed, 1 + 16 * 3);
	ugm_trace_free(t);
}

static bool has(const struct ugm_trace *t, u32 tensor, const char *prefix)
{
	return !strncmp(t->tensors[tensor].name, prefix, strlen(prefix));
}

/*
 * With recomputation the backward pass reads of a layer's forward pass only what
 * entered it, and the gradients are the same ones as without.
 */
static void recomputation(void **unused)
{
	struct ugm_gen_options o = options("gpt2", 2, 64);
	struct ugm_trace *without = valid_trace(&o), *with;
	u32 grads[2] = {}, backward = 0, again = 0, k, u, i;

	o.recompute = true;
	with = valid_trace(&o);
	for (k = 0; k < with->nr_kernels; k++) {
		const char *name = with->kernels[k].name;

		again += strstr(name, ":recompute") != NULL;
		backward |= !strcmp(name, "loss:backward");
		for (u = 0; u < with->kernels[k].nr_uses; u++) {
			const struct ugm_use *use = &ugm_kernel_uses(with, k)[u];
			const char *x = with->tensors[use->tensor].name;

			if (backward && use->mode & UGM_OPERAND_READ &&
			    !with->tensors[use->tensor].global &&
			    has(with, use->tensor, "layer") &&
			    !strstr(x, ".grad") && !strstr(x, ".again") &&
			    !strstr(x, "mlp.residual"))
				fail_msg("%s reads %s of the forward pass", name, x);
		}
	}
	/* A layer has 18 operators; nothing needs the sum at its end. */
	assert_int_equal(again, 12 * 17);
	for (i = 0; i < without->nr_tensors; i++)
		grads[0] += strstr(without->tensors[i].name, ".weight.grad") != NULL;
	for (i = 0; i < with->nr_tensors; i++)
		grads[1] += strstr(with->tensors[i].name, ".weight.grad") != NULL;
	assert_int_equal(grads[0], grads[1]);
	assert_int_equal(without->nr_kernels + again, with->nr_kernels);
	ugm_trace_free(with);
	ugm_trace_free(without);
}

static u32 named(const struct ugm_trace *t, const char *part)
{
	u32 k, n = 0;

	for (k = 0; k < t->nr_kernels; k++)
		n += strstr(t->kernels[k].name, part) != NULL;
	return n;
}

static void inference(void **unused)
{
	static const char *const models[] = { "gpt2", "llama3-8b" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(models); i++) {
		struct ugm_gen_options o = options(models[i], 4, 64);
		const struct ugm_shape *s = &o.model->shape;
		u64 heads = s->kv_heads ? s->kv_heads : s->heads, cache, weights;
		struct ugm_trace *t;
		u32 one;

		weights = o.model->parameters * 4;
		cache = 2 * s->layers * o.batch * 64 * heads *
			(s->hidden / s->heads) * 4;
		o.mode = UGM_MODE_PREFILL;
		t = valid_trace(&o);
		assert_in_range(global_bytes(t), weights + cache,
				(weights + cache) * 101 / 100);
		assert_int_equal(named(t, "backward"), 0);
		assert_int_equal(named(t, "adam"), 0);
		assert_int_equal(named(t, "_cache:forward"), 2 * s->layers);
		ugm_trace_free(t);

		o.mode = UGM_MODE_DECODE;
		t = valid_trace(&o);
		assert_in_range(global_bytes(t), weights + cache,
				(weights + cache) * 101 / 100);
		one = t->nr_kernels;
		ugm_trace_free(t);
		/* The same weights and cache again, and one load of the batch. */
		o.tokens = 3;
		t = valid_trace(&o);
		assert_in_range(global_bytes(t), weights + cache,
				(weights + cache) * 101 / 100);
		assert_int_equal(t->nr_kernels, 3 * (one - 1) + 1);
		assert_int_equal(named(t, "sample:"), 3);
		ugm_trace_free(t);
	}
}

static char *contents(size_t *len)
{
	FILE *f = fopen(PATH, "r");
	char *text = malloc(4 << 20);

	*len = fread(text, 1, 4 << 20, f);
	fclose(f);
	return text;
}

static void same_every_time(void **unused)
{
	struct ugm_gen_options o = options("gpt2", 2, 128);
	size_t first_len, len;
	char *first, *again;

	o.recompute = true;
	generate(&o);
	first = contents(&first_len);
	generate(&o);
	again = contents(&len);
	assert_int_equal(first_len, len);
	assert_memory_equal(first, again, len);
	free(first);
	free(again);
	unlink(PATH);
}

static void roofline(void **unused)
{
	const struct ugm_gpu gpu = { "g", 1000000000, 2000000000, 1000000000 };

	/* a launch and one ns an operation or a byte, whichever is more */
	assert_int_equal(ugm_gpu_kernel_ns(&gpu, false, 100, 0, 0), 5000);
	assert_int_equal(ugm_gpu_kernel_ns(&gpu, false, 100, 700, 300), 5700);
	assert_int_equal(ugm_gpu_kernel_ns(&gpu, false, 100, 300, 700), 5700);
	assert_int_equal(ugm_gpu_kernel_ns(&gpu, true, 100, 700, 300), 5350);
	assert_int_equal(ugm_gpu_kernel_ns(&gpu, true, 100, 700, 600), 5600);
	assert_int_equal(ugm_gpu_kernel_ns(&gpu, false, 25, 300, 700), 7800);
}

static void refused(const struct ugm_gen_options *o, int code, const char *why)
{
	struct ugm_gen_summary summary;
	struct ugm_error err;

	assert_int_equal(ugm_gen(o, PATH, &summary, &err), code);
	if (!strstr(err.text, why))
		fail_msg("'%s' does not say '%s'", err.text, why);
	assert_int_not_equal(access(PATH, F_OK), 0);
}

static void refuses(void **unused)
{
	struct ugm_gen_options o = options("gpt2", 1, 0), p;
	struct ugm_error err;

	assert_null(ugm_model_find("bert", &err));
	assert_non_null(strstr(err.text, "bert-base, bert-large, transformer, gpt2"));
	p = o;
	p.shape.heads = 7;
	refused(&p, -EINVAL, "hidden 768 is not a multiple of heads 7");
	p = o;
	p.batch = 1 << 20;
	refused(&p, -ERANGE, "batch 1048576: allowed are 1 to 65536");
	p = o;
	p.shape.kv_heads = 4;
	refused(&p, -EINVAL, "kv-heads 4: gpt2 has none");
	p = o;
	p.shape.image = 224;
	refused(&p, -EINVAL, "image 224: gpt2 has none");
	p = o;
	p.lora = 1000;
	refused(&p, -ERANGE, "lora 1000: allowed are 1 to 768");
	p = o;
	p.efficiency = 101;
	refused(&p, -ERANGE, "efficiency 101: allowed are 1 to 100");
	p = o;
	p.tokens = 2;
	refused(&p, -EINVAL, "tokens 2: in mode decode only");
	p.mode = UGM_MODE_DECODE;
	p.tokens = 2000;
	refused(&p, -ERANGE, "tokens 2000: allowed are 1 to 1024");
	p.shape.seq = 1 << 16;
	p.tokens = 1 << 16;
	refused(&p, -ERANGE, "tokens 65536: allowed are 1 to 5461 with 12 layers");
	p = o;
	p.mode = UGM_MODE_PREFILL;
	p.optimizer = UGM_OPTIMIZER_ADAM;
	refused(&p, -EINVAL, "optimizer: in mode train only");
	p.optimizer = UGM_OPTIMIZER_DEFAULT;
	p.lora = 4;
	refused(&p, -EINVAL, "lora: in mode train only");
	p.lora = 0;
	p.recompute = true;
	refused(&p, -EINVAL, "recompute: in mode train only");
	p = options("bert-base", 1, 0);
	p.mode = UGM_MODE_DECODE;
	refused(&p, -EINVAL, "mode decode: bert-base is not a decoder");
	p = options("resnet-152", 1, 0);
	p.lora = 4;
	refused(&p, -EINVAL, "lora 4: resnet-152 has no attention to adapt");
	p.lora = 0;
	p.attention = UGM_ATTENTION_FUSED;
	refused(&p, -EINVAL, "attention: resnet-152 has none");
	p.attention = UGM_ATTENTION_MODEL;
	p.shape.seq = 128;
	refused(&p, -EINVAL, "seq 128: resnet-152 has none");
	p = options("inception-v3", 1, 0);
	p.shape.image = 60;
	refused(&p, -ERANGE, "image 60: too small for inception-v3");
	p = options("vit-base", 1, 0);
	p.shape.image = 225;
	refused(&p, -EINVAL, "image 225 is not a multiple of patch 16");
	p = options("llama3-8b", 1, 0);
	p.shape.kv_heads = 5;
	refused(&p, -EINVAL, "heads 32 is not a multiple of kv-heads 5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_parameters),
		cmocka_unit_test(published_arithmetic),
		cmocka_unit_test(adapters),
		cmocka_unit_test(training),
		cmocka_unit_test(training_of_images),
		cmocka_unit_test(in_place),
		cmocka_unit_test(recomputation),
		cmocka_unit_test(inference),
		cmocka_unit_test(same_every_time),
		cmocka_unit_test(roofline),
		cmocka_unit_test(refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
