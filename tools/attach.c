// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "device.h"
#include "namespace.h"
#include "options.h"

/**
 * struct attach - options of the verb
 * @offset: bytes to leave alone at the start
 * @length: bytes to use; 0: to the end
 * @force: overwrite what is there
 */
struct attach {
	u64 offset;
	u64 length;
	bool force;
};

static const struct option_spec options[] = {
	{ "offset", "BYTES", option_size, offsetof(struct attach, offset), false,
	  "leave that much alone at its start (0)" },
	{ "length", "BYTES", option_length, offsetof(struct attach, length), false,
	  "use that much of it (all)" },
	{ "force", NULL, NULL, offsetof(struct attach, force), false,
	  "even if it holds a file system or a partition table" },
	{ NULL },
};

/* @vetted and @why: what ugm_namespace_vet() said. */
static int attach(struct ugm *space, const char *device, const char *namespace,
		  const struct attach *o, int vetted, const struct ugm_error *why)
{
	struct ugm_ioc_info info;
	int ret;

	ret = ugm_info(space, &info);
	if (ret)
		return device_failed(device, "info", ret);
	if (info.flags & UGM_INFO_ATTACHED)
		return complain(EXIT_FAILED, "%s: %s is attached already: ugm detach",
				device_path(device), info.namespace_path);
	/* Forced means over data that is there, not over somebody who uses it. */
	if (vetted == -EEXIST && !o->force)
		return complain(EXIT_FAILED, "%s: --force overwrites it", why->text);
	if (vetted && vetted != -EEXIST)
		return complain(EXIT_FAILED, "%s", why->text);

	ret = ugm_attach(space, namespace, o->offset, o->length);
	if (ret == -EEXIST)
		return complain(EXIT_FAILED, "%s: a namespace is attached already: ugm detach",
				device_path(device));
	if (ret == -EINVAL)
		return complain(EXIT_USAGE,
				"%s: offset %llu, length %llu: allowed are multiples of the block size (%zu bytes) within the namespace",
				namespace, (unsigned long long)o->offset,
				(unsigned long long)o->length, ugm_block_size(space));
	return ret ? device_failed(device, namespace, ret) : EXIT_DONE;
}

/**
 * cmd_attach() - ugm attach
 * @argc: words
 * @argv: words
 *
 * Return: exit status.
 */
int cmd_attach(int argc, char **argv)
{
	struct attach a = { 0 };
	const struct option_group groups[] = { { options, &a }, { NULL, NULL } };
	const struct usage usage = {
		.synopsis = "[DEVICE] NAMESPACE",
		.summary = "Make the block device NAMESPACE the flash tier of DEVICE (" DEFAULT_DEVICE
			   "). What is on it is lost.",
		.groups = groups,
		.min_operands = 1,
		.max_operands = 2,
	};
	const char *device, *namespace;
	struct ugm_error why;
	struct ugm *space;
	char **operands;
	int nr, ret, vetted;

	ret = options_parse(&usage, argc, argv, &operands, &nr);
	if (ret != OPTIONS_GO_ON)
		return ret;
	device = nr > 1 ? operands[0] : NULL;
	namespace = operands[nr - 1];
	free(operands);

	vetted = ugm_namespace_vet(namespace, &why);
	if (vetted == -ENOENT || vetted == -ENOTBLK)
		return complain(EXIT_USAGE, "%s", why.text);
	ret = device_open(device, &space);
	if (ret)
		return ret;
	ret = attach(space, device, namespace, &a, vetted, &why);
	ugm_close(space);
	return ret;
}
