// SPDX-License-Identifier: GPL-2.0
/*
 * The published simulators and planners: times worked out by hand, and the
 * parts that they are made of.
 *
 * A tick of the page simulator is 15,599 cycles at 1.2 GHz; in it the link
 * moves 50 pages of 4 KiB, flash 10.
 */
#include "unit.h"

#include <errno.h>
#include <limits.h>

#include "fault_profile.h"
#include "first_fit.h"
#include "introsort.h"
#include "page_model.h"
#include "policy.h"
#include "tensor_model.h"
#include "units.h"

#define TICK_NS (15599 / 1.2)

static bool less(const void *a, const void *b)
{
	return *(const u64 *)a < *(const u64 *)b;
}

static bool always(const void *a, const void *b)
{
	return true;
}

static void sorts(void **unused)
{
	u64 values[700], seed = 5, nr, i, sum;
	void *items[700];

	for (nr = 0; nr < 700; nr += 1 + nr / 9) {
		for (i = 0, sum = 0; i < nr; i++) {
			values[i] = next_random(&seed) % (nr / 3 + 1);
			items[i] = &values[i];
			sum += i;
		}
		ugm_introsort(items, nr, less);
		for (i = 1; i < nr; i++)
			assert_true(*(u64 *)items[i - 1] <= *(u64 *)items[i]);
		for (i = 0; i < nr; i++)
			sum -= (u64)((u64 *)items[i] - values);
		assert_int_equal(sum, 0);
		/* In order, backwards, and against all reason. */
		ugm_introsort(items, nr, less);
		for (i = 0; i < nr / 2; i++) {
			void *t = items[i];

			items[i] = items[nr - 1 - i];
			items[nr - 1 - i] = t;
		}
		ugm_introsort(items, nr, less);
		for (i = 1; i < nr; i++)
			assert_true(*(u64 *)items[i - 1] <= *(u64 *)items[i]);
		ugm_introsort(items, nr, always);
	}
}

/* Quicksort that goes too deep: what ends is ordered all the same. */
static void sorts_when_deep(void **unused)
{
	static u64 values[4096];
	static void *items[4096];
	u64 nr = 4096, i;

	/* Each median of three is the second smallest of what is left. */
	for (i = 0; i < nr; i++)
		values[i] = i % 2 ? i / 2 + nr / 2 : i / 2;
	for (i = 0; i < nr; i++)
		items[i] = &values[i];
	ugm_introsort(items, nr, less);
	for (i = 0; i < nr; i++)
		assert_int_equal(*(u64 *)items[i], i);
}

static void fits_first(void **unused)
{
	struct ugm_first_fit f = { .size = 100 };

	assert_int_equal(ugm_first_fit_take(&f, 1, 30, false), 0); /* 0-30 */
	assert_int_equal(ugm_first_fit_take(&f, 2, 30, true), 0); /* 70-100 */
	assert_int_equal(ugm_first_fit_take(&f, 3, 10, false), 0); /* 30-40 */
	assert_int_equal(f.pieces[1].start, 30);
	assert_int_equal(ugm_first_fit_largest(&f), 30);
	assert_int_equal(ugm_first_fit_take(&f, 4, 31, false), -ENOSPC);
	ugm_first_fit_give(&f, 1);
	assert_int_equal(ugm_first_fit_largest(&f), 30);
	assert_int_equal(ugm_first_fit_take(&f, 5, 20, false), 0); /* 0-20 */
	assert_int_equal(f.pieces[0].owner, 5);
	assert_int_equal(ugm_first_fit_take(&f, 6, 20, true), 0); /* 50-70 */
	assert_int_equal(f.pieces[2].start, 50);
	ugm_first_fit_lose(&f, 5);
	ugm_first_fit_give(&f, 5); /* nobody's any more */
	assert_int_equal(f.pieces[0].owner, UGM_FIRST_FIT_LOST);
	assert_int_equal(ugm_first_fit_take(&f, 7, 0, true), 0);
	assert_int_equal(f.nr, 4);
	ugm_first_fit_free(&f);
}

/* A trace that stays on disk, for the profile beside it. */
static struct ugm_trace *trace_of(const char *text)
{
	struct ugm_trace *t;
	struct ugm_error err;

