// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * How spaces live and end: fork, exec, files passed on, exit in the middle of
 * things, completions that never come, and a device that is pulled out.
 */
#include <sys/socket.h>

#include "ugm_harness.h"

#define NR 4

UT_FIXTURE(life);
UT_VARIANT(life, blocks_4k, "block_size=4K gpu_mem=64K host_mem=128K");
UT_VARIANT(life, blocks_2m, "block_size=2M gpu_mem=16M host_mem=16M");

static size_t len_of(struct ut *d)
{
	return NR * (size_t)d->block;
}

/* Of the device alone: a fork costs the parent faults of its own. */
static uint64_t faults(struct ut *d)
{
	return ut_stat(d, "fault.gpu.resident.count") + ut_stat(d, "fault.gpu.missing.count");
}

/* Wait for a child that says with its status what was wrong. */
static int status_of(pid_t pid)
{
	int status = 0;

	if (pid < 0 || ut_reap(pid, 20000, &status))
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_F(life, a_child_has_no_views)
{
	struct ut *d = &self->d;
	uint64_t sigbus, before, i;
	pid_t pid;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ut_fill(d->gpu, len_of(d), 1);
	pid = fork();
	if (!pid) {
		if (ut_touch(d->gpu, false) != SIGSEGV)
			_exit(1);
		if (ut_touch(d->host, true) != SIGSEGV)
			_exit(2);
		_exit(0);
	}
	EXPECT_EQ(0, status_of(pid));
	/* The parent has what it had: not a fault more. */
	sigbus = ut_stat(d, "fault.sigbus.count");
	before = faults(d);
	for (i = 0; i < NR; i++)
		*(volatile char *)(d->gpu + i * d->block) = d->gpu[i * d->block];
	EXPECT_EQ(before, faults(d));
	EXPECT_EQ(-1, ut_compare(d->gpu, len_of(d), 1));
	EXPECT_EQ(sigbus, ut_stat(d, "fault.sigbus.count"));
}

/* One that inherits a view all the same may not use it. */
TEST_F(life, a_child_with_a_view)
{
	struct ut *d = &self->d;
	pid_t pid;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ut_fill(d->gpu, len_of(d), 2);
	if (madvise(d->gpu, UT_SPAN, MADV_DOFORK))
		SKIP(return, "the kernel does not let a child inherit it");
	pid = fork();
	if (!pid) {
		if (!ut_touch(d->gpu, false) || !ut_touch(d->gpu + d->block, true))
			_exit(1);
		_exit(0);
	}
	EXPECT_EQ(0, status_of(pid));
	EXPECT_EQ(-1, ut_compare(d->gpu, len_of(d), 2));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, NR, UGM_TIER_ID_HOST));
	EXPECT_EQ(-1, ut_compare(d->host, len_of(d), 2));
}

TEST_F(life, exec)
{
	struct ut *d = &self->d;
	char path[64];
	pid_t pid;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ut_fill(d->gpu, len_of(d), 3);
	pid = vfork();
	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	EXPECT_EQ(0, status_of(pid));
	EXPECT_EQ(-1, ut_compare(d->gpu, len_of(d), 3));
	/* A program that replaces this one has an end of its space. */
	pid = fork();
	if (!pid) {
		struct ut own;

		if (ut_open(&own) || ut_alloc_blocks(&own, 1, NR))
			_exit(2);
		ut_fill(own.gpu, NR * own.block, 4);
		snprintf(path, sizeof(path), "test ! -e /proc/self/fd/%d", own.fd);
		execl("/bin/sh", "sh", "-c", path, NULL);
		_exit(3);
	}
	EXPECT_EQ(0, status_of(pid));
	EXPECT_EQ(-1, ut_compare(d->host, len_of(d), 3));
}

static int send_file(int sock, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -errno;
}

