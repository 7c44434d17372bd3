// SPDX-License-Identifier: MIT
#include <errno.h>
#include <unistd.h>

#include "options.h"
#include "text.h"
#include "units.h"

/**
 * DOC: machine files
 *
 * A machine is described by options, or by a file of lines "NAME VALUE", which
 * are the same without dashes. What a file does not name is as on the published
 * machine; options that are given as well go before it.
 */

/* A second; slower is no link. */
#define MAX_LATENCY_NS 1000000000ULL

static int option_block_size(const char *what, const char *text, void *target,
			     struct ugm_error *err)
{
	return ugm_parse_size(what, text, UGM_MIN_BLOCK_SIZE, UGM_MAX_BLOCK_SIZE, target, err);
}

static int option_ns(const char *what, const char *text, void *target, struct ugm_error *err)
{
	return ugm_parse_u64(what, text, 0, MAX_LATENCY_NS, target, err);
}

static int option_bandwidth(const char *what, const char *text, void *target, struct ugm_error *err)
{
	return ugm_parse_bandwidth(what, text, target, err);
}

static int option_overlap(const char *what, const char *text, void *target, struct ugm_error *err)
{
	static const char *const names[] = { "full", "none" };
	struct ugm_config *config = target;

	config->overlap_given = true;
	return ugm_parse_choice(what, text, names, ARRAY_SIZE(names), &config->overlap, err);
}

static int option_factor(const char *what, const char *text, void *target, struct ugm_error *err)
{
	double f;

	if (!ugm_real(text, strlen(text), &f) || !(f > 0 && f <= 100))
		return ugm_fail(err, -EINVAL, "%s '%s': allowed are numbers over 0, up to 100",
				what, text);
	*(double *)target = f;
	return 0;
}

static int option_noise(const char *what, const char *text, void *target, struct ugm_error *err)
{
	double share;

	if (!ugm_real(text, strlen(text), &share) || !(share < 1))
		return ugm_fail(err, -EINVAL, "%s '%s': allowed are numbers from 0 to under 1",
				what, text);
	*(double *)target = share;
	return 0;
}

static int option_noise_per(const char *what, const char *text, void *target, struct ugm_error *err)
{
	static const char *const names[] = { "call", "name" };

	return ugm_parse_choice(what, text, names, ARRAY_SIZE(names), target, err);
}

static int option_drive(const char *what, const char *text, void *target, struct ugm_error *err)
{
	struct ugm_config *config = target;

	return ugm_drive_find(text, &config->drive, err);
}

#define CONFIG(field) offsetof(struct ugm_config, field)

static int option_preset(const char *what, const char *text, void *target, struct ugm_error *err);

const struct option_spec machine_options[] = {
	{ "preset", "NAME", option_preset, 0, true,
	  "machine to start from: g10-paper, g10-artifact (predictions only), or a file" },
	{ "gpu-mem", "SIZE", option_size, CONFIG(gpu_mem_bytes), false,
	  "capacity of the GPU tier, full size" },
	{ "host-mem", "SIZE", option_size, CONFIG(host_mem_bytes), false,
	  "capacity of the host tier, full size" },
	{ "pcie-bw", "B/S", option_bandwidth, CONFIG(pcie_bytes_per_s), false,
	  "bandwidth of the GPU link, each direction" },
	{ "flash-read-bw", "B/S", option_bandwidth, CONFIG(flash_read_bytes_per_s), false,
	  "flash read bandwidth" },
	{ "flash-write-bw", "B/S", option_bandwidth, CONFIG(flash_write_bytes_per_s), false,
	  "flash write bandwidth" },
	{ "gpu-latency-ns", "NS", option_ns, CONFIG(gpu_latency_ns), false,
	  "added to each move between GPU and host" },
	{ "flash-latency-ns", "NS", option_ns, CONFIG(flash_latency_ns), false,
	  "added to each move from or to flash" },
	{ "fault-ns", "NS", option_ns, CONFIG(fault_ns), false,
	  "what handling a batch of faults takes" },
	{}
};

/* A line of a machine file sets what the option of its name sets. */
static int read_line(struct ugm_text *file, struct ugm_config *config, struct ugm_error *err)
{
	const struct option_spec *o = machine_options;
	struct ugm_error why;

	while (o->name && (o->first || strcmp(o->name, file->words[0])))
		o++;
	if (!o->name)
		return ugm_text_fail(file, err, "'%.100s' is nothing that a machine has",
				     file->words[0]);
	if (file->nr_words != 2)
		return ugm_text_fail(file, err, "'%s' takes one value: %s", o->name, o->argument);
	if (o->parse(o->name, file->words[1], (char *)config + o->offset, &why))
		return ugm_text_fail(file, err, "%s", why.text);
	return 0;
}

static int read_machine(const char *path, struct ugm_config *config, struct ugm_error *err)
{
	struct ugm_text file;
	int ret;

	ret = ugm_text_open(&file, path, "ugm-machine", MACHINE_VERSION, err);
	while (!ret) {
		ret = ugm_text_next(&file, err);
		if (ret <= 0)
			break;
		ret = read_line(&file, config, err);
	}
	ugm_text_close(&file);
	config->preset = path;
	return ret;
}

/* A machine that is built in goes before a file of its name. */
static int option_preset(const char *what, const char *text, void *target, struct ugm_error *err)
{
	struct ugm_config *config = target;

	if (!ugm_config_preset(config, text, err))
		return 0;
	if (access(text, F_OK))
		return ugm_fail(err, -EINVAL, "%s '%s': no such file, and not one of: %s", what,
				text, ugm_preset_names());
	ugm_config_preset(config, NULL, NULL);
	return read_machine(text, config, err);
}

const struct option_spec model_options[] = {
	{ "overlap", "full|none", option_overlap, 0, false,
	  "does execution overlap with the wait for operands?" },
	{ "scale", "K", option_count, CONFIG(scale), false,
	  "full-size bytes per byte of the replay" },
	{ "block-size", "SIZE", option_block_size, CONFIG(block_size), false, "bytes of a block" },
	{ "target-factor", "F", option_factor, CONFIG(target_factor), false,
	  "of the memory that flashneuron and g10 of any kind plan to use (1)" },
	{}
};

const struct option_spec iteration_options[] = {
	{ "iterations", "N", option_count, CONFIG(iterations), false,
	  "how often the trace is run; the second is the result" },
	{}
};

const struct option_spec wear_options[] = {
	{ "drive", "DRIVE", option_drive, 0, false,
	  "drive whose wear is told: a name, or CAPACITY:ENDURANCE in bytes" },
	{}
};

const struct option_spec noise_options[] = {
	{ "noise", "SHARE", option_noise, CONFIG(noise), false,
	  "durations vary by up to this share, unknown to the plan (0)" },
	{ "seed", "N", option_u64, CONFIG(seed), false, "seed of the noise (0)" },
	{ "noise-per", "call|name", option_noise_per, CONFIG(noise_per_name), false,
	  "drawn for each call (call), or once for each kernel name" },
	{ "replan", NULL, NULL, CONFIG(replan), false,
	  "plan again from the durations that were observed" },
	{}
};
