// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * What the requests about a space say to arguments they cannot accept: ranges,
 * advice, hints, launches, residency.
 */
#include "ugm_harness.h"

UT_FIXTURE(abi_space);
UT_VARIANT(abi_space, small, "block_size=4K gpu_mem=64K host_mem=64K");

static int alloc(int fd, uint64_t len, uint64_t tag, uint32_t flags, uint32_t pad)
{
	struct ugm_ioc_alloc arg = { .len = len, .tag = tag, .flags = flags, .pad = pad };

	return ut_ioctl(fd, UGM_IOC_ALLOC, &arg);
}

TEST_F(abi_space, alloc)
{
	int fd = self->d.fd, err;

	EXPECT_EQ(-EINVAL, alloc(fd, 0, 1, 0, 0));
	EXPECT_EQ(-EINVAL, alloc(fd, 4096, 1, ~UGM_ALLOC_ARENA, 0));
	EXPECT_EQ(-EINVAL, alloc(fd, 4096, 1, 0, 1));
	EXPECT_EQ(-ENOSPC, alloc(fd, UGM_VIEW_SIZE + 1, 1, 0, 0));
	EXPECT_EQ(-ENOSPC, alloc(fd, UINT64_MAX, 1, 0, 0));
	EXPECT_EQ(-ENOSPC, alloc(fd, UINT64_MAX - 4096, 1, 0, 0));
	EXPECT_EQ(-ENOSPC, alloc(fd, 1ULL << 63, 1, 0, 0));
	/* An arena must fit into the GPU tier. */
	EXPECT_EQ(-ENOSPC, alloc(fd, 17 * 4096, 1, UGM_ALLOC_ARENA, 0));
	EXPECT_EQ(0, ut_idle(fd));
	EXPECT_EQ(0, alloc(fd, 1, 1, 0, 0));
	EXPECT_EQ(-EEXIST, alloc(fd, 1, 1, 0, 0));
	EXPECT_EQ(0, alloc(fd, 1, UINT64_MAX, 0, 0));
	/* The address space can be filled, and then says so. */
	err = alloc(fd, UGM_VIEW_SIZE - 4 * 4096, 2, 0, 0);
	EXPECT_TRUE(err == 0 || err == -ENOSPC);
	EXPECT_EQ(-ENOSPC, alloc(fd, UGM_VIEW_SIZE - 4096, 3, 0, 0));
}

TEST_F(abi_space, free)
{
	int64_t a = ut_alloc(&self->d, 1, 4 * 4096, 0);

	ASSERT_LE(0, a);
	EXPECT_EQ(-ENOENT, ut_free(&self->d, a + 4096));
	EXPECT_EQ(-ENOENT, ut_free(&self->d, a + 16 * 4096));
	EXPECT_EQ(-EINVAL, ut_free(&self->d, a + 1));
	EXPECT_EQ(-EINVAL, ut_free(&self->d, UINT64_MAX));
	EXPECT_EQ(-ENOENT, ut_free(&self->d, -4096ULL));
	EXPECT_EQ(-ENOENT, ut_free(&self->d, UGM_VIEW_HOST));
	EXPECT_EQ(0, ut_free(&self->d, a));
	EXPECT_EQ(-ENOENT, ut_free(&self->d, a));
	/* The tag is free again. */
	EXPECT_LE(0, ut_alloc(&self->d, 1, 4096, 0));
}

