// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * The contract of /dev/ugm0: sizes, how structures may grow, and what every
 * ioctl says to arguments it cannot accept.
 */
#include <assert.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>

#include "ugm_harness.h"

#define SIZE(type, bytes) static_assert(sizeof(struct type) == (bytes), #type)
#define AT(type, member, bytes) \
	static_assert(offsetof(struct type, member) == (bytes), #type "." #member)

SIZE(ugm_ioc_info, 168);
AT(ugm_ioc_info, features, 0);
AT(ugm_ioc_info, flags, 8);
AT(ugm_ioc_info, block_size, 12);
AT(ugm_ioc_info, gpu_frames, 16);
AT(ugm_ioc_info, gpu_free, 24);
AT(ugm_ioc_info, host_limit, 32);
AT(ugm_ioc_info, host_used, 40);
AT(ugm_ioc_info, flash_slots, 48);
AT(ugm_ioc_info, flash_used, 56);
AT(ugm_ioc_info, gpu_phys, 64);
AT(ugm_ioc_info, space_id, 72);
AT(ugm_ioc_info, space_blocks, 80);
AT(ugm_ioc_info, metadata_bytes, 88);
AT(ugm_ioc_info, lane_pid, 96);
AT(ugm_ioc_info, version, 100);
AT(ugm_ioc_info, namespace_path, 104);

SIZE(ugm_ioc_alloc, 40);
AT(ugm_ioc_alloc, len, 0);
AT(ugm_ioc_alloc, model_len, 8);
AT(ugm_ioc_alloc, tag, 16);
AT(ugm_ioc_alloc, flags, 24);
AT(ugm_ioc_alloc, pad, 28);
AT(ugm_ioc_alloc, offset, 32);

SIZE(ugm_ioc_free, 8);
AT(ugm_ioc_free, offset, 0);

SIZE(ugm_ioc_advise, 24);
AT(ugm_ioc_advise, offset, 0);
AT(ugm_ioc_advise, len, 8);
AT(ugm_ioc_advise, advice, 16);
AT(ugm_ioc_advise, tier, 20);

SIZE(ugm_hint_desc, 64);
AT(ugm_hint_desc, tag, 0);
AT(ugm_hint_desc, offset, 8);
AT(ugm_hint_desc, len, 16);
AT(ugm_hint_desc, at, 24);
AT(ugm_hint_desc, need, 32);
AT(ugm_hint_desc, cookie, 40);
AT(ugm_hint_desc, op, 48);
AT(ugm_hint_desc, tier, 52);
AT(ugm_hint_desc, result, 56);
AT(ugm_hint_desc, pad, 60);

SIZE(ugm_ioc_hint, 32);
AT(ugm_ioc_hint, hints, 0);
AT(ugm_ioc_hint, space, 8);
AT(ugm_ioc_hint, nr, 16);
AT(ugm_ioc_hint, done, 20);
AT(ugm_ioc_hint, pad, 24);

SIZE(ugm_operand_desc, 24);
AT(ugm_operand_desc, offset, 0);
AT(ugm_operand_desc, len, 8);
AT(ugm_operand_desc, access, 16);
AT(ugm_operand_desc, pad, 20);

SIZE(ugm_ioc_launch, 72);
AT(ugm_ioc_launch, operands, 0);
AT(ugm_ioc_launch, nr_operands, 8);
AT(ugm_ioc_launch, flags, 12);
AT(ugm_ioc_launch, duration_ns, 16);
AT(ugm_ioc_launch, number, 24);
AT(ugm_ioc_launch, begin_ns, 32);
AT(ugm_ioc_launch, arrived_ns, 40);
AT(ugm_ioc_launch, end_ns, 48);
AT(ugm_ioc_launch, batches, 56);
AT(ugm_ioc_launch, fault_bytes, 64);

SIZE(ugm_ioc_wait, 16);
AT(ugm_ioc_wait, now_ns, 0);
AT(ugm_ioc_wait, flags, 8);

SIZE(ugm_ioc_residency, 104);
AT(ugm_ioc_residency, offset, 0);
AT(ugm_ioc_residency, nr, 8);
AT(ugm_ioc_residency, pad, 12);
AT(ugm_ioc_residency, states, 16);
AT(ugm_ioc_residency, digest, 24);
AT(ugm_ioc_residency, blocks, 32);
AT(ugm_ioc_residency, space, 96);

SIZE(ugm_stat_desc, 64);
AT(ugm_stat_desc, name, 0);
AT(ugm_stat_desc, value, 56);

SIZE(ugm_ioc_stats, 16);
AT(ugm_ioc_stats, stats, 0);
AT(ugm_ioc_stats, nr, 8);
AT(ugm_ioc_stats, scope, 12);

SIZE(ugm_ioc_options, 32);
AT(ugm_ioc_options, set, 0);
AT(ugm_ioc_options, victim, 4);
AT(ugm_ioc_options, clean, 8);
AT(ugm_ioc_options, dead, 12);
AT(ugm_ioc_options, promote, 16);
AT(ugm_ioc_options, prefetch_evicts, 20);
AT(ugm_ioc_options, overlap, 24);
AT(ugm_ioc_options, demand, 28);

SIZE(ugm_ioc_machine, 96);
AT(ugm_ioc_machine, set, 0);
AT(ugm_ioc_machine, clock, 4);
AT(ugm_ioc_machine, block_bytes, 8);
AT(ugm_ioc_machine, gpu_bytes, 16);
AT(ugm_ioc_machine, host_bytes, 24);
AT(ugm_ioc_machine, bandwidth, 32);
AT(ugm_ioc_machine, gpu_latency_ns, 64);
AT(ugm_ioc_machine, flash_latency_ns, 72);
AT(ugm_ioc_machine, fault_ns, 80);
AT(ugm_ioc_machine, fault_batch_bytes, 88);

SIZE(ugm_ioc_reset, 8);
AT(ugm_ioc_reset, exact, 0);
AT(ugm_ioc_reset, flags, 4);

SIZE(ugm_ioc_attach, 280);
AT(ugm_ioc_attach, path, 0);
AT(ugm_ioc_attach, offset, 256);
AT(ugm_ioc_attach, len, 264);
AT(ugm_ioc_attach, flags, 272);

SIZE(ugm_ioc_lane, 24);
AT(ugm_ioc_lane, space, 0);
AT(ugm_ioc_lane, timeout_ms, 8);
AT(ugm_ioc_lane, flags, 12);
AT(ugm_ioc_lane, window_size, 16);

SIZE(ugm_segment, 32);
AT(ugm_segment, flash_offset, 0);
AT(ugm_segment, window_offset, 8);
AT(ugm_segment, len, 16);
AT(ugm_segment, dir, 20);
AT(ugm_segment, result, 24);
AT(ugm_segment, pad, 28);

SIZE(ugm_ioc_fetch, 32);
AT(ugm_ioc_fetch, segments, 0);
AT(ugm_ioc_fetch, nr, 8);
AT(ugm_ioc_fetch, commit_nr, 12);
AT(ugm_ioc_fetch, lease, 16);
AT(ugm_ioc_fetch, timeout_ms, 24);
AT(ugm_ioc_fetch, flags, 28);

SIZE(ugm_event_desc, 32);
AT(ugm_event_desc, time_ns, 0);
AT(ugm_event_desc, type, 8);
AT(ugm_event_desc, lost, 12);
AT(ugm_event_desc, a, 16);
AT(ugm_event_desc, b, 24);

SIZE(ugm_ioc_check, 16);
AT(ugm_ioc_check, violations, 0);
AT(ugm_ioc_check, flags, 8);

SIZE(ugm_space_desc, 40);
AT(ugm_space_desc, id, 0);
AT(ugm_space_desc, blocks, 8);
AT(ugm_space_desc, launches, 16);
AT(ugm_space_desc, pid, 24);
AT(ugm_space_desc, uid, 28);
AT(ugm_space_desc, lane_pid, 32);
AT(ugm_space_desc, ranges, 36);

SIZE(ugm_ioc_spaces, 16);
AT(ugm_ioc_spaces, spaces, 0);
AT(ugm_ioc_spaces, nr, 8);
AT(ugm_ioc_spaces, pad, 12);

SIZE(ugm_range_desc, 32);
AT(ugm_range_desc, tag, 0);
AT(ugm_range_desc, offset, 8);
AT(ugm_range_desc, len, 16);
AT(ugm_range_desc, model_len, 24);

SIZE(ugm_ioc_ranges, 32);
AT(ugm_ioc_ranges, ranges, 0);
AT(ugm_ioc_ranges, space, 8);
AT(ugm_ioc_ranges, start, 16);
AT(ugm_ioc_ranges, nr, 24);
AT(ugm_ioc_ranges, pad, 28);

static_assert(UGM_IOC_INFO == _IOC(_IOC_READ | _IOC_WRITE, 'U', 0xa0, 168), "info");
static_assert(UGM_IOC_DETACH == _IOC(_IOC_NONE, 'U', 0xad, 0), "detach");
static_assert(UGM_IOC_RANGES == _IOC(_IOC_READ | _IOC_WRITE, 'U', 0xb1, 32), "ranges");
static_assert(UGM_IOC_COMMIT_AND_FETCH == _IOC(_IOC_READ | _IOC_WRITE, 'U', 0xc1, 32), "commit");

/* Everything that takes a structure on a device file. */
static const unsigned long requests[] = {
	UGM_IOC_INFO, UGM_IOC_ALLOC, UGM_IOC_FREE, UGM_IOC_ADVISE, UGM_IOC_HINT,
	UGM_IOC_LAUNCH, UGM_IOC_WAIT, UGM_IOC_RESIDENCY, UGM_IOC_STATS, UGM_IOC_OPTIONS,
	UGM_IOC_MACHINE, UGM_IOC_RESET, UGM_IOC_ATTACH, UGM_IOC_LANE, UGM_IOC_CHECK,
	UGM_IOC_SPACES, UGM_IOC_RANGES,
};

/* Pointers that are not: null page, kernel half, not canonical, last byte. */
static volatile uintptr_t bad_pointers[] = {
	0, 8, (uintptr_t)0xffff888000000000, (uintptr_t)0x8000000000000000, UINTPTR_MAX,
};

static unsigned long resized(unsigned long request, size_t size)
{
	return _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), size);
}

