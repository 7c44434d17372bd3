// SPDX-License-Identifier: GPL-2.0
/*
 * No schedule beats the bound: policies on random traces, and on tiny ones
 * every schedule of a few hints. Blocks of 1 MiB; a block takes 1 ms on a flash
 * link and 0.1 ms on the GPU link.
 */
#include "traces.h"

#include "policy.h"
#include "relaxation.h"
#include "simulate.h"

/* The last ones must take the same: then it goes on like that. */
#define ITERATIONS 6
#define STEADY	   3

static u64 seed;

static u32 below(u32 limit)
{
	return (u32)(next_random(&seed) % limit);
}

static struct ugm_config machine(u64 gpu_blocks, u64 host_blocks)
{
	struct ugm_config c = machine_of(gpu_blocks, host_blocks);

	c.iterations = ITERATIONS;
	c.overlap = below(2) ? UGM_OVERLAP_NONE : UGM_OVERLAP_FULL;
	return c;
}

/* A trace whose kernels use up to three of @tensors tensors each. */
static struct ugm_trace *random_trace(u32 tensors, u32 kernels, u32 blocks,
				      u32 max_ns)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	u32 i, k, n;

	for (i = 0; i < tensors; i++)
		fprintf(f, "tensor %u %llu %s t%u\n", i,
			(1 + below(blocks)) * MIB - (below(3) ? 0 : 4096),
			below(3) ? "intermediate" : "global", i);
	for (k = 0; k < kernels; k++) {
		u32 first = below(tensors), in = below(3), out = !in + below(2);

		fprintf(f, "kernel %u %u k in=", k, 1 + below(max_ns));
		for (n = 0; n < in; n++)
			fprintf(f, "%s%u", n ? "," : "", (first + n) % tensors);
		fprintf(f, " out=");
		if (out)
			fprintf(f, "%u", (first + in + below(2)) % tensors);
		fprintf(f, " workspace=0\n");
	}
	return trace_of_stream(f, &text);
}

static u64 bound_of(const struct ugm_trace *t, const struct ugm_config *c)
{
	struct ugm_error err;
	u64 ns;

	if (ugm_policy_bound.compute(t, c, &ns, &err))
		fail_msg("%s", err.text);
	return ns;
}

/* The steady iteration of a schedule, or 0 where it does not become steady. */
static u64 steady(const struct ugm_layout *l, const struct ugm_schedule *s)
{
	struct ugm_result r;
	struct ugm_error err;
	unsigned int i;
	int ret;
	u64 ns;

	if (ugm_result_init(&r, "t", "s", l->trace->ideal_ns, ITERATIONS))
		fail_msg("no memory");
	ret = ugm_simulate(l, s, NULL, NULL, &r, &err);
	if (ret == -ENODATA && !s->opt.demand) {
		ugm_result_free(&r);
		return 0;
	}
	if (ret)
		fail_msg("%s", err.text);
	ns = r.iterations_ns[ITERATIONS - 1];
	for (i = 2; i <= STEADY; i++)
		if (r.iterations_ns[ITERATIONS - i] != ns)
			ns = 0;
	ugm_result_free(&r);
	return ns;
}

/* Under a policy; no less than the bound. */
static u64 cost(const struct ugm_layout *l, const struct ugm_policy *policy,
		u64 bound)
{
	struct ugm_schedule s;
	struct ugm_error err;
	u64 ns;

	/* Some policies cannot run everything; ours can. */
	if (ugm_policy_plan(policy, l, &s, &err)) {
		if (policy == &ugm_policy_ugm)
			fail_msg("%s", err.text);
		return 0;
	}
	ns = steady(l, &s);
	ugm_schedule_free(&s);
	if (ns && ns < bound)
		fail_msg("%s takes %llu ns, the bound is %llu", policy->name,
			 (unsigned long long)ns, (unsigned long long)bound);
	return ns;
}

