// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * What launches cost. Under the virtual clock every figure is worked out by
 * hand: blocks of 4096 bytes, a byte takes a nanosecond on each link, so a move
 * over one link takes 4096 ns and one over two takes 8192.
 */
#include <sys/time.h>

#include "ugm_harness.h"

#define B 4096u
#define FRAMES 16
#define FAULT 45000u

FIXTURE(launch)
{
	struct ut d;
	struct ugm_ioc_machine m;
};

FIXTURE_SETUP(launch)
{
	ASSERT_EQ(0, ut_setup(&self->d, "block_size=4K gpu_mem=64K host_mem=128K"));
	self->m = (struct ugm_ioc_machine){
		.set = 1,
		.host_bytes = 32 * B,
		.bandwidth = { UT_NSEC, UT_NSEC, UT_NSEC, UT_NSEC },
		.fault_ns = FAULT,
		.fault_batch_bytes = 1 << 20,
	};
	ASSERT_EQ(0, ut_ioctl(self->d.fd, UGM_IOC_MACHINE, &self->m));
	ASSERT_EQ(0, ut_alloc_blocks(&self->d, 1, 2 * FRAMES));
}

FIXTURE_TEARDOWN(launch)
{
	EXPECT_EQ(0, ut_teardown(&self->d));
}

/* Another machine: nothing may be in use. */
static int change_machine(struct ut *d, struct ugm_ioc_machine *m)
{
	m->set = 1;
	return ut_free(d, 0) ?: ut_ioctl(d->fd, UGM_IOC_MACHINE, m) ?:
	       ut_alloc_blocks(d, 1, 2 * FRAMES);
}

/* Blocks that were written by the CPU and never moved: it took no time. */
static void in_host(struct ut *d, uint64_t first, uint64_t nr)
{
	ut_fill(d->host + first * B, nr * B, first);
}

static int in_flash(struct ut *d, uint64_t first, uint64_t nr)
{
	ut_fill(d->gpu + first * B, nr * B, first);
	return ut_move(d, UGM_HINT_EVICT, 1, first, nr, UGM_TIER_ID_FLASH);
}

static int launch(struct ut *d, uint64_t first, uint64_t nr, uint64_t duration,
		  struct ugm_ioc_launch *l)
{
	return ut_launch(d, first * B, nr * B, UGM_ACCESS_READ, duration, l);
}

TEST_F(launch, nothing_missing)
{
	struct ugm_ioc_launch l;

	ASSERT_EQ(0, launch(&self->d, 0, 2, 1000, &l));
	EXPECT_EQ(0u, l.number);
	EXPECT_EQ(0u, l.begin_ns);
	EXPECT_EQ(0u, l.arrived_ns);
	EXPECT_EQ(1000u, l.end_ns);
	EXPECT_EQ(0u, l.batches);
	EXPECT_EQ(0u, l.fault_bytes);
	ASSERT_EQ(0, launch(&self->d, 0, 2, 500, &l));
	EXPECT_EQ(1u, l.number);
	EXPECT_EQ(1000u, l.begin_ns);
	EXPECT_EQ(1500u, l.end_ns);
}

TEST_F(launch, without_operands)
{
	struct ugm_ioc_launch l = { .duration_ns = 77 };

	ASSERT_EQ(0, ut_ioctl(self->d.fd, UGM_IOC_LAUNCH, &l));
	EXPECT_EQ(77u, l.end_ns);
}

TEST_F(launch, from_host)
{
	struct ugm_ioc_launch l;

	in_host(&self->d, 0, 2);
	ASSERT_EQ(0, launch(&self->d, 0, 1, 1000, &l));
	EXPECT_EQ(0u, l.begin_ns);
	EXPECT_EQ(1u, l.batches);
	EXPECT_EQ(B, l.fault_bytes);
	EXPECT_EQ(FAULT + B, l.arrived_ns);
	EXPECT_EQ(FAULT + B, l.end_ns);
	/* Long enough to hide it, but for the handling of the fault. */
	ASSERT_EQ(0, launch(&self->d, 1, 1, 100000, &l));
	EXPECT_EQ(FAULT + B, l.begin_ns);
	EXPECT_EQ(l.begin_ns + FAULT + B, l.arrived_ns);
	EXPECT_EQ(l.begin_ns + 100000 + FAULT, l.end_ns);
}

