// SPDX-License-Identifier: GPL-2.0
/*
 * The engine under random hints and launches. After every launch all counts of
 * the engine are recounted from the blocks, and what a launch reads must be the
 * version written last. Real moves that finish late must change nothing.
 */
#include "engine_host.h"

#define LAUNCHES 300
#define MAX_OPERANDS 6

/* @running: a launch or a touch is under way. */
static void give_hint(struct engine_host *h, bool running)
{
	static const u8 down[] = { UGM_TIER_HOST, UGM_TIER_FLASH };
	struct test_range *r = &h->ranges[engine_host_pick(h, NR_RANGES)];
	struct ugm_hint hint = {};
	u32 i;

	hint.range = &r->r;
	hint.first = (u32)engine_host_pick(h, r->r.nr_blocks);
	hint.nr = 1 + (u32)engine_host_pick(h, r->r.nr_blocks - hint.first);
	hint.at = engine_host_pick(h, 4) ? h->s.launches + engine_host_pick(h, 3) : UGM_AT_NOW;
	hint.need = engine_host_pick(h, 4) ? h->s.launches + engine_host_pick(h, 20) : UGM_NEED_NONE;
	hint.op = (u8)engine_host_pick(h, UGM_NR_OPS);
	if (running && hint.op == UGM_OP_DISCARD)
		hint.op = UGM_OP_PREFETCH;
	/* Pins alone could fill the tier: most are undone. */
	if (hint.op == UGM_OP_PIN && engine_host_pick(h, 4))
		hint.op = UGM_OP_UNPIN;
	hint.tier = hint.op == UGM_OP_PREFETCH ?
			     (engine_host_pick(h, 4) ? UGM_TIER_GPU : UGM_TIER_HOST) :
			     down[engine_host_pick(h, 2)];
	if (hint.op == UGM_OP_DISCARD) {
		/* Discards act before the next launch here, so that what they
		 * concern is known.
		 */
		hint.at = h->s.launches;
		for (i = 0; i < hint.nr; i++) {
			r->blocks[hint.first + i].written = UNSPECIFIED;
			r->blocks[hint.first + i].doomed = true;
		}
	}
	engine_host_hint(h, &hint);
}

/* A rough host: pages are also held, written unannounced, and touched. */
static void hint_perhaps(struct engine_host *h)
{
	if (!engine_host_pick(h, 4))
		give_hint(h, true);
}

/* The trail of every begin and end, and of every digest. */
static void mix(u64 *trail, u64 v)
{
	*trail = (*trail ^ v) * 0x100000001b3ULL;
}

static struct test_block *operand_block(const struct ugm_operand *o, u32 i)
{
	return &container_of(o->range, struct test_range, r)->blocks[o->first + i];
}

static void launch(struct engine_host *h, u64 *trail)
{
	struct ugm_operand operands[MAX_OPERANDS];
	struct ugm_demand d = {
		.space = &h->s,
		.operands = operands,
		.nr_operands = 1 + (u32)engine_host_pick(h, MAX_OPERANDS),
		.duration_ns = engine_host_pick(h, 3000000),
		.launch = true,
		.cause = UGM_CAUSE_DEMAND,
		.tier = UGM_TIER_GPU,
	};
	u32 i, j;
	int ret;

	for (i = 0; i < d.nr_operands; i++) {
		/* Ranges may be named twice, and in overlapping parts. */
		struct test_range *r = &h->ranges[engine_host_pick(h, NR_RANGES)];

		operands[i].range = &r->r;
		operands[i].first = (u32)engine_host_pick(h, r->r.nr_blocks);
		operands[i].nr = 1 + (u32)engine_host_pick(h, r->r.nr_blocks -
						     operands[i].first);
		operands[i].mode = 1 + (u32)engine_host_pick(h, 3);
	}
	ret = engine_host_run(h, &d);
	for (i = 0; i < NR_RANGES; i++)
		for (j = 0; j < h->ranges[i].r.nr_blocks; j++)
			h->ranges[i].blocks[j].doomed = false;
	mix(trail, d.begin_ns);
	mix(trail, d.end_ns);
	if (ret) {
		/* Pinned blocks fill the tier: that must be said, not hang. */
		assert_true(ret == UGM_RUN_STUCK);
		return;
	}
	assert_true(d.done && !d.missing);
	assert_true(d.end_ns >= d.begin_ns + d.duration_ns);
	assert_true(d.end_ns >= d.arrived_ns && d.arrived_ns >= d.begin_ns);
	for (i = 0; i < d.nr_operands; i++)
		for (j = 0; j < operands[i].nr; j++)
			engine_host_check_data(&operand_block(&operands[i], j)->b,
					       UGM_TIER_GPU);
	for (i = 0; i < d.nr_operands; i++)
		for (j = 0; j < operands[i].nr; j++) {
			struct ugm_block *b = &operand_block(&operands[i], j)->b;

			if (!(operands[i].mode & UGM_OPERAND_WRITE))
				continue;
			assert_true(b->state & UGM_S_DIRTY);
			engine_host_write(h, b);
		}
}