static void random_traces(void **unused)
{
	u32 stalls = 0, close = 0, round, i;
	struct ugm_config c;
	struct ugm_layout *l;
	struct ugm_error err;
	struct ugm_trace *t;
	u64 ns, bound;

	seed = 42;
	for (round = 0; round < 3000; round++) {
		t = random_trace(3 + below(8), 3 + below(14), 4,
				 below(2) ? 300000 : 3000000);
		c = machine(4 + below(16), below(12));
		if (!ugm_layout_make(t, &c, &l, &err)) {
			bound = bound_of(t, &c);
			assert_true(bound >= t->ideal_ns);
			for (i = 0; i < ugm_nr_policies; i++) {
				if (!ugm_policies[i]->plan)
					continue;
				ns = cost(l, ugm_policies[i], bound);
				if (ugm_policies[i] != &ugm_policy_ugm || !ns ||
				    bound == t->ideal_ns)
					continue;
				stalls++;
				close += ns <= 2 * bound;
			}
			ugm_layout_free(l);
		}
		ugm_trace_free(t);
	}
	/* It is not a bound because it says nothing. */
	print_message(
		"%u of %u traces that must stall: within twice the bound\n",
		close, stalls);
	assert_true(stalls > 50);
	assert_true(close > stalls / 2);
}

/* The result of a policy, as the command reports it. */
static u64 result_of(const struct ugm_layout *l,
		     const struct ugm_policy *policy)
{
	struct ugm_schedule s;
	struct ugm_result r;
	struct ugm_error err;
	u64 ns;

	if (ugm_policy_plan(policy, l, &s, &err) ||
	    ugm_result_init(&r, "t", policy->name, l->trace->ideal_ns, 2) ||
	    ugm_simulate(l, &s, NULL, NULL, &r, &err))
		fail_msg("%s", err.text);
	ns = r.iteration_ns;
	ugm_result_free(&r);
	ugm_schedule_free(&s);
	return ns;
}

/* Ours is never slower than the scheduler it goes past. */
static void never_slower(void **unused)
{
	/* With the last a move, or even a stall, is next to nothing. */
	static const u64 longest_ns[] = {300000, 3000000, 3000000000};
	u32 round, tried = 0, faster = 0;
	struct ugm_config c;
	struct ugm_layout *l;
	struct ugm_error err;
	struct ugm_trace *t;
	u64 ours, theirs;

	seed = 4711;
	for (round = 0; round < 750; round++) {
		t = random_trace(3 + below(12), 3 + below(20), 4,
				 longest_ns[below(3)]);
		c = machine(4 + below(16), below(12));
		if (!ugm_layout_make(t, &c, &l, &err)) {
			ours = result_of(l, &ugm_policy_ugm);
			theirs = result_of(l, &ugm_policy_g10);
			assert_true(ours <= theirs);
			faster += ours < theirs;
			tried++;
			ugm_layout_free(l);
		}
		ugm_trace_free(t);
	}
	print_message("faster on %u of %u traces\n", faster, tried);
	assert_true(faster);
}

/* Every schedule of up to @hints hints of a kind that moves something. */
struct search {
	const struct ugm_layout *layout;
	struct ugm_schedule s;
	u64 best;
	u64 tried;
};

static const struct {
	u8 op;
	u8 tier;
} moves[] = {
	{UGM_OP_PREFETCH, UGM_TIER_GPU},   {UGM_OP_PREFETCH, UGM_TIER_HOST},
	{UGM_OP_EVICT, UGM_TIER_HOST},	   {UGM_OP_EVICT, UGM_TIER_FLASH},
	{UGM_OP_WRITEBACK, UGM_TIER_HOST}, {UGM_OP_WRITEBACK, UGM_TIER_FLASH},
};

static void search(struct search *x, u32 hints, u64 from)
{
	const struct ugm_trace *t = x->layout->trace;
	u64 all = (u64)t->nr_kernels * t->nr_tensors * ARRAY_SIZE(moves), i;
	u64 ns = steady(x->layout, &x->s);
	struct ugm_schedule_hint h;

	x->tried++;
	if (ns && ns < x->best)
		x->best = ns;
	if (!hints)
		return;
	for (i = from; i < all; i++) {
		h = (struct ugm_schedule_hint){
			.at = i / (t->nr_tensors * ARRAY_SIZE(moves)),
			.need = UGM_NEED_NONE,
			.tensor = (u32)(i / ARRAY_SIZE(moves) % t->nr_tensors),
			.op = moves[i % ARRAY_SIZE(moves)].op,
			.tier = moves[i % ARRAY_SIZE(moves)].tier,
		};
		h.len = t->tensors[h.tensor].bytes;
		assert_int_equal(ugm_schedule_add(&x->s, &h), 0);
		search(x, hints - 1, i + 1);
		x->s.nr_hints--;
	}
}