static int receive_file(int sock)
{
	char byte, control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	int fd = -1;

	if (recvmsg(sock, &msg, 0) == 1 && CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	return fd;
}

/* Somebody who was passed the file: calls work, its memory is not theirs. */
static int stranger(int sock)
{
	struct ugm_ioc_info info = { 0 };
	int fd = receive_file(sock);
	char byte;

	if (fd < 0)
		return 1;
	if (ut_ioctl(fd, UGM_IOC_INFO, &info))
		return 2;
	if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED || errno != EPERM)
		return 3;
	if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, (off_t)UGM_VIEW_HOST) != MAP_FAILED ||
	    errno != EPERM)
		return 4;
	/* The last to close it is this one. */
	if (write(sock, "", 1) != 1 || read(sock, &byte, 1) != 1)
		return 5;
	return 0;
}

TEST_F(life, a_file_that_was_passed_on)
{
	struct ut *d = &self->d;
	struct ugm_ioc_spaces spaces = { 0 };
	int sock[2], other;
	char byte;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	ut_close(d);
	pid = fork();
	if (!pid) {
		close(sock[0]);
		_exit(stranger(sock[1]));
	}
	close(sock[1]);
	ASSERT_EQ(0, ut_open(d));
	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ut_fill(d->gpu, len_of(d), 5);
	ASSERT_EQ(0, send_file(sock[0], d->fd));
	ASSERT_EQ(1, read(sock[0], &byte, 1));
	EXPECT_EQ(-1, ut_compare(d->gpu, len_of(d), 5));
	ut_close(d);
	other = open(UT_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, ut_ioctl(other, UGM_IOC_SPACES, &spaces));
	EXPECT_EQ(2u, spaces.nr);
	ASSERT_EQ(1, write(sock[0], "", 1));
	EXPECT_EQ(0, status_of(pid));
	EXPECT_EQ(0, ut_idle(other));
	close(other);
	close(sock[0]);
}

TEST_F(life, a_mapping_keeps_its_space)
{
	struct ut *d = &self->d;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ut_fill(d->gpu, len_of(d), 6);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 1, 1, UGM_TIER_ID_HOST));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 2, 1, UGM_TIER_ID_FLASH));
	close(d->fd);
	d->fd = -1;
	EXPECT_EQ(-1, ut_compare(d->gpu, len_of(d), 6));
	EXPECT_EQ(-1, ut_compare(d->host, len_of(d), 6));
	EXPECT_EQ(-EWOULDBLOCK, ut_unload());
}

TEST_F(life, in_use_is_not_unloaded)
{
	int fd = open(UT_DEVICE, O_RDWR | O_CLOEXEC);

	ASSERT_LE(0, fd);
	ut_close(&self->d);
	EXPECT_EQ(-EWOULDBLOCK, ut_unload());
	close(fd);
	EXPECT_EQ(0, ut_unload());
	EXPECT_EQ(-ENOENT, ut_unload());
	EXPECT_EQ(0, ut_setup(&self->d, variant->params));
}

/* Ends with blocks everywhere, hints held and moves under way. */
static int leave_a_mess(void)
{
	struct ut d;

	if (ut_open(&d) || ut_alloc_blocks(&d, 1, NR))
		return 1;
	ut_fill(d.gpu, len_of(&d), 7);
	if (ut_move(&d, UGM_HINT_EVICT, 1, 1, 1, UGM_TIER_ID_FLASH) ||
	    ut_hint(&d, UGM_HINT_PREFETCH, 1, 0, 0, UGM_TIER_ID_GPU, 1000, 1000) ||
	    ut_hint_now(&d, UGM_HINT_PIN, 1, 0, 1, 0) || ut_inject("delay-ms 300") ||
	    ut_hint_now(&d, UGM_HINT_EVICT, 1, 2, 2, UGM_TIER_ID_FLASH))
		return 2;
	return 0;
}

TEST_F(life, exit_in_the_middle)
{
	pid_t pid = fork();

	if (!pid)
		_exit(leave_a_mess());
	EXPECT_EQ(0, status_of(pid));
	EXPECT_EQ(0, ut_idle(self->d.fd));
	ASSERT_EQ(0, ut_inject("delay-ms 0"));
}

/*
 * What a space that is being closed still has counts until it is gone: a check in
 * the middle of that finds nothing wrong.
 */
