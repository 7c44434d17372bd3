// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * Hints: when they act and in which order, what becomes of those that cannot be
 * followed, whole batches of them, and hints by others.
 */
#include <sched.h>

#include "ugm_harness.h"

#define NR 4
#define EXACT_FOREIGN (1u << 3)

FIXTURE(hints)
{
	struct ut d;
	size_t len;
};

FIXTURE_SETUP(hints)
{
	ASSERT_EQ(0, ut_setup(&self->d, "block_size=4K gpu_mem=64K host_mem=64K"));
	ASSERT_EQ(0, ut_virtual(&self->d, 0));
	self->len = NR * (size_t)self->d.block;
	ASSERT_EQ(0, ut_alloc_blocks(&self->d, 1, NR));
	/* Something to launch that is always there. */
	ASSERT_LE(0, ut_alloc(&self->d, 2, self->d.block, UGM_ALLOC_ARENA));
}

FIXTURE_TEARDOWN(hints)
{
	EXPECT_EQ(0, ut_teardown(&self->d));
}

/* Let the virtual clock run. */
static int run_for(struct ut *d, uint64_t ns)
{
	return ut_launch(d, NR * d->block, d->block, UGM_ACCESS_READ, ns, NULL);
}

TEST_F(hints, held_until_their_launch)
{
	struct ut *d = &self->d;

	ut_fill(d->gpu, self->len, 1);
	ASSERT_EQ(0, ut_hint(d, UGM_HINT_EVICT, 1, 0, d->block, UGM_TIER_ID_HOST, 1,
			     UGM_HINT_NO_NEED));
	ASSERT_EQ(0, ut_hint(d, UGM_HINT_EVICT, 1, d->block, d->block, UGM_TIER_ID_HOST, 2,
			     UGM_HINT_NO_NEED));
	EXPECT_EQ(2u, ut_stat(d, "space.pending_hints.count"));
	ASSERT_EQ(0, run_for(d, 100000));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 0));
	ASSERT_EQ(0, ut_wait(d, NULL));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 0));
	ASSERT_EQ(0, run_for(d, 100000));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, 0));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, d->block));
	ASSERT_EQ(0, run_for(d, 100000));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, d->block));
	EXPECT_EQ(0u, ut_stat(d, "space.pending_hints.count"));
	/* What is past acts at once. */
	ASSERT_EQ(0, ut_hint(d, UGM_HINT_EVICT, 1, 2 * d->block, d->block, UGM_TIER_ID_HOST, 2,
			     UGM_HINT_NO_NEED));
	ASSERT_EQ(0, ut_wait(d, NULL));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, 2 * d->block));
}

/* The link carries one block in block_size ns; the earliest need goes first. */
TEST_F(hints, ordered_by_need)
{
	static const uint64_t need[NR] = { 30, 10, UGM_HINT_NO_NEED, 20 };
	static const int order[NR] = { 1, 3, 0, 2 };
	struct ut *d = &self->d;
	int i, j;

	ut_fill(d->host, self->len, 2);
	for (i = 0; i < NR; i++) {
		ASSERT_EQ(0, ut_hint(d, UGM_HINT_PREFETCH, 1, i * d->block, d->block,
				     UGM_TIER_ID_GPU, UGM_HINT_NOW, need[i]));
	}
	/* Events of the instant of an end are handled at the next begin. */
	ASSERT_EQ(0, run_for(d, 1));
	for (i = 0; i < NR; i++) {
		ASSERT_EQ(0, run_for(d, d->block));
		for (j = 0; j < NR; j++) {
			bool there = j == order[0] || (i > 0 && j == order[1]) ||
				     (i > 1 && j == order[2]) || i > 2;

			EXPECT_EQ(there ? UGM_TIER_ID_GPU : UGM_TIER_ID_HOST,
				  ut_tier(d, j * d->block))
				TH_LOG("after %d moves, block %d", i + 1, j);
		}
	}
	EXPECT_EQ(-1, ut_compare(d->gpu, self->len, 2));
}

