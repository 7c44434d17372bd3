// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * Who leaves a tier that is full, and what that costs, on a GPU tier of eight
 * blocks; what happens where nobody can leave.
 */
#include <pthread.h>

#include "ugm_harness.h"

#define FRAMES 8

#define VICTIM_FIFO 0
#define VICTIM_LRU 1
#define VICTIM_NEED 2

#define DEAD_KEEP 0
#define DEAD_LAZY 1
#define DEAD_DROP 2

#define EVICTS_NONE 0
#define EVICTS_UNPROTECTED 1
#define EVICTS_ANY 2

static const struct ugm_ioc_options defaults = {
	.promote = 1,
	.prefetch_evicts = EVICTS_UNPROTECTED,
	.demand = 1,
};

/* Range 1 has three times as many blocks as there are frames. */
#define EVICT_FIXTURE(name)                                                   \
	FIXTURE(name)                                                         \
	{                                                                     \
		struct ut d;                                                  \
	};                                                                    \
	FIXTURE_VARIANT(name)                                                 \
	{                                                                     \
		const char *params;                                           \
	};                                                                    \
	FIXTURE_SETUP(name)                                                   \
	{                                                                     \
		ASSERT_EQ(0, ut_setup(&self->d, variant->params));            \
		ASSERT_EQ(0, ut_virtual(&self->d, 0));                        \
		ASSERT_EQ(0, ut_alloc_blocks(&self->d, 1, 3 * FRAMES));       \
	}                                                                     \
	FIXTURE_TEARDOWN(name)                                                \
	{                                                                     \
		EXPECT_EQ(0, ut_teardown(&self->d));                          \
	}

EVICT_FIXTURE(evict);
UT_VARIANT(evict, blocks_4k, "block_size=4K gpu_mem=32K host_mem=128K");
UT_VARIANT(evict, blocks_2m, "block_size=2M gpu_mem=16M host_mem=64M");

static int use(struct ut *d, uint64_t block, uint32_t access)
{
	return ut_launch(d, block * d->block, d->block, access, 1000, NULL);
}

/* Blocks 0 to 7 arrive in this order and fill the GPU tier. */
static int fill_up(struct ut *d)
{
	uint64_t i;
	int err = 0;

	for (i = 0; i < FRAMES && !err; i++)
		err = use(d, i, UGM_ACCESS_WRITE);
	return err;
}

static int tier(struct ut *d, uint64_t block)
{
	return ut_tier(d, block * d->block);
}

/* The blocks of range 1 that are not in the GPU tier, a bit each. */
static uint32_t away(struct ut *d)
{
	uint32_t mask = 0;
	int i;

	for (i = 0; i < 3 * FRAMES; i++)
		if (tier(d, i) != UGM_TIER_ID_GPU && tier(d, i) != UGM_TIER_ID_NONE)
			mask |= 1u << i;
	return mask;
}

#define BLOCK(n) (1u << (n))

TEST_F(evict, fifo)
{
	struct ut *d = &self->d;

	ASSERT_EQ(0, fill_up(d));
	EXPECT_EQ(0u, away(d));
	ASSERT_EQ(0, use(d, 8, UGM_ACCESS_WRITE));
	EXPECT_EQ(BLOCK(0), away(d));
	EXPECT_EQ(UGM_TIER_ID_HOST, tier(d, 0));
	/* That it was used just now does not help it. */
	ASSERT_EQ(0, use(d, 1, UGM_ACCESS_READ));
	ASSERT_EQ(0, use(d, 9, UGM_ACCESS_WRITE));
	EXPECT_EQ(BLOCK(0) | BLOCK(1), away(d));
	/* One that comes back is the youngest. */
	ASSERT_EQ(0, use(d, 0, UGM_ACCESS_READ));
	EXPECT_EQ(BLOCK(1) | BLOCK(2), away(d));
	ASSERT_EQ(0, use(d, 10, UGM_ACCESS_WRITE));
	EXPECT_EQ(BLOCK(1) | BLOCK(2) | BLOCK(3), away(d));
}

