// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>

#include "command.h"
#include "cost.h"
#include "record.h"
#include "vitality.h"

struct explain_options {
	const char *policy;
	const char *schedule;
	u64 tensor;
	u64 kernel;
};

#define EXPLAIN(field) offsetof(struct explain_options, field)

static const struct option_spec explain_options[] = {
	{ "policy", "NAME", option_string, EXPLAIN(policy), false, "policy" },
	{ "schedule", "FILE", option_string, EXPLAIN(schedule), false,
	  "schedule, instead of a policy" },
	{ "tensor", "ID", option_u64, EXPLAIN(tensor), false,
	  "where this tensor goes, and what that costs" },
	{ "kernel", "K", option_u64, EXPLAIN(kernel), false,
	  "what this kernel waits for" },
	{}
};

static const char *const modes[] = {
	[UGM_OPERAND_READ] = "read",
	[UGM_OPERAND_WRITE] = "written",
	[UGM_OPERAND_READ | UGM_OPERAND_WRITE] = "read and written",
};

static const char *const causes[UGM_NR_CAUSES] = {
	[UGM_CAUSE_DEMAND] = "demand",
	[UGM_CAUSE_PLANNED] = "planned",
	[UGM_CAUSE_EVICTION] = "to make room",
	[UGM_CAUSE_TOUCH] = "touch",
};