TEST_F(hints, each_has_its_result)
{
	struct ut *d = &self->d;
	struct ugm_hint_desc h[5] = {
		{ .tag = 1, .at = UGM_HINT_NOW, .op = UGM_HINT_PIN, .result = 7 },
		{ .tag = 77, .at = UGM_HINT_NOW, .op = UGM_HINT_PIN, .result = 7 },
		{ .tag = 1, .at = UGM_HINT_NOW, .op = 99, .result = 7 },
		{ .tag = 1, .at = UGM_HINT_NOW, .op = UGM_HINT_PROTECT, .len = 1 << 20 },
		{ .tag = 1, .at = UGM_HINT_NOW, .op = UGM_HINT_UNPIN, .result = 7 },
	};
	struct ugm_ioc_hint arg = { .hints = (uintptr_t)h, .nr = 5 };

	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_HINT, &arg));
	EXPECT_EQ(5u, arg.done);
	EXPECT_EQ(0, h[0].result);
	EXPECT_EQ(-ENOENT, h[1].result);
	EXPECT_EQ(-EINVAL, h[2].result);
	EXPECT_EQ(-ERANGE, h[3].result);
	EXPECT_EQ(0, h[4].result);
	EXPECT_EQ(NR, ut_stat(d, "hint.followed.pin.blocks"));
	EXPECT_EQ(NR, ut_stat(d, "hint.followed.unpin.blocks"));
	arg.nr = 0;
	EXPECT_EQ(0, ut_ioctl(d->fd, UGM_IOC_HINT, &arg));
	EXPECT_EQ(0u, arg.done);
}

TEST_F(hints, events_bring_cookies_back)
{
	struct ut *d = &self->d;
	struct ugm_hint_desc h[2] = {
		{ .tag = 1, .at = UGM_HINT_NOW, .need = UGM_HINT_NO_NEED, .op = UGM_HINT_PIN,
		  .len = 2 * d->block, .cookie = 0xabcdef0123456789ULL },
		{ .tag = 1, .at = UGM_HINT_NOW, .need = UGM_HINT_NO_NEED, .op = UGM_HINT_EVICT,
		  .tier = UGM_TIER_ID_HOST, .offset = 3 * d->block, .len = d->block,
		  .cookie = 42 },
	};
	struct ugm_ioc_hint arg = { .hints = (uintptr_t)h, .nr = 2 };
	struct ugm_event_desc ev[4];

	ASSERT_EQ(0, fcntl(d->fd, F_SETFL, O_NONBLOCK));
	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_HINT, &arg));
	ASSERT_EQ(2 * (ssize_t)sizeof(ev[0]), read(d->fd, ev, sizeof(ev)));
	EXPECT_EQ((uint32_t)UGM_EVENT_HINT_DONE, ev[0].type);
	EXPECT_EQ(0xabcdef0123456789ULL, ev[0].a);
	EXPECT_EQ(2u, ev[0].b);
	EXPECT_EQ((uint32_t)UGM_EVENT_HINT_REFUSED, ev[1].type);
	EXPECT_EQ(42u, ev[1].a);
	EXPECT_EQ(0u, ev[1].lost);
}

TEST_F(hints, refusals_have_reasons)
{
	struct ut *d = &self->d;

	/* Absent: nothing to move. */
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, NR, UGM_TIER_ID_HOST));
	EXPECT_EQ(NR, ut_stat(d, "hint.refused.absent.blocks"));
	/* Resident: it is there. */
	ut_fill(d->gpu, self->len, 3);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_PREFETCH, 1, 0, 2, UGM_TIER_ID_GPU));
	EXPECT_EQ(2u, ut_stat(d, "hint.refused.resident.blocks"));
	/* In use: pinned, and an arena always is. */
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_PIN, 1, 0, 1, 0));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, 1, UGM_TIER_ID_HOST));
	EXPECT_EQ(1u, ut_stat(d, "hint.refused.in_use.blocks"));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 2, 0, 1, UGM_TIER_ID_HOST));
	EXPECT_EQ(2u, ut_stat(d, "hint.refused.in_use.blocks"));
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_UNPIN, 1, 0, 1, 0));
	/* Stale: its range is gone when its time has come. */
	ASSERT_EQ(0, ut_hint(d, UGM_HINT_EVICT, 1, 0, 0, UGM_TIER_ID_HOST, 0, UGM_HINT_NO_NEED));
	ASSERT_EQ(0, ut_free(d, 0));
	ASSERT_EQ(0, run_for(d, 1));
	EXPECT_EQ(NR, ut_stat(d, "hint.refused.stale.blocks"));
	EXPECT_EQ(-ENOENT, ut_hint_now(d, UGM_HINT_PIN, 1, 0, 1, 0));
}

