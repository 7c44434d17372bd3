// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "predict.h"

struct simulate_options {
	const char *policy;
	const char *schedule;
	const char *json;
	const char *launches;
};

#define SIMULATE(field) offsetof(struct simulate_options, field)

static const struct option_spec simulate_options[] = {
	{ "policy", "NAME", option_string, SIMULATE(policy), false,
	  "policy to predict" },
	{ "schedule", "FILE", option_string, SIMULATE(schedule), false,
	  "schedule to predict, instead of a policy" },
	{ "json", "FILE", option_string, SIMULATE(json), false,
	  "write the result as JSON; - for the standard output" },
	{ "launches", "FILE", option_string, SIMULATE(launches), false,
	  "write begin and end of every launch" },
	{}
};

static int report(const struct simulate_options *o,
		  const struct ugm_config *config,
		  const struct ugm_result *result)
{
	struct ugm_error err;

	if (o->json && ugm_result_write_json(ugm_result_json(config, result, 1),
					     o->json, &err))
		return complain(EXIT_FAILED, "%s", err.text);
	if (*result->error.text)
		return complain(EXIT_FAILED, "%s", result->error.text);
	if (!o->json || strcmp(o->json, "-"))
		ugm_result_write_table(stdout, config, result, 1);
	return EXIT_DONE;
}

/* One of @policy and @s is what is predicted. */
static int predict(const struct simulate_options *o, struct ugm_config *config,
		   const struct ugm_trace *trace,
		   const struct ugm_policy *policy, struct ugm_schedule *s)
{
	struct ugm_output launches = {};
	struct ugm_result result;
	struct ugm_error err;
	int status, ret;

	if (o->launches && ugm_output_open(&launches, o->launches, &err))
		return complain(EXIT_FAILED, "%s", err.text);
	ret = policy ? predict_policy(trace, config, policy,
				      o->launches ? &launches : NULL, &result) :
		       predict_schedule(trace, config, s, o->schedule,
					o->launches ? &launches : NULL,
					&result);
	if (ret)
		ugm_output_discard(&launches);
	else if (o->launches && ugm_output_commit(&launches, &err))
		ret = complain(EXIT_FAILED, "%s", err.text);
	status = report(o, config, &result);
	ugm_result_free(&result);
	return ret && status == EXIT_DONE ? EXIT_FAILED : status;
}

static int simulate(const char *path, const struct simulate_options *o,
		    struct ugm_config *config)
{
	const struct ugm_policy *policy = NULL;
	struct ugm_schedule schedule = {};
	struct ugm_trace *trace = NULL;
	struct ugm_error err;
	int status;

	if (o->policy) {
		policy = ugm_policy_find(o->policy, &err);
		if (!policy)
			return complain(EXIT_USAGE, "%s", err.text);
		if (policy->compute && o->launches)
			return complain(EXIT_USAGE,
					"--launches: policy '%s' is computed and launches nothing",
					policy->name);
	}
	if (ugm_trace_read(path, &trace, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	if (o->schedule &&
	    ugm_schedule_read(o->schedule, trace, &schedule, &err))
		status = complain(EXIT_USAGE, "%s", err.text);
	else
		status = predict(o, config, trace, policy, &schedule);
	ugm_schedule_free(&schedule);
	ugm_trace_free(trace);
	return status;
}

/**
 * cmd_simulate() - ugm simulate
 * @argc: of the verb
 * @argv: of the verb
 *
 * Return: exit status.
 */
int cmd_simulate(int argc, char **argv)
{
	struct simulate_options o = {};
	struct ugm_config config;
	struct ugm_error err;
	const struct option_group groups[] = {
		{ simulate_options, &o }, { machine_options, &config }, {}
	};
	const struct usage usage = {
		.synopsis = "TRACE --policy NAME | --schedule FILE",
		.summary = "Predict what a policy or a schedule costs, with the module's own engine but no device.",
		.groups = groups,
		.min_operands = 1,
		.max_operands = 1,
	};
	char **operands;
	int nr, status;

	ugm_config_preset(&config, NULL, NULL);
	status = options_parse(&usage, argc, argv, &operands, &nr);
	if (status != OPTIONS_GO_ON)
		return status;
	if (!o.policy == !o.schedule)
		status = complain(EXIT_USAGE,
				  "give either --policy or --schedule");
	else if (o.json && o.launches && !strcmp(o.json, "-") &&
		 !strcmp(o.launches, "-"))
		status = complain(EXIT_USAGE,
				  "--json and --launches cannot both go to the standard output");
	else if (ugm_config_check(&config, &err))
		status = complain(EXIT_USAGE, "%s", err.text);
	else
		status = simulate(operands[0], &o, &config);
	free(operands);
	return status;
}