#define PARAMS "block_size=4K gpu_mem=64K host_mem=64K"

UT_FIXTURE(abi);
UT_VARIANT(abi, small, PARAMS);

TEST_F(abi, unknown_ioctl)
{
	char buf[64] = "";
	int nr;

	for (nr = 0; nr < 256; nr++) {
		if (nr < 0xa0 || nr > 0xb1) {
			EXPECT_EQ(-ENOTTY, ut_ioctl(self->d.fd, _IOWR('U', nr, buf), buf))
				TH_LOG("number %#x", nr);
		}
	}
	EXPECT_EQ(-ENOTTY, ut_ioctl(self->d.fd, _IOWR('V', 0xa0, struct ugm_ioc_info), buf));
	EXPECT_EQ(-ENOTTY, ut_ioctl(self->d.fd, UGM_IOC_FETCH, buf));
	EXPECT_EQ(-ENOTTY, ut_ioctl(self->d.fd, UGM_IOC_COMMIT_AND_FETCH, buf));
}

TEST_F(abi, lane_takes_lane_ioctls_only)
{
	struct ugm_ioc_lane lane = { 0 };
	char buf[512] = "";
	size_t i;
	int fd;

	fd = ut_ioctl(self->d.fd, UGM_IOC_LANE, &lane);
	ASSERT_LE(0, fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD) & FD_CLOEXEC);
	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		EXPECT_EQ(-ENOTTY, ut_ioctl(fd, requests[i], buf)) TH_LOG("request %zu", i);
	}
	close(fd);
}