/* What is only written is fetched as well. */
TEST_F(launch, written_operand)
{
	struct ugm_ioc_launch l;

	in_host(&self->d, 0, 1);
	ASSERT_EQ(0, ut_launch(&self->d, 0, B, UGM_ACCESS_WRITE, 0, &l));
	EXPECT_EQ(B, l.fault_bytes);
	EXPECT_EQ(FAULT + B, l.end_ns);
	EXPECT_NE(0, ut_state(&self->d, 0) & UGM_RESIDENCY_DIRTY);
}

TEST_F(launch, from_flash)
{
	struct ugm_ioc_launch l;
	uint64_t now;

	ASSERT_EQ(0, in_flash(&self->d, 0, 3));
	ASSERT_EQ(0, ut_wait(&self->d, &now));
	/* Out through both links, one block behind the other. */
	EXPECT_EQ(4 * B, now);
	ASSERT_EQ(0, launch(&self->d, 0, 1, 0, &l));
	EXPECT_EQ(now, l.begin_ns);
	EXPECT_EQ(now + FAULT + 2 * B, l.end_ns);
	now = l.end_ns;
	ASSERT_EQ(0, launch(&self->d, 1, 2, 0, &l));
	EXPECT_EQ(1u, l.batches);
	EXPECT_EQ(now + FAULT + 3 * B, l.end_ns);
}

TEST_F(launch, host_and_flash_share_the_gpu_link)
{
	struct ut *d = &self->d;
	struct ugm_operand_desc o[2] = {
		{ .offset = 0, .len = B, .access = UGM_ACCESS_READ },
		{ .offset = 4 * B, .len = B, .access = UGM_ACCESS_READ },
	};
	struct ugm_ioc_launch l = { .operands = (uintptr_t)o, .nr_operands = 2 };

	ASSERT_EQ(0, in_flash(d, 0, 1));
	in_host(d, 4, 1);
	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_LAUNCH, &l));
	/* A batch an operand: the second one begins two faults after the begin. */
	EXPECT_EQ(2u, l.batches);
	EXPECT_EQ(2 * B, l.fault_bytes);
	EXPECT_EQ(l.begin_ns + 2 * FAULT + B, l.end_ns);
}

TEST_F(launch, pipeline_from_host)
{
	struct ugm_ioc_launch l;

	in_host(&self->d, 0, 5);
	ASSERT_EQ(0, launch(&self->d, 0, 5, 0, &l));
	EXPECT_EQ(1u, l.batches);
	EXPECT_EQ(5 * B, l.fault_bytes);
	EXPECT_EQ(FAULT + 5 * B, l.end_ns);
}

TEST_F(launch, batches)
{
	struct ut *d = &self->d;
	struct ugm_ioc_launch l;

	self->m.fault_batch_bytes = 2 * B;
	ASSERT_EQ(0, change_machine(d, &self->m));
	in_host(d, 0, 5);
	ASSERT_EQ(0, launch(d, 0, 5, 1000, &l));
	EXPECT_EQ(3u, l.batches);
	EXPECT_EQ(3 * FAULT + B, l.arrived_ns);
	EXPECT_EQ(3 * FAULT + B, l.end_ns);
}

TEST_F(launch, latency)
{
	struct ut *d = &self->d;
	struct ugm_ioc_launch l;
	uint64_t now;

	self->m.gpu_latency_ns = 7;
	self->m.flash_latency_ns = 20000;
	ASSERT_EQ(0, change_machine(d, &self->m));
	in_host(d, 0, 2);
	ASSERT_EQ(0, launch(d, 0, 2, 0, &l));
	/* It occupies no link: once, not for each. */
	EXPECT_EQ(FAULT + 2 * B + 7, l.end_ns);
	ASSERT_EQ(0, in_flash(d, 4, 1));
	ASSERT_EQ(0, ut_wait(d, &now));
	EXPECT_EQ(l.end_ns + 2 * B + 20000, now);
	ASSERT_EQ(0, launch(d, 4, 1, 0, &l));
	EXPECT_EQ(now + FAULT + 2 * B + 20000, l.end_ns);
}

