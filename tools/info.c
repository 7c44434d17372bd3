// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "device.h"
#include "engine.h"
#include "namespace.h"

/**
 * struct info - what is told of a device
 * @json: as JSON
 * @namespaces: of the namespaces of this machine instead
 */
struct info {
	bool json;
	bool namespaces;
};

static const struct option_spec options[] = {
	{ "namespaces", NULL, NULL, offsetof(struct info, namespaces), false,
	  "the NVMe namespaces of this machine instead" },
	{}
};

static const char *const clocks[] = {
	[UGM_CLOCK_VIRTUAL] = "virtual",
	[UGM_CLOCK_REAL] = "real",
	[UGM_CLOCK_PACED] = "paced",
};

static const char *clock_name(u32 clock)
{
	return clock < ARRAY_SIZE(clocks) ? clocks[clock] : "unknown";
}

static struct json_object *namespace_json(const struct ugm_namespace *n)
{
	struct json_object *o = json_object_new_object(), *formats = json_object_new_array();
	struct ugm_wear wear;
	unsigned int i;

	json_add_text(o, "path", n->path);
	json_add_text(o, "controller", n->controller);
	json_add_text(o, "transport", n->transport);
	json_add_text(o, "model", n->model);
	json_add_text(o, "serial", n->serial);
	json_add_text(o, "firmware", n->firmware);
	json_add_u64(o, "size_bytes", n->bytes);
	json_add_u64(o, "max_transfer_bytes", n->max_transfer_bytes);
	for (i = 0; i < n->nr_formats; i++) {
		struct json_object *f = json_object_new_object();

		json_add_u64(f, "lba_bytes", n->formats[i].lba_bytes);
		json_add_u64(f, "metadata_bytes", n->formats[i].metadata_bytes);
		json_add_bool(f, "in_use", i == n->format);
		json_object_array_add(formats, f);
	}
	json_object_object_add(o, "lba_formats", formats);
	if (!ugm_namespace_wear(n->path, &wear)) {
		json_add_u64(o, "data_units_read", wear.read_units);
		json_add_u64(o, "data_units_written", wear.written_units);
	}
	return o;
}

static void namespace_print(const struct ugm_namespace *n)
{
	struct ugm_wear wear;

	printf("%s: %s, serial %s, firmware %s\n", n->path, n->model, n->serial, n->firmware);
	printf("  size           %" PRIu64 " bytes\n", n->bytes);
	printf("  controller     %s (%s)\n", n->controller, n->transport);
	if (n->nr_formats)
		printf("  LBA format     %u + %u bytes\n", n->formats[n->format].lba_bytes,
		       n->formats[n->format].metadata_bytes);
	if (n->max_transfer_bytes)
		printf("  largest I/O    %" PRIu64 " bytes (MDTS)\n", n->max_transfer_bytes);
	if (!ugm_namespace_wear(n->path, &wear))
		printf("  worn by        %" PRIu64 " bytes read, %" PRIu64 " written\n",
		       wear.read_units * UGM_DATA_UNIT_BYTES,
		       wear.written_units * UGM_DATA_UNIT_BYTES);
}

static int show_namespaces(const struct info *o)
{
	struct json_object *root, *array;
	struct ugm_namespace *list;
	struct ugm_error err;
	size_t nr, i;
	int ret;

	ret = ugm_namespaces(&list, &nr, &err);
	if (ret)
		return complain(EXIT_FAILED, "%s", err.text);
	if (o->json) {
		root = json_object_new_object();
		array = json_object_new_array();
		json_add_text(root, "schema", "ugm.namespaces/1");
		for (i = 0; i < nr; i++)
			json_object_array_add(array, namespace_json(&list[i]));
		json_object_object_add(root, "namespaces", array);
		ret = json_print(root);
	} else {
		for (i = 0; i < nr; i++)
			namespace_print(&list[i]);
		if (!nr)
			fprintf(stderr, "no NVMe namespace\n");
	}
	free(list);
	return ret;
}

static struct json_object *machine_json(const struct ugm_ioc_machine *m)
{
	static const char *const links[UGM_NR_LINKS] = {
		[UGM_LINK_GPU_IN] = "gpu_in_bytes_per_s",
		[UGM_LINK_GPU_OUT] = "gpu_out_bytes_per_s",
		[UGM_LINK_FLASH_READ] = "flash_read_bytes_per_s",
		[UGM_LINK_FLASH_WRITE] = "flash_write_bytes_per_s",
	};
	struct json_object *o = json_object_new_object();
	unsigned int i;

	json_add_text(o, "clock", clock_name(m->clock));
	json_add_u64(o, "block_bytes", m->block_bytes);
	json_add_u64(o, "gpu_bytes", m->gpu_bytes);
	json_add_u64(o, "host_bytes", m->host_bytes);
	for (i = 0; i < UGM_NR_LINKS; i++)
		json_add_u64(o, links[i], m->bandwidth[i]);
	json_add_u64(o, "gpu_latency_ns", m->gpu_latency_ns);
	json_add_u64(o, "flash_latency_ns", m->flash_latency_ns);
	json_add_u64(o, "fault_ns", m->fault_ns);
	json_add_u64(o, "fault_batch_bytes", m->fault_batch_bytes);
	return o;
}