TEST_F(abi, longer_structures)
{
	static char buf[16384];
	size_t i, size;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		size = _IOC_SIZE(requests[i]);
		memset(buf, 0, sizeof(buf));
		buf[size] = 1;
		EXPECT_EQ(-E2BIG, ut_ioctl(self->d.fd, resized(requests[i], size + 8), buf))
			TH_LOG("request %zu", i);
		buf[size] = 0;
		buf[16382] = 1;
		EXPECT_EQ(-E2BIG, ut_ioctl(self->d.fd, resized(requests[i], 16383), buf))
			TH_LOG("request %zu", i);
	}
	memset(buf, 0, sizeof(buf));
	EXPECT_EQ(0, ut_ioctl(self->d.fd, resized(UGM_IOC_INFO, 16383), buf));
	EXPECT_EQ(4096u, ((struct ugm_ioc_info *)buf)->block_size);
	memset(buf, 0, sizeof(buf));
	EXPECT_EQ(0, ut_ioctl(self->d.fd, resized(UGM_IOC_CHECK, 32), buf));
	EXPECT_EQ(0, ut_ioctl(self->d.fd, resized(UGM_IOC_WAIT, 64), buf));
}

TEST_F(abi, shorter_structures)
{
	struct ugm_ioc_info info;
	struct {
		uint64_t len;
	} alloc = { 4096 };

	memset(&info, 0xa5, sizeof(info));
	EXPECT_EQ(0, ut_ioctl(self->d.fd, resized(UGM_IOC_INFO, 16), &info));
	EXPECT_EQ(4096u, info.block_size);
	EXPECT_NE(0, info.features & UGM_FEATURE_LAUNCH);
	/* Not a byte more than there was room for. */
	EXPECT_EQ(0xa5a5a5a5a5a5a5a5ULL, info.gpu_frames);
	EXPECT_EQ(0xa5a5a5a5a5a5a5a5ULL, info.gpu_free);
	/* Tag 0, no flags. */
	EXPECT_EQ(0, ut_ioctl(self->d.fd, resized(UGM_IOC_ALLOC, 8), &alloc));
	EXPECT_EQ(-EEXIST, ut_ioctl(self->d.fd, resized(UGM_IOC_ALLOC, 8), &alloc));
}

