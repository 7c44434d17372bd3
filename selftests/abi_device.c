// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * What the requests about a device say to arguments they cannot accept, and to
 * those who may not ask: statistics, options, machine, lists, flash, lane.
 */
#include "ugm_harness.h"

UT_FIXTURE(abi_device);
UT_VARIANT(abi_device, small, "block_size=4K gpu_mem=64K host_mem=64K");

TEST_F(abi_device, stats)
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

TEST_F(abi_device, options)
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

TEST_F(abi_device, machine)
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

	arg = ok;
	arg.set = 2;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));
	arg = ok;
	arg.clock = 3;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));
	arg = ok;
	arg.block_bytes = (1ULL << 32) + 1;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));
	arg = ok;
	arg.fault_batch_bytes = 0;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));
	for (i = 0; i < 4; i++) {
		arg = ok;
		arg.bandwidth[i] = 0;
		EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));
	}
	arg = ok;
	arg.gpu_bytes = 17 * 4096;
	EXPECT_EQ(-ENOSPC, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));
	arg = ok;
	arg.gpu_bytes = 4095;
	EXPECT_EQ(-EINVAL, ut_ioctl(fd, UGM_IOC_MACHINE, &arg));
	arg = ok;
	arg.host_bytes = UINT64_MAX;
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

TEST_F(abi_device, wait_check_reset_flags)
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
	ASSERT_EQ(0, ut_alloc(&self->d, 1, 4096, 0));
	ASSERT_EQ(0, ut_hint(&self->d, UGM_HINT_PIN, 1, 0, 0, 0, 5, UGM_HINT_NO_NEED));
	EXPECT_EQ(0, ut_ioctl(fd, UGM_IOC_RESET, &reset));
	EXPECT_EQ(1, ut_stat(&self->d, "space.pending_hints.count"));
}

TEST_F(abi_device, spaces_and_ranges)
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

TEST_F(abi_device, attach)
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

TEST_F(abi_device, attach_claims)
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

TEST_F(abi_device, lane)
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

TEST_F(abi_device, permissions)
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