TEST_F(abi_space, advise)
{
	struct ut *d = &self->d;
	int64_t a = ut_alloc(d, 1, 4 * 4096, 0);

	ASSERT_LE(0, a);
	EXPECT_EQ(-EINVAL, ut_advise(d, a, 4 * 4096, 5, 0));
	EXPECT_EQ(-EINVAL, ut_advise(d, a, 4 * 4096, UINT32_MAX, 0));
	EXPECT_EQ(-EINVAL, ut_advise(d, a, 4 * 4096, UGM_ADVICE_PREFER, UGM_TIER_ID_FLASH));
	EXPECT_EQ(-EINVAL, ut_advise(d, a, 4 * 4096, UGM_ADVICE_PREFER, UINT32_MAX));
	EXPECT_EQ(-EINVAL, ut_advise(d, a, 4 * 4096, UGM_ADVICE_PIN, 1));
	EXPECT_EQ(-EINVAL, ut_advise(d, a + 1, 4096, UGM_ADVICE_PIN, 0));
	EXPECT_EQ(-EINVAL, ut_advise(d, a, 0, UGM_ADVICE_PIN, 0));
	EXPECT_EQ(-EINVAL, ut_advise(d, a, 5 * 4096, UGM_ADVICE_PIN, 0));
	EXPECT_EQ(-EINVAL, ut_advise(d, a, UINT64_MAX, UGM_ADVICE_PIN, 0));
	EXPECT_EQ(-EINVAL, ut_advise(d, a + 4096, UINT64_MAX - 4095, UGM_ADVICE_PIN, 0));
	EXPECT_EQ(-ENOENT, ut_advise(d, a + 8 * 4096, 4096, UGM_ADVICE_PIN, 0));
	/* These are kept for whole ranges. */
	EXPECT_EQ(-EINVAL, ut_advise(d, a, 4096, UGM_ADVICE_PREFER, UGM_TIER_ID_GPU));
	EXPECT_EQ(-EINVAL, ut_advise(d, a + 4096, 4096, UGM_ADVICE_ACCESSED_BY_CPU, 0));
	EXPECT_EQ(0, ut_advise(d, a, 4 * 4096, UGM_ADVICE_PREFER, UGM_TIER_ID_HOST));
	EXPECT_EQ(0, ut_advise(d, a, 4 * 4096, UGM_ADVICE_PREFER, UGM_TIER_ID_NONE));
	EXPECT_EQ(0, ut_advise(d, a, 4 * 4096, UGM_ADVICE_ACCESSED_BY_CPU, 0));
	EXPECT_EQ(0, ut_advise(d, a, 4 * 4096, UGM_ADVICE_UNSET_ACCESSED_BY_CPU, 0));
	EXPECT_EQ(0, ut_advise(d, a + 4096, 4096, UGM_ADVICE_PIN, 0));
	EXPECT_EQ(0, ut_advise(d, a + 4096, 4096, UGM_ADVICE_UNPIN, 0));
	/* More than there are frames cannot be kept, and makes no blocks. */
	a = ut_alloc(d, 2, 1ULL << 40, 0);
	ASSERT_LE(0, a);
	EXPECT_EQ(-ENOSPC, ut_advise(d, a, 1ULL << 40, UGM_ADVICE_PIN, 0));
	EXPECT_EQ(0, ut_advise(d, a, 1ULL << 40, UGM_ADVICE_UNPIN, 0));
	EXPECT_GT(10u, ut_stat(d, "space.populated.blocks"));
}

static int one_hint(int fd, struct ugm_hint_desc h)
{
	struct ugm_ioc_hint arg = { .hints = (uintptr_t)&h, .nr = 1 };
	int err = ut_ioctl(fd, UGM_IOC_HINT, &arg);

	return err ? err : arg.done != 1 ? -EPROTO : h.result;
}

TEST_F(abi_space, hint)
{
	struct ugm_hint_desc ok = {
		.tag = 1,
		.len = 4096,
		.at = 100,
		.need = UGM_HINT_NO_NEED,
		.op = UGM_HINT_PREFETCH,
		.tier = UGM_TIER_ID_GPU,
	}, h;
	struct ugm_ioc_hint arg = { .hints = (uintptr_t)&ok, .nr = 65537 };
	uint32_t op, tier;
	int fd = self->d.fd;

	ASSERT_LE(0, ut_alloc(&self->d, 1, 4 * 4096, 0));
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_HINT, &arg));
	arg.nr = UINT32_MAX;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_HINT, &arg));
	arg.nr = 1;
	arg.pad = 1;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_HINT, &arg));
	arg.pad = 0;
	arg.space = UINT64_MAX;
	EXPECT_EQ(-ENOENT, ut_ioctl(fd, UGM_IOC_HINT, &arg));

	h = ok;
	h.tag = 2;
	EXPECT_EQ(-ENOENT, one_hint(fd, h));
	h = ok;
	h.pad = 1;
	EXPECT_EQ(-EINVAL, one_hint(fd, h));
	h = ok;
	h.len = 4 * 4096 + 1;
	EXPECT_EQ(-ERANGE, one_hint(fd, h));
	h = ok;
	h.offset = 4 * 4096;
	h.len = 1;
	EXPECT_EQ(-ERANGE, one_hint(fd, h));
	h = ok;
	h.offset = UINT64_MAX;
	h.len = 2;
	EXPECT_EQ(-ERANGE, one_hint(fd, h));
	h = ok;
	h.offset = 4096;
	h.len = UINT64_MAX - 4095;
	EXPECT_EQ(-ERANGE, one_hint(fd, h));
	h = ok;
	h.op = UGM_HINT_WRITEBACK + 1;
	EXPECT_EQ(-EINVAL, one_hint(fd, h));
	h = ok;
	h.op = UINT32_MAX;
	EXPECT_EQ(-EINVAL, one_hint(fd, h));
	for (op = UGM_HINT_PREFETCH; op <= UGM_HINT_WRITEBACK; op++) {
		for (tier = 0; tier <= 4; tier++) {
			bool good;

			switch (op) {
			case UGM_HINT_PREFETCH:
				good = tier == UGM_TIER_ID_GPU || tier == UGM_TIER_ID_HOST;
				break;
			case UGM_HINT_EVICT:
			case UGM_HINT_WRITEBACK:
				good = tier == UGM_TIER_ID_HOST || tier == UGM_TIER_ID_FLASH;
				break;
			default:
				good = tier == 0;
				break;
			}
			h = ok;
			h.op = op;
			h.tier = tier;
			EXPECT_EQ(good ? 0 : -EINVAL, one_hint(fd, h))
				TH_LOG("op %u tier %u", op, tier);
		}
	}
}

