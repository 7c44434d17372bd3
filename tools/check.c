// SPDX-License-Identifier: MIT
#include <inttypes.h>

#include "command.h"
#include "device.h"

/**
 * cmd_check() - ugm check
 * @argc: words
 * @argv: words
 *
 * Return: exit status; 1 where an invariant is broken.
 */
int cmd_check(int argc, char **argv)
{
	bool json = false;
	const struct option_group groups[] = { { json_option, &json }, {} };
	const struct usage usage = {
		.synopsis = "[DEVICE]",
		.summary = "Check every invariant of DEVICE (" DEFAULT_DEVICE
			   "): states, frames, slots, transfers. Each that is broken is a line in the kernel log.",
		.groups = groups,
		.max_operands = 1,
	};
	struct json_object *o;
	const char *device;
	struct ugm *space;
	uint64_t violations = 0;
	int ret;

	ret = device_begin(&usage, argc, argv, &device, &space);
	if (ret != OPTIONS_GO_ON)
		return ret;
	ret = ugm_check(space, &violations);
	ugm_close(space);
	if (ret)
		return device_failed(device, "check", ret);
	if (json) {
		o = json_object_new_object();
		json_add_text(o, "schema", "ugm.check/1");
		json_add_text(o, "device", device_path(device));
		json_add_u64(o, "violations", violations);
		ret = json_print(o);
		if (ret)
			return ret;
	} else {
		printf("%s: %" PRIu64 " invariants broken\n", device_path(device), violations);
	}
	return violations ? EXIT_FAILED : EXIT_DONE;
}
