// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * The flash tier by the kernel lane: data, slots, wear, discard, errors.
 */
#include <linux/fs.h>
#include <sys/stat.h>

#include "namespace.h"
#include "ugm_harness.h"

#define TAG 7

UT_FIXTURE(flash);
UT_VARIANT(flash, small, "block_size=4096 gpu_mem=4M host_mem=4M");
UT_VARIANT(flash, huge, "block_size=2097152 gpu_mem=64M host_mem=32M");

static char *at(struct ut *d, char *view, int64_t base, uint64_t i)
{
	return view + base + i * d->block;
}

static void fill_blocks(struct ut *d, int64_t base, uint64_t nr, uint64_t seed)
{
	for (uint64_t i = 0; i < nr; i++)
		ut_fill(at(d, d->gpu, base, i), d->block, seed + i);
}

/* How many of these blocks are not as they should be. */
static int wrong_blocks(struct ut *d, char *view, int64_t base, uint64_t nr, uint64_t seed)
{
	int wrong = 0;

	for (uint64_t i = 0; i < nr; i++)
		wrong += ut_compare(at(d, view, base, i), d->block, seed + i) >= 0;
	return wrong;
}

static int blocks_in(struct ut *d, int64_t base, uint64_t nr, int tier)
{
	int n = 0;

	for (uint64_t i = 0; i < nr; i++)
		n += ut_tier(d, base + i * d->block) == tier;
	return n;
}

/* The next event that does not tell what became of a hint. */
static int next_event(struct ut *d, struct ugm_event_desc *ev)
{
	do {
		if (read(d->fd, ev, sizeof(*ev)) != sizeof(*ev))
			return -1;
	} while (ev->type == UGM_EVENT_HINT_DONE || ev->type == UGM_EVENT_HINT_REFUSED);
	return (int)ev->type;
}

/* Fill two blocks and evict them, which must be done, not refused. */
static void evict_two(struct __test_metadata *_metadata, struct ut *d, int64_t base, uint64_t seed)
{
	fill_blocks(d, base, 2, seed);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, TAG, 0, 2, UGM_TIER_ID_FLASH));
	ASSERT_EQ(2, blocks_in(d, base, 2, UGM_TIER_ID_FLASH));
}

TEST_F(flash, gpu_to_flash_and_back)
{
	struct ut *d = &self->d;
	int64_t base = ut_alloc_blocks(d, TAG, 8);

	ASSERT_LE(0, base);
	fill_blocks(d, base, 8, 1);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, TAG, 0, 8, UGM_TIER_ID_FLASH));
	EXPECT_EQ(8, blocks_in(d, base, 8, UGM_TIER_ID_FLASH));
	EXPECT_EQ(8, ut_stat(d, "slot.used.count"));
	EXPECT_EQ(8, ut_stat(d, "slot.writes.count"));
	EXPECT_EQ(1, ut_stat(d, "slot.most_writes.count"));
	EXPECT_EQ(8, ut_stat(d, "transfer.gpu.flash.kernel.planned.blocks"));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_PREFETCH, TAG, 0, 8, UGM_TIER_ID_GPU));
	EXPECT_EQ(8, blocks_in(d, base, 8, UGM_TIER_ID_GPU));
	EXPECT_EQ(8, ut_stat(d, "transfer.flash.gpu.kernel.planned.blocks"));
	EXPECT_EQ(0, wrong_blocks(d, d->gpu, base, 8, 1));
}

TEST_F(flash, faults_from_both_views)
{
	struct ut *d = &self->d;
	int64_t base = ut_alloc_blocks(d, TAG, 8);

	ASSERT_LE(0, base);
	fill_blocks(d, base, 8, 2);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, TAG, 0, 8, UGM_TIER_ID_FLASH));
	EXPECT_EQ(0, wrong_blocks(d, d->gpu, base, 4, 2));
	EXPECT_EQ(0, wrong_blocks(d, d->host, base + 4 * d->block, 4, 6));
	EXPECT_EQ(4, blocks_in(d, base, 8, UGM_TIER_ID_GPU));
	EXPECT_EQ(4, blocks_in(d, base, 8, UGM_TIER_ID_HOST));
}

