// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * Two views of the same bytes: which of them moves a block, what advice changes
 * about that, and that neither ever shows old data.
 */
#include <pthread.h>

#include "ugm_harness.h"

#define NR 4

UT_FIXTURE(views);
UT_VARIANT(views, blocks_4k, "block_size=4K gpu_mem=64K host_mem=64K");
UT_VARIANT(views, blocks_2m, "block_size=2M gpu_mem=16M host_mem=16M");
UT_VARIANT(views, reserved_2m, "block_size=2M gpu_phys=$UGM_GPU_PHYS gpu_mem=16M host_mem=16M");

TEST_F(views, first_touch)
{
	struct ut *d = &self->d;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	EXPECT_EQ(UGM_TIER_ID_NONE, ut_tier(d, 0));
	EXPECT_TRUE(ut_zero(d->gpu, d->block));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 0));
	EXPECT_TRUE(ut_zero(d->host + d->block, d->block));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, d->block));
	EXPECT_EQ(UGM_TIER_ID_NONE, ut_tier(d, 2 * d->block));
	/* Nothing was moved for that. */
	EXPECT_EQ(0u, ut_moved(d, "gpu", "host"));
	EXPECT_EQ(0u, ut_moved(d, "host", "gpu"));
}

TEST_F(views, same_bytes)
{
	struct ut *d = &self->d;
	size_t len = NR * d->block;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ut_fill(d->gpu, len, 1);
	EXPECT_EQ(-1, ut_compare(d->host, len, 1));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, 0));
	ut_fill(d->host, len, 2);
	EXPECT_EQ(-1, ut_compare(d->gpu, len, 2));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 0));
	EXPECT_EQ(NR, ut_moved(d, "gpu", "host"));
	EXPECT_EQ(NR, ut_moved(d, "host", "gpu"));
}

TEST_F(views, host_touch_from_flash)
{
	struct ut *d = &self->d;
	size_t len = NR * d->block;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ut_fill(d->gpu, len, 3);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, NR, UGM_TIER_ID_FLASH));
	EXPECT_EQ(-1, ut_compare(d->host, len, 3));
	EXPECT_EQ(NR, ut_moved(d, "flash", "host"));
	EXPECT_EQ(0u, ut_moved(d, "flash", "gpu"));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, 0));
}

TEST_F(views, accessed_by_cpu_in_place)
{
	struct ut *d = &self->d;
	size_t len = NR * d->block;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ASSERT_EQ(0, ut_advise(d, 0, len, UGM_ADVICE_ACCESSED_BY_CPU, 0));
	ut_fill(d->gpu, len, 4);
	EXPECT_EQ(-1, ut_compare(d->host, len, 4));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 0));
	/* Both map the same frame. */
	ut_fill(d->host, len, 5);
	EXPECT_EQ(-1, ut_compare(d->gpu, len, 5));
	EXPECT_EQ(0u, ut_moved(d, "gpu", "host"));
	/* Revoking means both. */
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, NR, UGM_TIER_ID_HOST));
	ut_fill(d->host, len, 6);
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, 0));
	EXPECT_EQ(-1, ut_compare(d->gpu, len, 6));
	/* Without the advice the next touch moves, and what was mapped is not left. */
	EXPECT_EQ(0, ut_touch(d->host, false));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 0));
	ASSERT_EQ(0, ut_advise(d, 0, len, UGM_ADVICE_UNSET_ACCESSED_BY_CPU, 0));
	EXPECT_EQ(0, ut_touch(d->host, false));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, 0));
}

/* A write through the host view in place is a write. */
TEST_F(views, in_place_writes_are_dirty)
{
	struct ut *d = &self->d;
	struct ugm_ioc_options opt = { .clean = 1, .promote = 1, .prefetch_evicts = 1, .demand = 1 };
	size_t len = NR * d->block;

	ASSERT_EQ(0, ut_options(d, &opt));
	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ASSERT_EQ(0, ut_advise(d, 0, len, UGM_ADVICE_ACCESSED_BY_CPU, 0));
	ut_fill(d->gpu, len, 7);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, NR, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_PREFETCH, 1, 0, NR, UGM_TIER_ID_GPU));
	ASSERT_TRUE(ut_has_copy(d, 0, UGM_TIER_ID_FLASH));
	d->host[len - 1] ^= 0xff;
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, NR, UGM_TIER_ID_FLASH));
	d->host[len - 1] ^= 0xff;
	EXPECT_EQ(-1, ut_compare(d->gpu, len, 7));
}

TEST_F(views, prefers_gpu)
{
	struct ut *d = &self->d;
	size_t len = NR * d->block;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ASSERT_EQ(0, ut_advise(d, 0, len, UGM_ADVICE_PREFER, UGM_TIER_ID_GPU));
	ut_fill(d->host, len, 8);
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 0));
	EXPECT_EQ(-1, ut_compare(d->gpu, len, 8));
	EXPECT_EQ(-1, ut_compare(d->host, len, 8));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 0));
	EXPECT_EQ(0u, ut_moved(d, "gpu", "host"));
	ASSERT_EQ(0, ut_advise(d, 0, len, UGM_ADVICE_PREFER, UGM_TIER_ID_NONE));
	EXPECT_EQ(-1, ut_compare(d->host, len, 8));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, 0));
}

