// SPDX-License-Identifier: MIT
/**
 * DOC: calibration
 *
 * The links of this machine in the numbers of the model, so that predictions
 * are for it: bandwidths from moves of much memory, what a move takes besides
 * from moves of single blocks, and what a fault takes besides from touches.
 * The modelled GPU link has one bandwidth for both directions: that of moving
 * there and back.
 */

#include <inttypes.h>

#include "command.h"
#include "device.h"
#include "measure.h"
#include "output.h"

/* Blocks that are moved and touched one by one in a round. */
#define SINGLES 8

/**
 * struct calibrate_options - options of the verb
 * @rounds: how often each figure is measured
 * @size: bytes a round moves; 0: what fits
 * @output: where the machine file goes, or NULL
 * @json: JSON on the standard output
 */
struct calibrate_options {
	u64 rounds;
	u64 size;
	const char *output;
	bool json;
};

#define CALIBRATE(field) offsetof(struct calibrate_options, field)

static const struct option_spec options[] = {
	{ "rounds", "N", option_rounds, CALIBRATE(rounds), false,
	  "rounds of each measurement (5)" },
	{ "size", "SIZE", option_length, CALIBRATE(size), false,
	  "bytes a round moves (half of the GPU tier, or what the others have room for)" },
	{ "o", "FILE", option_string, CALIBRATE(output), false,
	  "where the machine file goes (the standard output)" },
	{}
};

/**
 * struct path_times - moves between the GPU tier and another
 * @out: ns of moving all of the memory there
 * @in: ns of moving it back
 * @one_out: ns of moving one block there
 * @one_in: ns of moving one back
 * @touch: ns of touching one that is there
 */
struct path_times {
	struct samples out;
	struct samples in;
	struct samples one_out;
	struct samples one_in;
	struct samples touch;
};

/**
 * struct links - what was found
 * @out_bytes_per_s: of moves from the GPU tier, by the other tier
 * @in_bytes_per_s: of moves to it
 * @gpu_bytes_per_s: GPU link, there and back
 * @gpu_latency_ns: what a move between GPU and host takes besides
 * @flash_latency_ns: likewise of flash
 * @fault_ns: what a batch of faults takes besides the move
 */
struct links {
	u64 out_bytes_per_s[UGM_NR_TIERS];
	u64 in_bytes_per_s[UGM_NR_TIERS];
	u64 gpu_bytes_per_s;
	u64 gpu_latency_ns;
	u64 flash_latency_ns;
	u64 fault_ns;
};

static int round_trips(struct measure *m, u32 tier, struct path_times *t, bool counts)
{
	u64 ns[5] = {}, i, singles = m->blocks < SINGLES ? m->blocks : SINGLES;
	int ret;

	ret = measure_round_trip(m, 0, m->blocks, tier, &ns[0], &ns[1]);
	if (!ret && counts) {
		samples_add(&t->out, ns[0]);
		samples_add(&t->in, ns[1]);
	}
	for (i = 0; i < singles && !ret; i++) {
		ret = measure_round_trip(m, i, 1, tier, &ns[2], &ns[3]);
		if (!ret)
			ret = measure_move(m, i, 1, tier, &ns[4]);
		if (ret || !counts)
			continue;
		samples_add(&t->one_out, ns[2]);
		samples_add(&t->one_in, ns[3]);
		samples_add(&t->touch, measure_touch(m, i));
	}
	return ret;
}

/* What is left of a time when the links had their part of it. */
static u64 besides(u64 ns, u64 bytes, u64 bytes_per_s, u64 more)
{
	double rest = (double)ns - (double)bytes * 1e9 / (double)bytes_per_s - (double)more;

	return rest > 0 ? (u64)rest : 0;
}

static void evaluate(const struct measure *m, struct path_times *t, struct links *l)
{
	struct path_times *host = &t[UGM_TIER_HOST], *flash = &t[UGM_TIER_FLASH];
	u64 bytes = m->blocks * m->unit, gpu_ns, one, batches;
	struct ugm_config config;
	u32 tier;

	for (tier = UGM_TIER_HOST; tier < UGM_NR_TIERS; tier++) {
		l->out_bytes_per_s[tier] = measure_rate(bytes, samples_median(&t[tier].out));
		l->in_bytes_per_s[tier] = measure_rate(bytes, samples_median(&t[tier].in));
	}
	l->gpu_bytes_per_s =
		measure_rate(2 * bytes, samples_median(&host->out) + samples_median(&host->in));
	one = (samples_median(&host->one_out) + samples_median(&host->one_in)) / 2;
	l->gpu_latency_ns = besides(one, m->unit, l->gpu_bytes_per_s, 0);
	/* In the model a move to flash takes its turn on the GPU link too. */
	gpu_ns = m->unit * 1000000000 / l->gpu_bytes_per_s;
	l->flash_latency_ns = (besides(samples_median(&flash->one_out), m->unit,
				       l->out_bytes_per_s[UGM_TIER_FLASH], gpu_ns) +
			       besides(samples_median(&flash->one_in), m->unit,
				       l->in_bytes_per_s[UGM_TIER_FLASH], gpu_ns)) /
			      2;
	ugm_config_preset(&config, NULL, NULL);
	batches = (m->unit + config.fault_batch_bytes - 1) / config.fault_batch_bytes;
	l->fault_ns = besides(samples_median(&host->touch), m->unit, l->gpu_bytes_per_s,
			      l->gpu_latency_ns) /
		      batches;
}