TEST_F(evict, lru)
{
	struct ut *d = &self->d;
	struct ugm_ioc_options opt = defaults;

	opt.victim = VICTIM_LRU;
	ASSERT_EQ(0, ut_options(d, &opt));
	ASSERT_EQ(0, fill_up(d));
	ASSERT_EQ(0, use(d, 0, UGM_ACCESS_READ));
	ASSERT_EQ(0, use(d, 2, UGM_ACCESS_READ));
	ASSERT_EQ(0, use(d, 8, UGM_ACCESS_WRITE));
	EXPECT_EQ(BLOCK(1), away(d));
	/* A touch through a view is not a use by the GPU. */
	EXPECT_EQ(0, ut_touch(d->gpu + 3 * d->block, false));
	ASSERT_EQ(0, use(d, 9, UGM_ACCESS_WRITE));
	EXPECT_EQ(BLOCK(1) | BLOCK(3), away(d));
	ASSERT_EQ(0, use(d, 10, UGM_ACCESS_WRITE));
	EXPECT_EQ(BLOCK(1) | BLOCK(3) | BLOCK(4), away(d));
}

TEST_F(evict, furthest_need)
{
	/* Block 3 is needed last, then 6; of block 5 nobody knows anything. */
	static const uint64_t need[FRAMES] = { 1010, 1040, 1020, 1090, 1030, 0, 1080, 1050 };
	struct ut *d = &self->d;
	struct ugm_ioc_options opt = defaults;
	int i;

	opt.victim = VICTIM_NEED;
	ASSERT_EQ(0, ut_options(d, &opt));
	ASSERT_EQ(0, fill_up(d));
	for (i = 0; i < FRAMES; i++) {
		if (need[i]) {
			ASSERT_EQ(0, ut_hint(d, UGM_HINT_PREFETCH, 1, i * d->block, d->block,
					     UGM_TIER_ID_GPU, 1000, need[i]));
		}
	}
	/* The new ones are pinned only while they are used. */
	ASSERT_EQ(0, ut_hint(d, UGM_HINT_PREFETCH, 1, 8 * d->block, 3 * d->block,
			     UGM_TIER_ID_GPU, 1000, 1001));
	ASSERT_EQ(0, use(d, 8, UGM_ACCESS_WRITE));
	EXPECT_EQ(BLOCK(5), away(d));
	ASSERT_EQ(0, use(d, 9, UGM_ACCESS_WRITE));
	EXPECT_EQ(BLOCK(5) | BLOCK(3), away(d));
	ASSERT_EQ(0, use(d, 10, UGM_ACCESS_WRITE));
	EXPECT_EQ(BLOCK(5) | BLOCK(3) | BLOCK(6), away(d));
}

TEST_F(evict, pinned_stay)
{
	struct ut *d = &self->d;

	ASSERT_EQ(0, fill_up(d));
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_PIN, 1, 0, 1, 0));
	ASSERT_EQ(0, ut_advise(d, d->block, d->block, UGM_ADVICE_PIN, 0));
	EXPECT_NE(0, ut_state(d, 0) & UGM_RESIDENCY_PINNED);
	ASSERT_EQ(0, use(d, 8, UGM_ACCESS_WRITE));
	EXPECT_EQ(BLOCK(2), away(d));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, 2, UGM_TIER_ID_HOST));
	EXPECT_EQ(BLOCK(2), away(d));
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_UNPIN, 1, 0, 1, 0));
	ASSERT_EQ(0, ut_advise(d, d->block, d->block, UGM_ADVICE_UNPIN, 0));
	ASSERT_EQ(0, use(d, 9, UGM_ACCESS_WRITE));
	EXPECT_EQ(BLOCK(0) | BLOCK(2), away(d));
}

/* PROTECT is about prefetches; a launch that needs room takes it. */
TEST_F(evict, protected_leave_for_a_launch)
{
	struct ut *d = &self->d;

	ASSERT_EQ(0, fill_up(d));
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_PROTECT, 1, 0, FRAMES, 0));
	EXPECT_NE(0, ut_state(d, 0) & UGM_RESIDENCY_PROTECTED);
	ASSERT_EQ(0, use(d, 8, UGM_ACCESS_WRITE));
	EXPECT_EQ(BLOCK(0), away(d));
}