TEST_F(flash, host_to_flash_and_back)
{
	struct ut *d = &self->d;
	int64_t base = ut_alloc_blocks(d, TAG, 4);

	ASSERT_LE(0, base);
	for (int i = 0; i < 4; i++)
		ut_fill(at(d, d->host, base, i), d->block, 10 + i);
	ASSERT_EQ(4, blocks_in(d, base, 4, UGM_TIER_ID_HOST));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, TAG, 0, 4, UGM_TIER_ID_FLASH));
	ASSERT_EQ(4, blocks_in(d, base, 4, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_PREFETCH, TAG, 0, 4, UGM_TIER_ID_HOST));
	EXPECT_EQ(4, blocks_in(d, base, 4, UGM_TIER_ID_HOST));
	EXPECT_EQ(0, wrong_blocks(d, d->host, base, 4, 10));
}

TEST_F(flash, contiguous_evictions_take_contiguous_slots)
{
	struct ut *d = &self->d;
	int64_t base = ut_alloc_blocks(d, TAG, 8);
	char *raw;
	int fd;

	ASSERT_LE(0, base);
	fill_blocks(d, base, 8, 3);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, TAG, 0, 8, UGM_TIER_ID_FLASH));
	/* A fresh namespace is filled from its start. */
	fd = open(UT_NAMESPACE, O_RDONLY | O_DIRECT | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, posix_memalign((void **)&raw, 4096, d->block));
	for (int i = 0; i < 8; i++) {
		ASSERT_EQ(d->block, pread(fd, raw, d->block, (off_t)i * d->block));
		EXPECT_EQ(-1, ut_compare(raw, d->block, 3 + i));
	}
	free(raw);
	close(fd);
}

TEST_F(flash, device_agrees_on_what_was_written)
{
	struct ut *d = &self->d;
	struct ugm_wear before, after;
	int64_t base = ut_alloc_blocks(d, TAG, 16);
	uint64_t bytes = 0, units;

	ASSERT_LE(0, base);
	if (ugm_namespace_wear(UT_NAMESPACE, &before))
		SKIP(return, "the namespace has no SMART log");
	/* The log counts in coarse units: one more or less is as good as equal. */
	while (bytes < 20 * UGM_DATA_UNIT_BYTES) {
		fill_blocks(d, base, 16, bytes);
		ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, TAG, 0, 16, UGM_TIER_ID_FLASH));
		bytes += 16ULL * d->block;
	}
	ASSERT_EQ(0, ugm_namespace_wear(UT_NAMESPACE, &after));
	EXPECT_EQ(bytes / d->block, ut_stat(d, "slot.writes.count"));
	units = after.written_units - before.written_units;
	EXPECT_LE(units * UGM_DATA_UNIT_BYTES, bytes + bytes / 100 + UGM_DATA_UNIT_BYTES);
	EXPECT_GE(units * UGM_DATA_UNIT_BYTES, bytes - bytes / 100 - UGM_DATA_UNIT_BYTES);
}

TEST_F(flash, freed_slots_are_discarded)
{
	struct ut *d = &self->d;
	int64_t base = ut_alloc_blocks(d, TAG, 8);
	uint64_t until = ut_now() + ut_limit(10000);
	char path[] = "/sys/block/nvme0n1/queue/discard_max_bytes", text[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	ASSERT_LE(0, base);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || !atoll(text))
		SKIP(return, "the namespace cannot discard");
	close(fd);
	fill_blocks(d, base, 8, 4);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, TAG, 0, 8, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, ut_free(d, base));
	EXPECT_EQ(0, ut_stat(d, "slot.used.count"));
	while (ut_stat(d, "slot.discarded.count") < 8 && ut_now() < until)
		ut_sleep_ms(20);
	EXPECT_EQ(8, ut_stat(d, "slot.discarded.count"));
}

TEST_F(flash, full_namespace_harms_nobody)
{
	struct ut *d = &self->d;
	int64_t base = ut_alloc_blocks(d, TAG, 8);

	ASSERT_LE(0, base);
	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_DETACH, NULL));
	ASSERT_EQ(0, ut_attach(UT_NAMESPACE, 4ULL * d->block));
	for (int round = 0; round < 20; round++) {
		fill_blocks(d, base, 8, round);
		ut_move(d, UGM_HINT_EVICT, TAG, 0, 8, UGM_TIER_ID_FLASH);
		EXPECT_EQ(4, blocks_in(d, base, 8, UGM_TIER_ID_FLASH));
		EXPECT_EQ(4, ut_stat(d, "slot.used.count"));
		ASSERT_EQ(0, wrong_blocks(d, d->gpu, base, 8, round));
	}
}

