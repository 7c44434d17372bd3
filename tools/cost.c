// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "cost.h"
#include "device.h"
#include "json.h"
#include "noise.h"
#include "page_model.h"
#include "perfetto.h"
#include "simulate.h"
#include "tensor_model.h"
#include "units.h"

#define COST(field) offsetof(struct cost_options, field)

const struct option_spec cost_options[] = {
	{ "policy", "NAME", option_string, COST(policy), false, "policy" },
	{ "schedule", "FILE", option_string, COST(schedule), false,
	  "schedule, instead of a policy" },
	{ "json", "FILE", option_string, COST(json), false,
	  "write the result as JSON; - for the standard output" },
	{ "launches", "FILE", option_string, COST(launches), false,
	  "write begin and end of every launch" },
	{}
};

const struct option_spec predict_options[] = {
	{ "perfetto", "FILE", option_string, COST(perfetto), false,
	  "write a timeline for ui.perfetto.dev (Chrome trace)" },
	{}
};

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

#define REPLAY(field) offsetof(struct ugm_replay_options, field)

const struct option_spec replay_options[] = {
	{ "clock", "virtual|real|paced", option_clock, REPLAY(clock), false,
	  "whose time it is (virtual)" },
	{ "verify", "none|sample|full", option_verify, REPLAY(verify), false,
	  "how much of the data is written and checked (sample)" },
	{ "no-server", NULL, NULL, REPLAY(no_server), false,
	  "no flash server: the kernel lane moves everything" },
	{}
};

/* A computed row: every iteration takes the same. */
static int compute(const struct ugm_trace *trace, const struct ugm_config *config,
		   const struct ugm_policy *policy, struct ugm_result *result)
{
	struct ugm_trace noisy;
	u64 began, ns, i;
	int ret;

	if (config->noise > 0 && ugm_noise_apply(trace, config, &noisy))
		return ugm_fail(&result->error, -ENOMEM, "no memory");
	began = ugm_wall_ns();
	ret = policy->compute(config->noise > 0 ? &noisy : trace, config, &ns,
			      &result->error);
	result->plan_ns = ugm_wall_ns() - began;
	if (config->noise > 0) {
		result->ideal_ns = noisy.ideal_ns;
		ugm_noise_free(&noisy);
	}
	if (ret)
		return ret;
	for (i = 0; i < result->iterations; i++)
		result->iterations_ns[i] = ns;
	ugm_result_finish(result);
	return 0;
}

static u64 lane_bytes(const struct ugm_replay_report *r, unsigned int lane)
{
	unsigned int src, dst, cause;
	u64 blocks = 0;

	for (src = 0; src < UGM_NR_TIERS; src++)
		for (dst = 0; dst < UGM_NR_TIERS; dst++)
			for (cause = 0; cause < UGM_NR_CAUSES; cause++)
				if (src == UGM_TIER_FLASH || dst == UGM_TIER_FLASH)
					blocks += r->traffic.blocks[src][dst][lane][cause];
	return blocks * r->block_size;
}

/* What only a device can tell, for people. */
static void tell(const struct ugm_replay_options *o, const struct ugm_replay_report *r,
		 const char *who)
{
	if (r->server_error && !o->no_server)
		fprintf(stderr, "%s: no planner lane: %s%s; the kernel lane moved everything\n", who,
			strerror(-r->server_error),
			r->server_error == -EPERM ? " (needs CAP_SYS_ADMIN)" : "");
	if (r->server_signal)
		fprintf(stderr, "%s: the flash server died: %s; the kernel lane went on\n", who,
			strsignal(r->server_signal));
	fprintf(stderr,
		"%s: flash traffic of all iterations in bytes of the device: planner lane %" PRIu64
		", kernel lane %" PRIu64,
		who, lane_bytes(r, UGM_LANE_PLANNER), lane_bytes(r, UGM_LANE_KERNEL));
	if (!r->wear_error)
		fprintf(stderr, "; %s counted %" PRIu64 " read, %" PRIu64 " written",
			r->namespace_path, r->wear.read_units * UGM_DATA_UNIT_BYTES,
			r->wear.written_units * UGM_DATA_UNIT_BYTES);
	fputc('\n', stderr);
	if (o->verify != UGM_VERIFY_NONE)
		fprintf(stderr, "%s: %" PRIu64 " bytes of operands read and found as written\n", who,
			r->verified_bytes);
}