TEST_F(launch, rounds_up)
{
	struct ugm_ioc_launch l;

	self->m.bandwidth[0] = 3 * UT_NSEC;
	ASSERT_EQ(0, change_machine(&self->d, &self->m));
	in_host(&self->d, 0, 2);
	ASSERT_EQ(0, launch(&self->d, 0, 2, 0, &l));
	EXPECT_EQ(FAULT + 2 * 1366, l.end_ns);
}

TEST_F(launch, tail_block)
{
	struct ut *d = &self->d;
	int64_t a = ut_alloc(d, 2, B + 1000, 0);
	struct ugm_ioc_launch l;

	ASSERT_LE(0, a);
	ut_fill(d->host + a, 2 * B, 1);
	ASSERT_EQ(0, ut_launch(d, a + B, 1000, UGM_ACCESS_READ, 0, &l));
	EXPECT_EQ(1000u, l.fault_bytes);
	EXPECT_EQ(FAULT + 1000, l.end_ns);
}

TEST_F(launch, blocks_that_stand_for_more)
{
	struct ut *d = &self->d;
	struct ugm_ioc_alloc a = { .len = B + 1, .model_len = (1 << 20) + 5, .tag = 2 };
	struct ugm_ioc_launch l;

	self->m.block_bytes = 1 << 20;
	self->m.gpu_bytes = 8 << 20;
	self->m.host_bytes = 8 << 20;
	self->m.fault_batch_bytes = 1 << 19;
	ASSERT_EQ(0, change_machine(d, &self->m));
	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_ALLOC, &a));
	ut_fill(d->host + a.offset, 2 * B, 1);
	ASSERT_EQ(0, ut_launch(d, a.offset, B + 1, UGM_ACCESS_READ, 0, &l));
	EXPECT_EQ((1u << 20) + 5, l.fault_bytes);
	/* A block larger than a batch comes with its last one. */
	EXPECT_EQ(3u, l.batches);
	EXPECT_EQ(2 * FAULT + (1 << 20) + 5, l.end_ns);
}

TEST_F(launch, overlap_none)
{
	struct ugm_ioc_options opt = { .promote = 1, .prefetch_evicts = 1, .overlap = 1,
				       .demand = 1 };
	struct ugm_ioc_launch l;

	ASSERT_EQ(0, ut_options(&self->d, &opt));
	in_host(&self->d, 0, 1);
	ASSERT_EQ(0, launch(&self->d, 0, 1, 100000, &l));
	EXPECT_EQ(FAULT + B, l.arrived_ns);
	EXPECT_EQ(FAULT + B + 100000, l.end_ns);
	ASSERT_EQ(0, launch(&self->d, 0, 1, 100000, &l));
	EXPECT_EQ(l.begin_ns + 100000, l.end_ns);
}

TEST_F(launch, room_must_be_made)
{
	struct ut *d = &self->d;
	struct ugm_ioc_launch l;
	uint64_t i;

	in_host(d, 20, 1);
	for (i = 0; i < FRAMES; i++) {
		ASSERT_EQ(0, ut_launch(d, i * B, B, UGM_ACCESS_WRITE, 0, &l));
	}
	EXPECT_EQ(0u, l.end_ns);
	/* Out with one, in with the other. */
	ASSERT_EQ(0, launch(d, 20, 1, 0, &l));
	EXPECT_EQ(FAULT + 2 * B, l.end_ns);
	/* A first touch has no fault and no fetch, but it needs a frame. */
	ASSERT_EQ(0, launch(d, 21, 1, 0, &l));
	EXPECT_EQ(0u, l.batches);
	EXPECT_EQ(l.begin_ns + B, l.end_ns);
}

TEST_F(launch, promoted)
{
	struct ut *d = &self->d;
	struct ugm_ioc_launch l;

	in_host(d, 0, 4);
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_PREFETCH, 1, 0, 4, UGM_TIER_ID_GPU));
	/* The first is on the link; the last, asked for now, is next after a fault. */
	ASSERT_EQ(0, launch(d, 3, 1, 0, &l));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 3 * B));
	EXPECT_GE(FAULT + 2 * B, l.end_ns);
	EXPECT_EQ(-1, ut_compare(d->gpu, 4 * B, 0));
}