/* The CPU touches a block through the host view, and perhaps writes it. */
static void touch(struct engine_host *h)
{
	struct test_range *r = &h->ranges[engine_host_pick(h, NR_RANGES)];
	struct ugm_operand operand = {
		.range = &r->r,
		.first = (u32)engine_host_pick(h, r->r.nr_blocks),
		.nr = 1,
		.mode = 1 + (u32)engine_host_pick(h, 3),
	};
	struct ugm_demand d = {
		.space = &h->s,
		.operands = &operand,
		.nr_operands = 1,
		.cause = UGM_CAUSE_TOUCH,
		.tier = UGM_TIER_HOST,
	};
	struct test_block *b = &r->blocks[operand.first];

	if (!h->e.capacity[UGM_TIER_HOST] || engine_host_run(h, &d))
		return;
	engine_host_check_data(&b->b, UGM_TIER_HOST);
	if (operand.mode & UGM_OPERAND_WRITE)
		engine_host_write(h, &b->b);
}

static u64 stress(u64 seed, u64 delay_seed, bool rough)
{
	struct ugm_machine m = {
		.capacity = { [UGM_TIER_GPU] = 80 << 20 },
		.bandwidth = { 16000000000, 14000000000, 3200000000,
			       3000000000 },
		.flash_latency_ns = 20000,
		.fault_ns = 45000,
		.fault_batch_bytes = 1 << 20,
	};
	struct engine_host *h;
	u64 trail = 0;
	int i, n;

	m.capacity[UGM_TIER_HOST] = next_random(&seed) % 120 << 20;
	m.block_bytes = 1 << 20 >> next_random(&seed) % 3;
	m.gpu_latency_ns = next_random(&seed) % 2 * 3000;
	h = engine_host_new(&m);
	h->seed = seed;
	h->s.opt.victim = (u8)engine_host_pick(h, 3);
	h->s.opt.clean = (u8)engine_host_pick(h, 2);
	h->s.opt.dead = (u8)engine_host_pick(h, 3);
	h->s.opt.promote = (u8)engine_host_pick(h, 2);
	h->s.opt.prefetch_evicts = (u8)engine_host_pick(h, 3);
	h->s.opt.overlap = (u8)engine_host_pick(h, 2);
	for (i = 0; i < NR_RANGES; i++) {
		n = 1 + (int)engine_host_pick(h, MAX_BLOCKS);
		engine_host_add_range(h, (u32)n, 1 + engine_host_pick(h, m.block_bytes));
	}
	h->delay_seed = delay_seed;
	h->meanwhile = rough ? hint_perhaps : NULL;
	for (i = 0; i < LAUNCHES; i++) {
		for (n = (int)engine_host_pick(h, 5); n; n--)
			give_hint(h, false);
		launch(h, &trail);
		engine_host_check(h);
		if (rough && !engine_host_pick(h, 3)) {
			touch(h);
			engine_host_check(h);
		}
		if (i % 16 == 15) {
			while (ugm_engine_drain(&h->e) == UGM_RUN_WAIT)
				assert_non_null((void *)h->delay_seed);
			engine_host_check(h);
		}
		if (i % 10 == 9)
			for (n = 0; n < NR_RANGES; n++)
				mix(&trail, ugm_engine_digest(&h->e, &h->ranges[n].r));
	}
	if (!rough)
		assert_int_equal(h->e.inexact, 0);
	mix(&trail, h->e.now_ns);
	engine_host_free(h);
	return trail;
}

static u64 first_seed(void)
{
	const char *s = getenv("UGM_SEED");

	return s ? strtoull(s, NULL, 0) : 1;
}

#define SEEDS 60

static void random_launches(void **unused)
{
	u64 seed = first_seed(), end = seed + SEEDS;

	for (; seed < end; seed++) {
		u64 mixed = seed * 0x9e3779b97f4a7c15ULL;
		u64 trail = stress(mixed, 0, false);

		/* The same again, and with real moves that finish late. */
		if (stress(mixed, 0, false) != trail ||
		    stress(mixed, seed, false) != trail)
			fail_msg("UGM_SEED=%llu: times depend on real moves",
				 (unsigned long long)seed);
	}
}

static void rough_host(void **unused)
{
	u64 seed = first_seed(), end = seed + SEEDS;

	for (; seed < end; seed++)
		stress(seed * 0xbf58476d1ce4e5b9ULL, seed, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_launches),
		cmocka_unit_test(rough_host),
	};

	printf("# first seed %llu (UGM_SEED)\n",
	       (unsigned long long)first_seed());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