	if (ugm_trace_read(text_file(text, strlen(text)), &t, &err))
		fail_msg("%s", err.text);
	return t;
}

static void drop(struct ugm_trace *t)
{
	char pf[PATH_MAX];

	snprintf(pf, sizeof(pf), "%s.pf", t->path);
	unlink(pf);
	unlink(t->path);
	ugm_trace_free(t);
}

static void write_profile(const struct ugm_trace *t, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s.pf", t->path);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	fclose(f);
}

/* The time of the first iteration; 0 and an error if there is none. */
static u64 predict(struct ugm_trace *t, const char *schedule, bool whole, u64 gpu_bytes,
		   struct ugm_result *r, struct ugm_error *err)
{
	struct ugm_config c;
	struct ugm_schedule s;
	struct ugm_layout *l;
	const char *path;
	int ret;

	ugm_config_preset(&c, "g10-artifact", err);
	c.iterations = 1;
	ugm_config_check(&c, err);
	path = text_file(schedule, strlen(schedule));
	if (ugm_schedule_read(path, t, &s, err) || ugm_layout_make(t, &c, &l, err) ||
	    ugm_result_init(r, "t", "s", t->ideal_ns, c.iterations))
		fail_msg("%s", err->text);
	unlink(path);
	l->config.gpu_mem_bytes = gpu_bytes; /* also where no kernel fits */
	ret = whole ? ugm_tensor_model(l, &s, r, err) : ugm_page_model(l, &s, NULL, r, err);
	ugm_schedule_free(&s);
	ugm_layout_free(l);
	return ret ? 0 : r->iterations_ns[0];
}

static void expect(struct ugm_trace *t, const char *schedule, bool whole, u64 gpu_bytes, double ns)
{
	struct ugm_result r;
	struct ugm_error err = {};
	u64 got = predict(t, schedule, whole, gpu_bytes, &r, &err);

	if ((double)got < ns - 2 || (double)got > ns + 2)
		fail_msg("%llu ns, expected %.0f; %s", (unsigned long long)got, ns, err.text);
	ugm_result_free(&r);
}

#define OPTIONS "# ugm-schedule 1\noption victim fifo\noption clean write\n"
#define LOTS	(1ULL << 30)

/* 100 pages from flash, as the profile says in whole seconds. */
static void faults_are_handled(void **unused)
{
	struct ugm_trace *t = trace_of("tensor 0 409600 global w\n"
				       "kernel 0 1000 k in=0 out= workspace=0\n");
	double bytes = 409600;

	expect(t, OPTIONS, false, LOTS, 1000 + bytes / 3.2);
	write_profile(t, "# comment\n0 1000 1000 999999999\n");
	expect(t, OPTIONS, false, LOTS, 1000 + bytes / 3.2);
	write_profile(t, "0 1000 1999999999 4000000000\n");
	expect(t, OPTIONS, false, LOTS, 1000 + 3e9 * 65 / 45);
	drop(t);
}

static void refuses_profile(struct ugm_trace *t, const char *text, const char *what)
{
	struct ugm_fault_times *times;
	struct ugm_error err;

	write_profile(t, text);
	assert_int_equal(ugm_fault_profile_read(t, &times, &err), -EINVAL);
	assert_null(times);
	if (!strstr(err.text, what))
		fail_msg("'%s' does not say '%s'", err.text, what);
}

static void bad_profiles(void **unused)
{
	struct ugm_trace *t = trace_of("tensor 0 4096 global w\n"
				       "kernel 0 1000 k in=0 out= workspace=0\n");
	struct ugm_fault_times *times;
	struct ugm_error err;

	assert_int_equal(ugm_fault_profile_read(t, &times, &err), 0);
	assert_null(times);
	write_profile(t, "0 10 9 8\n");
	assert_int_equal(ugm_fault_profile_read(t, &times, &err), 0);
	assert_int_equal(times[0].outputs_ns, 10);
	assert_int_equal(times[0].all_ns, 10);
	free(times);
	refuses_profile(t, "0 1 2\n", ":1: 3 words");
	refuses_profile(t, "1 1 2 3\n", "expected kernel 0");
	refuses_profile(t, "0 1 2 x\n", "'x' is not a number");
	refuses_profile(t, "0 1 2 3\n1 1 2 3\n", ":2: kernel 1");
	refuses_profile(t, "# nothing\n", "0 kernels");
	drop(t);
}