/* A host tier of 16 blocks, full. */
TEST_F(hints, a_full_tier_refuses_or_redirects)
{
	struct ut *d = &self->d;
	int64_t a = ut_alloc_blocks(d, 3, 16);
	int i;

	ASSERT_LE(0, a);
	for (i = 0; i < 16; i++) {
		ASSERT_EQ(0, ut_touch(d->host + a + i * d->block, true));
	}
	ut_fill(d->gpu, self->len, 4);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, 2, UGM_TIER_ID_HOST));
	EXPECT_EQ(2u, ut_stat(d, "hint.refused.redirected.blocks"));
	EXPECT_EQ(UGM_TIER_ID_FLASH, ut_tier(d, 0));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_PREFETCH, 1, 0, 2, UGM_TIER_ID_HOST));
	EXPECT_EQ(2u, ut_stat(d, "hint.refused.full.blocks"));
	EXPECT_EQ(UGM_TIER_ID_FLASH, ut_tier(d, 0));
	EXPECT_EQ(-1, ut_compare(d->gpu, self->len, 4));
}

#define MANY 65536

TEST_F(hints, many_at_once)
{
	struct ut *d = &self->d;
	struct ugm_hint_desc *h = calloc(MANY, sizeof(*h));
	struct ugm_ioc_hint arg = { .hints = (uintptr_t)h, .nr = MANY };
	int i, bad = 0;

	ASSERT_NE(NULL, h);
	for (i = 0; i < MANY; i++)
		h[i] = (struct ugm_hint_desc){
			.tag = 1,
			.len = d->block,
			.at = i % 2 ? UGM_HINT_NOW : 1000000ULL + i,
			.op = i % 4 < 2 ? UGM_HINT_PIN : UGM_HINT_UNPIN,
			.result = 1,
		};
	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_HINT, &arg));
	EXPECT_EQ((uint32_t)MANY, arg.done);
	for (i = 0; i < MANY; i++)
		bad += h[i].result != 0;
	EXPECT_EQ(0, bad);
	EXPECT_EQ(MANY / 2u, ut_stat(d, "space.pending_hints.count"));
	free(h);
}

/* The array ends in a page that is not there: what was taken is told. */
TEST_F(hints, a_batch_that_breaks_off)
{
	struct ut *d = &self->d;
	size_t pages = 8 * 4096, nr = pages / sizeof(struct ugm_hint_desc), i;
	struct ugm_hint_desc *h;
	struct ugm_ioc_hint arg;
	char *p = mmap(NULL, pages + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	ASSERT_NE(MAP_FAILED, p);
	ASSERT_EQ(0, munmap(p + pages, 4096));
	h = (struct ugm_hint_desc *)(p + 64);
	for (i = 0; i < nr - 1; i++)
		h[i] = (struct ugm_hint_desc){ .tag = 1, .at = 1000, .op = UGM_HINT_PIN,
					       .result = 1 };
	arg = (struct ugm_ioc_hint){ .hints = (uintptr_t)h, .nr = nr + 100 };
	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_HINT, &arg));
	EXPECT_LT(0u, arg.done);
	EXPECT_GT(nr, arg.done);
	for (i = 0; i < nr - 1; i++) {
		ASSERT_EQ(i < arg.done ? 0 : 1, h[i].result);
	}
	EXPECT_EQ(arg.done, ut_stat(d, "space.pending_hints.count"));
	munmap(p, pages);
}