TEST_F(flash, read_error_poisons_one_block)
{
	struct ut *d = &self->d;
	struct ugm_event_desc ev = { 0 };
	int64_t base = ut_alloc_blocks(d, TAG, 4);

	ASSERT_LE(0, base);
	fill_blocks(d, base, 4, 5);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, TAG, 0, 4, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, ut_inject("read-error 1"));
	EXPECT_EQ(SIGBUS, ut_touch(at(d, d->gpu, base, 1), false));
	EXPECT_EQ(SIGBUS, ut_touch(at(d, d->host, base, 1), false));
	EXPECT_TRUE(ut_state(d, base + d->block) & UGM_RESIDENCY_POISON);
	EXPECT_EQ(1, ut_stat(d, "flash.read_errors.count"));
	EXPECT_EQ(UGM_EVENT_POISON, next_event(d, &ev));
	EXPECT_EQ(base + d->block, ev.a);
	EXPECT_EQ(EIO, ev.b);
	EXPECT_EQ(-1, ut_compare(at(d, d->gpu, base, 0), d->block, 5));
	EXPECT_EQ(0, wrong_blocks(d, d->gpu, base + 2 * d->block, 2, 7));
}

TEST_F(flash, write_error_takes_another_slot)
{
	struct ut *d = &self->d;
	struct ugm_event_desc ev = { 0 };
	int64_t base = ut_alloc_blocks(d, TAG, 4);

	ASSERT_LE(0, base);
	fill_blocks(d, base, 4, 6);
	ASSERT_EQ(0, ut_inject("write-error 2"));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, TAG, 0, 4, UGM_TIER_ID_FLASH));
	EXPECT_EQ(4, blocks_in(d, base, 4, UGM_TIER_ID_FLASH));
	EXPECT_EQ(1, ut_stat(d, "slot.bad.count"));
	EXPECT_EQ(4, ut_stat(d, "slot.used.count"));
	EXPECT_EQ(UGM_EVENT_WRITE_ERROR, next_event(d, &ev));
	EXPECT_EQ(EIO, ev.b);
	EXPECT_EQ(0, wrong_blocks(d, d->gpu, base, 4, 6));
}

TEST_F(flash, write_errors_without_end_keep_the_block)
{
	struct ut *d = &self->d;
	int64_t base = ut_alloc_blocks(d, TAG, 1);

	ASSERT_LE(0, base);
	fill_blocks(d, base, 1, 8);
	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_DETACH, NULL));
	/* One slot: after it is bad there is none. */
	ASSERT_EQ(0, ut_attach(UT_NAMESPACE, d->block));
	ASSERT_EQ(0, ut_inject("write-error 1"));
	ut_move(d, UGM_HINT_EVICT, TAG, 0, 1, UGM_TIER_ID_FLASH);
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, base));
	EXPECT_TRUE(ut_state(d, base) & UGM_RESIDENCY_DIRTY);
	EXPECT_EQ(1, ut_stat(d, "slot.bad.count"));
	EXPECT_EQ(0, wrong_blocks(d, d->gpu, base, 1, 8));
}

TEST_F(flash, detach_waits_for_nobody)
{
	struct ut *d = &self->d;
	int64_t base = ut_alloc_blocks(d, TAG, 2);

	ASSERT_LE(0, base);
	EXPECT_EQ(-EEXIST, ut_attach(UT_NAMESPACE, 0));
	fill_blocks(d, base, 2, 9);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, TAG, 0, 2, UGM_TIER_ID_FLASH));
	EXPECT_EQ(-EBUSY, ut_ioctl(d->fd, UGM_IOC_DETACH, NULL));
	EXPECT_EQ(0, wrong_blocks(d, d->gpu, base, 2, 9));
	ASSERT_EQ(0, ut_free(d, base));
	EXPECT_EQ(0, ut_ioctl(d->fd, UGM_IOC_DETACH, NULL));
	EXPECT_EQ(-ENODEV, ut_ioctl(d->fd, UGM_IOC_DETACH, NULL));
	EXPECT_EQ(0, ut_attach(UT_NAMESPACE, 0));
}

