// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "device.h"
#include "options.h"
#include "policy.h"
#include "replay.h"
#include "units.h"

/**
 * struct run_options - options of the verb
 * @policy: policy to run
 * @schedule: schedule to run, instead of a policy
 * @json: where the result goes
 * @launches: where the log of launches goes
 * @replay: how it is replayed
 */
struct run_options {
	const char *policy;
	const char *schedule;
	const char *json;
	const char *launches;
	struct ugm_replay_options replay;
};

#define RUN(field) offsetof(struct run_options, field)

static int option_clock(const char *what, const char *text, void *target, struct ugm_error *err)
{
	static const char *const names[] = {
		[UGM_CLOCK_VIRTUAL] = "virtual",
		[UGM_CLOCK_REAL] = "real",
		[UGM_CLOCK_PACED] = "paced",
	};

	return ugm_parse_choice(what, text, names, ARRAY_SIZE(names), target, err);
}

static int option_verify(const char *what, const char *text, void *target, struct ugm_error *err)
{
	static const char *const names[] = {
		[UGM_VERIFY_NONE] = "none",
		[UGM_VERIFY_SAMPLE] = "sample",
		[UGM_VERIFY_FULL] = "full",
	};

	return ugm_parse_choice(what, text, names, ARRAY_SIZE(names), target, err);
}

static const struct option_spec run_options[] = {
	{ "policy", "NAME", option_string, RUN(policy), false, "policy to run" },
	{ "schedule", "FILE", option_string, RUN(schedule), false,
	  "schedule to run, instead of a policy" },
	{ "device", "PATH", option_string, RUN(replay.device), false,
	  "device (" DEFAULT_DEVICE ", or $UGM_DEVICE)" },
	{ "clock", "virtual|real|paced", option_clock, RUN(replay.clock), false,
	  "whose time it is (virtual)" },
	{ "verify", "none|sample|full", option_verify, RUN(replay.verify), false,
	  "how much of the data is written and checked (sample)" },
	{ "no-server", NULL, NULL, RUN(replay.no_server), false,
	  "no flash server: the kernel lane moves everything" },
	{ "json", "FILE", option_string, RUN(json), false,
	  "write the result as JSON; - for the standard output" },
	{ "launches", "FILE", option_string, RUN(launches), false,
	  "write begin and end of every launch" },
	{}
};

static u64 lane_bytes(const struct ugm_replay_report *r, unsigned int lane)
{
	unsigned int src, dst, cause;
	u64 sum = 0;

	for (src = 0; src < UGM_NR_TIERS; src++)
		for (dst = 0; dst < UGM_NR_TIERS; dst++)
			for (cause = 0; cause < UGM_NR_CAUSES; cause++)
				if (src == UGM_TIER_FLASH || dst == UGM_TIER_FLASH)
					sum += r->traffic.blocks[src][dst][lane][cause];
	return sum * r->block_size;
}

/* What only a device can tell, for people. */
static void tell(const struct ugm_replay_options *o, const struct ugm_replay_report *r)
{
	if (r->server_error && !o->no_server)
		fprintf(stderr, "no planner lane: %s%s; the kernel lane moved everything\n",
			strerror(-r->server_error),
			r->server_error == -EPERM ? " (needs CAP_SYS_ADMIN)" : "");
	if (r->server_signal)
		fprintf(stderr, "the flash server died: %s; the kernel lane went on\n",
			strsignal(r->server_signal));
	fprintf(stderr,
		"flash traffic of all iterations: planner lane %" PRIu64
		" bytes, kernel lane %" PRIu64 " bytes\n",
		lane_bytes(r, UGM_LANE_PLANNER), lane_bytes(r, UGM_LANE_KERNEL));
	if (!r->wear_error)
		fprintf(stderr,
			"%s counted meanwhile: %" PRIu64 " bytes read, %" PRIu64 " written\n",
			r->namespace_path, r->wear.read_units * UGM_DATA_UNIT_BYTES,
			r->wear.written_units * UGM_DATA_UNIT_BYTES);
}

static int report(const struct run_options *o, const struct ugm_config *config,
		  const struct ugm_result *result)
{
	struct ugm_error err;

	if (o->json &&
	    ugm_result_write_json(ugm_result_json(config, result, 1), o->json, &err))
		return complain(EXIT_FAILED, "%s", err.text);
	if (*result->error.text)
		return complain(EXIT_FAILED, "%s", result->error.text);
	if (!o->json || strcmp(o->json, "-"))
		ugm_result_write_table(stdout, config, result, 1);
	return EXIT_DONE;
}

static int replay(const struct run_options *o, const struct ugm_layout *layout,
		  const struct ugm_schedule *s, struct ugm_output *launches,
		  struct ugm_result *result)
{
	struct ugm_replay_report r;
	struct ugm_progress progress;
	int ret;

	ugm_progress_begin(&progress, "launches",
			   result->iterations * layout->trace->nr_kernels);
	ret = ugm_replay(layout, s, &o->replay, launches, &progress, result, &r, &result->error);
	ugm_progress_end(&progress);
	if (!ret)
		tell(&o->replay, &r);
	return ret;
}