/* Another process: its own space, and a hint for that of its parent. */
static int hint_other(struct ut *parent, bool nobody)
{
	struct ugm_hint_desc h = {
		.tag = 1,
		.len = parent->block,
		.at = UGM_HINT_NOW,
		.need = UGM_HINT_NO_NEED,
		.op = UGM_HINT_EVICT,
		.tier = UGM_TIER_ID_HOST,
	};
	struct ugm_ioc_hint arg = { .hints = (uintptr_t)&h, .nr = 1, .space = parent->id };
	struct ugm_ioc_residency res = { .space = parent->id };
	int fd = open(UT_DEVICE, O_RDWR | O_CLOEXEC), err;

	if (fd < 0)
		return 1;
	if (nobody && (setgid(65534) || setuid(65534)))
		return 2;
	err = ut_ioctl(fd, UGM_IOC_HINT, &arg);
	if (nobody) {
		if (ut_ioctl(fd, UGM_IOC_RESIDENCY, &res) != -EPERM)
			return 3;
		return err == -EPERM ? 0 : 4;
	}
	if (err || h.result || arg.done != 1)
		return 5;
	if (ut_ioctl(fd, UGM_IOC_RESIDENCY, &res))
		return 6;
	return 0;
}

TEST_F(hints, by_another_process)
{
	struct ut *d = &self->d;
	struct ugm_ioc_reset told = { .flags = 1 };
	int status = 0, nobody;
	pid_t pid;

	ut_fill(d->gpu, self->len, 5);
	for (nobody = 1; nobody >= 0; nobody--) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(hint_other(d, nobody));
		ASSERT_EQ(0, ut_reap(pid, 10000, &status));
		ASSERT_TRUE(WIFEXITED(status));
		EXPECT_EQ(0, WEXITSTATUS(status));
		ASSERT_EQ(0, ut_wait(d, NULL));
		EXPECT_EQ(nobody ? UGM_TIER_ID_GPU : UGM_TIER_ID_HOST, ut_tier(d, 0));
		ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_RESET, &told));
		EXPECT_EQ(nobody ? 0 : EXACT_FOREIGN, told.exact & EXACT_FOREIGN);
	}
	EXPECT_EQ(-1, ut_compare(d->gpu, self->len, 5));
}

/*
 * Under the clocks of wall time hints are followed whoever waits meanwhile, and
 * for what. Paced, a block goes to flash in 150 ms, and comes back in 50 after a
 * fault of 60.
 */
FIXTURE(wall)
{
	struct ut d;
};

FIXTURE_VARIANT(wall)
{
	uint32_t clock;
	uint64_t fault_ns;
};

FIXTURE_VARIANT_ADD(wall, real)
{
	.clock = 1,
};

FIXTURE_VARIANT_ADD(wall, paced)
{
	.clock = 2,
	.fault_ns = 60 * UT_MSEC,
};

FIXTURE_SETUP(wall)
{
	struct ugm_ioc_machine arg = {
		.set = 1,
		.clock = variant->clock,
		.host_bytes = 64 << 10,
		.bandwidth = { UT_NSEC, UT_NSEC, 81920, 27307 },
		.fault_ns = variant->fault_ns,
		.fault_batch_bytes = 1 << 20,
	};

	ASSERT_EQ(0, ut_setup(&self->d, "block_size=4K gpu_mem=64K host_mem=64K"));
	ASSERT_EQ(0, ut_ioctl(self->d.fd, UGM_IOC_MACHINE, &arg));
	ASSERT_EQ(0, ut_alloc_blocks(&self->d, 1, NR));
	ASSERT_EQ(NR * self->d.block, ut_alloc_blocks(&self->d, 2, 1));
	ut_fill(self->d.gpu, NR * self->d.block, 6);
}

FIXTURE_TEARDOWN(wall)
{
	EXPECT_EQ(0, ut_teardown(&self->d));
}

static int in_flash(struct ut *d)
{
	int n = 0;

	for (uint64_t i = 0; i < NR; i++)
		n += ut_tier(d, i * d->block) == UGM_TIER_ID_FLASH;
	return n;
}

