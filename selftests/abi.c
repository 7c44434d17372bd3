// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * The contract of /dev/ugm0: sizes, how structures may grow, numbers that are no
 * request, and pointers that lead nowhere.
 */
#include <assert.h>
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

TEST_HARNESS_MAIN
