// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * What the module needs for itself: a small part of what it manages, and nothing
 * for addresses that nobody has used.
 */
#include "ugm_harness.h"

UT_FIXTURE(metadata);
UT_VARIANT(metadata, small_blocks,
	   "gpu_phys=$UGM_GPU_PHYS gpu_mem=24M host_mem=24M block_size=4096");
UT_VARIANT(metadata, large_blocks, "gpu_phys=$UGM_GPU_PHYS gpu_mem=96M host_mem=96M block_size=2M");

/* What the memory tiers have no room for is in flash. Many blocks take long. */
static uint64_t populated(const struct ut *d)
{
	return d->block == 4096 ? 60ULL << 20 : 240ULL << 20;
}

/* The kernel's small objects, whoever they belong to. */
static uint64_t slab_bytes(void)
{
	unsigned long long kib = 0;
	char line[128];
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Slab: %llu", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib << 10;
}

static uint64_t tenthousandths(const struct ut *d, uint64_t bytes)
{
	return (bytes * 10000 + populated(d) - 1) / populated(d);
}

TEST_F(metadata, of_a_populated_space)
{
	uint64_t most = self->d.block == 4096 ? 200 : 1, slab, i;
	uint64_t len = populated(&self->d);
	int64_t at = ut_alloc(&self->d, 1, len, 0);

	ASSERT_LE(0, at);
	slab = slab_bytes();
	ASSERT_LT(0, slab);
	for (i = 0; i < len; i += self->d.block)
		ASSERT_EQ(0, ut_touch(self->d.gpu + at + i, true));
	for (i = 0; i < len; i += self->d.block)
		ASSERT_NE(UGM_TIER_ID_NONE, ut_tier(&self->d, (uint64_t)at + i));
	slab = slab_bytes() - slab;
	TH_LOG("of %llu bytes: %llu, all slabs grew by %lld", (unsigned long long)len,
	       (unsigned long long)ut_stat(&self->d, "metadata.bytes"), (long long)slab);
	EXPECT_GE(most, tenthousandths(&self->d, ut_stat(&self->d, "metadata.bytes")));
	/*
	 * The account is ours; the kernel's own has to agree, as far as it can:
	 * not where each object has red zones and a record of its own.
	 */
	if (self->d.block == 4096 && access("/sys/kernel/debug/kmemleak", F_OK))
		EXPECT_GT(most + most / 2, tenthousandths(&self->d, slab));
}

TEST_F(metadata, of_an_unpopulated_space)
{
	uint64_t before = ut_stat(&self->d, "metadata.bytes"), small, large;
	int64_t at = ut_alloc(&self->d, 1, self->d.block, 0), huge;

	ASSERT_LE(0, at);
	small = ut_stat(&self->d, "metadata.bytes") - before;
	huge = ut_alloc(&self->d, 2, 1ULL << 40, 0);
	ASSERT_LE(0, huge);
	large = ut_stat(&self->d, "metadata.bytes") - before - small;
	EXPECT_EQ(small, large);
	EXPECT_EQ(0, ut_free(&self->d, (uint64_t)huge));
	EXPECT_EQ(before + small, ut_stat(&self->d, "metadata.bytes"));
}

TEST_HARNESS_MAIN
