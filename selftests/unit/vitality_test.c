// SPDX-License-Identifier: GPL-2.0
/* Vitality, G10's scheduler, noise and wear against what is worked out by hand. */
#include <math.h>

#include "traces.h"

#include "drive.h"
#include "g10.h"
#include "noise.h"
#include "policy.h"
#include "vitality.h"

/* A weight, an activation that is idle for two kernels, a short-lived one. */
static const char small[] =
	"tensor 0 4194304 global w\n"
	"tensor 1 8388608 intermediate a\n"
	"tensor 2 4194304 intermediate b\n"
	"kernel 0 1000000 k:0 in=0 out=1 workspace=0\n"
	"kernel 1 2000000 k:1 in= out=2 workspace=0\n"
	"kernel 2 3000000 l:2 in=2 out= workspace=0\n"
	"kernel 3 4000000 l:3 in=1 out=0 workspace=0\n"
	"kernel 4 5000000 m:4 in= out=2 workspace=0\n";

static void periods(void **unused)
{
	struct ugm_trace *t = trace_of(small);
	struct ugm_period *p;
	struct ugm_vitality v;
	u64 nr, live[5], active[5];

	assert_int_equal(ugm_vitality_analyse(t, &v), 0);
	assert_int_equal(ugm_vitality_periods(&v, &p, &nr), 0);
	/* w: 0..3 and around the end 3..5; a: 0..3; b: 2..4, then dead. */
	assert_int_equal(nr, 4);
	assert_true(p[0].tensor == 0 && p[0].from == 0 && p[0].to == 3);
	assert_true(p[1].tensor == 0 && p[1].from == 3 && p[1].to == 5);
	assert_true(p[2].tensor == 1 && p[2].from == 0 && p[2].to == 3);
	assert_true(p[3].tensor == 2 && p[3].from == 2 && p[3].to == 4);
	assert_int_equal(ugm_period_ns(&v, &p[0]), 5000000);
	assert_int_equal(ugm_period_ns(&v, &p[1]), 5000000);
	assert_int_equal(ugm_vitality_at(&v, 5), 15000000);
	assert_int_equal(ugm_vitality_at(&v, 6), 16000000);
	ugm_vitality_live(&v, live);
	ugm_vitality_active(&v, active);
	assert_int_equal(live[0], 12 * MIB);
	assert_int_equal(live[1], 16 * MIB);
	assert_int_equal(live[2], 16 * MIB);
	assert_int_equal(live[3], 16 * MIB);
	assert_int_equal(live[4], 8 * MIB);
	assert_int_equal(active[0], 12 * MIB);
	assert_int_equal(active[2], 4 * MIB);
	assert_int_equal(active[4], 4 * MIB);
	free(p);
	ugm_vitality_free(&v);
	ugm_trace_free(t);
}

static struct ugm_g10_plan plan_on(struct ugm_trace *t, u64 gpu, u64 host)
{
	struct ugm_g10_options opt;
	struct ugm_config c;
	struct ugm_vitality v;
	struct ugm_layout *l;
	struct ugm_g10_plan plan;
	struct ugm_error err;

	ugm_config_preset(&c, NULL, NULL);
	c.gpu_mem_bytes = gpu;
	c.host_mem_bytes = host;
	c.pcie_bytes_per_s = 16 * MIB * 1000;
	c.flash_read_bytes_per_s = 8 * MIB * 1000;
	c.flash_write_bytes_per_s = 8 * MIB * 1000;
	c.block_size = 4096;
	if (ugm_layout_make(t, &c, &l, &err))
		fail_msg("%s", err.text);
	ugm_g10_options_default(&c, &opt);
	assert_int_equal(ugm_vitality_analyse(t, &v), 0);
	assert_int_equal(ugm_g10_make(l, &v, &opt, &plan), 0);
	ugm_vitality_free(&v);
	ugm_layout_free(l);
	return plan;
}

/*
 * With 12 MiB kernels 1 to 3 are too much. A round trip of a to flash (8 MiB/ms)
 * needs 2.5 ms and the period has 5 ms; but with a moving out during kernel 1
 * and in during kernel 2 it is away for no kernel: half a size each way is what
 * the benefit counts, so 5 - 1 ms x 8 MiB is the largest benefit, and the move
 * itself needs kernels 1 and 2 as its ends: no kernel is between. To the host it
 * is the same. Nothing can be done there, and nothing is.
 */
static void nothing_helps(void **unused)
{
	struct ugm_trace *t = trace_of(small);
	struct ugm_g10_plan plan = plan_on(t, 17 * MIB, 0);

	assert_int_equal(plan.nr_moves, 0);
	assert_int_equal(plan.peak_bytes, 16 * MIB);
	ugm_g10_free(&plan);
	ugm_trace_free(t);
}

/* Long idle a in the middle of five equal kernels goes, and comes back in time. */
static const char deep[] =
	"tensor 1 8388608 intermediate a\n"
	"tensor 2 8388608 intermediate b\n"
	"kernel 0 2000000 k in= out=1 workspace=0\n"
	"kernel 1 2000000 k in= out= workspace=0\n"
	"kernel 2 2000000 k in= out=2 workspace=0\n"
	"kernel 3 2000000 k in=2 out= workspace=0\n"
	"kernel 4 2000000 k in= out= workspace=0\n"
	"kernel 5 2000000 k in=1 out= workspace=0\n";