/* Block 8 waits in host memory, blocks 0 to 7 fill the GPU tier. */
static int one_outside(struct ut *d, uint32_t prefetch_evicts)
{
	struct ugm_ioc_options opt = defaults;

	opt.prefetch_evicts = prefetch_evicts;
	return ut_options(d, &opt) ?: use(d, 8, UGM_ACCESS_WRITE) ?:
	       ut_move(d, UGM_HINT_EVICT, 1, 8, 1, UGM_TIER_ID_HOST) ?: fill_up(d);
}

static int prefetch(struct ut *d, uint64_t block)
{
	return ut_move(d, UGM_HINT_PREFETCH, 1, block, 1, UGM_TIER_ID_GPU);
}

TEST_F(evict, prefetch_evicts_none)
{
	struct ut *d = &self->d;

	ASSERT_EQ(0, one_outside(d, EVICTS_NONE));
	ASSERT_EQ(0, prefetch(d, 8));
	EXPECT_EQ(BLOCK(8), away(d));
	/* It goes on when somebody makes room. */
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 4, 1, UGM_TIER_ID_HOST));
	EXPECT_EQ(BLOCK(4), away(d));
}

TEST_F(evict, prefetch_evicts_unprotected)
{
	struct ut *d = &self->d;

	ASSERT_EQ(0, one_outside(d, EVICTS_UNPROTECTED));
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_PROTECT, 1, 0, FRAMES, 0));
	ASSERT_EQ(0, prefetch(d, 8));
	EXPECT_EQ(BLOCK(8), away(d));
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_UNPROTECT, 1, 3, 1, 0));
	ASSERT_EQ(0, ut_wait(d, NULL));
	EXPECT_EQ(BLOCK(3), away(d));
}

TEST_F(evict, prefetch_evicts_any)
{
	struct ut *d = &self->d;

	ASSERT_EQ(0, one_outside(d, EVICTS_ANY));
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_PROTECT, 1, 0, FRAMES, 0));
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_PIN, 1, 0, 2, 0));
	ASSERT_EQ(0, prefetch(d, 8));
	EXPECT_EQ(BLOCK(2), away(d));
}

TEST_F(evict, dead_keep)
{
	struct ut *d = &self->d;
	uint64_t moved;

	ASSERT_EQ(0, fill_up(d));
	ut_fill(d->gpu, d->block, 1);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_DISCARD, 1, 0, 1, 0));
	EXPECT_EQ(UGM_TIER_ID_GPU, tier(d, 0));
	moved = ut_moved(d, "gpu", "host");
	ASSERT_EQ(0, use(d, 8, UGM_ACCESS_WRITE));
	EXPECT_EQ(moved + 1, ut_moved(d, "gpu", "host"));
	EXPECT_EQ(-1, ut_compare(d->host, d->block, 1));
}

TEST_F(evict, dead_lazy)
{
	struct ut *d = &self->d;
	struct ugm_ioc_options opt = defaults;

	opt.dead = DEAD_LAZY;
	ASSERT_EQ(0, ut_options(d, &opt));
	ASSERT_EQ(0, fill_up(d));
	ut_fill(d->gpu, 2 * d->block, 1);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_DISCARD, 1, 0, 2, 0));
	EXPECT_EQ(UGM_TIER_ID_GPU, tier(d, 0));
	EXPECT_NE(0, ut_state(d, 0) & UGM_RESIDENCY_DEAD);
	/* Used again it lives. */
	ASSERT_EQ(0, use(d, 1, UGM_ACCESS_WRITE));
	EXPECT_EQ(0, ut_state(d, d->block) & UGM_RESIDENCY_DEAD);
	ASSERT_EQ(0, use(d, 8, UGM_ACCESS_WRITE));
	EXPECT_EQ(UGM_TIER_ID_NONE, tier(d, 0));
	EXPECT_EQ(0u, ut_moved(d, "gpu", "host"));
	ASSERT_EQ(0, use(d, 9, UGM_ACCESS_WRITE));
	EXPECT_EQ(UGM_TIER_ID_HOST, tier(d, 1));
	EXPECT_TRUE(ut_zero(d->host, d->block));
}

