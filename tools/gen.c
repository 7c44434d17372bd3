// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "gen.h"
#include "options.h"
#include "units.h"

/**
 * struct gen_options - what the command line says
 * @output: where to
 * @gpu: whose roofline
 * @batch: sequences
 * @optimizer: enum ugm_optimizer
 * @shape: numbers that replace those of the model, where not zero
 */
struct gen_options {
	const char *output;
	const struct ugm_gpu *gpu;
	u64 batch;
	u32 optimizer;
	struct ugm_transformer shape;
};

#define GEN(field) offsetof(struct gen_options, field)

static int option_gpu(const char *what, const char *text, void *target,
		      struct ugm_error *err)
{
	const struct ugm_gpu *gpu = ugm_gpu_find(text, err);

	*(const struct ugm_gpu **)target = gpu;
	return gpu ? 0 : -EINVAL;
}

static int option_optimizer(const char *what, const char *text, void *target,
			    struct ugm_error *err)
{
	static const char *const names[] = { "adam", "sgd" };

	return ugm_parse_choice(what, text, names, ARRAY_SIZE(names), target,
				err);
}

static const struct option_spec gen_options[] = {
	{ "o", "FILE", option_string, GEN(output), false,
	  "where to; - for the standard output" },
	{ "batch", "N", option_count, GEN(batch), false,
	  "sequences of a batch (8)" },
	{ "seq", "N", option_count, GEN(shape.seq), false,
	  "tokens of a sequence (the model's)" },
	{ "optimizer", "adam|sgd", option_optimizer, GEN(optimizer), false,
	  "how parameters are updated (adam)" },
	{ "gpu", "NAME", option_gpu, GEN(gpu), false,
	  "whose roofline gives the durations (a100-40gb)" },
	{ "layers", "N", option_count, GEN(shape.layers), false,
	  "layers, instead of the model's" },
	{ "hidden", "N", option_count, GEN(shape.hidden), false,
	  "width, instead of the model's" },
	{ "heads", "N", option_count, GEN(shape.heads), false,
	  "attention heads, instead of the model's" },
	{ "inner", "N", option_count, GEN(shape.inner), false,
	  "width of the feed-forward network, instead of the model's" },
	{ "vocabulary", "N", option_count, GEN(shape.vocabulary), false,
	  "tokens, instead of the model's" },
	{}
};

static void list_models(FILE *out)
{
	unsigned int i;

	fputs("models:\n", out);
	for (i = 0; i < ugm_nr_transformers; i++)
		fprintf(out, "  %-12s %7.2f M parameters, sequences of %llu\n",
			ugm_transformers[i].name,
			(double)ugm_transformers[i].parameters / 1e6,
			(unsigned long long)ugm_transformers[i].seq);
	fprintf(out, "  %-12s as bert-base, to be given another shape\n",
		"transformer");
	fputs("GPUs:\n", out);
	for (i = 0; i < ugm_nr_gpus; i++)
		fprintf(out, "  %-12s %5.1f TFLOP/s, %llu GB/s\n",
			ugm_gpus[i].name,
			(double)ugm_gpus[i].flops_per_s / 1e12,
			(unsigned long long)(ugm_gpus[i].bytes_per_s /
					     1000000000));
}

static void replace(u64 *number, u64 given)
{
	if (given)
		*number = given;
}

static int gen(const char *model, const struct gen_options *o)
{
	struct ugm_gen_options options = {
		.gpu = o->gpu,
		.batch = o->batch,
		.optimizer = o->optimizer,
	};
	const struct ugm_transformer *t;
	struct ugm_gen_summary summary;
	struct ugm_error err;
	int ret;

	t = ugm_transformer_find(!strcmp(model, "transformer") ? "bert-base" :
								 model, &err);
	if (!t) {
		complain(EXIT_USAGE, "%s, transformer", err.text);
		list_models(stderr);
		return EXIT_USAGE;
	}
	if (!o->output)
		return complain(EXIT_USAGE, "-o is missing: where to write");
	options.shape = *t;
	options.shape.name = model;
	replace(&options.shape.seq, o->shape.seq);
	replace(&options.shape.layers, o->shape.layers);
	replace(&options.shape.hidden, o->shape.hidden);
	replace(&options.shape.heads, o->shape.heads);
	replace(&options.shape.inner, o->shape.inner);
	replace(&options.shape.vocabulary, o->shape.vocabulary);
	ret = ugm_gen_transformer(&options, o->output, &summary, &err);
	if (ret)
		return complain(ret == -EINVAL || ret == -ERANGE ? EXIT_USAGE :
								   EXIT_FAILED,
				"%s", err.text);
	fprintf(stderr,
		"%s: %.2f M parameters, %u kernels, %u tensors of %.2f GiB, ideal %.3f ms\n",
		model, (double)summary.parameters / 1e6, summary.kernels,
		summary.tensors, (double)summary.bytes / 0x1p30,
		(double)summary.ideal_ns / 1e6);
	return EXIT_DONE;
}

/**
 * cmd_gen() - ugm gen
 * @argc: of the verb
 * @argv: of the verb
 *
 * Return: exit status.
 */
int cmd_gen(int argc, char **argv)
{
	struct gen_options o = { .gpu = &ugm_gpus[0], .batch = 8 };
	const struct option_group groups[] = { { gen_options, &o }, {} };
	const struct usage usage = {
		.synopsis = "MODEL --batch N --seq N -o FILE",
		.summary = "Write the trace of one training iteration of a model ('ugm gen' lists them).",
		.groups = groups,
		.min_operands = 0,
		.max_operands = 1,
	};
	char **operands;
	int nr, status;

	status = options_parse(&usage, argc, argv, &operands, &nr);
	if (status != OPTIONS_GO_ON)
		return status;
	if (!nr) {
		status = complain(EXIT_USAGE, "no model is given");
		list_models(stderr);
	} else {
		status = gen(operands[0], &o);
	}
	free(operands);
	return status;
}
