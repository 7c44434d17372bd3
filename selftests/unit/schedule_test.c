// SPDX-License-Identifier: GPL-2.0
/* The schedule reader and writer, and the blocks that hints are about. */
#include "traces.h"

#include "layout.h"
#include "policy.h"
#include "schedule.h"

static const char trace_text[] =
	"tensor 1 12288 global w\n"
	"tensor 7 10000 intermediate x\n"
	"tensor 8 100 intermediate small\n"
	"kernel 0 1 a in=1 out=7 workspace=0\n"
	"kernel 1 1 b in=7,8 out=1 workspace=0\n"
	"kernel 2 1 c in=1 out=8 workspace=0\n";

static struct ugm_trace *trace;
static struct ugm_layout *layout;

static int set_up(void **unused)
{
	struct ugm_config config;
	struct ugm_error err;

	trace = trace_of(trace_text);
	ugm_config_preset(&config, NULL, NULL);
	config.block_size = 4096;
	assert_int_equal(ugm_config_check(&config, &err), 0);
	assert_int_equal(ugm_layout_make(trace, &config, &layout, &err), 0);
	return 0;
}

static int tear_down(void **unused)
{
	ugm_layout_free(layout);
	ugm_trace_free(trace);
	return 0;
}

static int read_text(const char *text, struct ugm_schedule *s,
		     struct ugm_error *err)
{
	const char *path = text_file(text, strlen(text));
	int ret;

	ret = ugm_schedule_read(path, trace, s, err);
	unlink(path);
	return ret;
}

static void reads(void **unused)
{
	struct ugm_schedule s;
	struct ugm_error err;

	assert_int_equal(read_text("# ugm-schedule 1\n"
				   "option victim need\n"
				   "option clean drop\n"
				   "option dead lazy\n"
				   "option promote off\n"
				   "option prefetch-evicts any\n"
				   "option overlap none\n"
				   "option demand off\n"
				   "at 2 evict 1 0 4096 flash\n"
				   "at 0 prefetch 7 1 0 gpu need=4 # next time\n"
				   "at 2 discard 7 0 10000\n"
				   "at 1 protect 8 0 100\n",
				   &s, &err), 0);
	assert_int_equal(s.opt.victim, UGM_VICTIM_NEED);
	assert_int_equal(s.opt.clean, UGM_CLEAN_DROP);
	assert_int_equal(s.opt.dead, UGM_DEAD_LAZY);
	assert_int_equal(s.opt.promote, 0);
	assert_int_equal(s.opt.prefetch_evicts, UGM_PREFETCH_EVICTS_ANY);
	assert_int_equal(s.opt.overlap, UGM_OVERLAP_NONE);
	assert_int_equal(s.opt.demand, 0);
	assert_int_equal(s.nr_hints, 4);
	/* sorted by launch, equals in file order */
	assert_int_equal(s.hints[0].op, UGM_OP_PREFETCH);
	assert_int_equal(s.hints[0].need, 4);
	assert_int_equal(s.hints[0].offset, 1);
	assert_int_equal(s.hints[0].len, 9999);
	assert_int_equal(s.hints[1].op, UGM_OP_PROTECT);
	assert_int_equal(s.hints[2].op, UGM_OP_EVICT);
	assert_int_equal(s.hints[2].tier, UGM_TIER_FLASH);
	assert_int_equal(s.hints[2].need, UGM_NEED_NONE);
	assert_int_equal(s.hints[3].op, UGM_OP_DISCARD);
	ugm_schedule_free(&s);

	/* What it does not say is the engine's default. */
	assert_int_equal(read_text("", &s, &err), 0);
	assert_int_equal(s.nr_hints, 0);
	assert_int_equal(s.opt.promote, 1);
	ugm_schedule_free(&s);
}