/* What is wanted waits where it is queued: tensor 1 behind tensor 0. */
static void no_promotion(void **unused)
{
	struct ugm_trace *t = trace_of("tensor 0 4096000 global big\n"
				       "tensor 1 40960 global small\n"
				       "kernel 0 1 a in= out= workspace=4096\n"
				       "kernel 1 1 b in=1 out= workspace=0\n"
				       "kernel 2 1 c in=0 out= workspace=0\n");

	expect(t, OPTIONS "at 0 prefetch 0 0 0 gpu\nat 0 prefetch 1 0 0 gpu\n", false, LOTS,
	       100 * TICK_NS + 1);
	drop(t);
}

/* The oldest arrival leaves, dirty or not; with no host memory left, to flash. */
static void oldest_leaves(void **unused)
{
	struct ugm_trace *t = trace_of("tensor 0 40960 global a\n"
				       "tensor 1 40960 global b\n"
				       "tensor 2 40960 global c\n"
				       "kernel 0 1 k in=0 out= workspace=0\n"
				       "kernel 1 1 k in=1 out= workspace=0\n"
				       "kernel 2 1 k in=2 out= workspace=0\n"
				       "kernel 3 1 k in=1 out= workspace=0\n");
	struct ugm_result r;
	struct ugm_error err = {};

	if (!predict(t, OPTIONS, false, 20 * 4096, &r, &err))
		fail_msg("%s", err.text);
	assert_int_equal(r.traffic_bytes[UGM_TIER_FLASH][UGM_TIER_GPU], 3 * 40960);
	assert_int_equal(r.traffic_bytes[UGM_TIER_GPU][UGM_TIER_HOST], 40960);
	assert_int_equal(r.traffic_bytes[UGM_TIER_GPU][UGM_TIER_FLASH], 0);
	ugm_result_free(&r);
	drop(t);
}

/* Out while kernel 1 runs, back on demand of kernel 2. */
static void whole_tensors_move(void **unused)
{
	struct ugm_trace *t = trace_of("tensor 0 4096000 intermediate x\n"
				       "kernel 0 1000 k in= out=0 workspace=0\n"
				       "kernel 1 9000000 k in= out= workspace=4096\n"
				       "kernel 2 1000 k in=0 out= workspace=0\n");
	double way = 4096000 / (3.2 * UGM_BINARY_UNITS);

	expect(t, OPTIONS "at 1 evict 0 0 0 flash\n", true, LOTS, 1000 + 9000000 + way + 1000);
	/* Only kernel 2 gives the memory back that it needs for itself. */
	expect(t, OPTIONS "at 2 evict 0 0 0 flash\n", true, LOTS, 9002000);
	drop(t);
}

/* FlashNeuron: the backward pass, kernel 2, begins when all is written. */
static void backward_waits(void **unused)
{
	struct ugm_trace *t = trace_of("tensor 0 4096000 intermediate x\n"
				       "kernel 0 1000 k in= out=0 workspace=0\n"
				       "kernel 1 1000 k in= out= workspace=4096\n"
				       "kernel 2 1000 loss in= out= workspace=4096\n"
				       "kernel 3 1000 k in=0 out= workspace=0\n");
	double way = 4096000 / (3.2 * UGM_BINARY_UNITS);
	struct ugm_result r;
	struct ugm_error err = {};

	/* Fetched ahead after kernel 2, for kernel 3. */
	expect(t, OPTIONS "option demand off\nat 1 evict 0 0 0 flash need=2\n", true, LOTS,
	       1000 + way + 1000 + way + 1000);
	assert_int_equal(predict(t, OPTIONS "option demand off\n", true, 4096000, &r, &err), 0);
	assert_non_null(strstr(err.text, "finds no hole for kernel 0"));
	ugm_result_free(&r);
	drop(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorts),	  cmocka_unit_test(sorts_when_deep),
		cmocka_unit_test(fits_first),	  cmocka_unit_test(faults_are_handled),
		cmocka_unit_test(bad_profiles),	  cmocka_unit_test(no_promotion),
		cmocka_unit_test(oldest_leaves),  cmocka_unit_test(whole_tensors_move),
		cmocka_unit_test(backward_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
