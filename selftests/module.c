// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * Loading: parameters, good and bad; again and again; and what sysfs then says.
 */
#include "ugm_harness.h"

/* What is wrong, what the kernel says, and a word that must be in its one line. */
static const struct {
	const char *params;
	int err;
	const char *word;
} bad[] = {
	{ "devices=0", -EINVAL, "devices=0" },
	{ "devices=17", -EINVAL, "devices=17" },
	{ "devices=many", -EINVAL, "devices=many" },
	{ "devices=-1", -EINVAL, "devices=-1" },
	{ "block_size=0", -EINVAL, "block_size=0" },
	{ "block_size=2K", -EINVAL, "block_size=2K" },
	{ "block_size=12K", -EINVAL, "block_size=12K" },
	{ "block_size=4M", -EINVAL, "block_size=4M" },
	{ "block_size=4Kb", -EINVAL, "block_size=4Kb" },
	{ "block_size=", -EINVAL, "block_size=" },
	{ "gpu_mem=0", -EINVAL, "gpu_mem=0" },
	{ "gpu_mem=1M", -EINVAL, "gpu_mem=1M" },
	{ "gpu_mem=3M", -EINVAL, "gpu_mem=3M" },
	{ "gpu_mem=x", -EINVAL, "gpu_mem=x" },
	{ "gpu_mem=16E", -EINVAL, "gpu_mem=16E" },
	{ "gpu_mem=64P block_size=4K", -EINVAL, "gpu_mem=64P" },
	{ "gpu_mem=4G", -ENOMEM, "gpu_mem" },
	{ "host_mem=1M", -EINVAL, "host_mem=1M" },
	{ "host_mem=?", -EINVAL, "host_mem=?" },
	{ "host_mem=1T", -ENOMEM, "host_mem=1T" },
	/* These are zero, which means something else, modulo 2^64. */
	{ "host_mem=16E", -EINVAL, "host_mem=16E" },
	{ "host_mem=18446744073709551616", -EINVAL, "host_mem=18446744073709551616" },
	{ "gpu_phys=16E", -EINVAL, "gpu_phys=16E" },
	{ "gpu_phys=1", -EINVAL, "gpu_phys=1" },
	{ "gpu_phys=0x100000", -EINVAL, "gpu_phys=0x100000" },
	/* Not reserved: the first gigabyte is memory. */
	{ "gpu_phys=0x10000000 gpu_mem=2M", -EINVAL, "gpu_phys=0x10000000" },
	{ "gpu_phys=0xffffffffffe00000 gpu_mem=4M", -EINVAL, "gpu_phys=0xffffffffffe00000" },
	{ "gpu_phys=0x4000000000000000 gpu_mem=4M", -EINVAL, "gpu_phys=0x4000000000000000" },
};

TEST(bad_parameters)
{
	char line[512] = "";
	size_t i;
	int log, nr;

	/* The kernel's own lines about the module come with the first loading. */
	ASSERT_EQ(0, ut_load("gpu_mem=4M host_mem=4M"));
	ASSERT_EQ(0, ut_unload());
	log = ut_log_open();
	ASSERT_LE(0, log);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(bad[i].err, ut_load(bad[i].params)) TH_LOG("%s", bad[i].params);
		nr = ut_log_lines(log, "ugm", line, sizeof(line));
		EXPECT_EQ(1, nr) TH_LOG("%s: lines in the log", bad[i].params);
		EXPECT_NE(NULL, strstr(line, bad[i].word)) TH_LOG("%s: %s", bad[i].params, line);
		EXPECT_EQ(-ENOENT, ut_unload());
	}
	close(log);
	/* After all that it loads. */
	EXPECT_EQ(0, ut_load("gpu_mem=4M host_mem=4M"));
	EXPECT_EQ(0, ut_unload());
}

/* More than what is reserved, from where it begins. */
TEST(beyond_the_reservation)
{
	int err;

	err = ut_load("gpu_phys=$UGM_GPU_PHYS gpu_mem=1G");
	if (err == -ENXIO)
		SKIP(return, "no reserved memory in this machine");
	EXPECT_EQ(-EINVAL, err);
	/* All devices must fit. */
	EXPECT_EQ(-EINVAL, ut_load("gpu_phys=$UGM_GPU_PHYS gpu_mem=128M devices=3"));
	EXPECT_EQ(0, ut_load("gpu_phys=$UGM_GPU_PHYS gpu_mem=16M devices=2 host_mem=16M"));
	EXPECT_EQ(0, ut_unload());
}