/*
 * The published simulators move whole tensors, oldest first, and write whatever
 * leaves. A schedule that asks for more would get a wrong answer there.
 */
static int check_published(const struct ugm_layout *layout, const struct ugm_schedule *s,
			   struct ugm_error *err)
{
	const char *what = NULL;
	u64 i;

	if (s->opt.victim != UGM_VICTIM_FIFO)
		what = "victims in another order than fifo";
	else if (s->opt.clean != UGM_CLEAN_WRITE)
		what = "clean drops";
	for (i = 0; i < s->nr_hints && !what; i++) {
		const struct ugm_schedule_hint *h = &s->hints[i];

		if (h->op == UGM_OP_WRITEBACK)
			what = "early write-back";
		else if (h->len != layout->trace->tensors[h->tensor].bytes)
			what = "moves of parts of tensors";
	}
	if (!what)
		return 0;
	return ugm_fail(err, -EOPNOTSUPP, "%s: the simulators of preset %s know no %s",
			layout->trace->name, layout->config.preset, what);
}

static int replay_published(const struct ugm_layout *layout, const struct ugm_policy *policy,
			    const struct ugm_schedule *s, struct ugm_progress *progress,
			    struct ugm_result *result)
{
	int ret = check_published(layout, s, &result->error);

	if (ret)
		return ret;
	if ((policy && policy->whole_tensors) || !s->opt.demand)
		return ugm_tensor_model(layout, s, result, &result->error);
	return ugm_page_model(layout, s, progress, result, &result->error);
}

/* Replay on the device, or predict where there is none. */
static int replay(const struct ugm_layout *layout, const struct ugm_policy *policy,
		  const struct ugm_schedule *s,
		  const struct ugm_replay_options *device, struct ugm_output *launches,
		  struct ugm_result *result)
{
	struct ugm_replay_report r;
	struct ugm_progress progress;
	int ret;

	ugm_progress_begin(&progress, "launches",
			   result->iterations * layout->trace->nr_kernels);
	if (layout->config.published)
		ret = replay_published(layout, policy, s, &progress, result);
	else if (device)
		ret = ugm_replay(layout, s, device, launches, &progress, result, &r,
				 &result->error);
	else
		ret = ugm_simulate(layout, s, launches, &progress, result, &result->error);
	ugm_progress_end(&progress);
	if (!ret && device)
		tell(device, &r, result->policy);
	return ret;
}

/* Planned with the trace's durations, replayed with others. */
static int replay_noisily(struct ugm_layout *layout, const struct ugm_policy *policy,
			  const struct ugm_schedule *s, const struct ugm_replay_options *device,
			  struct ugm_output *launches, struct ugm_result *result)
{
	const struct ugm_trace *planned = layout->trace;
	struct ugm_trace noisy;
	int ret;

	if (layout->config.noise <= 0)
		return replay(layout, policy, s, device, launches, result);
	if (ugm_noise_apply(planned, &layout->config, &noisy))
		return ugm_fail(&result->error, -ENOMEM, "no memory");
	layout->trace = &noisy;
	result->ideal_ns = noisy.ideal_ns;
	ret = replay(layout, policy, s, device, launches, result);
	layout->trace = planned;
	ugm_noise_free(&noisy);
	return ret;
}

/* With the trace's durations, or again with those that were observed. */
static int make_plan(struct ugm_layout *layout, const struct ugm_policy *policy,
		     struct ugm_schedule *s, struct ugm_error *err)
{
	const struct ugm_trace *planned = layout->trace;
	struct ugm_trace noisy;
	int ret;

