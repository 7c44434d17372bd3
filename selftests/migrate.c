// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * Blocks on their way between each two tiers: where they are afterwards, what
 * that cost, and that every byte is what it was.
 */
#include "ugm_harness.h"

#define NR 4

FIXTURE(migrate)
{
	struct ut d;
	size_t len;
};

FIXTURE_VARIANT(migrate)
{
	const char *params;
	bool virtual_clock;
};

FIXTURE_VARIANT_ADD(migrate, virtual_4k)
{
	.params = "block_size=4K gpu_mem=64K host_mem=64K",
	.virtual_clock = true,
};

FIXTURE_VARIANT_ADD(migrate, real_4k)
{
	.params = "block_size=4K gpu_mem=64K host_mem=64K",
};

FIXTURE_VARIANT_ADD(migrate, virtual_2m)
{
	.params = "block_size=2M gpu_mem=16M host_mem=16M",
	.virtual_clock = true,
};

FIXTURE_VARIANT_ADD(migrate, reserved_2m)
{
	.params = "block_size=2M gpu_phys=$UGM_GPU_PHYS gpu_mem=16M host_mem=16M",
};

FIXTURE_SETUP(migrate)
{
	int err = ut_setup(&self->d, variant->params);

	if (err == -ENXIO)
		SKIP(return, "no reserved memory in this machine");
	ASSERT_EQ(0, err);
	if (variant->virtual_clock) {
		ASSERT_EQ(0, ut_virtual(&self->d, 0));
	}
	self->len = NR * (size_t)self->d.block;
	ASSERT_EQ(0, ut_alloc_blocks(&self->d, 1, NR));
}

FIXTURE_TEARDOWN(migrate)
{
	EXPECT_EQ(0, ut_teardown(&self->d));
}

static const char *const tier_names[] = { "none", "gpu", "host", "flash" };

/* Bring all blocks to a tier, by a hint. */
static int bring(struct ut *d, uint32_t from, uint32_t to)
{
	return ut_move(d, to > from ? UGM_HINT_EVICT : UGM_HINT_PREFETCH, 1, 0, NR, to);
}

/* Are all blocks there? */
static bool all_in(struct ut *d, uint32_t tier)
{
	int i;

	for (i = 0; i < NR; i++)
		if (ut_tier(d, (uint64_t)i * d->block) != (int)tier)
			return false;
	return true;
}

static int clean_drop(struct ut *d)
{
	struct ugm_ioc_options opt = { .clean = 1, .promote = 1, .prefetch_evicts = 1, .demand = 1 };

	return ut_options(d, &opt);
}

static int pair(struct ut *d, size_t len, uint32_t from, uint32_t to)
{
	uint64_t moved, seed = from * 8 + to;

	ut_fill(d->gpu, len, seed);
	if (from != UGM_TIER_ID_GPU && bring(d, UGM_TIER_ID_GPU, from))
		return 1;
	if (!all_in(d, from))
		return 2;
	moved = ut_moved(d, tier_names[from], tier_names[to]);
	if (bring(d, from, to))
		return 3;
	if (!all_in(d, to))
		return 4;
	if (ut_moved(d, tier_names[from], tier_names[to]) - moved != NR)
		return 5;
	/* In place where the CPU may look at it, and in the GPU tier. */
	if (to != UGM_TIER_ID_GPU && ut_compare(d->host, len, seed) != -1)
		return 6;
	if (ut_compare(d->gpu, len, seed) != -1)
		return 7;
	return all_in(d, UGM_TIER_ID_GPU) ? 0 : 8;
}

TEST_F(migrate, gpu_to_host)
{
	EXPECT_EQ(0, pair(&self->d, self->len, UGM_TIER_ID_GPU, UGM_TIER_ID_HOST));
}

TEST_F(migrate, gpu_to_flash)
{
	EXPECT_EQ(0, pair(&self->d, self->len, UGM_TIER_ID_GPU, UGM_TIER_ID_FLASH));
}

TEST_F(migrate, host_to_gpu)
{
	EXPECT_EQ(0, pair(&self->d, self->len, UGM_TIER_ID_HOST, UGM_TIER_ID_GPU));
}

TEST_F(migrate, host_to_flash)
{
	EXPECT_EQ(0, pair(&self->d, self->len, UGM_TIER_ID_HOST, UGM_TIER_ID_FLASH));
}

TEST_F(migrate, flash_to_gpu)
{
	EXPECT_EQ(0, pair(&self->d, self->len, UGM_TIER_ID_FLASH, UGM_TIER_ID_GPU));
}

