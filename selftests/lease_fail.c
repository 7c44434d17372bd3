// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * The planner lane: leases that are served badly, late, or not at all, and
 * servers, spaces and namespaces that go.
 */
#include <poll.h>

#include "lease.h"

UT_FIXTURE(lease_fail);
UT_VARIANT(lease_fail, small, "block_size=4096 gpu_mem=512K host_mem=1M");
UT_VARIANT(lease_fail, huge, "block_size=2097152 gpu_mem=32M host_mem=32M");

static void bad_result(struct __test_metadata *_metadata, struct ut *d, int tier, int32_t result)
{
	struct server s;
	int64_t base = prepare(_metadata, d, &s, tier, 6, LONG_MS);

	while (!exchange(&s, 0, 300)) {
		transfer_all(&s);
		for (uint32_t i = 0; i < s.nr; i++) {
			uint32_t done = result < 0 ? 0 : s.seg[i].len / 2;

			/* What the server left behind that must not be seen. */
			if (s.seg[i].dir == UGM_LANE_READ)
				memset(s.window + s.seg[i].window_offset + done, 0xee,
				       s.seg[i].len - done);
			s.seg[i].result = result < 0 ? result : (int32_t)done;
		}
	}
	ASSERT_EQ(0, arrived(d, base, tier));
	EXPECT_EQ(0, wrong_blocks(d, base, 6));
	EXPECT_LE(1, ut_stat(d, "lease.kernel_lane.blocks"));
	server_close(&s);
	ASSERT_EQ(0, ut_free(d, base));
}

TEST_F(lease_fail, errors_and_short_results_lose_nothing)
{
	static const int32_t results[] = { -EIO, -EAGAIN, -ENOSPC, -EFAULT, -ECANCELED, 0 };

	for (unsigned int i = 0; i < sizeof(results) / sizeof(*results); i++) {
		bad_result(_metadata, &self->d, UGM_TIER_ID_FLASH, results[i]);
		bad_result(_metadata, &self->d, UGM_TIER_ID_GPU, results[i]);
	}
	EXPECT_LE(1, ut_stat(&self->d, "lease.short_io.count"));
}

TEST_F(lease_fail, injected_short_result)
{
	struct ut *d = &self->d;
	struct server s;
	int64_t base = prepare(_metadata, d, &s, UGM_TIER_ID_FLASH, 7, LONG_MS);

	ASSERT_EQ(0, ut_inject("short 1"));
	ASSERT_EQ(0, serve(&s));
	ASSERT_EQ(0, arrived(d, base, UGM_TIER_ID_FLASH));
	EXPECT_EQ(1, ut_stat(d, "lease.short_io.count"));
	EXPECT_LE(1, ut_stat(d, "transfer.gpu.flash.kernel.planned.blocks"));
	EXPECT_EQ(0, wrong_blocks(d, base, 7));
	server_close(&s);
}

static void expire(struct __test_metadata *_metadata, struct ut *d, int tier)
{
	struct server s;
	int64_t base = prepare(_metadata, d, &s, tier, 8, SHORT_MS);
	uint64_t taken = ut_now();

	ASSERT_EQ(0, fetch(&s));
	EXPECT_LE(1, leased_bytes(&s));
	EXPECT_EQ(0, ut_touch(s.window + s.seg[0].window_offset, false));
	ASSERT_EQ(0, arrived(d, base, tier));
	EXPECT_LE(SHORT_MS * UT_MSEC, ut_now() - taken);
	EXPECT_LE(1, ut_stat(d, "lease.expired.count"));
	/* The page is not the server's any more, and its result is not wanted. */
	EXPECT_EQ(SIGBUS, ut_touch(s.window + s.seg[0].window_offset, false));
	EXPECT_EQ(-ESTALE, commit(&s));
	EXPECT_EQ(0, wrong_blocks(d, base, 8));
	/* The server is welcome again. */
	ASSERT_EQ(-EAGAIN, exchange(&s, UGM_FETCH_NOWAIT, 0));
	server_close(&s);
	ASSERT_EQ(0, ut_free(d, base));
}

TEST_F(lease_fail, expires)
{
	expire(_metadata, &self->d, UGM_TIER_ID_FLASH);
	expire(_metadata, &self->d, UGM_TIER_ID_GPU);
}