	if (!layout->config.replan)
		return ugm_policy_plan(policy, layout, s, err);
	if (ugm_noise_apply(planned, &layout->config, &noisy))
		return ugm_fail(err, -ENOMEM, "no memory");
	layout->trace = &noisy;
	ret = ugm_policy_plan(policy, layout, s, err);
	layout->trace = planned;
	ugm_noise_free(&noisy);
	return ret;
}

static int start(struct ugm_result *result, const struct ugm_trace *trace, const char *policy,
		 const struct ugm_config *config)
{
	struct ugm_record *record = result->record;
	int ret = ugm_result_init(result, trace->name, policy, trace->ideal_ns, config->iterations);

	result->record = record;
	if (!ret)
		return 0;
	return ugm_fail(&result->error, -ENOMEM, "no memory");
}

/**
 * cost_policy() - what a policy costs
 * @trace: trace
 * @config: machine, checked
 * @device: how the device replays it, or NULL: predict
 * @policy: policy
 * @launches: log of launches, or NULL; a computed row has none
 * @result: zeroed, or with its record set; filled, with its error if it cannot
 *          run; free it in any case
 *
 * Return: 0, or a negative errno.
 */
int cost_policy(const struct ugm_trace *trace, const struct ugm_config *config,
		const struct ugm_replay_options *device, const struct ugm_policy *policy,
		struct ugm_output *launches, struct ugm_result *result)
{
	struct ugm_config machine = *config;
	struct ugm_layout *layout;
	struct ugm_schedule s;
	u64 began;
	int ret;

	ret = start(result, trace, policy->name, config);
	if (ret)
		return ret;
	if (policy->compute)
		return compute(trace, config, policy, result);
	if (policy->restrict_machine)
		policy->restrict_machine(&machine);
	ret = ugm_layout_make(trace, &machine, &layout, &result->error);
	if (ret)
		return ret;
	began = ugm_wall_ns();
	ret = make_plan(layout, policy, &s, &result->error);
	if (!ret) {
		result->plan_ns = ugm_wall_ns() - began;
		ret = replay_noisily(layout, policy, &s, device, launches, result);
		ugm_schedule_free(&s);
	}
	ugm_layout_free(layout);
	return ret;
}

/**
 * cost_schedule() - what a schedule costs
 * @trace: trace
 * @config: machine, checked; its overlap becomes the schedule's unless one was
 *          asked for
 * @device: how the device replays it, or NULL: predict
 * @s: schedule
 * @path: its file, which the result is named after
 * @launches: log of launches, or NULL
 * @result: as for cost_policy()
 *
 * Return: 0, or a negative errno.
 */
int cost_schedule(const struct ugm_trace *trace, struct ugm_config *config,
		  const struct ugm_replay_options *device, struct ugm_schedule *s,
		  const char *path, struct ugm_output *launches, struct ugm_result *result)
{
	struct ugm_layout *layout;
	int ret;

	if (config->overlap_given)
		s->opt.overlap = (u8)config->overlap;
	config->overlap = s->opt.overlap;
	ret = start(result, trace, path, config);
	if (!ret)
		ret = ugm_layout_make(trace, config, &layout, &result->error);
	if (ret)
		return ret;
	ret = replay_noisily(layout, NULL, s, device, launches, result);
	ugm_layout_free(layout);
	return ret;
}

static int report(const struct cost_options *o, const struct ugm_config *config,
		  const struct ugm_result *result)
{
	struct ugm_error err;

	if (o->json &&
	    ugm_json_write(ugm_result_json(config, result, 1), o->json, &err))
		return complain(EXIT_FAILED, "%s", err.text);
	if (*result->error.text)
		return complain(EXIT_FAILED, "%s", result->error.text);
	if ((!o->json || strcmp(o->json, "-")) && (!o->perfetto || strcmp(o->perfetto, "-")))
		ugm_result_write_table(stdout, config, result, 1,
				       option_given("drive"));
	return EXIT_DONE;
}