TEST_F(migrate, flash_to_host)
{
	EXPECT_EQ(0, pair(&self->d, self->len, UGM_TIER_ID_FLASH, UGM_TIER_ID_HOST));
}

TEST_F(migrate, clean_copy_costs_nothing)
{
	struct ut *d = &self->d;
	uint64_t moved;
	int i;

	ASSERT_EQ(0, clean_drop(d));
	ut_fill(d->gpu, self->len, 1);
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_GPU, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_FLASH, UGM_TIER_ID_GPU));
	for (i = 0; i < NR; i++) {
		EXPECT_TRUE(ut_has_copy(d, i * d->block, UGM_TIER_ID_FLASH));
		EXPECT_FALSE(ut_state(d, i * d->block) & UGM_RESIDENCY_DIRTY);
	}
	EXPECT_EQ(-1, ut_compare(d->gpu, self->len, 1));
	moved = ut_moved(d, "gpu", "flash");
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_GPU, UGM_TIER_ID_FLASH));
	EXPECT_TRUE(all_in(d, UGM_TIER_ID_FLASH));
	EXPECT_EQ(moved, ut_moved(d, "gpu", "flash"));
	EXPECT_EQ(-1, ut_compare(d->gpu, self->len, 1));
}

TEST_F(migrate, clean_write_writes)
{
	struct ut *d = &self->d;
	uint64_t moved;

	ut_fill(d->gpu, self->len, 1);
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_GPU, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_FLASH, UGM_TIER_ID_GPU));
	moved = ut_moved(d, "gpu", "flash");
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_GPU, UGM_TIER_ID_FLASH));
	EXPECT_EQ(NR, ut_moved(d, "gpu", "flash") - moved);
	EXPECT_EQ(-1, ut_compare(d->gpu, self->len, 1));
}

/* One byte, anywhere, makes a copy stale: the hardware's dirty bit tells. */
TEST_F(migrate, a_written_byte_counts)
{
	struct ut *d = &self->d;
	const size_t at[NR] = { 0, d->block - 1, d->block / 2, d->block / 2 + 1 };
	uint64_t moved;
	int i;

	ASSERT_EQ(0, clean_drop(d));
	ut_fill(d->gpu, self->len, 2);
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_GPU, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_FLASH, UGM_TIER_ID_GPU));
	/* Mapped for reading first, so that the write faults nowhere. */
	EXPECT_EQ(-1, ut_compare(d->gpu, self->len, 2));
	for (i = 0; i < NR - 1; i++)
		d->gpu[i * d->block + at[i]] ^= 0xff;
	moved = ut_moved(d, "gpu", "flash");
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_GPU, UGM_TIER_ID_FLASH));
	EXPECT_EQ(NR - 1, ut_moved(d, "gpu", "flash") - moved);
	for (i = 0; i < NR - 1; i++)
		d->gpu[i * d->block + at[i]] ^= 0xff;
	EXPECT_EQ(-1, ut_compare(d->gpu, self->len, 2));
}

static int write_back(struct ut *d, uint32_t tier)
{
	return ut_move(d, UGM_HINT_WRITEBACK, 1, 0, NR, tier);
}

static int written_back(struct ut *d, size_t len, uint32_t tier)
{
	uint64_t moved;
	int i;

	if (clean_drop(d))
		return 1;
	ut_fill(d->gpu, len, 3);
	if (write_back(d, tier))
		return 2;
	for (i = 0; i < NR; i++) {
		if (ut_tier(d, i * d->block) != UGM_TIER_ID_GPU)
			return 3;
		if (!ut_has_copy(d, i * d->block, tier))
			return 4;
		if (ut_state(d, i * d->block) & UGM_RESIDENCY_DIRTY)
			return 5;
	}
	if (ut_compare(d->gpu, len, 3) != -1)
		return 6;
	moved = ut_moved(d, "gpu", tier_names[tier]);
	if (bring(d, UGM_TIER_ID_GPU, tier))
		return 7;
	if (!all_in(d, tier))
		return 8;
	if (ut_moved(d, "gpu", tier_names[tier]) != moved)
		return 9;
	return ut_compare(d->gpu, len, 3) == -1 ? 0 : 10;
}

TEST_F(migrate, written_back_to_flash)
{
	EXPECT_EQ(0, written_back(&self->d, self->len, UGM_TIER_ID_FLASH));
}

