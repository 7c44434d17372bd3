// SPDX-License-Identifier: GPL-2.0
/*
 * Predictions against times worked out by hand, in ns.
 *
 * The machine has blocks of 1 MiB; a block takes 1,000,000 ns on a flash link
 * and 100,000 ns on the GPU link, flash adds 20,000 ns, a fault batch (1 MiB)
 * 45,000 ns.
 */
#include "traces.h"

#include "launch_log.h"
#include "policy.h"
#include "simulate.h"

/* Replay @trace under @schedule (text); the last word is the result's. */
static int simulate(const char *trace, const char *schedule,
		    const struct ugm_config *config, struct ugm_result *r,
		    struct ugm_error *err)
{
	struct ugm_trace *t = trace_of(trace);
	struct ugm_schedule s;
	struct ugm_layout *l;
	const char *path;
	int ret;

	path = text_file(schedule, strlen(schedule));
	if (ugm_schedule_read(path, t, &s, err) ||
	    ugm_layout_make(t, config, &l, err) ||
	    ugm_result_init(r, "t", "s", t->ideal_ns, config->iterations))
		fail_msg("%s", err->text);
	unlink(path);
	ret = ugm_simulate(l, &s, NULL, NULL, r, err);
	ugm_schedule_free(&s);
	ugm_layout_free(l);
	ugm_trace_free(t);
	assert_int_equal(ugm_pure_warnings, 0);
	return ret;
}

static void expect(const char *trace, const char *schedule,
		   const struct ugm_config *config, const u64 *ns)
{
	struct ugm_result r;
	struct ugm_error err;
	u64 i;

	if (simulate(trace, schedule, config, &r, &err))
		fail_msg("%s", err.text);
	assert_int_equal(r.inexact, 0);
	for (i = 0; i < config->iterations; i++)
		assert_int_equal(r.iterations_ns[i], ns[i]);
	ugm_result_free(&r);
}

#define EXPECT(trace, schedule, config, ...) \
	expect(trace, schedule, config, (const u64[]){ __VA_ARGS__ })

static const char one_block[] =
	"tensor 1 1048576 global w\n"
	"kernel 0 1000 k in=1 out= workspace=0\n";

/* Batch at 45,000, flash link, GPU link, latency. The next time it is there. */
static void one_fetch(void **unused)
{
	struct ugm_config c = machine_of(8, 8);

	c.iterations = 2;
	EXPECT(one_block, "", &c, 1165000, 1000);
	EXPECT(one_block, "option overlap none\n", &c, 1166000, 1000);
}

/* Two batches; the second block is read while the first crosses the GPU link. */
static void pipeline(void **unused)
{
	static const char two[] =
		"tensor 1 2097152 global w\n"
		"kernel 0 1000 k in=1 out= workspace=0\n";
	static const char three[] =
		"tensor 1 3145728 global w\n"
		"kernel 0 1000 k in=1 out= workspace=0\n";
	struct ugm_config c = machine_of(8, 8);

	EXPECT(two, "", &c, 45000 + 2 * 1000000 + 100000 + 20000);

	/*
	 * With a GPU link ten times slower than flash, one block waits between
	 * the stages, and the third is read only when the second has gone on.
	 */
	c.flash_read_bytes_per_s = MIB * 10000;
	c.pcie_bytes_per_s = MIB * 1000;
	EXPECT(three, "", &c, 45000 + 100000 + 3 * 1000000 + 20000);
}

static const char three_tensors[] =
	"tensor 1 1048576 intermediate a\n"
	"tensor 2 1048576 intermediate b\n"
	"tensor 3 1048576 intermediate c\n"
	"kernel 0 1000 k0 in= out=1 workspace=0\n"
	"kernel 1 1000 k1 in= out=2 workspace=0\n"
	"kernel 2 1000 k2 in= out=3 workspace=0\n";