TEST_F(life, checked_while_spaces_end)
{
	uint64_t until = ut_now() + ut_limit(1500);
	struct ugm_ioc_check check = { 0 };
	int i, nr = 0;
	pid_t pid[2];

	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		while (!pid[i]) {
			struct ut d;

			if (ut_open(&d) || ut_alloc_blocks(&d, 1, NR))
				_exit(1);
			for (i = 0; i < NR; i++)
				ut_touch(d.gpu + i * d.block, true);
			ut_close(&d);
		}
	}
	for (; ut_now() < until && !check.violations; nr++) {
		ASSERT_EQ(0, ut_ioctl(self->d.fd, UGM_IOC_CHECK, &check));
	}
	TH_LOG("%d checks", nr);
	EXPECT_EQ(0u, check.violations);
	for (i = 0; i < 2; i++) {
		kill(pid[i], SIGKILL);
		EXPECT_EQ(-SIGKILL, status_of(pid[i]));
	}
}

/* Failures 9: a write takes long, and its range, mapping and file go meanwhile. */
TEST_F(life, free_and_unmap_during_a_write)
{
	struct ut *d = &self->d;
	uint64_t began;
	int err;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ut_fill(d->gpu, len_of(d), 8);
	ASSERT_EQ(0, ut_inject("delay-ms 500"));
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_EVICT, 1, 0, NR, UGM_TIER_ID_FLASH));
	began = ut_now();
	ASSERT_EQ(0, munmap(d->gpu, len_of(d)));
	EXPECT_GT(400000000u, ut_now() - began);
	err = ut_free(d, 0);
	EXPECT_TRUE(err == 0 || err == -EBUSY);
	EXPECT_GT(ut_limit(1000), ut_now() - began);
	began = ut_now();
	EXPECT_EQ(0, ut_close(d));
	EXPECT_GT(ut_limit(1000), ut_now() - began);
}

/*
 * Failures 2: the completion that everybody waits for never comes. Whoever waits
 * is named, and can be killed.
 */
enum site { TOUCH_GPU, TOUCH_HOST, LAUNCH, WAIT, NR_SITES };

static int wait_for_lost(enum site site, volatile bool *armed)
{
	struct ut d;

	if (ut_open(&d) || ut_alloc_blocks(&d, 1, NR))
		return 1;
	if (site == TOUCH_HOST)
		ut_fill(d.gpu, len_of(&d), 9);
	else
		ut_fill(d.host, len_of(&d), 9);
	if (ut_inject("lose-completion 1"))
		return 2;
	*armed = true;
	switch (site) {
	case TOUCH_GPU:
		ut_touch(d.gpu, true);
		break;
	case TOUCH_HOST:
		ut_touch(d.host, true);
		break;
	case LAUNCH:
		ut_launch(&d, 0, d.block, UGM_ACCESS_READ, 0, NULL);
		break;
	default:
		ut_move(&d, UGM_HINT_PREFETCH, 1, 0, 1, UGM_TIER_ID_GPU);
		break;
	}
	return 3;
}

/*
 * A child that waits for a move that is lost. It may have waited for others
 * before, so only what comes after the loss was armed tells.
 */
static pid_t await_lost(enum site site)
{
	volatile bool *armed = mmap(NULL, sizeof(*armed), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t until = ut_now() + ut_limit(5000);
	bool waits;
	pid_t pid;

	if (armed == MAP_FAILED)
		return -1;
	pid = fork();
	if (!pid)
		_exit(wait_for_lost(site, armed));
	while (pid > 0 && !*armed && ut_now() < until)
		ut_sleep_ms(2);
	waits = pid > 0 && *armed && ut_await_waiter("move");
	munmap((void *)armed, sizeof(*armed));
	if (pid > 0 && !waits) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return -1;
	}
	return pid;
}