/* One of @policy and @s is what is asked for. */
static int with_outputs(const struct cost_options *o, struct ugm_config *config,
			const struct ugm_replay_options *device, const struct ugm_trace *trace,
			const struct ugm_policy *policy, struct ugm_schedule *s)
{
	struct ugm_output launches = {};
	struct ugm_record record = {};
	struct ugm_result result = { .record = o->perfetto ? &record : NULL };
	struct ugm_error err;
	int status, ret;

	if (o->launches && ugm_output_open(&launches, o->launches, &err))
		return complain(EXIT_FAILED, "%s", err.text);
	ret = policy ? cost_policy(trace, config, device, policy,
				   o->launches ? &launches : NULL, &result) :
		       cost_schedule(trace, config, device, s, o->schedule,
				     o->launches ? &launches : NULL, &result);
	if (ret)
		ugm_output_discard(&launches);
	else if (o->launches && ugm_output_commit(&launches, &err))
		ret = complain(EXIT_FAILED, "%s", err.text);
	status = report(o, config, &result);
	if (status == EXIT_DONE && o->perfetto &&
	    ugm_perfetto_write(trace, &record, o->perfetto, &err))
		status = complain(EXIT_FAILED, "%s", err.text);
	ugm_record_free(&record);
	ugm_result_free(&result);
	return ret && status == EXIT_DONE ? EXIT_FAILED : status;
}

static int check_options(const struct cost_options *o, const struct ugm_replay_options *device,
			 const char *trace, const struct ugm_policy **policy)
{
	const struct named_path outputs[] = { { "--json", o->json },
					      { "--launches", o->launches },
					      { "--perfetto", o->perfetto } };
	const struct named_path inputs[] = { { "the trace", trace },
					     { "--schedule", o->schedule } };
	struct ugm_error err;
	unsigned int i, standard = 0;

	*policy = NULL;
	for (i = 0; i < ARRAY_SIZE(outputs); i++)
		standard += outputs[i].path && !strcmp(outputs[i].path, "-");
	if (standard > 1)
		return complain(EXIT_USAGE,
				"--json, --launches and --perfetto cannot share the standard output");
	if (written_apart(outputs, ARRAY_SIZE(outputs), inputs, ARRAY_SIZE(inputs)))
		return EXIT_USAGE;
	if (!o->policy == !o->schedule)
		return complain(EXIT_USAGE, "give either --policy or --schedule");
	if (!o->policy)
		return EXIT_DONE;
	*policy = ugm_policy_find(o->policy, &err);
	if (!*policy)
		return complain(EXIT_USAGE, "%s", err.text);
	if (!(*policy)->compute)
		return EXIT_DONE;
	if (device)
		return complain(EXIT_USAGE, "--policy %s: is computed, there is nothing to run",
				o->policy);
	if (o->launches || o->perfetto)
		return complain(EXIT_USAGE,
				"--%s: policy '%s' is computed and launches nothing",
				o->launches ? "launches" : "perfetto", o->policy);
	return EXIT_DONE;
}

/**
 * cost_begin() - a verb whose operand is a trace
 * @usage: what its command line may be
 * @argc: of the verb
 * @argv: of the verb
 * @config: out: the machine, not checked yet
 * @trace: out: path of the trace
 *
 * Return: OPTIONS_GO_ON, or an exit status.
 */
int cost_begin(const struct usage *usage, int argc, char **argv,
	       struct ugm_config *config, const char **trace)
{
	ugm_config_preset(config, NULL, NULL);
	return options_parse_one(usage, argc, argv, trace);
}

/**
 * cost_obey() - would each machine and prediction option change anything?
 * @config: what was asked for
 * @policies: policies, or NULL where a schedule is replayed
 * @nr: how many
 * @device: how the device replays, or NULL
 *
 * The numbers of a machine are facts, and may be told to a policy that has no
 * use for them.
 *
 * Return: an exit status.
 */