/*
 * Two frames. First touches cost nothing while there are frames; then the
 * oldest arrival goes to the host tier (100,000), and in the next iteration
 * each launch faults, evicts and fetches: 45,000 + 100,000 + 100,000.
 */
static void eviction(void **unused)
{
	struct ugm_config c = machine_of(2, 8);

	c.iterations = 2;
	EXPECT(three_tensors, "", &c, 2000 + 100000, 3 * 245000);
	EXPECT(three_tensors, "option overlap none\n", &c, 2000 + 100000 + 1000,
	       3 * 246000);

	/* Without host memory it goes over both links to flash. */
	c = machine_of(2, 0);
	EXPECT(three_tensors, "", &c, 2000 + 100000 + 1000000 + 20000);
}

/* What is dead leaves for nothing, at once or when room is needed. */
static void dead_data(void **unused)
{
	static const char lazy[] =
		"option dead lazy\n"
		"at 1 discard 1 0 0\nat 2 discard 2 0 0\nat 0 discard 3 0 0\n";
	static const char drop[] =
		"option dead drop\n"
		"at 1 discard 1 0 0\nat 2 discard 2 0 0\nat 0 discard 3 0 0\n";
	static const char keep[] =
		"option dead keep\n"
		"at 1 discard 1 0 0\nat 2 discard 2 0 0\nat 0 discard 3 0 0\n";
	struct ugm_config c = machine_of(2, 8);

	c.iterations = 2;
	EXPECT(three_tensors, lazy, &c, 3000, 3000);
	EXPECT(three_tensors, drop, &c, 3000, 3000);
	EXPECT(three_tensors, keep, &c, 102000, 735000);
}

/* A read block with a valid flash copy: written again, or just dropped. */
static void clean_victims(void **unused)
{
	static const char text[] =
		"tensor 1 1048576 global a\n"
		"tensor 2 1048576 global b\n"
		"tensor 3 1048576 global c\n"
		"kernel 0 1000 k0 in=1 out= workspace=0\n"
		"kernel 1 1000 k1 in=2 out= workspace=0\n"
		"kernel 2 1000 k2 in=3 out= workspace=0\n";
	struct ugm_config c = machine_of(2, 8);

	/* The eviction is chosen when the batch is queued, at 45,000. */
	EXPECT(text, "option clean drop\n", &c, 3 * 1165000);
	EXPECT(text, "option clean write\n", &c,
	       2 * 1165000 + 45000 + 100000 + 1000000 + 100000 + 20000);
}

/* Batches are per operand, a block comes with the batch of its last byte. */
static void fault_batches(void **unused)
{
	static const char one[] =
		"tensor 1 1048576 global a\n"
		"kernel 0 %d k in=1 out= workspace=0\n";
	static const char two[] =
		"tensor 1 1048576 global a\n"
		"tensor 2 262144 global b\n"
		"kernel 0 5000000 k in=2,1 out= workspace=0\n";
	struct ugm_config c = machine_of(64, 8);
	char text[256];

	c.scale = 64; /* blocks of 256 KiB: 250,000 and 25,000 ns */
	snprintf(text, sizeof(text), one, 1000);
	EXPECT(text, "", &c, 45000 + 4 * 250000 + 25000 + 20000);
	/* A long kernel hides the transfers but not the handling. */
	snprintf(text, sizeof(text), one, 5000000);
	EXPECT(text, "", &c, 5000000 + 45000);
	EXPECT(two, "", &c, 5000000 + 2 * 45000);
}

/* A prefetch during a long kernel; another that comes too late is waited for. */
static void planned_moves(void **unused)
{
	static const char text[] =
		"tensor 1 1048576 global a\n"
		"tensor 2 1048576 intermediate x\n"
		"kernel 0 %d k0 in= out=2 workspace=0\n"
		"kernel 1 1000 k1 in=1 out= workspace=0\n";
	struct ugm_config c = machine_of(8, 8);
	char trace[256];

	snprintf(trace, sizeof(trace), text, 5000000);
	EXPECT(trace, "at 0 prefetch 1 0 0 gpu need=1\n", &c, 5001000);
	EXPECT(trace, "", &c, 5000000 + 1165000);
	/* It began at 0, and arrives at 1,120,000. */
	snprintf(trace, sizeof(trace), text, 50000);
	EXPECT(trace, "at 0 prefetch 1 0 0 gpu need=1\n", &c, 1120000);
}

