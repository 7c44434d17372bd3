// SPDX-License-Identifier: MIT
#include "command.h"
#include "options.h"
#include "predict.h"
#include "simulate.h"

/* A computed row needs no machine: every iteration takes the same. */
static int compute(const struct ugm_trace *trace,
		   const struct ugm_policy *policy, struct ugm_result *result)
{
	u64 ns, i;
	int ret;

	ret = policy->compute(trace, &ns, &result->error);
	if (ret)
		return ret;
	for (i = 0; i < result->iterations; i++)
		result->iterations_ns[i] = ns;
	ugm_result_finish(result);
	return 0;
}

static int simulate(const struct ugm_layout *layout,
		    const struct ugm_schedule *s, struct ugm_output *launches,
		    struct ugm_result *result)
{
	struct ugm_progress progress;
	int ret;

	ugm_progress_begin(&progress, "launches",
			   result->iterations * layout->trace->nr_kernels);
	ret = ugm_simulate(layout, s, launches, &progress, result,
			   &result->error);
	ugm_progress_end(&progress);
	return ret;
}

static int start(struct ugm_result *result, const struct ugm_trace *trace,
		 const char *policy, const struct ugm_config *config)
{
	if (!ugm_result_init(result, trace->name, policy, trace->ideal_ns,
			     config->iterations))
		return 0;
	return ugm_fail(&result->error, -ENOMEM, "no memory");
}

/**
 * predict_policy() - what a policy costs
 * @trace: trace
 * @config: machine, checked
 * @policy: policy
 * @launches: log of launches, or NULL; a computed row has none
 * @result: filled, with its error if it cannot run; free it in any case
 *
 * Return: 0, or a negative errno.
 */
int predict_policy(const struct ugm_trace *trace,
		   const struct ugm_config *config,
		   const struct ugm_policy *policy, struct ugm_output *launches,
		   struct ugm_result *result)
{
	struct ugm_layout *layout;
	struct ugm_schedule s;
	u64 began;
	int ret;

	ret = start(result, trace, policy->name, config);
	if (ret)
		return ret;
	if (policy->compute)
		return compute(trace, policy, result);
	ret = ugm_layout_make(trace, config, &layout, &result->error);
	if (ret)
		return ret;
	began = ugm_wall_ns();
	ret = ugm_policy_plan(policy, layout, &s, &result->error);
	if (!ret) {
		result->plan_ns = ugm_wall_ns() - began;
		ret = simulate(layout, &s, launches, result);
		ugm_schedule_free(&s);
	}
	ugm_layout_free(layout);
	return ret;
}

/**
 * predict_schedule() - what a schedule costs
 * @trace: trace
 * @config: machine, checked; its overlap becomes the schedule's unless it was
 *          given
 * @s: schedule
 * @path: its file
 * @launches: log of launches, or NULL
 * @result: filled, with its error if it cannot run; free it in any case
 *
 * Return: 0, or a negative errno.
 */
int predict_schedule(const struct ugm_trace *trace, struct ugm_config *config,
		     struct ugm_schedule *s, const char *path,
		     struct ugm_output *launches, struct ugm_result *result)
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
	ret = simulate(layout, s, launches, result);
	ugm_layout_free(layout);
	return ret;
}
