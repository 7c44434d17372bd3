// SPDX-License-Identifier: GPL-2.0
/* The engine in single cases. */
#include "engine_host.h"

static void hint_now(struct engine_host *h, u8 op, u8 tier, u32 first, u32 nr)
{
	engine_host_hint(h, &(struct ugm_hint){
		.range = &h->ranges[0].r,
		.first = first,
		.nr = nr,
		.at = UGM_AT_NOW,
		.need = UGM_NEED_NONE,
		.op = op,
		.tier = tier,
	});
}

/* A launch of no duration with one operand. */
static struct ugm_demand launch_on(struct engine_host *h, const struct ugm_operand *o)
{
	return (struct ugm_demand){
		.space = &h->s,
		.operands = o,
		.nr_operands = 1,
		.launch = true,
		.cause = UGM_CAUSE_DEMAND,
		.tier = UGM_TIER_GPU,
	};
}

/* A machine with one range of @nr blocks that a launch has just written. */
static struct engine_host *written_range(u32 nr, u64 host_blocks)
{
	struct ugm_machine m = {
		.block_bytes = 1 << 20,
		.capacity = { [UGM_TIER_GPU] = 8 << 20, [UGM_TIER_HOST] = host_blocks << 20 },
		.bandwidth = { 16000000000, 14000000000, 3200000000, 3000000000 },
		.fault_ns = 45000,
		.fault_batch_bytes = 2 << 20,
	};
	struct engine_host *h = engine_host_new(&m);
	struct ugm_operand o = {
		.range = engine_host_add_range(h, nr, m.block_bytes),
		.nr = nr,
		.mode = UGM_OPERAND_WRITE,
	};
	struct ugm_demand d = launch_on(h, &o);

	assert_int_equal(engine_host_run(h, &d), 0);
	return h;
}

static enum ugm_tier home_of(struct engine_host *h, u32 block)
{
	return ugm_state_home(h->ranges[0].blocks[block].b.state);
}

/* A prefetch towards the CPU does not take from a launch what it waits for. */
static void prefetch_under_launch(void **unused)
{
	struct engine_host *h = written_range(2, 8);
	struct ugm_operand o = {
		.range = &h->ranges[0].r,
		.nr = 2,
		.mode = UGM_OPERAND_WRITE,
	};
	struct ugm_demand again = launch_on(h, &o);

	hint_now(h, UGM_OP_EVICT, UGM_TIER_HOST, 0, 2);
	assert_int_equal(ugm_engine_drain(&h->e), 0);

	/* The first block is late, so that the second waits in its queue. */
	h->delay_seed = 1;
	ugm_engine_begin(&h->e, &again);
	assert_int_equal(ugm_engine_run(&h->e, &again), UGM_RUN_WAIT);
	assert_int_equal(h->ranges[0].blocks[1].b.transfer->phase, UGM_PHASE_QUEUED);
	hint_now(h, UGM_OP_PREFETCH, UGM_TIER_HOST, 0, 2);
	h->delay_seed = 0;
	assert_int_equal(ugm_engine_run(&h->e, &again), 0);
	engine_host_check_data(&h->ranges[0].blocks[1].b, UGM_TIER_GPU);
	engine_host_check(h);
	engine_host_free(h);
}

/*
 * An eviction that a hint asked for waits for what leaves the full tier, also
 * where that is asked for at the same moment; with nothing leaving it goes on to
 * the next tier.
 */
static void eviction_waits_for_room(void **unused)
{
	struct engine_host *h = written_range(5, 2);
	const u64 *refused = h->s.refused;
	u32 i;

	hint_now(h, UGM_OP_EVICT, UGM_TIER_HOST, 0, 2);
	assert_int_equal(ugm_engine_drain(&h->e), 0);
	hint_now(h, UGM_OP_EVICT, UGM_TIER_FLASH, 0, 2);
	hint_now(h, UGM_OP_EVICT, UGM_TIER_HOST, 2, 2);
	assert_int_equal(ugm_engine_drain(&h->e), 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(home_of(h, i), i < 2 ? UGM_TIER_FLASH : UGM_TIER_HOST);
	assert_int_equal(refused[UGM_REFUSED_REDIRECTED], 0);

	hint_now(h, UGM_OP_EVICT, UGM_TIER_HOST, 4, 1);
	assert_int_equal(ugm_engine_drain(&h->e), 0);
	assert_int_equal(home_of(h, 4), UGM_TIER_FLASH);
	assert_int_equal(refused[UGM_REFUSED_REDIRECTED], 1);
	engine_host_check(h);
	engine_host_free(h);
}

/* Under the real clock it is as late as it is, whoever sees what has arrived. */
static void drain_sees_a_launch_arrive(void **unused)
{
	struct engine_host *h = written_range(1, 2);
	struct ugm_operand o = {
		.range = &h->ranges[0].r,
		.nr = 1,
		.mode = UGM_OPERAND_READ,
	};
	struct ugm_demand again = launch_on(h, &o);

	hint_now(h, UGM_OP_EVICT, UGM_TIER_HOST, 0, 1);
	assert_int_equal(ugm_engine_drain(&h->e), 0);
	h->wall = h->e.now_ns;
	h->e.m.clock = UGM_CLOCK_REAL;
	h->delay_seed = 1;
	ugm_engine_begin(&h->e, &again);
	assert_int_equal(ugm_engine_run(&h->e, &again), UGM_RUN_WAIT);
	h->wall += h->e.m.fault_ns;
	assert_int_equal(ugm_engine_run(&h->e, &again), UGM_RUN_WAIT);
	h->wall += 5000000;
	h->delay_seed = 0;
	assert_int_equal(ugm_engine_drain(&h->e), 0);
	assert_int_equal(again.arrived_ns, h->wall);
	assert_int_equal(again.end_ns, h->wall);
	assert_int_equal(ugm_engine_run(&h->e, &again), 0);
	engine_host_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefetch_under_launch),
		cmocka_unit_test(eviction_waits_for_room),
		cmocka_unit_test(drain_sees_a_launch_arrive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
