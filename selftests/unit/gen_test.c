// SPDX-License-Identifier: GPL-2.0
/* Generated traces: published sizes, a valid file, the same one every time. */
#include "unit.h"

#include "engine.h"
#include "gen.h"
#include "trace.h"

#define PATH "/tmp/ugm-unit-gen.trace"

static void generate(const char *model, u64 batch, u64 seq, u32 optimizer,
		     struct ugm_gen_summary *summary)
{
	struct ugm_gen_options o = { .batch = batch, .optimizer = optimizer };
	struct ugm_error err;

	o.shape = *ugm_transformer_find(model, &err);
	if (seq)
		o.shape.seq = seq;
	o.gpu = ugm_gpu_find("a100-40gb", &err);
	assert_int_equal(ugm_gen_transformer(&o, PATH, summary, &err), 0);
}

static void published_parameters(void **unused)
{
	struct ugm_gen_summary summary;
	char comment[512], want[64];
	unsigned int i;
	FILE *f;

	for (i = 0; i < ugm_nr_transformers; i++) {
		generate(ugm_transformers[i].name, 1, 32, UGM_OPTIMIZER_ADAM,
			 &summary);
		assert_int_equal(summary.parameters,
				 ugm_transformers[i].parameters);
		snprintf(want, sizeof(want), " parameters=%llu ",
			 (unsigned long long)ugm_transformers[i].parameters);
		f = fopen(PATH, "r");
		assert_non_null(fgets(comment, sizeof(comment), f));
		fclose(f);
		assert_non_null(strstr(comment, want));
	}
	unlink(PATH);
}

/* In millions, as the papers give them. */
static void known_sizes(void **unused)
{
	struct ugm_error err;

	assert_int_equal(ugm_transformer_find("bert-base", &err)->parameters,
			 109482240);
	assert_int_equal(ugm_transformer_find("gpt2", &err)->parameters,
			 124439808);
	assert_null(ugm_transformer_find("bert", &err));
	assert_non_null(strstr(err.text, "bert-base, bert-large, gpt2"));
}

/* Every tensor is written before it is read, and the reader accepts it. */
static void valid_traces(const char *model, u32 optimizer)
{
	struct ugm_gen_summary summary;
	struct ugm_trace *t;
	struct ugm_error err;
	u64 globals = 0, i;
	bool *written;
	u32 k, u;

	generate(model, 4, 64, optimizer, &summary);
	assert_int_equal(ugm_trace_read(PATH, &t, &err), 0);
	unlink(PATH);
	assert_int_equal(t->nr_kernels, summary.kernels);
	assert_int_equal(t->ideal_ns, summary.ideal_ns);
	written = calloc(t->nr_tensors, sizeof(*written));
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
			if (use[u].mode & UGM_OPERAND_WRITE)
				written[use[u].tensor] = true;
		}
	}
	for (i = 0; i < t->nr_tensors; i++) {
		if (!t->tensors[i].global && !written[i])
			fail_msg("nothing writes %s", t->tensors[i].name);
		if (t->tensors[i].global)
			globals += t->tensors[i].bytes;
	}
	/* Weights and, with Adam, two moments, in single precision. */
	assert_true(globals >= summary.parameters * 4 *
			       (optimizer == UGM_OPTIMIZER_ADAM ? 3 : 1));
	assert_true(globals <= summary.parameters * 4 *
			       (optimizer == UGM_OPTIMIZER_ADAM ? 3 : 1) *
			       101 / 100 + (8 << 20));
	free(written);
	ugm_trace_free(t);
}

static void reads_only_what_was_written(void **unused)
{
	valid_traces("bert-base", UGM_OPTIMIZER_ADAM);
	valid_traces("bert-large", UGM_OPTIMIZER_SGD);
	valid_traces("gpt2", UGM_OPTIMIZER_ADAM);
	valid_traces("gpt2-medium", UGM_OPTIMIZER_SGD);
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
	struct ugm_gen_summary summary;
	size_t first_len, len;
	char *first, *again;

	generate("gpt2", 2, 128, UGM_OPTIMIZER_ADAM, &summary);
	first = contents(&first_len);
	generate("gpt2", 2, 128, UGM_OPTIMIZER_ADAM, &summary);
	again = contents(&len);
	assert_int_equal(first_len, len);
	assert_memory_equal(first, again, len);
	free(first);
	free(again);
	unlink(PATH);
}

static void roofline(void **unused)
{
	const struct ugm_gpu gpu = { "g", 1000000000, 1000000000 };

	/* a launch and one ns an operation or a byte, whichever is more */
	assert_int_equal(ugm_gpu_kernel_ns(&gpu, 0, 0), 5000);
	assert_int_equal(ugm_gpu_kernel_ns(&gpu, 700, 300), 5700);
	assert_int_equal(ugm_gpu_kernel_ns(&gpu, 300, 700), 5700);
}

static void refuses_shapes(void **unused)
{
	struct ugm_gen_options o = { .batch = 1 };
	struct ugm_gen_summary summary;
	struct ugm_error err;

	o.gpu = &ugm_gpus[0];
	o.shape = *ugm_transformer_find("gpt2", &err);
	o.shape.heads = 7;
	assert_int_equal(ugm_gen_transformer(&o, PATH, &summary, &err), -EINVAL);
	assert_non_null(strstr(err.text, "hidden 768 is not a multiple of heads 7"));
	o.shape.heads = 12;
	o.batch = 1 << 20;
	assert_int_equal(ugm_gen_transformer(&o, PATH, &summary, &err), -ERANGE);
	assert_non_null(strstr(err.text, "batch 1048576"));
	assert_int_not_equal(access(PATH, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_parameters),
		cmocka_unit_test(known_sizes),
		cmocka_unit_test(reads_only_what_was_written),
		cmocka_unit_test(same_every_time),
		cmocka_unit_test(roofline),
		cmocka_unit_test(refuses_shapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