TEST_F(lease_fail, moves_do_not_wait_for_a_server_that_does_not_fetch)
{
	struct ut *d = &self->d;
	struct server s;
	int64_t base = prepare(_metadata, d, &s, UGM_TIER_ID_FLASH, 9, SHORT_MS);

	ASSERT_EQ(0, arrived(d, base, UGM_TIER_ID_FLASH));
	EXPECT_EQ(BLOCKS, ut_stat(d, "transfer.gpu.flash.kernel.planned.blocks"));
	EXPECT_EQ(0, wrong_blocks(d, base, 9));
	server_close(&s);
}

/* Where in the life of a lease its server ends. */
enum step { QUEUED, LEASED, IN_FLIGHT, DONE, NR_STEPS };

static int reach(struct server *s, struct io_uring *ring, enum step step)
{
	if (step == QUEUED)
		return 0;
	if (fetch(s))
		return -1;
	if (step == DONE)
		transfer_all(s);
	if (step != IN_FLIGHT)
		return 0;
	if (io_uring_queue_init(SEGMENTS, ring, 0))
		return -1;
	for (uint32_t i = 0; i < s->nr; i++) {
		struct ugm_segment *g = &s->seg[i];
		struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

		if (g->dir == UGM_LANE_READ)
			io_uring_prep_read(sqe, s->flash, s->window + g->window_offset, g->len,
					   g->flash_offset);
		else
			io_uring_prep_write(sqe, s->flash, s->window + g->window_offset, g->len,
					    g->flash_offset);
	}
	return io_uring_submit(ring) == (int)s->nr ? 0 : -1;
}

TEST_F(lease_fail, closed_at_every_step)
{
	struct ut *d = &self->d;

	for (int i = 0; i < 2 * NR_STEPS; i++) {
		int tier = i & 1 ? UGM_TIER_ID_GPU : UGM_TIER_ID_FLASH;
		struct io_uring ring = { .ring_fd = -1 };
		struct server s;
		int64_t base = prepare(_metadata, d, &s, tier, 100 * i, LONG_MS);

		ASSERT_EQ(0, reach(&s, &ring, i / 2));
		server_close(&s);
		ASSERT_EQ(0, arrived(d, base, tier));
		EXPECT_EQ(0, wrong_blocks(d, base, 100 * i));
		if (ring.ring_fd >= 0)
			io_uring_queue_exit(&ring);
		ASSERT_EQ(0, ut_free(d, base));
	}
}

/* A server in another process, which dies at a step. Returns its base address. */
static int64_t killed_server(struct __test_metadata *_metadata, struct ut *d, int tier,
			     enum step step, uint64_t seed)
{
	int64_t base = ut_alloc_blocks(d, TAG, BLOCKS);
	int ready[2], reached[2], status;
	char c;
	pid_t pid;

	ASSERT_LE(0, base);
	fill_blocks(d, base, seed);
	if (tier == UGM_TIER_ID_GPU)
		ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, TAG, 0, BLOCKS, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(reached));
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct io_uring ring;
		struct server s;
		struct ut own = { .fd = open(UT_DEVICE, O_RDWR | O_CLOEXEC) };

		if (own.fd < 0 || server_open(&s, &own, d->id, 0) ||
		    exchange(&s, UGM_FETCH_NOWAIT, 0) != -EAGAIN)
			_exit(1);
		if (write(ready[1], "x", 1) != 1 || reach(&s, &ring, step) ||
		    write(reached[1], "x", 1) != 1)
			_exit(2);
		for (;;)
			pause();
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));
	ASSERT_EQ(0, ut_hint_now(d, tier == UGM_TIER_ID_GPU ? UGM_HINT_PREFETCH : UGM_HINT_EVICT,
				 TAG, 0, BLOCKS, tier));
	ASSERT_EQ(1, read(reached[0], &c, 1));
	kill(pid, SIGKILL);
	EXPECT_EQ(0, ut_reap(pid, 1000, &status));
	EXPECT_TRUE(WIFSIGNALED(status));
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(reached[i]);
	}
	return base;
}