TEST_F(migrate, written_back_to_host)
{
	EXPECT_EQ(0, written_back(&self->d, self->len, UGM_TIER_ID_HOST));
}

TEST_F(migrate, a_write_after_the_copy_voids_it)
{
	struct ut *d = &self->d;
	uint64_t moved;

	ASSERT_EQ(0, clean_drop(d));
	ut_fill(d->gpu, self->len, 4);
	ASSERT_EQ(0, write_back(d, UGM_TIER_ID_FLASH));
	ut_fill(d->gpu, d->block, 5);
	moved = ut_moved(d, "gpu", "flash");
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_GPU, UGM_TIER_ID_FLASH));
	EXPECT_EQ(1, ut_moved(d, "gpu", "flash") - moved);
	EXPECT_EQ(-1, ut_compare(d->gpu, d->block, 5));
	ut_fill(d->gpu, d->block, 4);
	/* The pattern goes on from block to block. */
	ut_fill(d->host, self->len, 6);
	EXPECT_EQ(-1, ut_compare(d->gpu, self->len, 6));
}

TEST_F(migrate, launch_writes_void_copies)
{
	struct ut *d = &self->d;
	uint64_t moved;

	ASSERT_EQ(0, clean_drop(d));
	ut_fill(d->gpu, self->len, 7);
	ASSERT_EQ(0, write_back(d, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, ut_launch(d, 0, d->block, UGM_ACCESS_WRITE, 1000, NULL));
	ASSERT_EQ(0, ut_launch(d, d->block, d->block, UGM_ACCESS_READ, 1000, NULL));
	EXPECT_FALSE(ut_has_copy(d, 0, UGM_TIER_ID_FLASH));
	EXPECT_TRUE(ut_has_copy(d, d->block, UGM_TIER_ID_FLASH));
	moved = ut_moved(d, "gpu", "flash");
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_GPU, UGM_TIER_ID_FLASH));
	EXPECT_EQ(1, ut_moved(d, "gpu", "flash") - moved);
	EXPECT_EQ(-1, ut_compare(d->gpu, self->len, 7));
}

TEST_F(migrate, zeros_are_dropped)
{
	struct ut *d = &self->d;

	ASSERT_EQ(0, clean_drop(d));
	EXPECT_TRUE(ut_zero(d->gpu, self->len));
	EXPECT_TRUE(all_in(d, UGM_TIER_ID_GPU));
	/* One of them is written, if with a zero: that cannot be told apart. */
	*(volatile char *)(d->gpu + d->block) = 0;
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_GPU, UGM_TIER_ID_FLASH));
	EXPECT_EQ(UGM_TIER_ID_NONE, ut_tier(d, 0));
	EXPECT_EQ(UGM_TIER_ID_FLASH, ut_tier(d, d->block));
	EXPECT_EQ(UGM_TIER_ID_NONE, ut_tier(d, 2 * d->block));
	EXPECT_EQ(1u, ut_moved(d, "gpu", "flash"));
	EXPECT_TRUE(ut_zero(d->gpu, self->len));
}

TEST_F(migrate, zeros_are_written)
{
	struct ut *d = &self->d;

	EXPECT_TRUE(ut_zero(d->gpu, self->len));
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_GPU, UGM_TIER_ID_FLASH));
	EXPECT_TRUE(all_in(d, UGM_TIER_ID_FLASH));
	EXPECT_TRUE(ut_zero(d->gpu, self->len));
}

/* The next block gets a host page that was just given back, and never its data. */
TEST_F(migrate, host_pages_are_used_again)
{
	struct ut *d = &self->d;
	uint64_t until = ut_now() + ut_limit(10000);
	int64_t at;

	ut_fill(d->gpu, self->len, 9);
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_GPU, UGM_TIER_ID_HOST));
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_HOST, UGM_TIER_ID_GPU));
	EXPECT_LE(NR, ut_stat(d, "host.free.blocks"));
	EXPECT_EQ(ut_stat(d, "host.allocated.blocks"), ut_stat(d, "host.free.blocks"));
	at = ut_alloc_blocks(d, 2, NR);
	ASSERT_LE(0, at);
	EXPECT_TRUE(ut_zero(d->host + at, self->len));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, at));
	ASSERT_EQ(0, ut_free(d, at));
	/* Without the virtual clock, which sets them aside, they are not kept for long. */
	if (variant->virtual_clock)
		return;
	while (ut_stat(d, "host.allocated.blocks") && ut_now() < until)
		ut_sleep_ms(50);
	EXPECT_EQ(0u, ut_stat(d, "host.allocated.blocks"));
	EXPECT_EQ(0u, ut_stat(d, "host.free.blocks"));
	EXPECT_EQ(-1, ut_compare(d->gpu, self->len, 9));
}

