// SPDX-License-Identifier: MIT
#include "command.h"
#include "cost.h"
#include "device.h"

/**
 * cmd_run() - ugm run
 * @argc: of the verb
 * @argv: of the verb
 *
 * Return: exit status.
 */
int cmd_run(int argc, char **argv)
{
	struct ugm_replay_options device = { .verify = UGM_VERIFY_SAMPLE };
	struct cost_options o = {};
	struct ugm_config config;
	const struct option_group groups[] = {
		{ cost_options, &o },		{ device_option, &device.device },
		{ replay_options, &device },	{ wear_options, &config },
		{ machine_options, &config },	{ model_options, &config },
		{ iteration_options, &config }, {}
	};
	const struct usage usage = {
		.synopsis = "TRACE (--policy NAME | --schedule FILE)",
		.summary = "Replay a trace on a device: real data, moved by the module, verified.",
		.groups = groups,
		.min_operands = 1,
		.max_operands = 1,
	};
	const char *trace;
	int status;

	status = cost_begin(&usage, argc, argv, &config, &trace);
	if (status != OPTIONS_GO_ON)
		return status;
	return cost_verb(trace, &o, &config, &device);
}