TEST_F(lease_fail, killed_at_every_step)
{
	struct ut *d = &self->d;

	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 2 * NR_STEPS; i++) {
			int tier = i & 1 ? UGM_TIER_ID_GPU : UGM_TIER_ID_FLASH;
			int64_t base = killed_server(_metadata, d, tier, i / 2, 1000 * i);

			ASSERT_EQ(0, arrived(d, base, tier));
			ASSERT_EQ(0, wrong_blocks(d, base, 1000 * i));
			ASSERT_EQ(0, ut_free(d, base));
		}
	}
	EXPECT_LE(1, ut_stat(d, "lease.released.count"));
	EXPECT_EQ(0, ut_stat(d, "lease.committed.count"));
}

/*
 * Reads that are in flight when their server dies must not reach a frame that
 * somebody else has by then: another space takes every free frame at once.
 */
TEST_F(lease_fail, late_reads_hit_nobody)
{
	struct ut *d = &self->d;
	struct ugm_ioc_info info;
	uint64_t nr, until;
	struct ut other;
	int64_t base, o;

	for (int round = 0; round < 5; round++) {
		base = killed_server(_metadata, d, UGM_TIER_ID_GPU, IN_FLIGHT, 500 * round);
		ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_INFO, &info));
		nr = info.gpu_free;
		ASSERT_LE(1, nr);
		ASSERT_EQ(0, ut_open(&other));
		o = ut_alloc_blocks(&other, TAG, nr);
		ASSERT_LE(0, o);
		for (uint64_t i = 0; i < nr; i++)
			ut_fill(other.gpu + o + i * d->block, d->block, 77 + i);
		until = ut_now() + UT_NSEC / 10;
		do {
			for (uint64_t i = 0; i < nr; i++)
				ASSERT_EQ(-1, ut_compare(other.gpu + o + i * d->block, d->block,
							 77 + i));
		} while (ut_now() < until);
		ut_close(&other);
		ASSERT_EQ(0, wrong_blocks(d, base, 500 * round));
		ASSERT_EQ(0, ut_free(d, base));
	}
}

TEST_F(lease_fail, a_touch_takes_the_block_from_the_server)
{
	struct ut *d = &self->d;
	struct server s;
	int64_t base = prepare(_metadata, d, &s, UGM_TIER_ID_FLASH, 10, LONG_MS);
	char *window;

	ASSERT_EQ(0, fetch(&s));
	window = s.window + s.seg[0].window_offset;
	EXPECT_EQ(0, ut_touch(window, false));
	/* All evictions are cancelled: their pages leave the window. */
	EXPECT_EQ(0, wrong_blocks(d, base, 10));
	EXPECT_EQ(SIGBUS, ut_touch(window, false));
	transfer_all(&s);
	EXPECT_EQ(-EFAULT, s.seg[0].result);
	EXPECT_EQ(0, serve(&s));
	fill_blocks(d, base, 11);
	EXPECT_EQ(0, wrong_blocks(d, base, 11));
	server_close(&s);
}

/* As the server does before it transfers a segment; its answer is no matter. */
static int populate(struct server *s, const struct ugm_segment *g)
{
	int what = g->dir == UGM_LANE_WRITE ? MADV_POPULATE_READ : MADV_POPULATE_WRITE;

	return madvise(s->window + g->window_offset, g->len, what) ? -errno : 0;
}

static void taken_back(struct __test_metadata *_metadata, struct ut *d, int tier)
{
	uint64_t nr = 0, failed = 0;
	struct server s;
	int64_t base = prepare(_metadata, d, &s, tier, 13, LONG_MS);

	/* All eight, in one segment if they fit, of which one is given up. */
	ut_sleep_ms(100);
	ASSERT_EQ(0, fetch(&s));
	EXPECT_EQ(-1, ut_compare((tier == UGM_TIER_ID_GPU ? d->host : d->gpu) + base +
				 3 * d->block, d->block, 13 + 3));
	ASSERT_EQ(1u, ut_stat(d, "lease.revoked.blocks"));
	do {
		for (uint32_t i = 0; i < s.nr; i++, nr++) {
			int err = populate(&s, &s.seg[i]);

			EXPECT_TRUE(!err || err == -EFAULT);
			failed += !!err;
			transfer(&s, &s.seg[i]);
			EXPECT_EQ(!err, s.seg[i].result == (int32_t)s.seg[i].len);
		}
	} while (!exchange(&s, 0, 300));
	EXPECT_EQ(1u, failed);
	EXPECT_LE(nr, 12u);
	ASSERT_EQ(0, ut_wait(d, NULL));
	for (int i = 0; i < BLOCKS; i++) {
		EXPECT_EQ(i == 3 ? UGM_TIER_ID_GPU + (tier == UGM_TIER_ID_GPU) : tier,
			  ut_tier(d, base + i * d->block));
	}
	EXPECT_EQ(0, wrong_blocks(d, base, 13));
	server_close(&s);
	ASSERT_EQ(0, ut_free(d, base));
}