TEST_F(evict, dead_drop)
{
	struct ut *d = &self->d;
	struct ugm_ioc_options opt = defaults;
	struct ugm_ioc_info info = { 0 };

	opt.dead = DEAD_DROP;
	ASSERT_EQ(0, ut_options(d, &opt));
	ASSERT_EQ(0, fill_up(d));
	ut_fill(d->gpu, d->block, 1);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_DISCARD, 1, 0, 3, 0));
	EXPECT_EQ(UGM_TIER_ID_NONE, tier(d, 0));
	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_INFO, &info));
	EXPECT_EQ(3u, info.gpu_free);
	EXPECT_TRUE(ut_zero(d->gpu, d->block));
	EXPECT_EQ(0u, ut_moved(d, "gpu", "host"));
}

/* A written byte of a dead block that was mapped does not wake it up. */
TEST_F(evict, dead_and_mapped)
{
	struct ut *d = &self->d;
	struct ugm_ioc_options opt = defaults;

	opt.dead = DEAD_LAZY;
	opt.clean = 1;
	ASSERT_EQ(0, ut_options(d, &opt));
	ASSERT_EQ(0, fill_up(d));
	ut_fill(d->gpu, d->block, 1);
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_DISCARD, 1, 0, 1, 0));
	ASSERT_EQ(0, use(d, 8, UGM_ACCESS_WRITE));
	EXPECT_EQ(UGM_TIER_ID_NONE, tier(d, 0));
	EXPECT_EQ(0u, ut_moved(d, "gpu", "host"));
}

EVICT_FIXTURE(narrow);
UT_VARIANT(narrow, host_of_four, "block_size=4K gpu_mem=32K host_mem=16K");

/* A host tier that is full passes on to flash. */
TEST_F(narrow, full_host_goes_to_flash)
{
	struct ut *d = &self->d;
	int i, nr[4] = { 0 };

	ut_fill(d->gpu, FRAMES * d->block, 1);
	for (i = FRAMES; i < 3 * FRAMES; i++) {
		ASSERT_EQ(0, use(d, i, UGM_ACCESS_WRITE));
	}
	for (i = 0; i < 3 * FRAMES; i++)
		nr[tier(d, i)]++;
	EXPECT_EQ(8, nr[UGM_TIER_ID_GPU]);
	EXPECT_EQ(4, nr[UGM_TIER_ID_HOST]);
	EXPECT_EQ(12, nr[UGM_TIER_ID_FLASH]);
	EXPECT_EQ(-1, ut_compare(d->gpu, FRAMES * d->block, 1));
}

/* The CPU wants a block that was to leave to a full host tier: it gets it there. */
TEST_F(narrow, a_queued_eviction_that_is_touched)
{
	struct ut *d = &self->d;
	int i;

	for (i = 8; i < 12; i++) {
		ASSERT_EQ(0, ut_touch(d->host + i * d->block, true));
	}
	ut_fill(d->gpu, 2 * d->block, 1);
	/* The first has the link, the second waits for it. */
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_EVICT, 1, 0, 1, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_EVICT, 1, 1, 1, UGM_TIER_ID_HOST));
	EXPECT_EQ(0, ut_touch(d->host + d->block, false));
	EXPECT_EQ(UGM_TIER_ID_HOST, tier(d, 1));
	EXPECT_EQ(-1, ut_compare(d->gpu, 2 * d->block, 1));
}

/* An arena is where it is. */
TEST_F(narrow, arena_stays)
{
	struct ut *d = &self->d;
	int64_t a = ut_alloc(d, 2, 3 * d->block, UGM_ALLOC_ARENA);
	int i;

	ASSERT_LE(0, a);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, a + i * d->block));
	}
	for (i = 0; i < 2 * FRAMES; i++) {
		ASSERT_EQ(0, use(d, i, UGM_ACCESS_WRITE));
	}
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 2, 0, 3, UGM_TIER_ID_HOST));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, a + i * d->block));
	}
	EXPECT_EQ(-ENOSPC, ut_launch(d, 0, 6 * d->block, UGM_ACCESS_READ, 0, NULL));
	EXPECT_EQ(0, ut_launch(d, 0, 5 * d->block, UGM_ACCESS_READ, 0, NULL));
}