/* What is on its way out when it is prefetched stays, however far it has come. */
static void recalled(void **unused)
{
	static const char text[] =
		"tensor 1 1048576 intermediate a\n"
		"kernel 0 1000 k0 in= out=1 workspace=0\n"
		"kernel 1 50000 k1 in= out= workspace=0\n"
		"kernel 2 5000000 k2 in= out= workspace=0\n"
		"kernel 3 1000 k3 in=1 out= workspace=0\n";
	static const char started[] =
		"option demand off\n"
		"at 1 evict 1 0 0 flash\nat 2 prefetch 1 0 0 gpu need=3\n";
	static const char queued[] =
		"option demand off\n"
		"at 1 evict 1 0 0 flash\nat 1 prefetch 1 0 0 gpu need=3\n";
	struct ugm_config c = machine_of(8, 8);

	EXPECT(text, started, &c, 5052000);
	EXPECT(text, queued, &c, 5052000);
}

/* Hints are shifted by an iteration; need may reach into the next one. */
static void hints_wrap_around(void **unused)
{
	static const char text[] =
		"tensor 1 1048576 global a\n"
		"kernel 0 1000 k0 in=1 out= workspace=0\n"
		"kernel 1 5000000 k1 in= out= workspace=0\n";
	struct ugm_config c = machine_of(8, 8);

	c.iterations = 3;
	/*
	 * Kernel 0 reads it; when kernel 1 begins it goes to flash (100,000 +
	 * 1,000,000 + 20,000) and nothing brings it back: a fault each time.
	 */
	EXPECT(text, "at 1 evict 1 0 0 flash\n", &c, 6165000, 6165000, 6165000);
	/* To the host tier instead, and back by a fault. */
	EXPECT(text, "at 1 evict 1 0 0 host\n", &c, 6165000,
	       5000000 + 145000, 5000000 + 145000);
}

static void demand_off(void **unused)
{
	struct ugm_config c = machine_of(8, 8);
	struct ugm_result r;
	struct ugm_error err;

	assert_int_equal(simulate(one_block, "option demand off\n", &c, &r,
				  &err), -ENODATA);
	assert_non_null(strstr(err.text, "kernel 0 (k) of iteration 1"));
	ugm_result_free(&r);
}

/* More than fits beside what is pinned: an error, not a hang. */
static void stuck(void **unused)
{
	struct ugm_config c = machine_of(2, 8);
	struct ugm_result r;
	struct ugm_error err;

	assert_int_equal(simulate(three_tensors,
				  "at 1 pin 1 0 0\nat 2 pin 2 0 0\n", &c, &r,
				  &err), -ENOSPC);
	assert_non_null(strstr(err.text, "kernel 2 (k2)"));
	ugm_result_free(&r);
}

static void traffic(void **unused)
{
	struct ugm_config c = machine_of(2, 8);
	struct ugm_result r;
	struct ugm_error err;

	c.iterations = 3;
	assert_int_equal(simulate(three_tensors, "", &c, &r, &err), 0);
	assert_int_equal(r.iteration_ns, 735000);
	assert_int_equal(r.iterations_ns[2], 735000);
	assert_int_equal(r.ideal_ns, 3000);
	assert_int_equal(r.traffic_bytes[UGM_TIER_HOST][UGM_TIER_GPU], 3 * MIB);
	assert_int_equal(r.traffic_bytes[UGM_TIER_GPU][UGM_TIER_HOST], 3 * MIB);
	assert_int_equal(r.traffic_bytes[UGM_TIER_FLASH][UGM_TIER_GPU], 0);
	ugm_result_free(&r);
}