int cost_obey(const struct ugm_config *config,
	      const struct ugm_policy *const *policies, unsigned int nr,
	      const struct ugm_replay_options *device)
{
	struct ugm_config own = *config;
	bool target = false;
	unsigned int i;
	int ret;

	for (i = 0; i < nr; i++)
		target |= policies[i]->target;
	if (nr == 1 && policies[0]->restrict_machine)
		policies[0]->restrict_machine(&own);
	ret = options_obey((const struct option_rule[]){
		{ device, "noise seed noise-per replan", "is for predictions only" },
		{ !option_given("noise"), "seed noise-per replan", "needs --noise" },
		{ !nr, "replan", "needs a policy: there is a schedule" },
		{ !target, "target-factor", "is for the policies flashneuron, g10, g10-gds and g10-host" },
		{ own.overlap != config->overlap, "overlap", "contradicts the policy" },
		{ config->published,
		  "gpu-latency-ns flash-latency-ns fault-ns overlap scale block-size",
		  "means nothing to the simulators of --preset g10-artifact" },
		{ device && device->clock == UGM_CLOCK_REAL,
		  "pcie-bw flash-read-bw flash-write-bw gpu-latency-ns flash-latency-ns fault-ns",
		  "means nothing under --clock real: moves take as long as they take" },
		{} });
	return ret == OPTIONS_GO_ON ? EXIT_DONE : ret;
}

/**
 * cost_device() - take over from a device what it decides
 * @device: how it replays
 * @config: its block size is set, or must be the device's
 *
 * Return: an exit status.
 */
int cost_device(const struct ugm_replay_options *device, struct ugm_config *config)
{
	struct ugm_ioc_info info;
	struct ugm *space;
	int ret;

	if (config->published)
		return complain(EXIT_USAGE, "--preset %s: is for predictions only, a device replays g10-paper",
				config->preset);
	ret = device_open(device->device, &space);
	if (ret)
		return ret;
	ret = ugm_info(space, &info);
	ugm_close(space);
	if (ret)
		return device_failed(device->device, "info", ret);
	if (config->block_size && config->block_size != info.block_size)
		return complain(EXIT_USAGE,
				"--block-size %" PRIu64 ": %s has blocks of %u bytes (module parameter block_size=)",
				config->block_size, device_path(device->device), info.block_size);
	config->block_size = info.block_size;
	if (!(info.flags & UGM_INFO_ATTACHED))
		return complain(EXIT_FAILED, "%s: no namespace is attached: ugm attach NAMESPACE",
				device_path(device->device));
	return EXIT_DONE;
}

/**
 * cost_verb() - all of a verb that tells what one policy or schedule costs
 * @path: trace file
 * @o: options
 * @config: machine, not checked yet
 * @device: how the device replays it, or NULL: predict
 *
 * Return: an exit status.
 */
int cost_verb(const char *path, const struct cost_options *o, struct ugm_config *config,
	      const struct ugm_replay_options *device)
{
	struct ugm_schedule schedule = {};
	const struct ugm_policy *policy;
	struct ugm_trace *trace;
	struct ugm_error err;
	int status;

	status = check_options(o, device, path, &policy);
	if (status == EXIT_DONE)
		status = cost_obey(config, &policy, policy ? 1 : 0, device);
	if (status == EXIT_DONE && device)
		status = cost_device(device, config);
	if (status != EXIT_DONE)
		return status;
	if (config->published && (o->launches || o->perfetto))
		return complain(EXIT_USAGE, "--%s: preset %s has no record of launches",
				o->launches ? "launches" : "perfetto", config->preset);
	if (ugm_config_check(config, &err) || ugm_trace_read(path, &trace, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	if (o->schedule &&
	    ugm_schedule_read(o->schedule, trace, &schedule, &err))
		status = complain(EXIT_USAGE, "%s", err.text);
	else
		status = with_outputs(o, config, device, trace, policy, &schedule);
	ugm_schedule_free(&schedule);
	ugm_trace_free(trace);
	return status;
}
