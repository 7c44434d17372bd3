// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "gen.h"
#include "options.h"
#include "units.h"

/**
 * struct gen_command - what the command line says
 * @output: where to
 * @gen: what
 */
struct gen_command {
	const char *output;
	struct ugm_gen_options gen;
};

#define GEN(field) offsetof(struct gen_command, gen.field)

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
	u32 *optimizer = target;
	int ret;

	ret = ugm_parse_choice(what, text, names, ARRAY_SIZE(names), optimizer,
			       err);
	*optimizer += UGM_OPTIMIZER_ADAM;
	return ret;
}

static int option_mode(const char *what, const char *text, void *target,
		       struct ugm_error *err)
{
	static const char *const names[] = { "train", "prefill", "decode" };

	return ugm_parse_choice(what, text, names, ARRAY_SIZE(names), target,
				err);
}

static int option_type(const char *what, const char *text, void *target,
		       struct ugm_error *err)
{
	static const char *const names[] = { "fp32", "half" };

	return ugm_parse_choice(what, text, names, ARRAY_SIZE(names), target,
				err);
}

static int option_attention(const char *what, const char *text, void *target,
			    struct ugm_error *err)
{
	static const char *const names[] = { "eager", "fused" };
	u32 *attention = target;
	int ret;

	ret = ugm_parse_choice(what, text, names, ARRAY_SIZE(names), attention,
			       err);
	*attention += UGM_ATTENTION_EAGER;
	return ret;
}

static const struct option_spec gen_options[] = {
	{ "o", "FILE", option_string, offsetof(struct gen_command, output),
	  false, "where to; - for the standard output" },
	{ "batch", "N", option_count, GEN(batch), false,
	  "sequences or images of a batch (8)" },
	{ "mode", "train|prefill|decode", option_mode, GEN(mode), false,
	  "an iteration of training (default), or of a decoder's inference" },
	{ "tokens", "N", option_count, GEN(tokens), false,
	  "tokens that an iteration decodes, one after the other (1)" },
	{ "optimizer", "adam|sgd", option_optimizer, GEN(optimizer), false,
	  "how parameters are updated (adam)" },
	{ "lora", "RANK", option_count, GEN(lora), false,
	  "train low-rank adapters instead of the model" },
	{ "recompute", NULL, NULL, GEN(recompute), false,
	  "keep only what enters a layer, and compute the rest again" },
	{ "attention", "eager|fused", option_attention, GEN(attention), false,
	  "scores in memory, or one kernel (the model's)" },
	{ "type", "fp32|half", option_type, GEN(type), false,
	  "numbers of four bytes, or of two with tensor cores (fp32)" },
	{ "gpu", "NAME", option_gpu, GEN(gpu), false,
	  "whose roofline gives the durations (a100-40gb)" },
	{ "efficiency", "PERCENT", option_count, GEN(efficiency), false,
	  "share of the roofline that kernels reach (100)" },
	{ "seq", "N", option_count, GEN(shape.seq), false,
	  "tokens of a sequence, and of the key-value cache (the model's)" },
	{ "image", "N", option_count, GEN(shape.image), false,
	  "height and width of an image (the model's)" },
	{ "layers", "N", option_count, GEN(shape.layers), false,
	  "layers, instead of the model's" },
	{ "hidden", "N", option_count, GEN(shape.hidden), false,
	  "width, instead of the model's" },
	{ "heads", "N", option_count, GEN(shape.heads), false,
	  "attention heads, instead of the model's" },
	{ "kv-heads", "N", option_count, GEN(shape.kv_heads), false,
	  "heads of keys and values, instead of the model's" },
	{ "inner", "N", option_count, GEN(shape.inner), false,
	  "width of the feed-forward network, instead of the model's" },
	{ "vocabulary", "N", option_count, GEN(shape.vocabulary), false,
	  "tokens there are, instead of the model's" },
	{}
};

static void list_models(void)
{
	const struct ugm_model *m;
	unsigned int i;

	puts("models:");
	for (i = 0; (m = ugm_model_at(i)); i++)
		printf("  %-16s %9.2f M parameters, %s of %llu\n", m->name,
		       (double)m->parameters / 1e6, m->shape.image ? "images" : "sequences",
		       (unsigned long long)(m->shape.image ? m->shape.image : m->shape.seq));
	puts("GPUs:");
	for (i = 0; i < ugm_nr_gpus; i++)
		printf("  %-16s %5.1f TFLOP/s, %5.1f with tensor cores, %llu GB/s\n",
		       ugm_gpus[i].name, (double)ugm_gpus[i].flops_per_s / 1e12,
		       (double)ugm_gpus[i].half_flops_per_s / 1e12,
		       (unsigned long long)(ugm_gpus[i].bytes_per_s / 1000000000));
}

static int gen(const char *model, struct gen_command *c)
{
	struct ugm_gen_summary summary;
	struct ugm_error err;
	char trained[64] = "";
	int ret;

	c->gen.model = ugm_model_find(model, &err);
	if (!c->gen.model)
		return complain(EXIT_USAGE, "%s", err.text);
	if (!c->output)
		return complain(EXIT_USAGE, "-o is missing: where to write");
	ret = ugm_gen(&c->gen, c->output, &summary, &err);
	if (ret)
		return complain(ret == -EINVAL || ret == -ERANGE ? EXIT_USAGE :
								   EXIT_FAILED,
				"%s", err.text);
	if (c->gen.lora)
		snprintf(trained, sizeof(trained), " (%.2f M trained)",
			 (double)summary.trained_parameters / 1e6);
	fprintf(stderr,
		"%s: %.2f M parameters%s, %u kernels, %u tensors of %.2f GiB, ideal %.3f ms\n",
		model, (double)summary.parameters / 1e6, trained,
		summary.kernels, summary.tensors,
		(double)summary.bytes / 0x1p30,
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
	struct gen_command c = { .gen = { .gpu = &ugm_gpus[0], .batch = 8 } };
	const struct option_group groups[] = { { gen_options, &c }, {} };
	const struct usage usage = {
		.synopsis = "MODEL -o FILE",
		.summary = "Write the trace of one iteration of a model ('ugm gen' lists them).",
		.groups = groups,
		.min_operands = 0,
		.max_operands = 1,
	};
	char **operands;
	int nr, status;

	status = options_parse(&usage, argc, argv, &operands, &nr);
	if (status != OPTIONS_GO_ON)
		return status;
	if (argc == 1) {
		list_models();
		status = EXIT_DONE;
	} else if (!nr) {
		status = complain(EXIT_USAGE, "no model is given ('ugm gen' lists them)");
	} else {
		status = gen(operands[0], &c);
	}
	free(operands);
	return status;
}