static const struct {
	const char *line;
	const char *says;
} bad[] = {
	{ "at 0 prefetch 3 0 1 gpu", "has no tensor 3" },
	{ "at 3 prefetch 1 0 1 gpu", "launch '3'" },
	{ "at x prefetch 1 0 1 gpu", "launch 'x'" },
	{ "at 0 move 1 0 1 gpu", "'move' is no operation" },
	{ "at 0 prefetch 1 12288 1 gpu", "offset '12288'" },
	{ "at 0 prefetch 1 4096 8193 gpu", "length '8193'" },
	{ "at 0 prefetch 1 1 18446744073709551615 gpu", "length '184" },
	{ "at 0 prefetch 1 0 1", "prefetch names no tier: gpu or host" },
	{ "at 0 prefetch 1 0 1 flash", "prefetch to 'flash': its tier is gpu or host" },
	{ "at 0 evict 1 0 1 gpu", "its tier is host or flash" },
	{ "at 0 discard 1 0 1 gpu", "'gpu' is too much" },
	{ "at 2 prefetch 1 0 1 gpu need=1", "'need=1': allowed are 2 to 5" },
	{ "at 0 prefetch 1 0 1 gpu need=6", "'need=6'" },
	{ "at 0 prefetch 1 0", "a hint line is" },
	{ "option victim random", "'random' is not one of: fifo, lru, need" },
	{ "option colour red", "option 'colour' is not one of" },
	{ "option victim", "an option line is" },
	{ "hint 0", "'hint': a line begins with" },
};

static void says_what_is_wrong(void **unused)
{
	struct ugm_schedule s;
	struct ugm_error err;
	char text[256];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(text, sizeof(text), "# ugm-schedule 1\n%s\n",
			 bad[i].line);
		if (read_text(text, &s, &err) != -EINVAL ||
		    !strstr(err.text, bad[i].says) || !strstr(err.text, ":2: "))
			fail_msg("'%s' says '%s'", bad[i].line, err.text);
	}
	assert_int_equal(read_text("at 0 pin 1 0 0\noption dead drop\n", &s,
				   &err), -EINVAL);
	assert_non_null(strstr(err.text, ":2: options come before"));
	assert_int_equal(read_text("option clean drop\noption clean drop\n", &s,
				   &err), -EINVAL);
	assert_non_null(strstr(err.text, ":2: option clean is given twice"));
}

/* A version is told by a first comment, or not at all. */
static void knows_its_version(void **unused)
{
	static const char *const known[] = {
		"# ugm-schedule 1\n",
		"#ugm-schedule\t1\n",
		"# by hand\n\n# ugm-schedule 1 of 3\n",
		"# ugm-schedule for tests\n",
		"# ugm-schedules 2\n",
		"option clean drop\n# ugm-schedule 2\n",
		"option clean drop # ugm-schedule 2\n",
	};
	static const struct {
		const char *text;
		const char *says;
	} unknown[] = {
		{ "# ugm-schedule 2\n", ":1: ugm-schedule of version 2: known are 1 to 1" },
		{ "\n# by hand\n \t# ugm-schedule 3 \r\n", ":3: ugm-schedule of version 3:" },
		{ "# ugm-schedule 0", ":1: ugm-schedule of version 0:" },
		{ "# ugm-schedule 1.1\n", "version 1.1:" },
		{ "# ugm-schedule 18446744073709551617\n", "version 18446744073709551617:" },
	};
	struct ugm_schedule s;
	struct ugm_error err;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (read_text(known[i], &s, &err))
			fail_msg("'%s' says '%s'", known[i], err.text);
		ugm_schedule_free(&s);
	}
	for (i = 0; i < ARRAY_SIZE(unknown); i++)
		if (read_text(unknown[i].text, &s, &err) != -EINVAL ||
		    !strstr(err.text, unknown[i].says))
			fail_msg("'%s' says '%s'", unknown[i].text, err.text);
}

