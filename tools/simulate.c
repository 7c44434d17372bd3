// SPDX-License-Identifier: MIT
#include <stdlib.h>

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
	const struct option_group groups[] = { { cost_options, &o },
					       { predict_options, &o },
					       { wear_options, &config }, { noise_options, &config }, { machine_options, &config },
					       {} };
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
	status = cost_verb(operands[0], &o, &config, NULL);
	free(operands);
	return status;
}
