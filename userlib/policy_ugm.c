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
 * relaxation's advice; the most promising are replayed on the engine. The search
 * goes on from the best, one step of its setting at a time. In the end there is
 * the schedule of policy g10. The engine decides.
 */

/* The first is the usual one; a guide is asked only where that stalls. */
static const struct ugm_plan_setting settings[] = {
	{ UGM_PLAN_UNGUIDED, true, 11, 1, 0 },
	{ UGM_PLAN_UNGUIDED, true, 100, 1, 0 },
	{ UGM_PLAN_UNGUIDED, true, 3, 1, 0 },
	{ UGM_PLAN_FLASH_GUIDED, true, 11, 1, 0 },
	{ UGM_PLAN_FLASH_GUIDED, true, 100, 1, 0 },
	{ UGM_PLAN_GUIDED, true, 11, 1, 0 },
	{ UGM_PLAN_UNGUIDED, false, 11, 1, 0 },
};

/* How many are replayed on the engine, and how many variations of the best. */
#define REPLAYED 2
#define VARIED	 6
/* Fewer for long traces: so many uses of tensors are replayed. */
#define USES	 1500000
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

/**
 * struct search - the best schedule so far
 * @best: schedule
 * @best_ns: time of an iteration, as the engine sees it
 * @set: setting that it was made with
 */
struct search {
	struct ugm_schedule *best;
	u64 best_ns;
	struct ugm_plan_setting set;
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

static int ask(const struct ugm_layout *l, struct ugm_planner *p, struct ugm_relaxation **r)
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
			struct ugm_relaxation **r, struct trial *trials, unsigned int *nr)
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
		trials[(*nr)++] = (struct trial){ set, ns };
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
static int judge(const struct ugm_layout *l, struct ugm_schedule *s, struct ugm_schedule *best,
		 u64 *best_ns, struct ugm_error *err)
{
	struct ugm_result result;
	int ret = ugm_result_init(&result, l->trace->name, "ugm", l->trace->ideal_ns, 2);

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

/* Play a setting and have the engine judge it: the best one is kept. */
static int judge_setting(const struct ugm_layout *l, struct ugm_planner *p,
			 const struct ugm_plan_setting *set, struct search *x,
			 struct ugm_error *err)
{
	u64 before = x->best_ns, ns;
	struct ugm_schedule s;
	int ret = ugm_planner_play(p, set, PLAYED, &ns);

	if (ret)
		return ret == -EDEADLK ? 0 : ret; /* this one finds no way */
	set_options(l, &s);
	ret = ugm_planner_write(p, &s);
	if (ret)
		ugm_schedule_free(&s);
	else
		ret = judge(l, &s, x->best, &x->best_ns, err);
	if (x->best_ns < before)
		x->set = *set;
	return ret;
}

static int judge_trials(const struct ugm_layout *l, struct ugm_planner *p,
			const struct trial *trials, unsigned int nr, struct search *x,
			struct ugm_error *err)
{
	unsigned int i, replayed = 0;
	int ret = 0;

	for (i = 0; i < nr && replayed < REPLAYED && !ret; i++) {
		/* What promises the same to the nanosecond is the same. */
		if (i && trials[i].ns == trials[i - 1].ns)
			continue;
		/* Its promise is broken by less than that. */
		if ((double)trials[i].ns > TRUST * (double)x->best_ns)
			break;
		replayed++;
		ret = judge_setting(l, p, trials[i].set, x, err);
		if (good(l, x->best_ns))
			break;
	}
	return ret;
}

/*
 * The ways from a setting to others. None leads to less reserve: that promises a
 * little more where all goes as planned, and loses far more where it does not.
 */
enum way { MORE_RESERVE, MORE_HEADROOM, OTHER_WRITE_BACK, OTHER_GUIDE, NR_WAYS };

/* A step on one of them; false: there is none. */
static bool step(struct ugm_plan_setting *set, enum way way)
{
	switch (way) {
	case MORE_RESERVE:
		set->reserve *= 2;
		return set->reserve <= 4;
	case MORE_HEADROOM:
		set->headroom += 0.01;
		return set->headroom < 0.035;
	case OTHER_WRITE_BACK:
		set->write_back = !set->write_back;
		return true;
	case OTHER_GUIDE:
		if (set->guide == UGM_PLAN_UNGUIDED)
			return false;
		set->guide = set->guide == UGM_PLAN_GUIDED ? UGM_PLAN_FLASH_GUIDED :
							     UGM_PLAN_GUIDED;
		return true;
	default:
		return false;
	}
}

/* Step by step from the best setting, each way as long as it helps. */
static int improve(const struct ugm_layout *l, struct ugm_planner *p, struct search *x,
		   struct ugm_error *err)
{
	u64 most = USES / (l->trace->nr_uses + 1), varied = 0;
	unsigned int way = 0, failed = 0;
	struct ugm_plan_setting set;
	u64 before;
	int ret = 0;

	if (most > VARIED)
		most = VARIED;
	while (failed < NR_WAYS && varied < most && !ret && !good(l, x->best_ns)) {
		set = x->set;
		before = x->best_ns;
		if (step(&set, way)) {
			varied++;
			ret = judge_setting(l, p, &set, x, err);
		}
		if (x->best_ns < before) {
			failed = 0;
		} else {
			failed++;
			way = (way + 1) % NR_WAYS;
		}
	}
	return ret;
}

static int judge_g10(const struct ugm_layout *l, struct search *x, struct ugm_error *err)
{
	struct ugm_schedule s;
	int ret = ugm_policy_plan(&ugm_policy_g10, l, &s, err);

	return ret ? ret : judge(l, &s, x->best, &x->best_ns, err);
}

static int plan(const struct ugm_layout *layout, struct ugm_schedule *s, struct ugm_error *err)
{
	struct search x = { .best = s, .best_ns = U64_MAX };
	struct trial trials[ARRAY_SIZE(settings)];
	struct ugm_relaxation *r = NULL;
	struct ugm_planner *p;
	unsigned int nr = 0;
	int ret = ugm_planner_make(layout, &p);

	if (!ret)
		ret = try_settings(layout, p, &r, trials, &nr);
	if (!ret)
		ret = judge_trials(layout, p, trials, nr, &x, err);
	if (!ret && x.best_ns != U64_MAX)
		ret = improve(layout, p, &x, err);
	/* Good enough is not always as good. */
	if (!ret && x.best_ns > layout->trace->ideal_ns)
		ret = judge_g10(layout, &x, err);
	ugm_relaxation_free(r);
	ugm_planner_free(p);
	return ret;
}

const struct ugm_policy ugm_policy_ugm = {
	.name = "ugm",
	.summary = "furthest need by pressure, parts of tensors, clean drops, early copies",
	.plan = plan,
};
