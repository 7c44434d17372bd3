// SPDX-License-Identifier: GPL-2.0
/*
 * What a plan and a bound depend on: trace, machine and settings, but not how
 * fast the machine is that plans.
 */
#include "traces.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#include "policy.h"

/* The clocks of this process: each reading is so much later than the last. */
static long seconds_per_reading;
static long now_s;
static unsigned long readings;

static long read_clock(void)
{
	readings++;
	now_s += seconds_per_reading;
	return now_s;
}

/* These are found before those of the C library, by other libraries as well. */
int getrusage(__rusage_who_t who, struct rusage *usage)
{
	(void)who;
	memset(usage, 0, sizeof(*usage));
	usage->ru_utime.tv_sec = read_clock();
	return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	(void)zone;
	*tv = (struct timeval){.tv_sec = read_clock()};
	return 0;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	*ts = (struct timespec){.tv_sec = read_clock()};
	return 0;
}

clock_t clock(void)
{
	return read_clock() * CLOCKS_PER_SEC;
}

/*
 * Layers forward and backward, with weights: more than both memory tiers hold, so
 * that the linear programme is asked.
 */
static struct ugm_trace *layers(u32 nr)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	u32 i;

	for (i = 0; i < nr; i++) {
		fprintf(f, "tensor %u %llu global w%u\n", 2 * i, 2 * MIB, i);
		fprintf(f, "tensor %u %llu intermediate a%u\n", 2 * i + 1,
			(1 + i % 4) * MIB, i);
	}
	for (i = 0; i < nr; i++)
		fprintf(f, "kernel %u 2000000 f in=%u out=%u workspace=0\n", i,
			2 * i, 2 * i + 1);
	for (i = nr; i-- > 0;)
		fprintf(f, "kernel %u 2500000 b in=%u,%u out=%u workspace=0\n",
			2 * nr - 1 - i, 2 * i, 2 * i + 1, 2 * i);
	return trace_of_stream(f, &text);
}

static struct ugm_config machine(void)
{
	struct ugm_config c = machine_of(12, 24);

	c.flash_read_bytes_per_s = MIB * 400;
	c.flash_write_bytes_per_s = MIB * 400;
	c.pcie_bytes_per_s = MIB * 2000;
	return c;
}

static void plan(const struct ugm_trace *t, const struct ugm_config *c,
		 struct ugm_schedule *s, u64 *bound)
{
	struct ugm_layout *l;
	struct ugm_error err;

	if (ugm_layout_make(t, c, &l, &err) ||
	    ugm_policy_plan(&ugm_policy_ugm, l, s, &err) ||
	    ugm_policy_bound.compute(t, c, bound, &err))
		fail_msg("%s", err.text);
	ugm_layout_free(l);
}

static bool same(const struct ugm_schedule_hint *a,
		 const struct ugm_schedule_hint *b)
{
	return a->at == b->at && a->need == b->need && a->tensor == b->tensor &&
	       a->op == b->op && a->tier == b->tier && a->offset == b->offset &&
	       a->len == b->len;
}

/* On a machine on which nothing takes any time, and on one that takes for ever. */
static void any_speed(void **unused)
{
	struct ugm_config c = machine();
	struct ugm_trace *t = layers(24);
	struct ugm_schedule fast, slow;
	u64 fast_bound, slow_bound, i;

	plan(t, &c, &fast, &fast_bound);
	readings = 0;
	seconds_per_reading = 3600;
	plan(t, &c, &slow, &slow_bound);
	seconds_per_reading = 0;
	/* It stalls, and the solver did look at a clock. */
	assert_true(fast_bound > t->ideal_ns);
	assert_true(readings > 0);

	assert_int_equal(fast_bound, slow_bound);
	assert_true(fast.nr_hints > 0);
	assert_int_equal(fast.nr_hints, slow.nr_hints);
	for (i = 0; i < fast.nr_hints; i++)
		assert_true(same(&fast.hints[i], &slow.hints[i]));
	ugm_schedule_free(&fast);
	ugm_schedule_free(&slow);
	ugm_trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_speed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