/* The namespace's controller comes back, under its old name. */
static int plug_in_again(void)
{
	uint64_t until = ut_now() + ut_limit(10000);
	int err = ut_write_file("/sys/bus/pci/rescan", "1");

	while (!err && access(UT_NAMESPACE, F_OK)) {
		if (ut_now() > until)
			return -ETIMEDOUT;
		ut_sleep_ms(20);
	}
	return err;
}

/* Pulled out while blocks move: what was on it is lost, and nothing else. */
TEST_F(flash, namespace_pulled_out)
{
	struct ut *d = &self->d;
	struct ugm_ioc_check check = { 0 };
	int64_t base = ut_alloc_blocks(d, TAG, 12);
	uint64_t began, nr;
	int err;

	ASSERT_LE(0, base);
	fill_blocks(d, base, 12, 10);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, TAG, 0, 4, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_EVICT, TAG, 4, 4, UGM_TIER_ID_FLASH));
	began = ut_now();
	ASSERT_EQ(0, ut_write_file("/sys/class/block/nvme0n1/device/device/remove", "1"));
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_EVICT, TAG, 8, 4, UGM_TIER_ID_FLASH));
	err = ut_wait(d, NULL);
	EXPECT_TRUE(!err || err == -EIO);
	EXPECT_EQ(0, wrong_blocks(d, d->gpu, base + 8 * d->block, 4, 18));
	/* Which of those that were on their way had arrived is chance. */
	nr = blocks_in(d, base, 12, UGM_TIER_ID_FLASH);
	EXPECT_LE(4u, nr);
	EXPECT_GE(8u, nr);
	for (int i = 0; i < 12; i++) {
		bool lost = ut_tier(d, base + i * d->block) == UGM_TIER_ID_FLASH;

		EXPECT_EQ(lost ? SIGBUS : 0, ut_touch(at(d, d->host, base, i), true));
		if (!lost)
			EXPECT_EQ(-1, ut_compare(at(d, d->gpu, base, i), d->block, 10 + i));
	}
	EXPECT_GT(ut_limit(8000), ut_now() - began);
	EXPECT_EQ(0, ut_ioctl(d->fd, UGM_IOC_CHECK, &check));
	EXPECT_EQ(0u, check.violations);
	EXPECT_EQ(0, ut_free(d, base));
	EXPECT_EQ(0, ut_ioctl(d->fd, UGM_IOC_DETACH, NULL));
	ASSERT_EQ(0, plug_in_again());
	ASSERT_EQ(0, ut_attach(UT_NAMESPACE, UT_NAMESPACE_LEN));
	base = ut_alloc_blocks(d, TAG, 2);
	ASSERT_LE(0, base);
	evict_two(_metadata, d, base, 30);
	EXPECT_EQ(0, wrong_blocks(d, d->gpu, base, 2, 30));
}

/* An answer of attach, with the line that says why. */
static int attach_line(struct ut *d, const char *path, uint64_t offset, uint64_t len, int *lines)
{
	struct ugm_ioc_attach arg = { .offset = offset, .len = len };
	int log = ut_log_open(), err;

	snprintf(arg.path, sizeof(arg.path), "%s", path);
	err = ut_ioctl(d->fd, UGM_IOC_ATTACH, &arg);
	*lines = ut_log_lines(log, path, NULL, 0);
	close(log);
	return err;
}