/* Links move more in a long kernel, or take longer for a large tensor, than a u64 holds. */
static void no_number_is_too_large(void **unused)
{
	struct ugm_trace *t = trace_of("tensor 1 1073741824 intermediate a\n"
				       "kernel 0 1 k in= out=1 workspace=0\n"
				       "kernel 1 1000000000000000000 k in= out= workspace=0\n"
				       "kernel 2 1 k in=1 out= workspace=0\n");
	struct ugm_vitality v;
	struct ugm_g10_options opt;
	struct ugm_g10_plan plan;
	struct ugm_config c = machine_of(2048, 2048);
	struct ugm_layout *l;
	struct ugm_error err;

	c.pcie_bytes_per_s = 1000000000000000;
	assert_int_equal(ugm_layout_make(t, &c, &l, &err), 0);
	ugm_g10_options_default(&c, &opt);
	opt.flash_write_bytes_per_s = 1;
	t->tensors[0].bytes = UGM_TRACE_MAX_BYTES;
	assert_int_equal(ugm_vitality_analyse(t, &v), 0);
	assert_int_equal(ugm_g10_make(l, &v, &opt, &plan), 0);
	ugm_g10_free(&plan);
	ugm_vitality_free(&v);
	ugm_layout_free(l);
	ugm_trace_free(t);
}

static void evicts_and_fetches(void **unused)
{
	struct ugm_trace *t = trace_of(deep);
	struct ugm_g10_plan plan = plan_on(t, 12 * MIB, 0);

	assert_int_equal(plan.nr_moves, 1);
	assert_int_equal(plan.moves[0].period.tensor, 0);
	assert_int_equal(plan.moves[0].tier, UGM_TIER_FLASH);
	/* One kernel moves 16 MiB: the latest safe start is kernel 4. */
	assert_int_equal(plan.moves[0].prefetch, 4);
	assert_int_equal(plan.peak_bytes, 8 * MIB);
	ugm_g10_free(&plan);
	ugm_trace_free(t);
}

static void no_pressure_no_moves(void **unused)
{
	struct ugm_trace *t = trace_of(deep);
	struct ugm_g10_plan plan = plan_on(t, 64 * MIB, 64 * MIB);

	assert_int_equal(plan.nr_moves, 0);
	ugm_g10_free(&plan);
	ugm_trace_free(t);
}

static void noise(void **unused)
{
	struct ugm_trace *t = trace_of(small), a, b;
	struct ugm_config c;
	u64 d;
	u32 k;

	ugm_config_preset(&c, NULL, NULL);
	c.noise = 0.25;
	c.seed = 7;
	assert_int_equal(ugm_noise_apply(t, &c, &a), 0);
	assert_int_equal(ugm_noise_apply(t, &c, &b), 0);
	for (k = 0, d = 0; k < t->nr_kernels; k++) {
		u64 was = t->kernels[k].duration_ns;

		assert_int_equal(a.kernels[k].duration_ns,
				 b.kernels[k].duration_ns);
		assert_in_range(a.kernels[k].duration_ns, was * 3 / 4,
				was * 5 / 4);
		d += a.kernels[k].duration_ns;
	}
	assert_int_equal(a.ideal_ns, d);
	assert_int_not_equal(a.ideal_ns, t->ideal_ns);
	ugm_noise_free(&b);
	/* Per name: kernels 0 and 1 share theirs, so do 2 and 3. */
	c.noise_per_name = true;
	assert_int_equal(ugm_noise_apply(t, &c, &b), 0);
	assert_in_range(b.kernels[1].duration_ns,
			2 * b.kernels[0].duration_ns - 2,
			2 * b.kernels[0].duration_ns + 2);
	ugm_noise_free(&b);
	ugm_noise_free(&a);
	ugm_trace_free(t);
}

static void wear(void **unused)
{
	struct ugm_drive drive;
	struct ugm_drive_wear w;
	struct ugm_error err;

	assert_int_equal(ugm_drive_find("1e12:365e12", &drive, &err), 0);
	/* 1e12 bytes in 864 s: a hundred drives a day, worn out in 3.65 days. */
	ugm_drive_wear(&drive, 1000000000000ULL, 864000000000ULL, &w);
	assert_true(fabs(w.drive_writes_per_day - 100) < 1e-9);
	assert_true(fabs(w.lifetime_years - 0.01) < 1e-9);
	ugm_drive_wear(&drive, 0, 1, &w);
	assert_true(isinf(w.lifetime_years));
	assert_int_equal(ugm_drive_find(NULL, &drive, &err), 0);
	assert_int_not_equal(ugm_drive_find("nonsense", &drive, &err), 0);
	assert_int_not_equal(ugm_drive_find("1e12:", &drive, &err), 0);
	assert_int_not_equal(ugm_drive_find("1e12:-1", &drive, &err), 0);
	assert_int_not_equal(ugm_drive_find("nan:1", &drive, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(periods),
		cmocka_unit_test(nothing_helps),
		cmocka_unit_test(no_number_is_too_large),
		cmocka_unit_test(evicts_and_fetches),
		cmocka_unit_test(no_pressure_no_moves),
		cmocka_unit_test(noise),
		cmocka_unit_test(wear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