TEST_F(launch, takes_back_what_is_leaving)
{
	struct ut *d = &self->d;
	struct ugm_ioc_launch l;
	uint64_t cancelled;

	ut_fill(d->gpu, 2 * B, 1);
	cancelled = ut_stat(d, "engine.cancelled.count");
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_EVICT, 1, 0, 2, UGM_TIER_ID_HOST));
	ASSERT_EQ(0, launch(d, 1, 1, 100, &l));
	EXPECT_EQ(l.begin_ns, l.arrived_ns);
	EXPECT_EQ(0u, l.batches);
	EXPECT_EQ(cancelled + 1, ut_stat(d, "engine.cancelled.count"));
	ASSERT_EQ(0, ut_wait(d, NULL));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, 0));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, B));
	EXPECT_EQ(-1, ut_compare(d->gpu, 2 * B, 1));
}

TEST_F(launch, time_stops_at_the_end)
{
	struct ut *d = &self->d;
	struct ugm_ioc_launch l;
	uint64_t now;

	ut_fill(d->gpu, 2 * B, 1);
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_EVICT, 1, 0, 1, UGM_TIER_ID_HOST));
	ASSERT_EQ(0, launch(d, 1, 1, 100, &l));
	EXPECT_EQ(100u, l.end_ns);
	EXPECT_NE(0, ut_state(d, 0) & UGM_RESIDENCY_BUSY);
	ASSERT_EQ(0, ut_wait(d, &now));
	EXPECT_EQ(B, now);
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, 0));
}

TEST_F(launch, without_demand)
{
	struct ut *d = &self->d;
	struct ugm_ioc_options opt = { .promote = 1, .prefetch_evicts = 1 };

	ASSERT_EQ(0, ut_options(d, &opt));
	in_host(d, 0, 1);
	EXPECT_EQ(-ENODATA, launch(d, 0, 1, 0, NULL));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, 0));
	/* A frame for what is nowhere yet is no demand. */
	EXPECT_EQ(0, launch(d, 1, 1, 0, NULL));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_PREFETCH, 1, 0, 1, UGM_TIER_ID_GPU));
	EXPECT_EQ(0, launch(d, 0, 1, 0, NULL));
}

TEST_F(launch, too_large)
{
	struct ut *d = &self->d;

	EXPECT_EQ(-ENOSPC, launch(d, 0, FRAMES + 1, 0, NULL));
	/* The next one is not hurt by it. */
	EXPECT_EQ(0, launch(d, 0, FRAMES, 0, NULL));
}

static uint32_t inexact(struct ut *d)
{
	struct ugm_ioc_reset arg = { .flags = 1 };

	return ut_ioctl(d->fd, UGM_IOC_RESET, &arg) ? ~0u : arg.exact;
}

#define EXACT_TOUCH 1u

TEST_F(launch, what_makes_it_inexact)
{
	struct ut *d = &self->d;
	struct ugm_ioc_reset reset = { 0 };

	in_host(d, 0, 2);
	ASSERT_EQ(0, launch(d, 0, 1, 1000, NULL));
	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_RESET, &reset));
	/* A launch, and a touch of what is there. */
	ASSERT_EQ(0, launch(d, 0, 1, 1000, NULL));
	EXPECT_EQ(0, ut_touch(d->gpu, true));
	EXPECT_EQ(0u, inexact(d));
	/* A touch that must move something was not foreseen. */
	EXPECT_EQ(0, ut_touch(d->gpu + B, true));
	EXPECT_NE(0u, inexact(d) & EXACT_TOUCH);
	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_RESET, &reset));
	EXPECT_NE(0u, reset.exact & EXACT_TOUCH);
	EXPECT_EQ(0u, inexact(d));
}

TEST_F(launch, reset_begins_anew)
{
	struct ut *d = &self->d;
	struct ugm_ioc_reset reset = { 0 };
	struct ugm_ioc_launch l;

	in_host(d, 0, 1);
	ASSERT_EQ(0, launch(d, 0, 1, 1000, &l));
	EXPECT_NE(0u, ut_moved(d, "host", "gpu"));
	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_RESET, &reset));
	EXPECT_EQ(0u, ut_moved(d, "host", "gpu"));
	ASSERT_EQ(0, launch(d, 0, 1, 1000, &l));
	EXPECT_EQ(0u, l.number);
	EXPECT_EQ(0u, l.begin_ns);
	EXPECT_EQ(1000u, l.end_ns);
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 0));
}