/* The kernel that runs, or waits, at a moment. */
static u32 kernel_at(const struct ugm_record *r, u64 ns)
{
	u32 low = 0, high = r->nr_launches - 1, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (r->launches[mid].end_ns < ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void show_move(const struct ugm_record *r,
		      const struct ugm_record_move *m)
{
	printf("  %12.6f  %12.6f  kernels %u to %u: %s to %s, %.3f MiB, %s\n",
	       (double)m->begin_ns / 1e9, (double)m->end_ns / 1e9,
	       kernel_at(r, m->begin_ns), kernel_at(r, m->end_ns),
	       ugm_tier_name(m->src), ugm_tier_name(m->dst),
	       (double)m->bytes / 0x1p20, causes[m->cause]);
}

/* When a tensor last arrived in the GPU before @ns; 0: it was there. */
static u64 arrival(const struct ugm_record *r, u32 tensor, u64 ns)
{
	u64 i, last = 0;

	for (i = 0; i < r->nr_moves && r->moves[i].begin_ns <= ns; i++)
		if (r->moves[i].tensor == tensor &&
		    r->moves[i].dst == UGM_TIER_GPU &&
		    r->moves[i].end_ns <= ns)
			last = r->moves[i].end_ns;
	return last;
}

static int by_begin(const void *a, const void *b)
{
	const struct ugm_record_move *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* Of a kernel's stall, is this tensor the one that came last? */
static bool came_last(const struct ugm_trace *t, const struct ugm_record *r,
		      u32 kernel, u32 tensor)
{
	const struct ugm_use *use = ugm_kernel_uses(t, kernel);
	u64 own = arrival(r, tensor, r->launches[kernel].arrived_ns);
	u32 i;

	if (own <= r->launches[kernel].begin_ns)
		return false;
	for (i = 0; i < t->kernels[kernel].nr_uses; i++)
		if (arrival(r, use[i].tensor,
			    r->launches[kernel].arrived_ns) > own)
			return false;
	return true;
}

static void explain_tensor(const struct ugm_trace *t, const struct ugm_record *r,
			   const struct ugm_vitality *v, u32 x)
{
	u64 nr, i, stall = 0, moves = 0;
	const u32 *k = ugm_vitality_uses(v, x, &nr);
	u64 moved[UGM_NR_TIERS][UGM_NR_TIERS] = {};

	printf("tensor %" PRIu64 " %s: %.3f MiB, %s, used by %" PRIu64
	       " kernels\n", t->tensors[x].id, t->tensors[x].name,
	       (double)t->tensors[x].bytes / 0x1p20,
	       t->tensors[x].global ? "global" : "intermediate", nr);
	printf("used:\n");
	for (i = 0; i < nr; i++) {
		u64 part = came_last(t, r, k[i], x) ?
				   ugm_record_stall(r, k[i]) : 0;

		stall += part;
		printf("  %12.6f  %12.6f  kernel %u %s",
		       (double)r->launches[k[i]].begin_ns / 1e9,
		       (double)r->launches[k[i]].end_ns / 1e9, k[i],
		       t->kernels[k[i]].name);
		if (part)
			printf(": stalls %.6f s, and this tensor came last",
			       (double)part / 1e9);
		putchar('\n');
	}
	printf("moved:\n");
	for (i = 0; i < r->nr_moves; i++) {
		const struct ugm_record_move *m = &r->moves[i];

		if (m->tensor != x)
			continue;
		moves++;
		moved[m->src][m->dst] += m->bytes;
		show_move(r, m);
	}
	if (!moves)
		printf("  never in this iteration\n");
	printf("it causes %.6f s of stall, and is away for %.3f MiB out, %.3f MiB in\n",
	       (double)stall / 1e9,
	       (double)(moved[UGM_TIER_GPU][UGM_TIER_HOST] +
			moved[UGM_TIER_GPU][UGM_TIER_FLASH]) / 0x1p20,
	       (double)(moved[UGM_TIER_HOST][UGM_TIER_GPU] +
			moved[UGM_TIER_FLASH][UGM_TIER_GPU]) / 0x1p20);
}

static void explain_kernel(const struct ugm_trace *t, const struct ugm_record *r,
			   u32 k)
{
	const struct ugm_use *use = ugm_kernel_uses(t, k);
	const struct ugm_record_launch *l = &r->launches[k];
	u32 i;
	u64 n;

	printf("kernel %u %s: runs %.6f s\n", k, t->kernels[k].name,
	       (double)t->kernels[k].duration_ns / 1e9);
	printf("begins %.6f s, has its operands %.6f s, ends %.6f s: stall %.6f s\n",
	       (double)l->begin_ns / 1e9, (double)l->arrived_ns / 1e9,
	       (double)l->end_ns / 1e9,
	       (double)ugm_record_stall(r, k) / 1e9);
	printf("missing at its begin: %.3f MiB; in use at its end: GPU %.3f GiB, host %.3f GiB\n",
	       (double)l->fault_bytes / 0x1p20,
	       (double)l->used_bytes[UGM_TIER_GPU] / 0x1p30,
	       (double)l->used_bytes[UGM_TIER_HOST] / 0x1p30);
	for (i = 0; i < t->kernels[k].nr_uses; i++) {
		const struct ugm_tensor *x = &t->tensors[use[i].tensor];
		u64 came = arrival(r, use[i].tensor, l->arrived_ns);

		printf("operand %" PRIu64 " %s: %.3f MiB, %s", x->id, x->name,
		       (double)x->bytes / 0x1p20,
		       modes[use[i].mode & (UGM_OPERAND_READ | UGM_OPERAND_WRITE)]);
		if (came > l->begin_ns)
			printf(", came %.6f s after the begin",
			       (double)(came - l->begin_ns) / 1e9);
		putchar('\n');
		for (n = 0; n < r->nr_moves; n++)
			if (r->moves[n].tensor == use[i].tensor &&
			    r->moves[n].begin_ns <= l->end_ns)
				show_move(r, &r->moves[n]);
	}
}

/* Without a policy it is a schedule. */
static int explain(const struct explain_options *o, const char *path,
		   struct ugm_config *config, const struct ugm_policy *policy)
{
	struct ugm_record record = {};
	struct ugm_result result = { .record = &record };
	struct ugm_schedule schedule = {};
	struct ugm_trace *t;
	struct ugm_vitality v;
	struct ugm_error err;
	int status = EXIT_DONE, ret;
	s64 x = 0;

	if (ugm_trace_read(path, &t, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	if (option_given("tensor"))
		x = ugm_trace_find(t, o->tensor);
	if (x < 0)
		status = complain(EXIT_USAGE, "--tensor %" PRIu64
				  ": trace %s has no such tensor", o->tensor,
				  t->name);
	else if (option_given("kernel") && o->kernel >= t->nr_kernels)
		status = complain(EXIT_USAGE, "--kernel %" PRIu64
				  ": trace %s has 0 to %u", o->kernel, t->name,
				  t->nr_kernels - 1);
	else if (!policy && ugm_schedule_read(o->schedule, t, &schedule, &err))
		status = complain(EXIT_USAGE, "%s", err.text);
	if (status == EXIT_DONE && ugm_vitality_analyse(t, &v)) {
		status = complain(EXIT_FAILED, "no memory");
	} else if (status == EXIT_DONE) {
		ret = policy ? cost_policy(t, config, NULL, policy, NULL, &result) :
			       cost_schedule(t, config, NULL, &schedule,
					     o->schedule, NULL, &result);
		if (ret) {
			status = complain(EXIT_FAILED, "%s", result.error.text);
		} else {
			if (record.nr_moves)
				qsort(record.moves, record.nr_moves,
				      sizeof(*record.moves), by_begin);
			if (option_given("tensor"))
				explain_tensor(t, &record, &v, (u32)x);
			else
				explain_kernel(t, &record, (u32)o->kernel);
		}
		ugm_result_free(&result);
		ugm_vitality_free(&v);
	}
	ugm_record_free(&record);
	ugm_schedule_free(&schedule);
	ugm_trace_free(t);
	return status;
}

/**
 * cmd_explain() - ugm explain
 * @argc: of the verb
 * @argv: of the verb
 *
 * Return: exit status.
 */
int cmd_explain(int argc, char **argv)
{
	struct explain_options o = {};
	const struct ugm_policy *policy = NULL;
	struct ugm_config config;
	struct ugm_error err;
	const struct option_group groups[] = { { explain_options, &o },
					       { machine_options, &config },
					       { model_options, &config },
					       { iteration_options, &config },
					       {} };
	const struct usage usage = {
		.synopsis = "TRACE (--policy NAME | --schedule FILE) (--tensor ID | --kernel K)",
		.summary = "Where a tensor goes in a predicted iteration, or what a kernel waits for.",
		.groups = groups,
		.min_operands = 1,
		.max_operands = 1,
	};
	const char *trace;
	int status;

	status = cost_begin(&usage, argc, argv, &config, &trace);
	if (status != OPTIONS_GO_ON)
		return status;
	if (!o.policy == !o.schedule)
		return complain(EXIT_USAGE, "give either --policy or --schedule");
	if (option_given("tensor") == option_given("kernel"))
		return complain(EXIT_USAGE, "give either --tensor or --kernel");
	if (config.published)
		return complain(EXIT_USAGE,
				"--preset %s: has no record of launches",
				config.preset);
	if (ugm_config_check(&config, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	if (o.policy) {
		policy = ugm_policy_find(o.policy, &err);
		if (!policy)
			return complain(EXIT_USAGE, "%s", err.text);
	}
	if (policy && policy->compute)
		return complain(EXIT_USAGE,
				"policy '%s' is computed and moves nothing",
				policy->name);
	status = cost_obey(&config, &policy, policy ? 1 : 0, NULL);
	return status == EXIT_DONE ? explain(&o, trace, &config, policy) :
				     status;
}