static int write_machine(const struct measure *m, const struct calibrate_options *o,
			 const struct links *l)
{
	struct ugm_output out;
	struct ugm_error err;

	if (ugm_output_open(&out, o->output, &err))
		return complain(EXIT_FAILED, "%s", err.text);
	fprintf(out.file,
		"# ugm-machine %d\n"
		"# %s with %s: %" PRIu64 " rounds of %" PRIu64 " blocks of %" PRIu64 " bytes\n"
		"pcie-bw %" PRIu64 "\n"
		"flash-read-bw %" PRIu64 "\n"
		"flash-write-bw %" PRIu64 "\n"
		"gpu-latency-ns %" PRIu64 "\n"
		"flash-latency-ns %" PRIu64 "\n"
		"fault-ns %" PRIu64 "\n",
		MACHINE_VERSION, device_path(m->device), m->info.namespace_path, o->rounds,
		m->blocks, m->unit, l->gpu_bytes_per_s, l->in_bytes_per_s[UGM_TIER_FLASH],
		l->out_bytes_per_s[UGM_TIER_FLASH], l->gpu_latency_ns, l->flash_latency_ns,
		l->fault_ns);
	return ugm_output_commit(&out, &err) ? complain(EXIT_FAILED, "%s", err.text) : EXIT_DONE;
}

static int print_json(const struct measure *m, const struct calibrate_options *o,
		      const struct links *l)
{
	struct json_object *root = json_object_new_object();

	json_add_text(root, "schema", "ugm.calibration/1");
	json_add_text(root, "device", device_path(m->device));
	json_add_text(root, "namespace_path", m->info.namespace_path);
	json_add_u64(root, "block_size_bytes", m->unit);
	json_add_u64(root, "round_bytes", m->blocks * m->unit);
	json_add_u64(root, "rounds", o->rounds);
	json_add_u64(root, "gpu_to_host_bytes_per_s", l->out_bytes_per_s[UGM_TIER_HOST]);
	json_add_u64(root, "host_to_gpu_bytes_per_s", l->in_bytes_per_s[UGM_TIER_HOST]);
	json_add_u64(root, "pcie_bytes_per_s", l->gpu_bytes_per_s);
	json_add_u64(root, "flash_read_bytes_per_s", l->in_bytes_per_s[UGM_TIER_FLASH]);
	json_add_u64(root, "flash_write_bytes_per_s", l->out_bytes_per_s[UGM_TIER_FLASH]);
	json_add_u64(root, "gpu_latency_ns", l->gpu_latency_ns);
	json_add_u64(root, "flash_latency_ns", l->flash_latency_ns);
	json_add_u64(root, "fault_ns", l->fault_ns);
	return json_print(root);
}

static int calibrate(struct measure *m, const struct calibrate_options *o, struct links *l)
{
	static struct path_times times[UGM_NR_TIERS];
	u32 tier;
	u64 i;
	int ret;

	for (tier = UGM_TIER_HOST; tier < UGM_NR_TIERS; tier++) {
		/* The first round warms up. */
		for (i = 0; i <= o->rounds; i++) {
			ret = round_trips(m, tier, &times[tier], i);
			if (ret)
				return measure_failed(m, tier, ret);
		}
	}
	evaluate(m, times, l);
	return EXIT_DONE;
}

/**
 * cmd_calibrate() - ugm calibrate
 * @argc: words
 * @argv: words
 *
 * Return: exit status.
 */
int cmd_calibrate(int argc, char **argv)
{
	struct calibrate_options o = { .rounds = 5 };
	const struct option_group groups[] = { { options, &o }, { json_option, &o.json }, {} };
	const struct usage usage = {
		.synopsis = "[DEVICE]",
		.summary = "Measure the links of this machine through DEVICE (" DEFAULT_DEVICE
			   "), and write them as a machine file for --preset.",
		.groups = groups,
		.max_operands = 1,
	};
	struct links links = {};
	struct measure m;
	const char *device;
	int ret;

	ret = options_parse_one(&usage, argc, argv, &device);
	if (ret != OPTIONS_GO_ON)
		return ret;
	if (o.json && o.output && !strcmp(o.output, "-"))
		return complain(EXIT_USAGE, "--json and -o cannot share the standard output");
	if (!o.json && !o.output)
		o.output = "-";
	ret = measure_begin(&m, device, o.size);
	if (ret)
		return ret;
	ret = calibrate(&m, &o, &links);
	if (!ret && o.output)
		ret = write_machine(&m, &o, &links);
	if (!ret && o.json)
		ret = print_json(&m, &o, &links);
	measure_end(&m);
	return ret;
}
