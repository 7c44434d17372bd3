// SPDX-License-Identifier: MIT
#include "command.h"
#include "cost.h"

/**
 * cmd_simulate() - ugm simulate
 * @argc: of the verb
 * @argv: of the verb
 *
 * Return: exit status.
 */
int cmd_simulate(int argc, char **argv)
{
	struct cost_options o = {};
	struct ugm_config config;
	const struct option_group groups[] = {
		{ cost_options, &o },		{ predict_options, &o },
		{ wear_options, &config },	{ noise_options, &config },
		{ machine_options, &config },	{ model_options, &config },
		{ iteration_options, &config }, {}
	};
	const struct usage usage = {
		.synopsis = "TRACE (--policy NAME | --schedule FILE)",
		.summary = "Predict what a policy or a schedule costs, with the module's own engine but no device.",
		.groups = groups,
		.min_operands = 1,
		.max_operands = 1,
	};
	const char *trace;
	int status;

	status = cost_begin(&usage, argc, argv, &config, &trace);
	if (status != OPTIONS_GO_ON)
		return status;
	return cost_verb(trace, &o, &config, NULL);
}