TEST(again_and_again)
{
	struct ut d;
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, ut_load(i % 2 ? "block_size=4K gpu_mem=1M host_mem=1M" :
					     "block_size=2M gpu_mem=8M host_mem=8M"));
		if (i % 4 < 2)
			continue;
		ASSERT_EQ(0, ut_attach(UT_NAMESPACE, UT_NAMESPACE_LEN));
		ASSERT_EQ(0, ut_open(&d));
		ASSERT_EQ(0, ut_alloc_blocks(&d, 1, 3));
		ut_fill(d.gpu, 3 * d.block, i);
		ASSERT_EQ(0, ut_move(&d, UGM_HINT_EVICT, 1, 0, 1, UGM_TIER_ID_FLASH));
		EXPECT_EQ(-1, ut_compare(d.host, 3 * d.block, i));
		ASSERT_EQ(0, ut_close(&d));
	}
	EXPECT_EQ(0, ut_unload());
}

/* What only a loaded module has. */
static const char *const traces[] = {
	"/sys/module/ugm",
	"/sys/bus/platform/drivers/ugm",
	"/sys/bus/platform/devices/ugm.0",
	"/sys/bus/platform/devices/ugm.1",
	"/sys/class/misc/ugm0",
	"/sys/class/misc/ugm1",
	"/sys/kernel/debug/ugm",
	"/dev/ugm0",
	"/dev/ugm1",
};

/* Each step of loading fails in turn: it undoes those before, and no more. */
TEST(each_step_of_loading_fails)
{
	char params[128];
	int step, err;
	struct ut d;
	size_t i;

	for (step = 1;; step++) {
		snprintf(params, sizeof(params),
			 "fail_init=%d devices=2 block_size=64K gpu_mem=4M host_mem=4M", step);
		err = ut_load(params);
		if (!err)
			break;
		ASSERT_EQ(-ENOMEM, err) TH_LOG("%s", params);
		for (i = 0; i < ARRAY_SIZE(traces); i++) {
			EXPECT_NE(0, access(traces[i], F_OK)) TH_LOG("%s: %s", params, traces[i]);
		}
	}
	/* Eight steps, and three for each of two devices. */
	EXPECT_EQ(8 + 2 * 3 + 1, step);
	for (i = 0; i < ARRAY_SIZE(traces); i++) {
		EXPECT_EQ(0, access(traces[i], F_OK)) TH_LOG("%s", traces[i]);
	}
	ASSERT_EQ(0, ut_attach(UT_NAMESPACE, UT_NAMESPACE_LEN));
	ASSERT_EQ(0, ut_open(&d));
	ASSERT_EQ(0, ut_alloc_blocks(&d, 1, 3));
	ut_fill(d.gpu, 3 * d.block, 1);
	ASSERT_EQ(0, ut_move(&d, UGM_HINT_EVICT, 1, 0, 3, UGM_TIER_ID_FLASH));
	EXPECT_EQ(-1, ut_compare(d.gpu, 3 * d.block, 1));
	EXPECT_EQ(0, ut_close(&d));
	EXPECT_EQ(0, ut_unload());
}

static int64_t fact(const char *device, const char *name)
{
	char path[128], text[64] = "";
	int fd;

	snprintf(path, sizeof(path), "/sys/class/misc/%s/%s", device, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (read(fd, text, sizeof(text) - 1) <= 0)
		text[0] = 0;
	close(fd);
	return strtoll(text, NULL, 0);
}

TEST(devices_and_facts)
{
	struct ugm_ioc_info info;
	char path[32];
	int i, fd;

	ASSERT_EQ(0, ut_load("devices=3 block_size=64K gpu_mem=1M host_mem=2M"));
	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/dev/ugm%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		ASSERT_LE(0, fd);
		memset(&info, 0, sizeof(info));
		EXPECT_EQ(0, ut_ioctl(fd, UGM_IOC_INFO, &info));
		EXPECT_EQ(65536u, info.block_size);
		EXPECT_EQ(16u, info.gpu_frames);
		EXPECT_EQ(16u, info.gpu_free);
		EXPECT_EQ(32u, info.host_limit);
		EXPECT_EQ(0u, info.flags);
		EXPECT_EQ(65536, fact(path + 5, "block_size"));
		EXPECT_EQ(16, fact(path + 5, "gpu_frames"));
		EXPECT_EQ(32, fact(path + 5, "host_blocks"));
		EXPECT_EQ(0, fact(path + 5, "gpu_phys"));
		EXPECT_EQ(0, fact(path + 5, "broken"));
		close(fd);
	}
	EXPECT_NE(0, access("/dev/ugm3", F_OK));
	EXPECT_EQ(0, ut_unload());
}

TEST_HARNESS_MAIN