/* Evictions take whole blocks only, prefetches every block they touch. */
TEST_F(migrate, rounding)
{
	struct ut *d = &self->d;
	uint64_t half = d->block / 2;

	ut_fill(d->gpu, self->len, 8);
	ASSERT_EQ(0, ut_hint(d, UGM_HINT_EVICT, 1, half, 2 * d->block, UGM_TIER_ID_HOST,
			     UGM_HINT_NOW, UGM_HINT_NO_NEED));
	ASSERT_EQ(0, ut_wait(d, NULL));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 0));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, d->block));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 2 * d->block));
	/* Less than a block is no block. */
	ASSERT_EQ(0, ut_hint(d, UGM_HINT_EVICT, 1, half, half - 1, UGM_TIER_ID_HOST,
			     UGM_HINT_NOW, UGM_HINT_NO_NEED));
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_GPU, UGM_TIER_ID_HOST));
	EXPECT_TRUE(all_in(d, UGM_TIER_ID_HOST));
	ASSERT_EQ(0, ut_hint(d, UGM_HINT_PREFETCH, 1, half, d->block, UGM_TIER_ID_GPU,
			     UGM_HINT_NOW, UGM_HINT_NO_NEED));
	ASSERT_EQ(0, ut_wait(d, NULL));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 0));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, d->block));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, 2 * d->block));
	EXPECT_EQ(-1, ut_compare(d->gpu, self->len, 8));
}

/* What a range leaves in frames, host pages and slots is nobody's to see. */
TEST_F(migrate, freed_data_is_gone)
{
	struct ut *d = &self->d;
	struct ut other;
	uint32_t tier;

	for (tier = UGM_TIER_ID_GPU; tier <= UGM_TIER_ID_FLASH; tier++) {
		ut_fill(d->gpu, self->len, 9);
		if (tier != UGM_TIER_ID_GPU) {
			ASSERT_EQ(0, bring(d, UGM_TIER_ID_GPU, tier));
		}
		ASSERT_TRUE(all_in(d, tier));
		ASSERT_EQ(0, ut_free(d, 0));
		ASSERT_EQ(0, ut_open(&other));
		ASSERT_EQ(0, ut_alloc_blocks(&other, 1, NR));
		EXPECT_TRUE(ut_zero(other.gpu, self->len));
		ut_close(&other);
		ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
		EXPECT_TRUE(ut_zero(d->host, self->len));
		EXPECT_TRUE(all_in(d, UGM_TIER_ID_HOST));
	}
}

TEST_F(migrate, read_errors_poison_one_block)
{
	struct ut *d = &self->d;
	uint64_t a = d->block;

	ut_fill(d->gpu, self->len, 10);
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_GPU, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, ut_inject("read-error 1"));
	EXPECT_EQ(SIGBUS, ut_touch(d->gpu + a, false));
	EXPECT_NE(0, ut_state(d, a) & UGM_RESIDENCY_POISON);
	EXPECT_EQ(SIGBUS, ut_touch(d->host + a, true));
	EXPECT_EQ(-EIO, ut_launch(d, a, 8, UGM_ACCESS_READ, 0, NULL));
	/* It is that block's matter alone, and ends with its range. */
	EXPECT_EQ(0, ut_touch(d->gpu, true));
	EXPECT_EQ(0, ut_touch(d->gpu + 2 * a, true));
	ASSERT_EQ(0, ut_free(d, 0));
	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	EXPECT_TRUE(ut_zero(d->gpu, self->len));
}

TEST_F(migrate, write_errors_lose_nothing)
{
	struct ut *d = &self->d;
	uint64_t bad = ut_stat(d, "slot.bad.count");

	ut_fill(d->gpu, self->len, 11);
	ASSERT_EQ(0, ut_inject("write-error 2"));
	ASSERT_EQ(0, bring(d, UGM_TIER_ID_GPU, UGM_TIER_ID_FLASH));
	EXPECT_TRUE(all_in(d, UGM_TIER_ID_FLASH));
	EXPECT_EQ(bad + 1, ut_stat(d, "slot.bad.count"));
	EXPECT_EQ(-1, ut_compare(d->gpu, self->len, 11));
}

TEST_HARNESS_MAIN