static int show_json(const char *path, const struct ugm_ioc_info *i,
		     const struct ugm_ioc_machine *m, const struct ugm_namespace *n)
{
	struct json_object *o = json_object_new_object();
	char version[32];

	snprintf(version, sizeof(version), "%u.%u.%u", i->version >> 16, i->version >> 8 & 0xff,
		 i->version & 0xff);
	json_add_text(o, "schema", "ugm.info/1");
	json_add_text(o, "device", path);
	json_add_text(o, "version", version);
	json_add_u64(o, "features", i->features);
	json_add_bool(o, "broken", i->flags & UGM_INFO_BROKEN);
	json_add_u64(o, "block_size_bytes", i->block_size);
	json_add_text(o, "gpu_pool",
		      i->flags & UGM_INFO_RESERVED_DRAM ? "reserved" : "page allocator");
	json_add_u64(o, "gpu_phys", i->gpu_phys);
	json_add_u64(o, "gpu_frames", i->gpu_frames);
	json_add_u64(o, "gpu_free_frames", i->gpu_free);
	json_add_u64(o, "host_limit_blocks", i->host_limit);
	json_add_u64(o, "host_used_blocks", i->host_used);
	json_add_u64(o, "flash_slots", i->flash_slots);
	json_add_u64(o, "flash_used_slots", i->flash_used);
	json_add_u64(o, "metadata_bytes", i->metadata_bytes);
	json_object_object_add(o, "machine", machine_json(m));
	json_add_bool(o, "attached", i->flags & UGM_INFO_ATTACHED);
	if (i->flags & UGM_INFO_ATTACHED)
		json_add_text(o, "namespace_path", i->namespace_path);
	if (n)
		json_object_object_add(o, "namespace", namespace_json(n));
	return json_print(o);
}

static void show(const char *path, const struct ugm_ioc_info *i, const struct ugm_ioc_machine *m,
		 const struct ugm_namespace *n)
{
	printf("%s: ugm %u.%u.%u, blocks of %u bytes%s\n", path, i->version >> 16,
	       i->version >> 8 & 0xff, i->version & 0xff, i->block_size,
	       i->flags & UGM_INFO_BROKEN ? "; an invariant broke: it refuses new work" : "");
	printf("GPU tier   %llu frames, %llu free; ", (unsigned long long)i->gpu_frames,
	       (unsigned long long)i->gpu_free);
	if (i->flags & UGM_INFO_RESERVED_DRAM)
		printf("reserved DRAM at %#llx\n", (unsigned long long)i->gpu_phys);
	else
		printf("from the page allocator (no gpu_phys=)\n");
	printf("host tier  %llu blocks at most, %llu used\n", (unsigned long long)i->host_limit,
	       (unsigned long long)i->host_used);
	if (i->flags & UGM_INFO_ATTACHED)
		printf("flash tier %llu slots, %llu used; %s\n", (unsigned long long)i->flash_slots,
		       (unsigned long long)i->flash_used, i->namespace_path);
	else
		printf("flash tier none (ugm attach NAMESPACE)\n");
	printf("metadata   %llu bytes\n", (unsigned long long)i->metadata_bytes);
	printf("clock      %s; a block stands for %llu bytes\n", clock_name(m->clock),
	       (unsigned long long)m->block_bytes);
	printf("links      GPU %.3f/%.3f GB/s in/out, flash %.3f/%.3f GB/s read/write\n",
	       (double)m->bandwidth[UGM_LINK_GPU_IN] / 1e9,
	       (double)m->bandwidth[UGM_LINK_GPU_OUT] / 1e9,
	       (double)m->bandwidth[UGM_LINK_FLASH_READ] / 1e9,
	       (double)m->bandwidth[UGM_LINK_FLASH_WRITE] / 1e9);
	if (n)
		namespace_print(n);
}

/**
 * cmd_info() - ugm info
 * @argc: words
 * @argv: words
 *
 * Return: exit status.
 */
int cmd_info(int argc, char **argv)
{
	struct info o = {};
	const struct option_group groups[] = { { options, &o }, { json_option, &o.json }, {} };
	const struct usage usage = {
		.synopsis = "[DEVICE]",
		.summary = "Tell what DEVICE (" DEFAULT_DEVICE ") is, what it models and what is attached.",
		.groups = groups,
		.max_operands = 1,
	};
	struct ugm_ioc_machine machine;
	struct ugm_namespace namespace;
	struct ugm_ioc_info info;
	struct ugm_error err;
	const char *device;
	struct ugm *space;
	bool known;
	int ret;

	ret = options_parse_one(&usage, argc, argv, &device);
	if (ret != OPTIONS_GO_ON)
		return ret;
	if (o.namespaces && device)
		return complain(EXIT_USAGE, "--namespaces is not about a device: '%s'", device);
	if (o.namespaces)
		return show_namespaces(&o);
	ret = device_open(device, &space);
	if (ret)
		return ret;
	ret = ugm_info(space, &info);
	if (!ret)
		ret = ugm_machine_get(space, &machine);
	ugm_close(space);
	if (ret)
		return device_failed(device, "info", ret);
	/* Other block devices can be attached too; there is less to tell of them. */
	known = info.flags & UGM_INFO_ATTACHED &&
		!ugm_namespace_find(info.namespace_path, &namespace, &err);
	if (o.json)
		return show_json(device_path(device), &info, &machine, known ? &namespace : NULL);
	show(device_path(device), &info, &machine, known ? &namespace : NULL);
	return EXIT_DONE;
}