/* What is written is read back, hint by hint. */
static void round_trip(void **unused)
{
	char path[] = "/tmp/ugm-unit-schedule";
	struct ugm_schedule a, b;
	struct ugm_error err;
	u64 seed = 7, i;

	ugm_schedule_init(&a);
	a.opt.dead = UGM_DEAD_DROP;
	a.opt.demand = 0;
	for (i = 0; i < 1000; i++) {
		struct ugm_schedule_hint h = {
			.at = next_random(&seed) % trace->nr_kernels,
			.op = next_random(&seed) % UGM_NR_OPS,
			.tensor = next_random(&seed) % trace->nr_tensors,
			.need = UGM_NEED_NONE,
		};
		u64 bytes = trace->tensors[h.tensor].bytes;

		if (h.op == UGM_OP_PREFETCH)
			h.tier = UGM_TIER_GPU;
		if (h.op == UGM_OP_EVICT || h.op == UGM_OP_WRITEBACK)
			h.tier = UGM_TIER_HOST + next_random(&seed) % 2;
		if (next_random(&seed) % 2)
			h.need = h.at + next_random(&seed) % trace->nr_kernels;
		h.offset = next_random(&seed) % bytes;
		h.len = 1 + next_random(&seed) % (bytes - h.offset);
		assert_int_equal(ugm_schedule_add(&a, &h), 0);
	}
	assert_int_equal(ugm_schedule_sort(&a), 0);
	for (i = 1; i < a.nr_hints; i++)
		assert_true(a.hints[i - 1].at <= a.hints[i].at);
	assert_int_equal(ugm_schedule_write(&a, trace, path, &err), 0);
	assert_int_equal(ugm_schedule_read(path, trace, &b, &err), 0);
	unlink(path);
	assert_memory_equal(&a.opt, &b.opt, sizeof(a.opt));
	assert_int_equal(a.nr_hints, b.nr_hints);
	for (i = 0; i < a.nr_hints; i++) {
		assert_int_equal(a.hints[i].at, b.hints[i].at);
		assert_int_equal(a.hints[i].need, b.hints[i].need);
		assert_int_equal(a.hints[i].tensor, b.hints[i].tensor);
		assert_int_equal(a.hints[i].op, b.hints[i].op);
		assert_int_equal(a.hints[i].tier, b.hints[i].tier);
		assert_int_equal(a.hints[i].offset, b.hints[i].offset);
		assert_int_equal(a.hints[i].len, b.hints[i].len);
	}
	ugm_schedule_free(&a);
	ugm_schedule_free(&b);
}

/* Sorting keeps the order of arrival at equal launches. */
static void sorts_stably(void **unused)
{
	struct ugm_schedule s;
	u64 seed = 3, i, n;

	for (n = 0; n < 70; n++) {
		ugm_schedule_init(&s);
		for (i = 0; i < n; i++)
			assert_int_equal(ugm_schedule_add(&s,
				&(struct ugm_schedule_hint){
					.at = next_random(&seed) % 5,
					.len = i + 1,
				}), 0);
		assert_int_equal(ugm_schedule_sort(&s), 0);
		for (i = 1; i < n; i++)
			assert_true(s.hints[i - 1].at < s.hints[i].at ||
				    (s.hints[i - 1].at == s.hints[i].at &&
				     s.hints[i - 1].len < s.hints[i].len));
		ugm_schedule_free(&s);
	}
}

static void expect_span(u32 tensor, u8 op, u64 offset, u64 len, u32 first,
			u32 nr)
{
	struct ugm_span span = ugm_layout_hint(layout,
		&(struct ugm_schedule_hint){
			.tensor = tensor, .op = op, .offset = offset, .len = len,
		});

	if (span.nr != nr || (nr && span.first != first))
		fail_msg("op %u of %u: %llu+%llu is %u+%u, expected %u+%u", op,
			 tensor, (unsigned long long)offset,
			 (unsigned long long)len, span.first, span.nr, first,
			 nr);
}