/* Plan, or take the schedule, and replay it. */
static int run(const struct run_options *o, struct ugm_config *config,
	       const struct ugm_trace *trace, const struct ugm_policy *policy,
	       struct ugm_schedule *given, struct ugm_output *launches, struct ugm_result *result)
{
	struct ugm_layout *layout;
	struct ugm_schedule planned, *s = given;
	u64 began = ugm_wall_ns();
	int ret;

	if (!policy) {
		if (config->overlap_given)
			given->opt.overlap = (u8)config->overlap;
		config->overlap = given->opt.overlap;
	}
	if (ugm_result_init(result, trace->name, policy ? policy->name : o->schedule,
			    trace->ideal_ns, config->iterations))
		return ugm_fail(&result->error, -ENOMEM, "out of memory");
	ret = ugm_layout_make(trace, config, &layout, &result->error);
	if (ret)
		return ret;
	if (policy) {
		s = &planned;
		ret = ugm_policy_plan(policy, layout, s, &result->error);
		result->plan_ns = ugm_wall_ns() - began;
	}
	if (!ret) {
		ret = replay(o, layout, s, launches, result);
		if (policy)
			ugm_schedule_free(&planned);
	}
	ugm_layout_free(layout);
	return ret;
}

static int with_outputs(const struct run_options *o, struct ugm_config *config,
			const struct ugm_trace *trace, const struct ugm_policy *policy,
			struct ugm_schedule *s)
{
	struct ugm_output launches = {};
	struct ugm_result result;
	struct ugm_error err;
	int status, ret;

	if (o->launches && ugm_output_open(&launches, o->launches, &err))
		return complain(EXIT_FAILED, "%s", err.text);
	ret = run(o, config, trace, policy, s, o->launches ? &launches : NULL, &result);
	if (ret)
		ugm_output_discard(&launches);
	else if (o->launches && ugm_output_commit(&launches, &err))
		ret = complain(EXIT_FAILED, "%s", err.text);
	status = report(o, config, &result);
	ugm_result_free(&result);
	return ret && status == EXIT_DONE ? EXIT_FAILED : status;
}

/* The device decides the block size; another one that was asked for is an error. */
static int device_block_size(const struct run_options *o, struct ugm_config *config)
{
	struct ugm_ioc_info info;
	struct ugm *space;
	u64 size;
	int status;

	status = device_open(o->replay.device, &space);
	if (status)
		return status;
	size = ugm_block_size(space);
	status = ugm_info(space, &info);
	ugm_close(space);
	if (status)
		return device_failed(o->replay.device, "info", status);
	if (config->block_size && config->block_size != size)
		return complain(EXIT_USAGE,
				"--block-size %" PRIu64 ": %s has blocks of %" PRIu64
				" bytes (module parameter block_size=)",
				config->block_size, device_path(o->replay.device), size);
	config->block_size = size;
	if (!(info.flags & UGM_INFO_ATTACHED))
		return complain(EXIT_FAILED, "%s: no namespace is attached: ugm attach NAMESPACE",
				device_path(o->replay.device));
	return EXIT_DONE;
}

static int prepare(const char *path, const struct run_options *o, struct ugm_config *config)
{
	const struct ugm_policy *policy = NULL;
	struct ugm_schedule schedule = {};
	struct ugm_trace *trace = NULL;
	struct ugm_error err;
	int status;

	if (o->policy) {
		policy = ugm_policy_find(o->policy, &err);
		if (!policy)
			return complain(EXIT_USAGE, "%s", err.text);
		if (policy->compute)
			return complain(EXIT_USAGE, "--policy %s: is computed, there is nothing to run",
					policy->name);
	}
	if (ugm_trace_read(path, &trace, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	if (o->schedule && ugm_schedule_read(o->schedule, trace, &schedule, &err))
		status = complain(EXIT_USAGE, "%s", err.text);
	else
		status = device_block_size(o, config);
	if (status == EXIT_DONE)
		status = ugm_config_check(config, &err) ?
				 complain(EXIT_USAGE, "%s", err.text) :
				 with_outputs(o, config, trace, policy, &schedule);
	ugm_schedule_free(&schedule);
	ugm_trace_free(trace);
	return status;
}

/**
 * cmd_run() - ugm run
 * @argc: of the verb
 * @argv: of the verb
 *
 * Return: exit status.
 */
int cmd_run(int argc, char **argv)
{
	struct run_options o = { .replay.verify = UGM_VERIFY_SAMPLE };
	struct ugm_config config;
	const struct option_group groups[] = { { run_options, &o },
					       { machine_options, &config },
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
	if (!o.policy == !o.schedule)
		status = complain(EXIT_USAGE, "give either --policy or --schedule");
	else if (o.json && o.launches && !strcmp(o.json, "-") && !strcmp(o.launches, "-"))
		status = complain(EXIT_USAGE,
				  "--json and --launches cannot both go to the standard output");
	else
		status = prepare(operands[0], &o, &config);
	free(operands);
	return status;
}