TEST_F(abi, bad_pointers)
{
	size_t i, j;
	void *ro;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		for (j = 0; j < ARRAY_SIZE(bad_pointers); j++) {
			EXPECT_EQ(-EFAULT, ut_ioctl(self->d.fd, requests[i],
						    (void *)bad_pointers[j]))
				TH_LOG("request %zu pointer %zu", i, j);
		}
	}
	ro = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, ro);
	EXPECT_EQ(-EFAULT, ut_ioctl(self->d.fd, UGM_IOC_INFO, ro));
	EXPECT_EQ(-EFAULT, ut_ioctl(self->d.fd, UGM_IOC_CHECK, ro));
	munmap(ro, 4096);
}

TEST_F(abi, bad_inner_pointers)
{
	struct ugm_ioc_hint hint = { .nr = 1 };
	struct ugm_ioc_launch launch = { .nr_operands = 1 };
	struct ugm_ioc_residency res = { .nr = 1 };
	struct ugm_ioc_stats stats = { .nr = 1 };
	struct ugm_ioc_spaces spaces = { .nr = 1 };
	struct ugm_ioc_ranges ranges = { .nr = 1 };
	size_t j;

	ASSERT_EQ(0, ut_alloc(&self->d, 1, 4096, 0));
	for (j = 0; j < ARRAY_SIZE(bad_pointers); j++) {
		hint.hints = launch.operands = res.states = bad_pointers[j];
		stats.stats = spaces.spaces = ranges.ranges = bad_pointers[j];
		hint.nr = launch.nr_operands = res.nr = stats.nr = spaces.nr = ranges.nr = 1;
		EXPECT_EQ(-EFAULT, ut_ioctl(self->d.fd, UGM_IOC_HINT, &hint));
		EXPECT_EQ(-EFAULT, ut_ioctl(self->d.fd, UGM_IOC_LAUNCH, &launch));
		EXPECT_EQ(-EFAULT, ut_ioctl(self->d.fd, UGM_IOC_RESIDENCY, &res));
		EXPECT_EQ(-EFAULT, ut_ioctl(self->d.fd, UGM_IOC_STATS, &stats));
		EXPECT_EQ(-EFAULT, ut_ioctl(self->d.fd, UGM_IOC_SPACES, &spaces));
		EXPECT_EQ(-EFAULT, ut_ioctl(self->d.fd, UGM_IOC_RANGES, &ranges));
	}
}

static int alloc(int fd, uint64_t len, uint64_t tag, uint32_t flags, uint32_t pad)
{
	struct ugm_ioc_alloc arg = { .len = len, .tag = tag, .flags = flags, .pad = pad };

	return ut_ioctl(fd, UGM_IOC_ALLOC, &arg);
}

TEST_F(abi, alloc)
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

TEST_F(abi, free)
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

TEST_F(abi, advise)
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
}

static int one_hint(int fd, struct ugm_hint_desc h)
{
	struct ugm_ioc_hint arg = { .hints = (uintptr_t)&h, .nr = 1 };
	int err = ut_ioctl(fd, UGM_IOC_HINT, &arg);

	return err ? err : arg.done != 1 ? -EPROTO : h.result;
}

TEST_F(abi, hint)
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

	h = ok, h.tag = 2;
	EXPECT_EQ(-ENOENT, one_hint(fd, h));
	h = ok, h.pad = 1;
	EXPECT_EQ(-EINVAL, one_hint(fd, h));
	h = ok, h.len = 4 * 4096 + 1;
	EXPECT_EQ(-ERANGE, one_hint(fd, h));
	h = ok, h.offset = 4 * 4096, h.len = 1;
	EXPECT_EQ(-ERANGE, one_hint(fd, h));
	h = ok, h.offset = UINT64_MAX, h.len = 2;
	EXPECT_EQ(-ERANGE, one_hint(fd, h));
	h = ok, h.offset = 4096, h.len = UINT64_MAX - 4095;
	EXPECT_EQ(-ERANGE, one_hint(fd, h));
	h = ok, h.op = UGM_HINT_WRITEBACK + 1;
	EXPECT_EQ(-EINVAL, one_hint(fd, h));
	h = ok, h.op = UINT32_MAX;
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
			h = ok, h.op = op, h.tier = tier;
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

