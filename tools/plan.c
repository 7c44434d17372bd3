// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "command.h"
#include "cost.h"
#include "options.h"
#include "policy.h"
#include "progress.h"

struct plan_options {
	const char *policy;
	const char *output;
};

#define PLAN(field) offsetof(struct plan_options, field)

static const struct option_spec plan_options[] = {
	{ "policy", "NAME", option_string, PLAN(policy), false,
	  "policy whose schedule is written" },
	{ "o", "FILE", option_string, PLAN(output), false,
	  "where to; - for the standard output" },
	{}
};

static int plan(const char *path, const struct plan_options *o,
		struct ugm_config *config)
{
	const struct ugm_policy *policy;
	struct ugm_layout *layout = NULL;
	struct ugm_trace *trace = NULL;
	struct ugm_schedule s;
	struct ugm_error err;
	int status, ret;

	policy = ugm_policy_find(o->policy, &err);
	if (!policy)
		return complain(EXIT_USAGE, "%s", err.text);
	if (!policy->plan)
		return complain(EXIT_USAGE,
				"policy '%s' is a computed row and has no schedule",
				policy->name);
	status = cost_obey(config, &policy, 1, NULL);
	if (status != EXIT_DONE)
		return status;
	if (ugm_trace_read(path, &trace, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	if (policy->restrict_machine)
		policy->restrict_machine(config);
	ret = ugm_layout_make(trace, config, &layout, &err);
	if (!ret)
		ret = ugm_policy_plan(policy, layout, &s, &err);
	if (!ret) {
		ret = ugm_schedule_write(&s, trace, o->output, &err);
		ugm_schedule_free(&s);
	}
	status = ret ? complain(EXIT_FAILED, "%s", err.text) : EXIT_DONE;
	ugm_layout_free(layout);
	ugm_trace_free(trace);
	return status;
}

/**
 * cmd_plan() - ugm plan
 * @argc: of the verb
 * @argv: of the verb
 *
 * Return: exit status.
 */
int cmd_plan(int argc, char **argv)
{
	struct plan_options o = {};
	struct ugm_config config;
	struct ugm_error err;
	const struct option_group groups[] = {
		{ plan_options, &o }, { machine_options, &config }, { model_options, &config }, {}
	};
	const struct usage usage = {
		.synopsis = "TRACE --policy NAME -o FILE",
		.summary = "Write the schedule of a policy for a trace on a machine.",
		.groups = groups,
		.min_operands = 1,
		.max_operands = 1,
	};
	const char *trace;
	int status;

	status = cost_begin(&usage, argc, argv, &config, &trace);
	if (status != OPTIONS_GO_ON)
		return status;
	if (!o.policy)
		return complain(EXIT_USAGE, "--policy is missing");
	if (!o.output)
		return complain(EXIT_USAGE, "-o is missing: where to write");
	if (written_apart(&(struct named_path){ "-o", o.output }, 1,
			  &(struct named_path){ "the trace", trace }, 1))
		return EXIT_USAGE;
	if (ugm_config_check(&config, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	return plan(trace, &o, &config);
}