/* A larger trace twice: the same launches, digests included. */
static void deterministic(void **unused)
{
	char *text = NULL, log[2][64] = { "/tmp/ugm-unit-log0",
					  "/tmp/ugm-unit-log1" };
	struct ugm_config c = machine_of(48, 40);
	u64 seed = 11, i, length[2];
	const struct ugm_policy *p;
	static char data[2][1 << 17];
	struct ugm_output out;
	struct ugm_schedule s;
	struct ugm_layout *l;
	struct ugm_result r;
	struct ugm_trace *t;
	struct ugm_error err;
	size_t len;
	FILE *f;

	f = open_memstream(&text, &len);
	for (i = 0; i < 60; i++)
		fprintf(f, "tensor %u %llu %s t\n", (unsigned int)i,
			(unsigned long long)(next_random(&seed) % (4 * MIB) +
					     MIB),
			i % 3 ? "intermediate" : "global");
	for (i = 0; i < 250; i++)
		fprintf(f, "kernel %u %u k in=%u,%u out=%u workspace=0\n",
			(unsigned int)i,
			(unsigned int)(next_random(&seed) % 300000),
			(unsigned int)(next_random(&seed) % 60),
			(unsigned int)(next_random(&seed) % 60),
			(unsigned int)(next_random(&seed) % 60));
	fclose(f);
	t = trace_of(text);
	free(text);
	c.iterations = 3;
	p = ugm_policy_find("deepum", &err);
	assert_int_equal(ugm_layout_make(t, &c, &l, &err), 0);
	assert_int_equal(ugm_policy_plan(p, l, &s, &err), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(ugm_result_init(&r, "t", "p", t->ideal_ns, 3),
				 0);
		assert_int_equal(ugm_output_open(&out, log[i], &err), 0);
		assert_int_equal(ugm_simulate(l, &s, &out, NULL, &r, &err), 0);
		assert_int_equal(ugm_output_commit(&out, &err), 0);
		assert_true(r.iteration_ns >= r.ideal_ns);
		assert_true(r.traffic_bytes[UGM_TIER_FLASH][UGM_TIER_GPU] > 0);
		ugm_result_free(&r);
		f = fopen(log[i], "r");
		length[i] = fread(data[i], 1, sizeof(data[i]), f);
		fclose(f);
		unlink(log[i]);
	}
	assert_true(length[0] > 750 * 6 && length[0] < sizeof(data[0]));
	assert_int_equal(length[0], length[1]);
	assert_memory_equal(data[0], data[1], length[0]);
	assert_int_equal(ugm_pure_warnings, 0);
	ugm_schedule_free(&s);
	ugm_layout_free(l);
	ugm_trace_free(t);
}

/* Links carry what they can: no iteration is shorter than its traffic. */
static void conserves(void **unused)
{
	struct ugm_config c = machine_of(2, 8);
	struct ugm_result r;
	struct ugm_error err;
	u64 in;

	c.iterations = 3;
	assert_int_equal(simulate(three_tensors, "", &c, &r, &err), 0);
	in = r.traffic_bytes[UGM_TIER_HOST][UGM_TIER_GPU] +
	     r.traffic_bytes[UGM_TIER_FLASH][UGM_TIER_GPU];
	assert_true(r.iteration_ns >= in * 1000000000 / c.pcie_bytes_per_s);
	ugm_result_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_fetch),
		cmocka_unit_test(pipeline),
		cmocka_unit_test(eviction),
		cmocka_unit_test(dead_data),
		cmocka_unit_test(clean_victims),
		cmocka_unit_test(fault_batches),
		cmocka_unit_test(planned_moves),
		cmocka_unit_test(recalled),
		cmocka_unit_test(hints_wrap_around),
		cmocka_unit_test(demand_off),
		cmocka_unit_test(stuck),
		cmocka_unit_test(traffic),
		cmocka_unit_test(deterministic),
		cmocka_unit_test(conserves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