static void rounds_to_blocks(void **unused)
{
	/* tensor 0: three blocks; tensor 1: two and a tail of 1808 bytes */
	expect_span(0, UGM_OP_PREFETCH, 0, 1, 0, 1);
	expect_span(0, UGM_OP_PREFETCH, 4095, 2, 0, 2);
	expect_span(0, UGM_OP_PROTECT, 4096, 4096, 1, 1);
	expect_span(0, UGM_OP_UNPIN, 0, 12288, 0, 3);
	expect_span(0, UGM_OP_EVICT, 0, 4095, 0, 0);
	expect_span(0, UGM_OP_EVICT, 1, 8192, 1, 1);
	expect_span(0, UGM_OP_DISCARD, 1, 4095, 0, 0);
	expect_span(0, UGM_OP_WRITEBACK, 0, 12288, 0, 3);
	expect_span(1, UGM_OP_EVICT, 8192, 1808, 2, 1);
	expect_span(1, UGM_OP_EVICT, 8192, 1807, 0, 0);
	expect_span(1, UGM_OP_PREFETCH, 9999, 1, 2, 1);
	expect_span(1, UGM_OP_DISCARD, 0, 10000, 0, 3);
	/* the arena is pinned: nothing to do */
	expect_span(2, UGM_OP_EVICT, 0, 100, 0, 0);
	expect_span(2, UGM_OP_PREFETCH, 0, 100, 0, 0);
}

/* What every policy writes is what a reader accepts. */
static void policies_write_valid_schedules(void **unused)
{
	char path[] = "/tmp/ugm-unit-policy";
	struct ugm_schedule s, back;
	struct ugm_error err;
	unsigned int i;

	for (i = 0; i < ugm_nr_policies; i++) {
		const struct ugm_policy *p = ugm_policies[i];

		assert_true(!p->plan != !p->compute);
		assert_ptr_equal(ugm_policy_find(p->name, &err), p);
		if (!p->plan) {
			assert_int_equal(ugm_policy_plan(p, layout, &s, &err),
					 -EINVAL);
			continue;
		}
		assert_int_equal(ugm_policy_plan(p, layout, &s, &err), 0);
		assert_int_equal(ugm_schedule_write(&s, trace, path, &err), 0);
		assert_int_equal(ugm_schedule_read(path, trace, &back, &err), 0);
		assert_int_equal(s.nr_hints, back.nr_hints);
		ugm_schedule_free(&s);
		ugm_schedule_free(&back);
		unlink(path);
	}
	assert_null(ugm_policy_find("nonsense", &err));
	assert_non_null(strstr(err.text, "not built in; available: ideal"));
}

/* Whatever is done to a schedule, the reader gives one or a sentence. */
static void survives_mutation(void **unused)
{
	static const char good[] =
		"option victim need\n"
		"at 0 prefetch 7 1 0 gpu need=4\n"
		"at 1 protect 8 0 100 # small\n"
		"at 2 evict 1 0 4096 flash\n"
		"at 2 discard 7 0 10000";
	static const char alphabet[] = "0123456789=#\n at-gpuflshoevict";
	char text[sizeof(good)];
	struct ugm_schedule s;
	struct ugm_error err;
	u64 seed = 99, i, n;
	int round, changes;

	for (round = 0; round < 4000; round++) {
		memcpy(text, good, sizeof(good));
		changes = 1 + (int)(next_random(&seed) % 4);
		while (changes--)
			text[next_random(&seed) % (sizeof(good) - 1)] =
				alphabet[next_random(&seed) %
					 (sizeof(alphabet) - 1)];
		err.text[0] = '\0';
		if (read_text(text, &s, &err)) {
			assert_true(*err.text);
			continue;
		}
		n = trace->nr_kernels;
		for (i = 0; i < s.nr_hints; i++) {
			const struct ugm_schedule_hint *h = &s.hints[i];
			struct ugm_span span = ugm_layout_hint(layout, h);

			assert_true(h->at < n && h->op < UGM_NR_OPS);
			assert_true(h->need == UGM_NEED_NONE ||
				    (h->need >= h->at && h->need < 2 * n));
			assert_true(span.first + span.nr <=
				    layout->tensors[h->tensor].nr_blocks);
		}
		ugm_schedule_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(knows_its_version),
		cmocka_unit_test(round_trip),
		cmocka_unit_test(sorts_stably),
		cmocka_unit_test(rounds_to_blocks),
		cmocka_unit_test(survives_mutation),
		cmocka_unit_test(policies_write_valid_schedules),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