/*
 * Where room is short for real (failures 1): the real clock, four frames.
 */
UT_FIXTURE(tight);
UT_VARIANT(tight, four_frames, "block_size=4K gpu_mem=16K host_mem=1M");

#define THREADS 16
#define ROUNDS 30

struct toucher {
	struct ut *d;
	uint64_t block;
	int sig;
};

static void *touch_often(void *arg)
{
	struct toucher *t = arg;
	volatile uint64_t *p = (uint64_t *)(t->d->gpu + t->block * t->d->block);
	int i;

	for (i = 0; i < ROUNDS && !t->sig; i++) {
		t->sig = ut_touch((volatile char *)p, false);
		if (!t->sig)
			*p = t->block * 1000 + i;
	}
	return NULL;
}

TEST_F(tight, one_frame_for_sixteen_threads)
{
	struct ut *d = &self->d;
	struct toucher t[THREADS];
	pthread_t thread[THREADS];
	uint64_t began;
	int i;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, 3 + THREADS));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, ut_touch(d->gpu + i * d->block, true));
	}
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_PIN, 1, 0, 3, 0));
	began = ut_now();
	for (i = 0; i < THREADS; i++) {
		t[i] = (struct toucher){ d, 3 + i, 0 };
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, touch_often, &t[i]));
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0, t[i].sig);
		EXPECT_EQ(t[i].block * 1000 + ROUNDS - 1,
			  *(uint64_t *)(d->host + t[i].block * d->block));
	}
	TH_LOG("%d faults in %llu ms", THREADS * ROUNDS,
	       (unsigned long long)((ut_now() - began) / 1000000));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, i * d->block));
	}
}

static int pin_all(struct ut *d)
{
	int i;

	if (ut_alloc_blocks(d, 1, 8))
		return 1;
	for (i = 0; i < 4; i++)
		if (ut_touch(d->gpu + i * d->block, true))
			return 2;
	return ut_hint_now(d, UGM_HINT_PIN, 1, 0, 4, 0) ? 3 : 0;
}

TEST_F(tight, no_victim_is_an_error_in_time)
{
	struct ut *d = &self->d;
	uint64_t began;

	ASSERT_EQ(0, pin_all(d));
	began = ut_now();
	EXPECT_EQ(-ENOSPC, ut_launch(d, 4 * d->block, 8, UGM_ACCESS_READ, 0, NULL));
	EXPECT_GT(ut_limit(8000), ut_now() - began);
	began = ut_now();
	EXPECT_EQ(SIGBUS, ut_touch(d->gpu + 4 * d->block, true));
	EXPECT_GT(ut_limit(8000), ut_now() - began);
	/* The next one is not hurt by it. */
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_UNPIN, 1, 0, 1, 0));
	EXPECT_EQ(0, ut_touch(d->gpu + 4 * d->block, true));
}

/* Waits without hope, in another process. */
static int wait_in_vain(bool launch)
{
	struct ut d;

	if (ut_open(&d) || pin_all(&d))
		return 1;
	if (launch)
		ut_launch(&d, 4 * d.block, 8, UGM_ACCESS_READ, 0, NULL);
	else
		ut_touch(d.gpu + 4 * d.block, true);
	return 2;
}

static int kill_waiter(bool launch)
{
	int status = 0;
	uint64_t began;
	pid_t pid = fork();

	if (pid < 0)
		return 1;
	if (!pid)
		_exit(wait_in_vain(launch));
	if (!ut_await_waiter("free frame"))
		return 2;
	began = ut_now();
	kill(pid, SIGKILL);
	if (ut_reap(pid, 5000, &status))
		return 3;
	if (ut_now() - began > ut_limit(1000))
		return 4;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : 5;
}

TEST_F(tight, a_fault_that_waits_can_be_killed)
{
	EXPECT_EQ(0, kill_waiter(false));
}

TEST_F(tight, a_launch_that_waits_can_be_killed)
{
	EXPECT_EQ(0, kill_waiter(true));
}

TEST_HARNESS_MAIN