/*
 * The launch waits for its block when I/O ends, each for itself, and sleeps when
 * the model has the first write end.
 */
TEST_F(wall, followed_while_a_launch_lasts)
{
	struct ut *d = &self->d;

	ut_fill(d->gpu + NR * d->block, d->block, 7);
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 2, 0, 1, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, ut_hint(d, UGM_HINT_EVICT, 1, 0, NR * d->block, UGM_TIER_ID_FLASH, 0,
			     UGM_HINT_NO_NEED));
	ASSERT_EQ(0, ut_inject("delay-ms 20"));
	/* What the hint woke is asleep again. */
	ut_sleep_ms(200);
	ASSERT_EQ(0, ut_launch(d, NR * d->block, d->block, UGM_ACCESS_READ, 3 * UT_NSEC, NULL));
	EXPECT_EQ(NR, in_flash(d));
}

/* Stay on a processor, as urgent as @policy says. */
static int stay(int cpu, int policy)
{
	struct sched_param prio = { .sched_priority = policy == SCHED_FIFO };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	return sched_setaffinity(0, sizeof(cpus), &cpus) ||
	       sched_setscheduler(0, policy, &prio) ? -errno : 0;
}

static int touch_what_is_lost(void)
{
	struct ut d;

	if (stay(1, SCHED_IDLE) || ut_open(&d) || ut_alloc_blocks(&d, 1, 1) < 0)
		return 1;
	ut_fill(d.gpu, d.block, 8);
	if (ut_move(&d, UGM_HINT_EVICT, 1, 0, 1, UGM_TIER_ID_FLASH))
		return 2;
	raise(SIGSTOP);
	return ut_touch(d.gpu, false);
}

/* Who is woken to drive gets no processor, as all but this test is on the other. */
TEST_F(wall, followed_while_a_waiter_is_starved)
{
	const char *limit = "/proc/sys/kernel/sched_rt_runtime_us";
	const char *workers = "/sys/devices/virtual/workqueue/cpumask";
	struct ut *d = &self->d;
	pid_t waiter, hog;
	int i, status;

	if (variant->clock != 1)
		SKIP(return, "a move that does not end stops the paced clock");
	if (sysconf(_SC_NPROCESSORS_ONLN) != 2)
		SKIP(return, "needs two processors");
	waiter = fork();
	ASSERT_LE(0, waiter);
	if (!waiter)
		_exit(touch_what_is_lost());
	ASSERT_EQ(waiter, waitpid(waiter, &status, WUNTRACED));
	ASSERT_TRUE(WIFSTOPPED(status));
	ASSERT_EQ(0, ut_inject("lose-completion 1"));
	ASSERT_EQ(0, kill(waiter, SIGCONT));
	ASSERT_TRUE(ut_await_waiter("move"));
	ASSERT_EQ(0, stay(0, SCHED_OTHER));
	ASSERT_EQ(0, ut_write_file(workers, "1"));
	ASSERT_EQ(0, ut_write_file(limit, "-1"));
	hog = fork();
	ASSERT_LE(0, hog);
	if (!hog) {
		alarm(20);
		for (stay(1, SCHED_FIFO);;)
			;
	}
	ut_sleep_ms(500);
	EXPECT_EQ(0, ut_hint_now(d, UGM_HINT_EVICT, 1, 0, NR, UGM_TIER_ID_FLASH));
	for (i = 0; i < 50 && in_flash(d) < NR; i++)
		ut_sleep_ms(100);
	EXPECT_EQ(NR, in_flash(d));
	kill(hog, SIGKILL);
	EXPECT_EQ(0, ut_reap(hog, 10000, &status));
	EXPECT_EQ(0, ut_write_file(limit, "950000"));
	EXPECT_EQ(0, ut_write_file(workers, "3"));
	kill(waiter, SIGKILL);
	EXPECT_EQ(0, ut_inject("return"));
	EXPECT_EQ(0, ut_reap(waiter, 10000, &status));
	EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_HARNESS_MAIN