/* Somebody may give hints to a replay before it begins. */
TEST_F(launch, a_held_hint_outlives_a_reset)
{
	struct ut *d = &self->d;
	struct ugm_ioc_reset reset = { 0 };

	ASSERT_EQ(0, launch(d, 0, 2, 0, NULL));
	ASSERT_EQ(0, ut_hint(d, UGM_HINT_EVICT, 1, 0, B, UGM_TIER_ID_HOST, 1,
			     UGM_HINT_NO_NEED));
	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_RESET, &reset));
	ASSERT_EQ(0, launch(d, 1, 1, 0, NULL));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 0));
	ASSERT_EQ(0, launch(d, 1, 1, 0, NULL));
	ASSERT_EQ(0, ut_wait(d, NULL));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, 0));
}

static uint64_t digest(struct ut *d)
{
	struct ugm_ioc_residency r = { 0 };

	return ut_ioctl(d->fd, UGM_IOC_RESIDENCY, &r) ? 0 : r.digest;
}

TEST_F(launch, digest_of_the_residency)
{
	struct ut *d = &self->d;
	uint64_t before, moved;

	ASSERT_EQ(0, launch(d, 0, 4, 0, NULL));
	before = digest(d);
	EXPECT_NE(0u, before);
	EXPECT_EQ(before, digest(d));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 1, 1, UGM_TIER_ID_HOST));
	moved = digest(d);
	EXPECT_NE(before, moved);
	/* The same again, elsewhere in frames and time: the same digest. */
	ASSERT_EQ(0, ut_free(d, 0));
	EXPECT_EQ(0u, digest(d));
	ASSERT_EQ(0, ut_alloc_blocks(d, 1, 2 * FRAMES));
	ASSERT_EQ(0, launch(d, 0, 4, 0, NULL));
	EXPECT_EQ(before, digest(d));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 1, 1, UGM_TIER_ID_HOST));
	EXPECT_EQ(moved, digest(d));
}

/* Under the real clock. */
UT_FIXTURE(real);
UT_VARIANT(real, blocks_4k, "block_size=4K gpu_mem=64K host_mem=128K");

static void on_alarm(int sig)
{
}

TEST_F(real, sleeps_its_duration)
{
	struct itimerval timer = { .it_value = { .tv_usec = 20000 },
				   .it_interval = { .tv_usec = 20000 } };
	struct ut *d = &self->d;
	struct ugm_ioc_launch l;
	uint64_t began;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, 4));
	ut_fill(d->host, 4 * B, 1);
	/* Signals that do not kill do not end it. */
	signal(SIGALRM, on_alarm);
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &timer, NULL));
	began = ut_now();
	ASSERT_EQ(0, ut_launch(d, 0, 4 * B, UGM_ACCESS_READ, 200000000, &l));
	EXPECT_LE(200000000u, ut_now() - began);
	EXPECT_GT(ut_limit(2000), ut_now() - began);
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
	EXPECT_LE(200000000u, l.end_ns - l.begin_ns);
	EXPECT_LE(l.begin_ns, l.arrived_ns);
	EXPECT_EQ(4 * B, l.fault_bytes);
	EXPECT_EQ(-1, ut_compare(d->gpu, 4 * B, 1));
}

TEST_F(real, can_be_killed)
{
	int status = 0;
	uint64_t began;
	struct ut d;
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid) {
		if (ut_open(&d) || ut_alloc_blocks(&d, 1, 1))
			_exit(1);
		ut_launch(&d, 0, B, UGM_ACCESS_WRITE, 100 * UT_NSEC, NULL);
		_exit(2);
	}
	EXPECT_TRUE(ut_await_waiter("launch duration"));
	began = ut_now();
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(0, ut_reap(pid, 5000, &status));
	EXPECT_GT(ut_limit(1000), ut_now() - began);
	EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_HARNESS_MAIN