TEST_F(abi, launch)
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

	o = ok, o.access = 0;
	EXPECT_EQ(-EINVAL, one_operand(fd, o));
	o = ok, o.access = 4;
	EXPECT_EQ(-EINVAL, one_operand(fd, o));
	o = ok, o.pad = 1;
	EXPECT_EQ(-EINVAL, one_operand(fd, o));
	o = ok, o.len = 0;
	EXPECT_EQ(-EINVAL, one_operand(fd, o));
	o = ok, o.len = 2 * 4096 + 1; /* into the next range */
	EXPECT_EQ(-EINVAL, one_operand(fd, o));
	o = ok, o.offset = 4096, o.len = UINT64_MAX;
	EXPECT_EQ(-EINVAL, one_operand(fd, o));
	o = ok, o.offset = UINT64_MAX;
	EXPECT_GT(0, one_operand(fd, o));
	o = ok, o.offset = 64 * 4096;
	EXPECT_GT(0, one_operand(fd, o));
	o = ok, o.offset = UGM_VIEW_HOST;
	EXPECT_GT(0, one_operand(fd, o));
	/* None of these counts as a launch. */
	arg.flags = 0;
	EXPECT_EQ(0, ut_ioctl(fd, UGM_IOC_LAUNCH, &arg));
	EXPECT_EQ(0u, arg.number);
}

TEST_F(abi, residency)
{
	uint32_t state;
	struct ugm_ioc_residency ok = { .nr = 1, .states = (uintptr_t)&state }, arg;
	int fd = self->d.fd;

	arg = ok, arg.pad = 1;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_RESIDENCY, &arg));
	arg = ok, arg.offset = 1;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_RESIDENCY, &arg));
	arg = ok, arg.offset = UGM_VIEW_SIZE;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_RESIDENCY, &arg));
	arg = ok, arg.offset = UGM_VIEW_SIZE - 4096, arg.nr = 2;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_RESIDENCY, &arg));
	arg = ok, arg.offset = -4096ULL, arg.nr = UINT32_MAX;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_RESIDENCY, &arg));
	arg = ok, arg.space = UINT64_MAX;
	EXPECT_EQ(-ENOENT, ut_ioctl(fd, UGM_IOC_RESIDENCY, &arg));
	state = ~0u;
	arg = ok, arg.offset = UGM_VIEW_SIZE - 4096;
	EXPECT_EQ(0, ut_ioctl(fd, UGM_IOC_RESIDENCY, &arg));
	EXPECT_EQ(0u, state);
}

TEST_F(abi, stats)
{
	struct ugm_ioc_stats arg = { .scope = 2 };
	struct ugm_stat_desc *s;
	uint32_t nr, i, j;
	int fd = self->d.fd;

	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_STATS, &arg));
	arg.scope = UGM_STATS_DEVICE;
	ASSERT_EQ(0, ut_ioctl(fd, UGM_IOC_STATS, &arg));
	nr = arg.nr;
	ASSERT_LT(10u, nr);
	s = calloc(nr + 1, sizeof(*s));
	ASSERT_NE(NULL, s);
	arg.stats = (uintptr_t)s;
	arg.nr = nr - 1;
	ASSERT_EQ(0, ut_ioctl(fd, UGM_IOC_STATS, &arg));
	EXPECT_EQ(nr, arg.nr);
	EXPECT_EQ(0, s[nr - 1].name[0]);
	arg.nr = nr + 1;
	ASSERT_EQ(0, ut_ioctl(fd, UGM_IOC_STATS, &arg));
	EXPECT_EQ(nr, arg.nr);
	for (i = 0; i < nr; i++) {
		/* Terminated, not empty, in no other line, with a unit. */
		ASSERT_GT(sizeof(s[i].name), strnlen(s[i].name, sizeof(s[i].name)));
		EXPECT_NE(NULL, strchr(s[i].name, '.'));
		for (j = 0; j < i; j++) {
			EXPECT_STRNE(s[j].name, s[i].name);
		}
	}
	free(s);
}

TEST_F(abi, options)
{
	struct ugm_ioc_options get = { 0 }, arg;
	static const uint32_t max[] = { 1, 2, 1, 2, 1, 2, 1, 1 };
	uint32_t *word = (uint32_t *)&arg;
	int fd = self->d.fd;
	size_t i;

	ASSERT_EQ(0, ut_ioctl(fd, UGM_IOC_OPTIONS, &get));
	EXPECT_EQ(0u, get.victim);
	EXPECT_EQ(0u, get.clean);
	EXPECT_EQ(0u, get.dead);
	EXPECT_EQ(1u, get.promote);
	EXPECT_EQ(1u, get.prefetch_evicts);
	EXPECT_EQ(0u, get.overlap);
	EXPECT_EQ(1u, get.demand);
	for (i = 0; i < ARRAY_SIZE(max); i++) {
		arg = get;
		arg.set = 1;
		word[i] = max[i] + 1;
		EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_OPTIONS, &arg)) TH_LOG("word %zu", i);
		arg = get;
		arg.set = 1;
		word[i] = UINT32_MAX;
		EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_OPTIONS, &arg)) TH_LOG("word %zu", i);
	}
	for (i = 1; i < ARRAY_SIZE(max); i++) {
		arg = get;
		arg.set = 1;
		word[i] = max[i];
		EXPECT_EQ(0, ut_ioctl(fd, UGM_IOC_OPTIONS, &arg));
		memset(&arg, 0, sizeof(arg));
		EXPECT_EQ(0, ut_ioctl(fd, UGM_IOC_OPTIONS, &arg));
		EXPECT_EQ(max[i], word[i]) TH_LOG("word %zu", i);
	}
}

