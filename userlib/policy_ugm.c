// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "planner.h"
#include "policy.h"
#include "simulate.h"

/**
 * DOC: policy ugm
 *
 * Our own: what is needed furthest beyond an overfull launch leaves, parts of
 * tensors move, clean data is dropped, idle links make copies early, and what
 * is away comes back in the order of need.
 *
 * The planner plays iterations under several settings, with and without the
 * relaxation's advice; the most promising are replayed on the engine, and so is
 * the schedule of policy g10. The engine decides.
 */

/* The first is the usual one; a guide is asked only where that stalls. */
static const struct ugm_plan_setting settings[] = {
	{UGM_PLAN_UNGUIDED, true, 0.02, 11},
	{UGM_PLAN_UNGUIDED, true, 0.02, 100},
	{UGM_PLAN_UNGUIDED, true, 0.02, 3},
	{UGM_PLAN_FLASH_GUIDED, true, 0.02, 11},
	{UGM_PLAN_FLASH_GUIDED, true, 0.02, 100},
	{UGM_PLAN_GUIDED, true, 0.02, 11},
	{UGM_PLAN_UNGUIDED, false, 0.02, 11},
};

/* How many are replayed on the engine. */
#define REPLAYED 2
/* A promise is kept but for so much. */
#define TRUST	 1.005
/* Iterations played: a cold one, one to learn from, and the one written down. */
#define PLAYED	 3
/* Good enough: so much longer than ideal. */
#define GOOD	 1.0002
/* The relaxation: how finely time is cut, what it counts on, and its work. */
#define PIECES	 120
#define SHARE	 0.99
#define WORK	 1e9
/* Of several ways without more stall, one that moves little. */
#define COST	 1e-6

/**
 * struct trial - a setting and what it promises
 * @set: setting
 * @ns: time of an iteration, as the planner sees it
 */
struct trial {
	const struct ugm_plan_setting *set;
	u64 ns;
};

static int compare_trials(const void *a, const void *b)
{
	const struct trial *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->set < y->set ? -1 : 1;
}

static bool good(const struct ugm_layout *l, u64 ns)
{
	return (double)ns <= GOOD * (double)l->trace->ideal_ns;
}

static int ask(const struct ugm_layout *l, struct ugm_planner *p,
	       struct ugm_relaxation **r)
{
	int ret = ugm_relaxation_make(l, PIECES, r);

	if (ret)
		return ret;
	(*r)->gpu_share = (*r)->host_share = SHARE;
	(*r)->traffic_cost = COST;
	ret = ugm_relaxation_solve(*r, WORK);
	if (!ret)
		p->relaxation = *r;
	return ret == -ENOMEM ? ret : 0;
}

/* Play the settings; the most promising come first. */
static int try_settings(const struct ugm_layout *l, struct ugm_planner *p,
			struct ugm_relaxation **r, struct trial *trials,
			unsigned int *nr)
{
	const struct ugm_plan_setting *set;
	unsigned int i;
	bool asked = false;
	int ret = 0;
	u64 ns;

	for (i = 0; i < ARRAY_SIZE(settings) && !ret; i++) {
		set = &settings[i];
		if (set->guide != UGM_PLAN_UNGUIDED && !asked) {
			asked = true;
			ret = ask(l, p, r);
			if (ret)
				break;
		}
		if (set->guide != UGM_PLAN_UNGUIDED && !p->relaxation)
			continue;
		ret = ugm_planner_play(p, set, PLAYED, &ns);
		if (ret == -EDEADLK) {
			ret = 0; /* this one finds no way */
			continue;
		}
		trials[(*nr)++] = (struct trial){set, ns};
		if (good(l, ns))
			break;
	}
	qsort(trials, *nr, sizeof(*trials), compare_trials);
	return ret;
}

static void set_options(const struct ugm_layout *l, struct ugm_schedule *s)
{
	ugm_schedule_init(s);
	s->opt.victim = UGM_VICTIM_FIFO;
	s->opt.clean = UGM_CLEAN_DROP;
	s->opt.dead = UGM_DEAD_DROP;
	s->opt.promote = true;
	s->opt.prefetch_evicts = UGM_PREFETCH_EVICTS_NONE;
	s->opt.overlap = (u8)l->config.overlap;
	s->opt.demand = true;
}

/* Replay a schedule on the engine; the better one is kept, the other freed. */
static int judge(const struct ugm_layout *l, struct ugm_schedule *s,
		 struct ugm_schedule *best, u64 *best_ns, struct ugm_error *err)
{
	struct ugm_result result;
	int ret = ugm_result_init(&result, l->trace->name, "ugm",
				  l->trace->ideal_ns, 2);

	if (!ret)
		ret = ugm_schedule_sort(s);
	if (!ret)
		ret = ugm_simulate(l, s, NULL, NULL, &result, err);
	if (!ret && result.iteration_ns < *best_ns) {
		ugm_schedule_free(best);
		*best = *s;
		*best_ns = result.iteration_ns;
	} else {
		ugm_schedule_free(s);
	}
	ugm_result_free(&result);
	return ret == -ENOMEM ? ret : 0;
}

static int judge_trials(const struct ugm_layout *l, struct ugm_planner *p,
			const struct trial *trials, unsigned int nr,
			struct ugm_schedule *best, u64 *best_ns,
			struct ugm_error *err)
{
	unsigned int i, replayed = 0;
	struct ugm_schedule s;
	int ret = 0;
	u64 ns;

	for (i = 0; i < nr && replayed < REPLAYED && !ret; i++) {
		/* What promises the same to the nanosecond is the same. */
		if (i && trials[i].ns == trials[i - 1].ns)
			continue;
		/* Its promise is broken by less than that. */
		if ((double)trials[i].ns > TRUST * (double)*best_ns)
			break;
		replayed++;
		set_options(l, &s);
		ret = ugm_planner_play(p, trials[i].set, PLAYED, &ns);
		if (!ret)
			ret = ugm_planner_write(p, &s);
		if (ret)
			ugm_schedule_free(&s);
		else
			ret = judge(l, &s, best, best_ns, err);
		if (good(l, *best_ns))
			break;
	}
	return ret;
}

static int judge_g10(const struct ugm_layout *l, struct ugm_schedule *best,
		     u64 *best_ns, struct ugm_error *err)
{
	struct ugm_schedule s;
	int ret = ugm_policy_plan(&ugm_policy_g10, l, &s, err);

	return ret ? ret : judge(l, &s, best, best_ns, err);
}

static int plan(const struct ugm_layout *layout, struct ugm_schedule *s,
		struct ugm_error *err)
{
	struct trial trials[ARRAY_SIZE(settings)];
	struct ugm_relaxation *r = NULL;
	u64 best_ns = U64_MAX;
	struct ugm_planner *p;
	unsigned int nr = 0;
	int ret = ugm_planner_make(layout, &p);

	if (!ret)
		ret = try_settings(layout, p, &r, trials, &nr);
	if (!ret)
		ret = judge_trials(layout, p, trials, nr, s, &best_ns, err);
	/* Good enough is not always as good. */
	if (!ret && best_ns > layout->trace->ideal_ns)
		ret = judge_g10(layout, s, &best_ns, err);
	ugm_relaxation_free(r);
	ugm_planner_free(p);
	return ret;
}

const struct ugm_policy ugm_policy_ugm = {
	.name = "ugm",
	.summary =
		"furthest need by pressure, parts of tensors, clean drops, early copies",
	.plan = plan,
};