TEST_F(flash, attach_says_what_is_wrong)
{
	struct ut *d = &self->d;
	struct ugm_ioc_attach arg = { .flags = 1 };
	int fd, lines;
	uint64_t size;

	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_DETACH, NULL));
	fd = open(UT_NAMESPACE, O_RDONLY | O_EXCL | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ioctl(fd, BLKGETSIZE64, &size));
	EXPECT_EQ(-EBUSY, attach_line(d, UT_NAMESPACE, 0, 0, &lines));
	EXPECT_EQ(1, lines);
	close(fd);
	EXPECT_EQ(-EINVAL, attach_line(d, UT_NAMESPACE, 512, 0, &lines));
	EXPECT_EQ(1, lines);
	EXPECT_EQ(-EINVAL, attach_line(d, UT_NAMESPACE, 0, d->block + 512, &lines));
	EXPECT_EQ(1, lines);
	EXPECT_EQ(-EINVAL, attach_line(d, UT_NAMESPACE, size, 0, &lines));
	EXPECT_EQ(1, lines);
	EXPECT_EQ(-EINVAL, attach_line(d, UT_NAMESPACE, d->block, size, &lines));
	EXPECT_EQ(1, lines);
	EXPECT_EQ(-EINVAL, attach_line(d, UT_NAMESPACE, -(uint64_t)d->block, d->block, &lines));
	EXPECT_EQ(1, lines);
	EXPECT_EQ(-ENOENT, attach_line(d, "/dev/no-such-device", 0, 0, &lines));
	EXPECT_EQ(1, lines);
	EXPECT_EQ(-ENOTBLK, attach_line(d, "/dev/null", 0, 0, &lines));
	EXPECT_EQ(1, lines);
	EXPECT_EQ(-EINVAL, ut_ioctl(d->fd, UGM_IOC_ATTACH, &arg));
	memset(arg.path, 'x', sizeof(arg.path));
	arg.flags = 0;
	EXPECT_EQ(-EINVAL, ut_ioctl(d->fd, UGM_IOC_ATTACH, &arg));
	EXPECT_EQ(0, attach_line(d, UT_NAMESPACE, d->block, 0, &lines));
}

/* A flash server opens what is told: relative paths and links are no use to it. */
TEST_F(flash, whatever_the_path_its_device_node_is_told)
{
	static const char folder[] = "/tmp/a_folder_with_a_name_that_is_longer_than_what_info_has_for_a_path";
	struct ut *d = &self->d;
	struct ugm_ioc_info info = {};
	char link[128];
	unsigned int i;

	snprintf(link, sizeof(link), "%s/link", folder);
	ASSERT_EQ(0, mkdir(folder, 0700));
	ASSERT_EQ(0, symlink(UT_NAMESPACE, link));
	ASSERT_EQ(0, chdir("/dev"));
	for (i = 0; i < 2; i++) {
		const char *path = i ? link : strrchr(UT_NAMESPACE, '/') + 1;

		ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_DETACH, NULL));
		EXPECT_EQ(0, ut_attach(path, 0));
		EXPECT_EQ(0, ut_ioctl(d->fd, UGM_IOC_INFO, &info));
		EXPECT_STREQ(UT_NAMESPACE, info.namespace_path);
	}
	EXPECT_EQ(0, unlink(link));
	EXPECT_EQ(0, rmdir(folder));
}

TEST_F(flash, only_the_part_that_was_given_is_used)
{
	struct ut *d = &self->d;
	struct ugm_ioc_attach arg = { .path = UT_NAMESPACE, .offset = 4ULL * d->block,
				      .len = 8ULL * d->block };
	int64_t base = ut_alloc_blocks(d, TAG, 8);
	char *raw, *guard;
	int fd;

	ASSERT_LE(0, base);
	ASSERT_EQ(0, posix_memalign((void **)&raw, 4096, d->block));
	ASSERT_EQ(0, posix_memalign((void **)&guard, 4096, d->block));
	fd = open(UT_NAMESPACE, O_RDWR | O_DIRECT | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ut_fill(guard, d->block, 99);
	ASSERT_EQ(d->block, pwrite(fd, guard, d->block, 3LL * d->block));
	ASSERT_EQ(d->block, pwrite(fd, guard, d->block, 12LL * d->block));
	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_DETACH, NULL));
	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_ATTACH, &arg));
	for (int round = 0; round < 3; round++) {
		fill_blocks(d, base, 8, 20 + round);
		ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, TAG, 0, 8, UGM_TIER_ID_FLASH));
		ASSERT_EQ(0, wrong_blocks(d, d->gpu, base, 8, 20 + round));
	}
	ASSERT_EQ(0, ut_free(d, base));
	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_DETACH, NULL));
	ASSERT_EQ(d->block, pread(fd, raw, d->block, 3LL * d->block));
	EXPECT_EQ(-1, ut_compare(raw, d->block, 99));
	ASSERT_EQ(d->block, pread(fd, raw, d->block, 12LL * d->block));
	EXPECT_EQ(-1, ut_compare(raw, d->block, 99));
	free(raw);
	free(guard);
	close(fd);
}