TEST_F(abi, machine)
{
	struct ugm_ioc_machine ok = {
		.set = 1,
		.bandwidth = { UT_NSEC, UT_NSEC, UT_NSEC, UT_NSEC },
		.host_bytes = 16 * 4096,
		.fault_batch_bytes = 1 << 20,
	}, get = { 0 }, arg;
	int fd = self->d.fd, i;

	ASSERT_EQ(0, ut_ioctl(fd, UGM_IOC_MACHINE, &get));
	EXPECT_EQ(1u, get.clock);
	EXPECT_EQ(4096u, get.block_bytes);
	EXPECT_EQ(16 * 4096u, get.gpu_bytes);
	EXPECT_EQ(16 * 4096u, get.host_bytes);

	arg = ok, arg.set = 2;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));
	arg = ok, arg.clock = 3;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));
	arg = ok, arg.block_bytes = (1ULL << 32) + 1;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));
	arg = ok, arg.fault_batch_bytes = 0;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));
	for (i = 0; i < 4; i++) {
		arg = ok, arg.bandwidth[i] = 0;
		EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));
	}
	arg = ok, arg.gpu_bytes = 17 * 4096;
	EXPECT_EQ(-ENOSPC, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));
	arg = ok, arg.gpu_bytes = 4095;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));
	arg = ok, arg.host_bytes = UINT64_MAX;
	EXPECT_EQ(-ENOSPC, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));

	/* Nothing of that was kept. */
	arg = get;
	memset(&get, 0, sizeof(get));
	EXPECT_EQ(0, ut_ioctl(fd, UGM_IOC_MACHINE, &get));
	EXPECT_EQ(0, memcmp(&arg, &get, sizeof(get)));

	arg = ok;
	EXPECT_EQ(0, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));
	memset(&get, 0, sizeof(get));
	EXPECT_EQ(0, ut_ioctl(fd, UGM_IOC_MACHINE, &get));
	EXPECT_EQ(0u, get.clock);
	EXPECT_EQ(4096u, get.block_bytes);
	EXPECT_EQ(16 * 4096u, get.gpu_bytes);

	ASSERT_EQ(0, ut_alloc(&self->d, 1, 4096, 0));
	EXPECT_EQ(0, ut_touch(self->d.gpu, true));
	arg = ok;
	EXPECT_EQ(-EBUSY, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));
	ASSERT_EQ(0, ut_free(&self->d, 0));
	arg = ok;
	EXPECT_EQ(0, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));
}

TEST_F(abi, wait_check_reset_flags)
{
	struct ugm_ioc_wait wait = { .flags = 1 };
	struct ugm_ioc_check check = { .flags = 1 };
	struct ugm_ioc_reset reset = { .flags = 2 };
	int fd = self->d.fd;

	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_WAIT, &wait));
	wait.flags = 1ULL << 63;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_WAIT, &wait));
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_CHECK, &check));
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_RESET, &reset));
	reset.flags = 1;
	EXPECT_EQ(0, ut_ioctl(fd, UGM_IOC_RESET, &reset));
	reset.flags = 0;
	EXPECT_EQ(0, ut_ioctl(fd, UGM_IOC_RESET, &reset));
	/* A held hint speaks of launch numbers. */
	ASSERT_EQ(0, ut_alloc(&self->d, 1, 4096, 0));
	ASSERT_EQ(0, ut_hint(&self->d, UGM_HINT_PIN, 1, 0, 0, 0, 5, UGM_HINT_NO_NEED));
	EXPECT_EQ(-EBUSY, ut_ioctl(fd, UGM_IOC_RESET, &reset));
}