TEST_F(life, lost_completion)
{
	enum site site;
	uint64_t began;
	int status;
	pid_t pid;

	for (site = TOUCH_GPU; site < NR_SITES; site++) {
		pid = await_lost(site);
		ASSERT_LT(0, pid) TH_LOG("site %d", site);
		began = ut_now();
		kill(pid, SIGKILL);
		status = 0;
		ASSERT_EQ(0, ut_reap(pid, 10000, &status)) TH_LOG("site %d", site);
		EXPECT_GT(ut_limit(1000), ut_now() - began) TH_LOG("site %d", site);
		EXPECT_TRUE(WIFSIGNALED(status)) TH_LOG("site %d: %#x", site, status);
		ASSERT_EQ(0, ut_inject("return"));
		EXPECT_EQ(0, ut_idle(self->d.fd)) TH_LOG("site %d", site);
	}
}

#define UNBIND "/sys/bus/platform/drivers/ugm/unbind"
#define BIND "/sys/bus/platform/drivers/ugm/bind"

/* Plug it in again, with its namespace, for the teardown to look at. */
static int plug_in(void)
{
	return ut_write_file(BIND, "ugm.0") ?: ut_attach(UT_NAMESPACE, UT_NAMESPACE_LEN);
}

/* Failures 3: with a space, mappings, a lane and moves under way. */
TEST_F(life, unplugged)
{
	struct ut *d = &self->d;
	struct ugm_ioc_lane lane = { 0 };
	struct ugm_ioc_info info = { 0 };
	struct ugm_event_desc ev;
	uint64_t began;
	int lane_fd, status = 0;
	pid_t pid;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ut_fill(d->gpu, len_of(d), 10);
	lane_fd = ut_ioctl(d->fd, UGM_IOC_LANE, &lane);
	ASSERT_LE(0, lane_fd);
	/* Somebody waits for a move that will not end by itself. */
	pid = await_lost(LAUNCH);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, ut_inject("delay-ms 500"));
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_EVICT, 1, 0, 2, UGM_TIER_ID_FLASH));

	began = ut_now();
	ASSERT_EQ(0, ut_write_file(UNBIND, "ugm.0"));
	EXPECT_GT(ut_limit(2000), ut_now() - began);
	EXPECT_EQ(0, ut_reap(pid, 5000, &status));
	EXPECT_TRUE(WIFEXITED(status)) TH_LOG("%#x", status);
	EXPECT_NE(0, access(UT_DEVICE, F_OK));

	EXPECT_EQ(SIGBUS, ut_touch(d->gpu + 3 * d->block, false));
	EXPECT_EQ(SIGBUS, ut_touch(d->host, true));
	EXPECT_EQ(-ENODEV, ut_launch(d, 0, d->block, UGM_ACCESS_READ, 0, NULL));
	EXPECT_EQ(-ENODEV, ut_wait(d, NULL));
	EXPECT_EQ(-ENODEV, ut_hint_now(d, UGM_HINT_PIN, 1, 0, 1, 0));
	/* What was told before can still be read. */
	while (read(d->fd, &ev, sizeof(ev)) > 0)
		;
	EXPECT_EQ(ENODEV, errno);
	/* Anything but a crash. */
	ut_ioctl(d->fd, UGM_IOC_INFO, &info);
	began = ut_now();
	close(lane_fd);
	EXPECT_EQ(0, ut_close(d));
	EXPECT_GT(ut_limit(1000), ut_now() - began);
	ut_sleep_ms(600);
	EXPECT_EQ(0, plug_in());
}

/* A device that is gone and one that takes its place have nothing in common. */
TEST_F(life, plugged_in_again_while_open)
{
	struct ut *d = &self->d, again;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ut_fill(d->gpu, len_of(d), 11);
	ASSERT_EQ(0, ut_write_file(UNBIND, "ugm.0"));
	ASSERT_EQ(0, ut_write_file(BIND, "ugm.0"));
	ASSERT_EQ(0, ut_open(&again));
	EXPECT_EQ(0, ut_alloc_blocks(&again, 1, NR));
	EXPECT_TRUE(ut_zero(again.gpu, NR * (size_t)again.block));
	EXPECT_EQ(SIGBUS, ut_touch(d->gpu, false));
	EXPECT_EQ(0, ut_close(&again));
	EXPECT_EQ(0, ut_close(d));
}

TEST_HARNESS_MAIN