/* A child that touches a block in flash, which does not come; then kill it. */
static void kill_in_fault(struct __test_metadata *_metadata, struct ut *d, const char *inject)
{
	int64_t base;
	int go[2], status;
	struct ut child;
	pid_t pid;

	ASSERT_EQ(0, pipe(go));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (ut_open(&child))
			_exit(1);
		base = ut_alloc_blocks(&child, TAG, 1);
		if (base < 0)
			_exit(2);
		fill_blocks(&child, base, 1, 1);
		if (ut_move(&child, UGM_HINT_EVICT, TAG, 0, 1, UGM_TIER_ID_FLASH))
			_exit(3);
		if (ut_inject(inject))
			_exit(4);
		if (write(go[1], "x", 1) != 1)
			_exit(5);
		ut_touch(child.gpu + base, false);
		_exit(6);
	}
	close(go[1]);
	ASSERT_EQ(1, read(go[0], &status, 1));
	close(go[0]);
	ut_sleep_ms(100);
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	kill(pid, SIGKILL);
	EXPECT_EQ(0, ut_reap(pid, 1000, &status));
	EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_F(flash, killed_while_a_read_takes_its_time)
{
	kill_in_fault(_metadata, &self->d, "delay-ms 2000");
	EXPECT_EQ(0, ut_inject("delay-ms 0"));
}

TEST_F(flash, killed_while_a_completion_is_lost)
{
	kill_in_fault(_metadata, &self->d, "lose-completion 1");
	EXPECT_EQ(0, ut_inject("return"));
}

TEST_F(flash, lost_completion_is_waited_for_and_comes_back)
{
	struct ut *d = &self->d;
	int64_t base = ut_alloc_blocks(d, TAG, 1);
	pid_t pid;
	int status;

	ASSERT_LE(0, base);
	fill_blocks(d, base, 1, 30);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, TAG, 0, 1, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, ut_inject("lose-completion 1"));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		ut_sleep_ms(200);
		_exit(ut_inject("return") ? 1 : 0);
	}
	EXPECT_EQ(-1, ut_compare(d->gpu + base, d->block, 30));
	EXPECT_EQ(0, ut_reap(pid, 5000, &status));
	EXPECT_EQ(0, status);
}

/* Two moves may be done at once, so either block may be the one that is hit. */
TEST_F(flash, injected_damage_is_real)
{
	struct ut *d = &self->d;
	int64_t base = ut_alloc_blocks(d, TAG, 2);

	ASSERT_LE(0, base);
	/* lost: what arrives is not what left */
	ASSERT_EQ(0, ut_inject("lost 1"));
	evict_two(_metadata, d, base, 40);
	EXPECT_EQ(1, wrong_blocks(d, d->gpu, base, 2, 40));
	/* stale: the data of the time before arrives */
	ASSERT_EQ(0, ut_inject("stale 1"));
	evict_two(_metadata, d, base, 50);
	EXPECT_EQ(0, wrong_blocks(d, d->gpu, base, 2, 50));
	evict_two(_metadata, d, base, 60);
	EXPECT_EQ(1, wrong_blocks(d, d->gpu, base, 2, 60));
	EXPECT_EQ(1, wrong_blocks(d, d->gpu, base, 2, 50));
	/* swap: each gets the other's */
	ASSERT_EQ(0, ut_inject("swap 1"));
	evict_two(_metadata, d, base, 70);
	EXPECT_EQ(1, wrong_blocks(d, d->gpu, base, 2, 70));
	evict_two(_metadata, d, base, 70);
	EXPECT_EQ(1, wrong_blocks(d, d->gpu, base, 2, 70));
	/* and then all is well again */
	evict_two(_metadata, d, base, 80);
	EXPECT_EQ(0, wrong_blocks(d, d->gpu, base, 2, 80));
}

TEST_F(flash, inject_refuses_what_it_does_not_know)
{
	EXPECT_EQ(-EINVAL, ut_inject("los 1"));
	EXPECT_EQ(-EINVAL, ut_inject("lost one"));
	EXPECT_EQ(-EINVAL, ut_inject("lost 1 2"));
	EXPECT_EQ(-EINVAL, ut_inject("return 1"));
	EXPECT_EQ(-EINVAL, ut_inject(""));
	EXPECT_EQ(0, ut_inject("lost 5"));
	EXPECT_EQ(0, ut_inject("lost 0"));
}

TEST_HARNESS_MAIN