TEST_F(abi, spaces_and_ranges)
{
	struct ugm_space_desc spaces[4] = { 0 };
	struct ugm_range_desc ranges[4] = { 0 };
	struct ugm_ioc_spaces s = { .pad = 1 };
	struct ugm_ioc_ranges r = { .pad = 1 };
	int fd = self->d.fd;

	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_SPACES, &s));
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_RANGES, &r));
	s.pad = 0;
	ASSERT_EQ(0, ut_ioctl(fd, UGM_IOC_SPACES, &s));
	EXPECT_EQ(1u, s.nr);
	ASSERT_EQ(0, ut_alloc(&self->d, 7, 4097, 0));
	ASSERT_EQ(8192, ut_alloc(&self->d, 9, 10, 0));
	s = (struct ugm_ioc_spaces){ .spaces = (uintptr_t)spaces, .nr = 4 };
	ASSERT_EQ(0, ut_ioctl(fd, UGM_IOC_SPACES, &s));
	EXPECT_EQ(1u, s.nr);
	EXPECT_EQ(self->d.id, spaces[0].id);
	EXPECT_EQ((uint32_t)getpid(), spaces[0].pid);
	EXPECT_EQ(0u, spaces[0].uid);
	EXPECT_EQ(2u, spaces[0].ranges);
	EXPECT_EQ(0u, spaces[1].id);
	r = (struct ugm_ioc_ranges){ .ranges = (uintptr_t)ranges, .nr = 4 };
	ASSERT_EQ(0, ut_ioctl(fd, UGM_IOC_RANGES, &r));
	ASSERT_EQ(2u, r.nr);
	EXPECT_EQ(7u, ranges[0].tag);
	EXPECT_EQ(0u, ranges[0].offset);
	EXPECT_EQ(4097u, ranges[0].len);
	EXPECT_EQ(9u, ranges[1].tag);
	EXPECT_EQ(8192u, ranges[1].offset);
	r = (struct ugm_ioc_ranges){ .ranges = (uintptr_t)ranges, .nr = 4, .start = 8192 };
	ASSERT_EQ(0, ut_ioctl(fd, UGM_IOC_RANGES, &r));
	ASSERT_EQ(1u, r.nr);
	EXPECT_EQ(9u, ranges[0].tag);
	r = (struct ugm_ioc_ranges){ .ranges = (uintptr_t)ranges, .nr = 4, .start = UINT64_MAX };
	ASSERT_EQ(0, ut_ioctl(fd, UGM_IOC_RANGES, &r));
	EXPECT_EQ(0u, r.nr);
	r = (struct ugm_ioc_ranges){ .ranges = (uintptr_t)ranges, .nr = 4, .space = 999 };
	EXPECT_EQ(-ENOENT, ut_ioctl(fd, UGM_IOC_RANGES, &r));
}

static int attach(int fd, const char *path, uint64_t offset, uint64_t len, uint64_t flags)
{
	struct ugm_ioc_attach arg = { .offset = offset, .len = len, .flags = flags };

	snprintf(arg.path, sizeof(arg.path), "%s", path);
	return ut_ioctl(fd, UGM_IOC_ATTACH, &arg);
}

TEST_F(abi, attach)
{
	struct ugm_ioc_attach arg = { 0 };
	int fd = self->d.fd;

	EXPECT_EQ(-EEXIST, attach(fd, UT_NAMESPACE, 0, 0, 0));
	/* In use: no. */
	ASSERT_EQ(0, ut_alloc(&self->d, 1, 4096, 0));
	ASSERT_EQ(0, ut_touch(self->d.gpu, true));
	ASSERT_EQ(0, ut_move(&self->d, UGM_HINT_EVICT, 1, 0, 1, UGM_TIER_ID_FLASH));
	ASSERT_EQ(UGM_TIER_ID_FLASH, ut_tier(&self->d, 0));
	EXPECT_EQ(-EBUSY, ut_ioctl(fd, UGM_IOC_DETACH, NULL));
	ASSERT_EQ(0, ut_free(&self->d, 0));
	EXPECT_EQ(0, ut_ioctl(fd, UGM_IOC_DETACH, NULL));
	EXPECT_GT(0, ut_ioctl(fd, UGM_IOC_DETACH, NULL));

	EXPECT_EQ(-EINVAL, attach(fd, UT_NAMESPACE, 0, 0, 1));
	EXPECT_EQ(-EINVAL, attach(fd, UT_NAMESPACE, 1, 0, 0));
	EXPECT_EQ(-EINVAL, attach(fd, UT_NAMESPACE, 512, 0, 0));
	EXPECT_EQ(-EINVAL, attach(fd, UT_NAMESPACE, 0, 4095, 0));
	EXPECT_EQ(-EINVAL, attach(fd, UT_NAMESPACE, 0, -4096ULL, 0));
	EXPECT_EQ(-EINVAL, attach(fd, UT_NAMESPACE, -4096ULL, 8192, 0));
	EXPECT_EQ(-EINVAL, attach(fd, UT_NAMESPACE, 1ULL << 60, 0, 0));
	EXPECT_EQ(-ENOENT, attach(fd, "/dev/there-is-no-such", 0, 0, 0));
	EXPECT_EQ(-ENOTBLK, attach(fd, "/dev/null", 0, 0, 0));
	EXPECT_GT(0, attach(fd, "", 0, 0, 0));
	memset(arg.path, 'x', sizeof(arg.path));
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_ATTACH, &arg));
	EXPECT_EQ(0, attach(fd, UT_NAMESPACE, 4096, 8 * 4096, 0));
}

