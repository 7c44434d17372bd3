// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "command.h"
#include "cost.h"
#include "device.h"

static const struct option_spec device_options[] = {
	{ "device", "PATH", option_string, offsetof(struct ugm_replay_options, device), false,
	  "device (" DEFAULT_DEVICE ", or $UGM_DEVICE)" },
	{}
};

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
	const struct option_group groups[] = { { cost_options, &o },
					       { device_options, &device },
					       { replay_options, &device },
					       { wear_options, &config }, { machine_options, &config },
					       {} };
	const struct usage usage = {
		.synopsis = "TRACE --policy NAME | --schedule FILE",
		.summary = "Replay a trace on a device: real data, moved by the module, verified.",
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
	status = cost_verb(operands[0], &o, &config, &device);
	free(operands);
	return status;
}