TEST_F(views, prefers_host)
{
	struct ut *d = &self->d;
	size_t len = NR * d->block;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ASSERT_EQ(0, ut_advise(d, 0, len, UGM_ADVICE_PREFER, UGM_TIER_ID_HOST));
	ut_fill(d->host, len, 9);
	EXPECT_EQ(-1, ut_compare(d->gpu, len, 9));
	ut_fill(d->gpu, len, 10);
	EXPECT_EQ(-1, ut_compare(d->host, len, 10));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, 0));
	/* A launch needs its operands in the GPU tier all the same. */
	ASSERT_EQ(0, ut_launch(d, 0, len, UGM_ACCESS_READ, 1000, NULL));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 0));
	EXPECT_EQ(-1, ut_compare(d->gpu, len, 10));
}

TEST_F(views, pinned_by_advice)
{
	struct ut *d = &self->d;
	size_t len = NR * d->block;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ut_fill(d->gpu, len, 11);
	ASSERT_EQ(0, ut_advise(d, 0, 2 * d->block, UGM_ADVICE_PIN, 0));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, NR, UGM_TIER_ID_FLASH));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 0));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, d->block));
	EXPECT_EQ(UGM_TIER_ID_FLASH, ut_tier(d, 2 * d->block));
	EXPECT_EQ(-1, ut_compare(d->gpu, len, 11));
}

/* One thread a view, the same words: every one of them sees only what is newer. */
struct player {
	volatile uint64_t *word;
	volatile uint64_t *other;
	int rounds;
	int old;
};

static void *play(void *arg)
{
	struct player *p = arg;
	uint64_t seen = 0, now;
	int i;

	for (i = 1; i <= p->rounds; i++) {
		*p->word = i;
		now = *p->other;
		if (now < seen)
			p->old++;
		seen = now;
	}
	return NULL;
}

TEST_F(views, no_old_data_between_them)
{
	struct ut *d = &self->d;
	struct player p[2];
	pthread_t thread[2];
	int i;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, 1));
	p[0] = (struct player){ (uint64_t *)d->gpu, (uint64_t *)(d->gpu + 8), 300, 0 };
	p[1] = (struct player){ (uint64_t *)(d->host + 8), (uint64_t *)d->host, 300, 0 };
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, play, &p[i]));
	}
	for (i = 0; i < 2; i++) {
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0, p[i].old);
	}
	EXPECT_EQ(300u, *(uint64_t *)d->gpu);
	EXPECT_EQ(300u, *(uint64_t *)(d->host + 8));
}

static void *touch_gpu(void *arg)
{
	struct ut *d = arg;

	return (void *)(intptr_t)ut_touch(d->gpu, true);
}

/* The CPU wants back what is on its way to the GPU: both get it. */
TEST_F(views, wanted_in_two_tiers)
{
	struct ut *d = &self->d;
	pthread_t thread;
	uint64_t began;
	void *sig;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, 1));
	ut_fill(d->host, d->block, 14);
	ASSERT_EQ(0, ut_inject("lose-completion 1"));
	ASSERT_EQ(0, pthread_create(&thread, NULL, touch_gpu, d));
	ASSERT_TRUE(ut_await_waiter("move"));
	began = ut_now();
	EXPECT_EQ(-1, ut_compare(d->host, d->block, 14));
	ASSERT_EQ(0, ut_inject("return"));
	pthread_join(thread, &sig);
	EXPECT_EQ(NULL, sig);
	EXPECT_GT(ut_limit(3000), ut_now() - began);
	EXPECT_EQ(-1, ut_compare(d->gpu, d->block, 14));
}

/* Spaces see nothing of each other, whatever they call their ranges. */
TEST_F(views, spaces_are_apart)
{
	struct ut *d = &self->d, other;
	size_t len = NR * d->block;

	ASSERT_EQ(0, ut_open(&other));
	EXPECT_NE(d->id, other.id);
	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ASSERT_EQ(0, ut_alloc_blocks(&other, 1, NR));
	ut_fill(d->gpu, len, 12);
	EXPECT_TRUE(ut_zero(other.gpu, d->block));
	ut_fill(other.gpu, len, 13);
	ASSERT_EQ(0, ut_move(&other, UGM_HINT_EVICT, 1, 0, NR, UGM_TIER_ID_FLASH));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 0));
	EXPECT_EQ(-1, ut_compare(d->gpu, len, 12));
	EXPECT_EQ(-1, ut_compare(other.host, len, 13));
	ut_close(&other);
	EXPECT_EQ(-1, ut_compare(d->gpu, len, 12));
}

TEST_HARNESS_MAIN