TEST_F(abi, attach_claims)
{
	int fd;

	fd = open(UT_NAMESPACE, O_RDWR | O_EXCL | O_CLOEXEC);
	EXPECT_EQ(-1, fd);
	EXPECT_EQ(EBUSY, errno);
	ASSERT_EQ(0, ut_ioctl(self->d.fd, UGM_IOC_DETACH, NULL));
	fd = open(UT_NAMESPACE, O_RDWR | O_EXCL | O_CLOEXEC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EBUSY, attach(self->d.fd, UT_NAMESPACE, 0, 0, 0));
	close(fd);
	EXPECT_EQ(0, attach(self->d.fd, UT_NAMESPACE, 0, 0, 0));
}

TEST_F(abi, lane)
{
	struct ugm_ioc_lane arg = { .flags = 1 };
	struct ugm_ioc_info info = { 0 };
	int lane;

	EXPECT_EQ(-EINVAL, ut_ioctl(self->d.fd, UGM_IOC_LANE, &arg));
	arg = (struct ugm_ioc_lane){ .space = 999 };
	EXPECT_EQ(-ENOENT, ut_ioctl(self->d.fd, UGM_IOC_LANE, &arg));
	arg = (struct ugm_ioc_lane){ 0 };
	lane = ut_ioctl(self->d.fd, UGM_IOC_LANE, &arg);
	ASSERT_LE(0, lane);
	EXPECT_LT(0u, arg.window_size);
	ASSERT_EQ(0, ut_ioctl(self->d.fd, UGM_IOC_INFO, &info));
	EXPECT_EQ((uint32_t)getpid(), info.lane_pid);
	arg = (struct ugm_ioc_lane){ 0 };
	EXPECT_EQ(-EBUSY, ut_ioctl(self->d.fd, UGM_IOC_LANE, &arg));
	close(lane);
	memset(&info, 0, sizeof(info));
	ASSERT_EQ(0, ut_ioctl(self->d.fd, UGM_IOC_INFO, &info));
	EXPECT_EQ(0u, info.lane_pid);
}

TEST_F(abi, events)
{
	struct ugm_event_desc ev[2];
	struct pollfd p = { .fd = self->d.fd, .events = POLLIN };
	int fd = self->d.fd;

	ASSERT_EQ(0, fcntl(fd, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(-1, read(fd, ev, sizeof(ev)));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(0, poll(&p, 1, 0));
	/* A hint that cannot be followed makes one. */
	ASSERT_EQ(0, ut_alloc(&self->d, 1, 4096, 0));
	ASSERT_EQ(0, ut_hint_now(&self->d, UGM_HINT_EVICT, 1, 0, 1, UGM_TIER_ID_HOST));
	EXPECT_EQ(1, poll(&p, 1, 1000));
	EXPECT_EQ(-1, read(fd, ev, sizeof(ev[0]) - 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_LE((ssize_t)sizeof(ev[0]), read(fd, ev, sizeof(ev)));
	EXPECT_EQ((uint32_t)UGM_EVENT_HINT_REFUSED, ev[0].type);
	ASSERT_EQ(0, ut_hint_now(&self->d, UGM_HINT_EVICT, 1, 0, 1, UGM_TIER_ID_HOST));
	EXPECT_EQ(-1, read(fd, (void *)bad_pointers[1], sizeof(ev)));
	EXPECT_EQ(EFAULT, errno);
}

/* As nobody, with a file that was opened for us. */
static int unprivileged(int fd)
{
	struct ugm_ioc_machine machine = { 0 };
	struct ugm_ioc_lane lane = { 0 };
	struct ugm_ioc_info info = { 0 };

	if (setgid(65534) || setuid(65534))
		return 1;
	if (attach(fd, UT_NAMESPACE, 0, 0, 0) != -EPERM)
		return 2;
	if (ut_ioctl(fd, UGM_IOC_DETACH, NULL) != -EPERM)
		return 3;
	if (ut_ioctl(fd, UGM_IOC_LANE, &lane) != -EPERM)
		return 4;
	if (ut_ioctl(fd, UGM_IOC_MACHINE, &machine))
		return 5;
	machine.set = 1;
	if (ut_ioctl(fd, UGM_IOC_MACHINE, &machine) != -EPERM)
		return 6;
	if (ut_ioctl(fd, UGM_IOC_INFO, &info))
		return 7;
	/* The node is root's and its group's. */
	if (open(UT_DEVICE, O_RDWR | O_CLOEXEC) >= 0 || errno != EACCES)
		return 8;
	return 0;
}

TEST_F(abi, permissions)
{
	int status = 0;
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(unprivileged(self->d.fd));
	ASSERT_EQ(0, ut_reap(pid, 10000, &status));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST_HARNESS_MAIN