static void every_schedule(void **unused)
{
	u32 rounds = 0, tight = 0;
	struct ugm_config c;
	struct ugm_error err;
	struct ugm_trace *t;
	u64 bound, tried = 0;

	seed = 7;
	while (rounds < 12) {
		struct search x = {.best = U64_MAX};
		struct ugm_layout *l;

		t = random_trace(3, 4, 2, 400000);
		c = machine(3 + below(2), below(3));
		if (!ugm_layout_make(t, &c, &l, &err)) {
			bound = bound_of(t, &c);
			x.layout = l;
			ugm_schedule_init(&x.s);
			x.s.opt.clean = UGM_CLEAN_DROP;
			x.s.opt.dead = UGM_DEAD_DROP;
			x.s.opt.overlap = (u8)c.overlap;
			/* Only those are of interest that must stall. */
			if (bound > t->ideal_ns) {
				search(&x, 2, 0);
				rounds++;
				tried += x.tried;
				if (x.best < bound)
					fail_msg(
						"a schedule takes %llu ns, the bound is %llu",
						(unsigned long long)x.best,
						(unsigned long long)bound);
				tight += x.best <= bound + bound / 5;
			}
			ugm_schedule_free(&x.s);
			ugm_layout_free(l);
		}
		ugm_trace_free(t);
	}
	print_message("%llu schedules; %u of %u within 20 %% of the bound\n",
		      (unsigned long long)tried, tight, rounds);
	assert_true(tight);
}

/*
 * What is written of a version is of no use to the next, not even where they meet
 * in one interval. Weights of 4 blocks change at the end of each iteration, and 4
 * blocks have to be gone from the second launch on: 0.4 ms over the link, of which
 * 0.03 at most are hidden.
 */
static void version_by_version(void **unused)
{
	static const char text[] =
		"tensor 0 1048576 global w0\n"
		"tensor 1 1048576 global w1\n"
		"tensor 2 1048576 global w2\n"
		"tensor 3 1048576 global w3\n"
		"tensor 4 4194304 intermediate a\n"
		"tensor 5 6291456 intermediate b\n"
		"kernel 0 10000 a in= out=4 workspace=0\n"
		"kernel 1 10000 b in= out=5 workspace=0\n"
		"kernel 2 3000000 c in=4,5 out= workspace=0\n"
		"kernel 3 1000 d in=0 out=0 workspace=0\n"
		"kernel 4 1000 d in=1 out=1 workspace=0\n"
		"kernel 5 1000 d in=2 out=2 workspace=0\n"
		"kernel 6 1000 d in=3 out=3 workspace=0\n";
	struct ugm_config c = machine(10, 12);
	struct ugm_trace *t = trace_of(text);
	struct ugm_error err;
	struct ugm_relaxation *r;
	struct ugm_layout *l;
	u32 pieces;

	if (ugm_layout_make(t, &c, &l, &err))
		fail_msg("%s", err.text);
	for (pieces = 3; pieces <= t->nr_kernels; pieces++) {
		assert_int_equal(ugm_relaxation_make(l, pieces, &r), 0);
		assert_int_equal(ugm_relaxation_solve(r, 1e6), 0);
		if (r->stall_ns < 370000)
			fail_msg("%u pieces: the bound stalls %.0f ns", pieces,
				 r->stall_ns);
		ugm_relaxation_free(r);
	}
	ugm_layout_free(l);
	ugm_trace_free(t);
}

/* Where equally much is alive, the launch that needs most of it is looked at. */
static void most_in_use(void **unused)
{
	static const char text[] = "tensor 0 1048576 global small\n"
				   "tensor 1 4194304 global large\n"
				   "kernel 0 10000 a in=0 out= workspace=0\n"
				   "kernel 1 10000 b in=1 out= workspace=0\n"
				   "kernel 2 10000 c in=0 out= workspace=0\n";
	struct ugm_config c = machine(4, 12);
	struct ugm_trace *t = trace_of(text);
	struct ugm_relaxation *r;
	struct ugm_layout *l;
	struct ugm_error err;

	if (ugm_layout_make(t, &c, &l, &err))
		fail_msg("%s", err.text);
	assert_int_equal(ugm_relaxation_make(l, 1, &r), 0);
	assert_int_equal(r->checkpoints[r->nr_intervals - 1] / 2, 1);
	ugm_relaxation_free(r);
	ugm_layout_free(l);
	ugm_trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_traces),
		cmocka_unit_test(never_slower),
		cmocka_unit_test(every_schedule),
		cmocka_unit_test(version_by_version),
		cmocka_unit_test(most_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
