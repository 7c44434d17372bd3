// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>

#include "command.h"
#include "device.h"
#include "options.h"

struct check {
	bool json;
};

static const struct option_spec options[] = {
	{ "json", NULL, NULL, offsetof(struct check, json), false, "print JSON" },
	{ NULL },
};

/**
 * cmd_check() - ugm check
 * @argc: words
 * @argv: words
 *
 * Return: exit status; 1 where an invariant is broken.
 */
int cmd_check(int argc, char **argv)
{
	struct check c = { 0 };
	const struct option_group groups[] = { { options, &c }, { NULL, NULL } };
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
	char **operands;
	int nr, ret;

	ret = options_parse(&usage, argc, argv, &operands, &nr);
	if (ret != OPTIONS_GO_ON)
		return ret;
	device = nr ? operands[0] : NULL;
	free(operands);
	ret = device_open(device, &space);
	if (ret)
		return ret;
	ret = ugm_check(space, &violations);
	ugm_close(space);
	if (ret)
		return device_failed(device, "check", ret);
	if (c.json) {
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