TEST_F(lease_fail, populated_when_a_block_was_taken_back)
{
	taken_back(_metadata, &self->d, UGM_TIER_ID_FLASH);
}

TEST_F(lease_fail, populated_when_a_block_was_taken_back_from_a_read)
{
	taken_back(_metadata, &self->d, UGM_TIER_ID_GPU);
}

TEST_F(lease_fail, the_space_ends_first)
{
	struct ut *d = &self->d;
	struct server s;
	struct pollfd p = { .events = POLLIN };
	struct ut other;
	int64_t base;

	ASSERT_EQ(0, ut_open(&other));
	base = ut_alloc_blocks(&other, TAG, BLOCKS);
	ASSERT_LE(0, base);
	fill_blocks(&other, base, 12);
	ASSERT_EQ(0, server_open(&s, d, other.id, LONG_MS));
	ASSERT_EQ(-EAGAIN, exchange(&s, UGM_FETCH_NOWAIT, 0));
	ASSERT_EQ(0, ut_hint_now(&other, UGM_HINT_EVICT, TAG, 0, BLOCKS, UGM_TIER_ID_FLASH));
	p.fd = s.lane;
	EXPECT_EQ(1, poll(&p, 1, ut_limit(2000) / UT_MSEC));
	EXPECT_TRUE(p.revents & POLLIN);
	ASSERT_EQ(0, fetch(&s));
	ut_close(&other);
	EXPECT_EQ(1, poll(&p, 1, 0));
	EXPECT_TRUE(p.revents & POLLHUP);
	EXPECT_EQ(SIGBUS, ut_touch(s.window + s.seg[0].window_offset, false));
	EXPECT_EQ(-ESTALE, commit(&s));
	EXPECT_EQ(-ENODEV, exchange(&s, UGM_FETCH_NOWAIT, 0));
	server_close(&s);
}

TEST_F(lease_fail, a_wait_ends_when_it_should)
{
	struct ut *d = &self->d;
	struct server s;
	uint64_t start;
	int status;
	pid_t pid;

	ASSERT_EQ(0, server_open(&s, d, 0, 0));
	EXPECT_EQ(-EBUSY, server_open(&(struct server){ 0 }, d, 0, 0));
	EXPECT_EQ(-EAGAIN, exchange(&s, UGM_FETCH_NOWAIT, 0));
	/* Not before, also where the kernel is late to count its ticks. */
	for (int i = 0; i < 20; i++) {
		start = ut_now();
		EXPECT_EQ(-ETIME, exchange(&s, 0, 10));
		EXPECT_LE(10 * UT_MSEC, ut_now() - start);
	}
	server_close(&s);
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (server_open(&s, d, 0, 0))
			_exit(1);
		_exit(exchange(&s, 0, 0) ? 2 : 0);
	}
	ut_sleep_ms(100);
	kill(pid, SIGKILL);
	EXPECT_EQ(0, ut_reap(pid, 1000, &status));
	EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_F(lease_fail, the_namespace_goes)
{
	struct ut *d = &self->d;
	struct server s;
	int status;
	pid_t pid;

	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (server_open(&s, d, 0, 0))
			_exit(1);
		_exit(exchange(&s, 0, 0) == -ENODEV ? 0 : 2);
	}
	while (ut_stat(d, "lane.serving.bool") == 0)
		ut_sleep_ms(5);
	ut_sleep_ms(50);
	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_DETACH, NULL));
	EXPECT_EQ(0, ut_reap(pid, 2000, &status));
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN
