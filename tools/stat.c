// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "device.h"
#include "namespace.h"

/**
 * struct facts - what there is to tell
 * @info: of the device
 * @spaces: other spaces than our own
 * @nr_spaces: how many
 * @leases: leases a flash server holds now
 * @stats: statistics, if JSON is wanted
 */
struct facts {
	struct ugm_ioc_info info;
	struct ugm_space_desc *spaces;
	uint32_t nr_spaces;
	uint64_t leases;
	struct json_object *stats;
};

static int each(const char *name, uint64_t value, void *arg)
{
	struct facts *f = arg;

	/* Taken and not yet given back in any way. */
	if (!strcmp(name, "lease.taken.count"))
		f->leases += value;
	else if (!strcmp(name, "lease.committed.count") ||
		 !strcmp(name, "lease.expired.count") || !strcmp(name, "lease.released.count"))
		f->leases -= value;
	if (f->stats)
		json_add_u64(f->stats, name, value);
	else
		printf("%-55s %" PRIu64 "\n", name, value);
	return 0;
}

/* Our own space is only the way we ask. */
static void forget_own(struct facts *f)
{
	uint32_t i, n = 0;

	for (i = 0; i < f->nr_spaces; i++)
		if (f->spaces[i].id != f->info.space_id)
			f->spaces[n++] = f->spaces[i];
	f->nr_spaces = n;
}

static struct json_object *spaces_json(const struct facts *f)
{
	struct json_object *list = json_object_new_array();
	uint32_t i;

	for (i = 0; i < f->nr_spaces; i++) {
		const struct ugm_space_desc *s = &f->spaces[i];
		struct json_object *o = json_object_new_object();

		json_add_u64(o, "id", s->id);
		json_add_u64(o, "pid", s->pid);
		json_add_u64(o, "uid", s->uid);
		json_add_u64(o, "lane_pid", s->lane_pid);
		json_add_u64(o, "ranges", s->ranges);
		json_add_u64(o, "blocks", s->blocks);
		json_add_u64(o, "launches", s->launches);
		json_object_array_add(list, o);
	}
	return list;
}

static int show_json(const char *path, struct facts *f)
{
	struct json_object *o = json_object_new_object(), *w;
	struct ugm_wear wear;
	uint32_t i, lane_pid = 0;

	for (i = 0; i < f->nr_spaces && !lane_pid; i++)
		lane_pid = f->spaces[i].lane_pid;
	json_add_text(o, "schema", "ugm.stat/1");
	json_add_text(o, "device", path);
	json_add_u64(o, "block_size_bytes", f->info.block_size);
	json_add_u64(o, "lane_pid", lane_pid);
	json_add_u64(o, "leases_outstanding", f->leases);
	json_object_object_add(o, "spaces", spaces_json(f));
	json_object_object_add(o, "stats", f->stats);
	if (f->info.flags & UGM_INFO_ATTACHED &&
	    !ugm_namespace_wear(f->info.namespace_path, &wear)) {
		w = json_object_new_object();
		json_add_text(w, "path", f->info.namespace_path);
		json_add_u64(w, "data_units_read", wear.read_units);
		json_add_u64(w, "data_units_written", wear.written_units);
		json_object_object_add(o, "namespace", w);
	}
	return json_print(o);
}

static void show_spaces(const struct facts *f)
{
	uint32_t i;

	for (i = 0; i < f->nr_spaces; i++) {
		const struct ugm_space_desc *s = &f->spaces[i];

		printf("space %llu: process %u, user %u, flash server %u; %u ranges, %llu blocks, %llu launches\n",
		       (unsigned long long)s->id, s->pid, s->uid, s->lane_pid, s->ranges,
		       (unsigned long long)s->blocks, (unsigned long long)s->launches);
	}
}

/**
 * cmd_stat() - ugm stat
 * @argc: words
 * @argv: words
 *
 * Return: exit status.
 */
int cmd_stat(int argc, char **argv)
{
	bool json = false;
	const struct option_group groups[] = { { json_option, &json }, {} };
	const struct usage usage = {
		.synopsis = "[DEVICE]",
		.summary = "Statistics of DEVICE (" DEFAULT_DEVICE ") since the last reset, its spaces and their flash servers.",
		.groups = groups,
		.max_operands = 1,
	};
	struct facts f = {};
	const char *device;
	struct ugm *space;
	int ret;

	ret = device_begin(&usage, argc, argv, &device, &space);
	if (ret != OPTIONS_GO_ON)
		return ret;
	ret = ugm_info(space, &f.info);
	if (!ret)
		ret = ugm_spaces(space, &f.spaces, &f.nr_spaces);
	if (!ret) {
		forget_own(&f);
		if (json)
			f.stats = json_object_new_object();
		else
			show_spaces(&f);
		ret = ugm_stats(space, UGM_STATS_DEVICE, each, &f);
	}
	ugm_close(space);
	if (ret) {
		json_object_put(f.stats);
		ret = device_failed(device, "statistics", ret);
	} else if (json) {
		ret = show_json(device_path(device), &f);
	}
	free(f.spaces);
	return ret;
}
