// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "device.h"
#include "options.h"
#include "units.h"

static int option_space(const char *what, const char *text, void *target,
			struct ugm_error *err)
{
	return ugm_parse_u64(what, text, 1, U64_MAX, target, err);
}

const struct option_spec device_option[] = {
	{ "device", "PATH", option_string, 0, false,
	  "device (" DEFAULT_DEVICE ", or $UGM_DEVICE)" },
	{}
};

const struct option_spec space_option[] = {
	{ "space", "ID", option_space, 0, false, "the space (the only one)" },
	{}
};

/**
 * device_path() - which device is meant
 * @path: as given, or NULL
 *
 * Return: @path, else $UGM_DEVICE, else the first device.
 */
const char *device_path(const char *path)
{
	if (!path)
		path = getenv("UGM_DEVICE");
	return path && *path ? path : DEFAULT_DEVICE;
}

/**
 * device_open() - open a device, or say what is wrong
 * @path: device node, or NULL
 * @space: out
 *
 * Return: an exit status.
 */
int device_open(const char *path, struct ugm **space)
{
	int ret = ugm_open(device_path(path), space);

	if (!ret)
		return EXIT_DONE;
	if (ret == -ENOENT || ret == -ENXIO || ret == -ENODEV)
		return complain(EXIT_FAILED,
				"%s: no such device: is the module loaded? (ugm doctor)",
				device_path(path));
	if (ret == -ENOTTY || ret == -EISDIR)
		return complain(EXIT_USAGE, "%s: not a ugm device", device_path(path));
	return complain(EXIT_FAILED, "%s: %s", device_path(path), strerror(-ret));
}

/**
 * device_begin() - a verb whose operand is a device
 * @usage: what its command line may be
 * @argc: of the verb
 * @argv: of the verb
 * @path: out: the device node, or NULL
 * @space: out: the device, open
 *
 * Return: OPTIONS_GO_ON, or an exit status.
 */
int device_begin(const struct usage *usage, int argc, char **argv,
		 const char **path, struct ugm **space)
{
	int ret = options_parse_one(usage, argc, argv, path);

	if (ret != OPTIONS_GO_ON)
		return ret;
	ret = device_open(*path, space);
	return ret ? ret : OPTIONS_GO_ON;
}

/**
 * device_failed() - say that a call on a device failed
 * @path: device node, or NULL
 * @what: what was tried
 * @error: negative errno
 *
 * Return: the exit status.
 */
int device_failed(const char *path, const char *what, int error)
{
	return complain(EXIT_FAILED, "%s: %s: %s%s", device_path(path), what, strerror(-error),
			error == -EPERM ? " (needs CAP_SYS_ADMIN)" : "");
}

/**
 * device_other_space() - the space that is meant when none is named
 * @space: our own
 * @path: device node, or NULL
 * @id: in: 0, or the space named; out: the space
 *
 * Return: an exit status: EXIT_USAGE where there is none, or several.
 */
int device_other_space(struct ugm *space, const char *path, uint64_t *id)
{
	struct ugm_space_desc *spaces;
	struct ugm_ioc_info own;
	uint32_t nr, i, others = 0;
	int ret;

	if (*id)
		return EXIT_DONE;
	ret = ugm_info(space, &own);
	if (!ret)
		ret = ugm_spaces(space, &spaces, &nr);
	if (ret)
		return device_failed(path, "spaces", ret);
	for (i = 0; i < nr; i++)
		if (spaces[i].id != own.space_id) {
			*id = spaces[i].id;
			others++;
		}
	free(spaces);
	if (!others)
		return complain(EXIT_USAGE, "%s: no space is open", device_path(path));
	if (others > 1)
		return complain(EXIT_USAGE, "%s: %u spaces are open, choose one with --space ID (ugm stat lists them)", device_path(path), others);
	return EXIT_DONE;
}

/**
 * json_print() - write JSON to standard output
 * @root: what; freed
 *
 * Return: an exit status.
 */
int json_print(struct json_object *root)
{
	struct ugm_error err;

	return ugm_json_write(root, "-", &err) ?
		       complain(EXIT_FAILED, "%s", err.text) :
		       EXIT_DONE;
}
