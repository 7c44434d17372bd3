// SPDX-License-Identifier: MIT
#include <errno.h>

#include "command.h"
#include "device.h"

/**
 * cmd_detach() - ugm detach
 * @argc: words
 * @argv: words
 *
 * Return: exit status.
 */
int cmd_detach(int argc, char **argv)
{
	const struct option_group groups[] = { {} };
	const struct usage usage = {
		.synopsis = "[DEVICE]",
		.summary = "Give the namespace of DEVICE (" DEFAULT_DEVICE ") back.",
		.groups = groups,
		.max_operands = 1,
	};
	const char *device;
	struct ugm *space;
	int ret;

	ret = device_begin(&usage, argc, argv, &device, &space);
	if (ret != OPTIONS_GO_ON)
		return ret;
	ret = ugm_detach(space);
	if (ret == -EBUSY)
		ret = complain(EXIT_FAILED, "%s: spaces hold data in flash (ugm stat)",
			       device_path(device));
	else if (ret == -ENODEV)
		ret = complain(EXIT_FAILED, "%s: no namespace is attached", device_path(device));
	else if (ret)
		ret = device_failed(device, "detach", ret);
	ugm_close(space);
	return ret;
}