static int one_operand(int fd, struct ugm_operand_desc o)
{
	struct ugm_ioc_launch arg = { .operands = (uintptr_t)&o, .nr_operands = 1 };

	return ut_ioctl(fd, UGM_IOC_LAUNCH, &arg);
}

TEST_F(abi_space, launch)
{
	struct ugm_operand_desc ok = { .len = 4096, .access = UGM_ACCESS_READ }, o;
	struct ugm_ioc_launch arg = { .operands = (uintptr_t)&ok, .nr_operands = 4097 };
	int fd = self->d.fd;

	ASSERT_EQ(0, ut_alloc(&self->d, 1, 2 * 4096, 0));
	ASSERT_EQ(2 * 4096, ut_alloc(&self->d, 2, 2 * 4096, 0));
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_LAUNCH, &arg));
	arg.nr_operands = UINT32_MAX;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_LAUNCH, &arg));
	arg.nr_operands = 1;
	arg.flags = 1;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_LAUNCH, &arg));

	o = ok;
	o.access = 0;
	EXPECT_EQ(-EINVAL, one_operand(fd, o));
	o = ok;
	o.access = 4;
	EXPECT_EQ(-EINVAL, one_operand(fd, o));
	o = ok;
	o.pad = 1;
	EXPECT_EQ(-EINVAL, one_operand(fd, o));
	o = ok;
	o.len = 0;
	EXPECT_EQ(-EINVAL, one_operand(fd, o));
	o = ok, o.len = 2 * 4096 + 1; /* into the next range */
	EXPECT_EQ(-EINVAL, one_operand(fd, o));
	o = ok;
	o.offset = 4096;
	o.len = UINT64_MAX;
	EXPECT_EQ(-EINVAL, one_operand(fd, o));
	o = ok;
	o.offset = UINT64_MAX;
	EXPECT_GT(0, one_operand(fd, o));
	o = ok;
	o.offset = 64 * 4096;
	EXPECT_GT(0, one_operand(fd, o));
	o = ok;
	o.offset = UGM_VIEW_HOST;
	EXPECT_GT(0, one_operand(fd, o));
	/* None of these counts as a launch. */
	arg.flags = 0;
	EXPECT_EQ(0, ut_ioctl(fd, UGM_IOC_LAUNCH, &arg));
	EXPECT_EQ(0u, arg.number);
}

TEST_F(abi_space, residency)
{
	uint32_t state;
	struct ugm_ioc_residency ok = { .nr = 1, .states = (uintptr_t)&state }, arg;
	int fd = self->d.fd;

	arg = ok;
	arg.pad = 1;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_RESIDENCY, &arg));
	arg = ok;
	arg.offset = 1;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_RESIDENCY, &arg));
	arg = ok;
	arg.offset = UGM_VIEW_SIZE;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_RESIDENCY, &arg));
	arg = ok;
	arg.offset = UGM_VIEW_SIZE - 4096;
	arg.nr = 2;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_RESIDENCY, &arg));
	arg = ok;
	arg.offset = -4096ULL;
	arg.nr = UINT32_MAX;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_RESIDENCY, &arg));
	arg = ok;
	arg.space = UINT64_MAX;
	EXPECT_EQ(-ENOENT, ut_ioctl(fd, UGM_IOC_RESIDENCY, &arg));
	state = ~0u;
	arg = ok;
	arg.offset = UGM_VIEW_SIZE - 4096;
	EXPECT_EQ(0, ut_ioctl(fd, UGM_IOC_RESIDENCY, &arg));
	EXPECT_EQ(0u, state);
}

TEST_HARNESS_MAIN
