// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * The planner lane: leases that are served, served badly, late, or not at all.
 * The test itself is the server.
 */
#include <liburing.h>
#include <poll.h>
#include <sys/prctl.h>

#include "ugm_harness.h"

#define TAG 7
#define BLOCKS 8
#define SEGMENTS 64
/* Leases that shall not expire, on a slow machine, and those that shall. */
#define LONG_MS 20000
#define SHORT_MS 200

/**
 * struct server - the lane file of a space, its window and the namespace
 * @lane: lane file
 * @flash: namespace
 * @window: window
 * @size: its bytes
 * @lease: the lease that is held
 * @nr: its segments; 0: none
 * @seg: its segments
 */
struct server {
	int lane;
	int flash;
	char *window;
	uint64_t size;
	uint64_t lease;
	uint32_t nr;
	struct ugm_segment seg[SEGMENTS];
};

UT_FIXTURE(lease);
UT_VARIANT(lease, small, "block_size=4096 gpu_mem=512K host_mem=1M");
UT_VARIANT(lease, huge, "block_size=2097152 gpu_mem=32M host_mem=32M");

static int server_open(struct server *s, struct ut *d, uint64_t space, uint32_t timeout_ms)
{
	struct ugm_ioc_lane arg = { .space = space,
				    .timeout_ms = ut_limit(timeout_ms) / UT_MSEC };

	*s = (struct server){ .lane = ut_ioctl(d->fd, UGM_IOC_LANE, &arg) };
	if (s->lane < 0)
		return s->lane;
	s->size = arg.window_size;
	s->flash = open(UT_NAMESPACE, O_RDWR | O_DIRECT | O_CLOEXEC);
	s->window = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, s->lane, 0);
	return s->flash < 0 || s->window == MAP_FAILED ? -errno : 0;
}

static void server_close(struct server *s)
{
	munmap(s->window, s->size);
	close(s->lane);
	close(s->flash);
	s->lane = -1;
}

/* Exchange the lease that is held, if any, for another. */
static int exchange(struct server *s, uint32_t flags, uint32_t timeout_ms)
{
	struct ugm_ioc_fetch f = {
		.segments = (uintptr_t)s->seg,
		.nr = SEGMENTS,
		.commit_nr = s->nr,
		.lease = s->lease,
		.flags = flags,
		.timeout_ms = timeout_ms,
	};
	int err = ut_ioctl(s->lane, s->nr ? UGM_IOC_COMMIT_AND_FETCH : UGM_IOC_FETCH, &f);

	s->nr = err ? 0 : f.nr;
	s->lease = err ? 0 : f.lease;
	return err;
}

static int fetch(struct server *s)
{
	return exchange(s, 0, ut_limit(2000) / UT_MSEC);
}

static int commit(struct server *s)
{
	return exchange(s, UGM_FETCH_COMMIT_ONLY, 0);
}

static void transfer(struct server *s, struct ugm_segment *g)
{
	ssize_t n;

	if (g->dir == UGM_LANE_READ)
		n = pread(s->flash, s->window + g->window_offset, g->len, (off_t)g->flash_offset);
	else
		n = pwrite(s->flash, s->window + g->window_offset, g->len,
			   (off_t)g->flash_offset);
	g->result = n < 0 ? -errno : (int32_t)n;
}

static void transfer_all(struct server *s)
{
	for (uint32_t i = 0; i < s->nr; i++)
		transfer(s, &s->seg[i]);
}

static uint64_t leased_bytes(const struct server *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->nr; i++)
		sum += s->seg[i].len;
	return sum;
}

/* Serve until there is nothing to do for a moment. */
static int serve(struct server *s)
{
	int err = 0;

	while (!err) {
		err = exchange(s, 0, 300);
		transfer_all(s);
	}
	return err == -ETIME ? 0 : err;
}

/* A child that does not outlive the test, which may be ended by its time limit. */
static pid_t fork_child(void)
{
	pid_t pid = fork();

	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void fill_blocks(struct ut *d, int64_t base, uint64_t seed)
{
	for (uint64_t i = 0; i < BLOCKS; i++)
		ut_fill(d->gpu + base + i * d->block, d->block, seed + i);
}

static int wrong_blocks(struct ut *d, int64_t base, uint64_t seed)
{
	int wrong = 0;

	for (uint64_t i = 0; i < BLOCKS; i++)
		wrong += ut_compare(d->gpu + base + i * d->block, d->block, seed + i) >= 0;
	return wrong;
}

/* Wait until all blocks are in a tier. */
static int arrived(struct ut *d, int64_t base, int tier)
{
	uint64_t until = ut_now() + ut_limit(10000), i;

	for (i = 0; i < BLOCKS;) {
		if (ut_tier(d, base + i * d->block) == tier) {
			i++;
			continue;
		}
		if (ut_now() > until)
			return -ETIMEDOUT;
		ut_sleep_ms(2);
	}
	return 0;
}

/*
 * A server that has asked for work once: from then on planned moves come to it.
 * Prepares blocks and hints them towards @tier, but not yet there.
 */
static int64_t prepare(struct __test_metadata *_metadata, struct ut *d, struct server *s, int tier,
		       uint64_t seed, uint32_t timeout_ms)
{
	int64_t base = ut_alloc_blocks(d, TAG, BLOCKS);

	ASSERT_LE(0, base);
	fill_blocks(d, base, seed);
	if (tier == UGM_TIER_ID_GPU)
		ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, TAG, 0, BLOCKS, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, server_open(s, d, 0, timeout_ms));
	ASSERT_EQ(-EAGAIN, exchange(s, UGM_FETCH_NOWAIT, 0));
	ASSERT_EQ(0, ut_hint_now(d, tier == UGM_TIER_ID_GPU ? UGM_HINT_PREFETCH : UGM_HINT_EVICT,
				 TAG, 0, BLOCKS, tier));
	return base;
}

TEST_F(lease, serves_both_directions)
{
	struct ut *d = &self->d;
	struct server s;
	int64_t base = prepare(_metadata, d, &s, UGM_TIER_ID_FLASH, 1, LONG_MS);

	ASSERT_EQ(0, serve(&s));
	ASSERT_EQ(0, arrived(d, base, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_PREFETCH, TAG, 0, BLOCKS, UGM_TIER_ID_GPU));
	ASSERT_EQ(0, serve(&s));
	ASSERT_EQ(0, arrived(d, base, UGM_TIER_ID_GPU));
	EXPECT_EQ(0, wrong_blocks(d, base, 1));
	EXPECT_EQ(BLOCKS, ut_stat(d, "transfer.gpu.flash.planner.planned.blocks"));
	EXPECT_EQ(BLOCKS, ut_stat(d, "transfer.flash.gpu.planner.planned.blocks"));
	EXPECT_EQ(0, ut_stats_like(d, "transfer.flash.gpu.kernel.", ".blocks"));
	EXPECT_EQ(0, ut_stats_like(d, "transfer.gpu.flash.kernel.", ".blocks"));
	EXPECT_EQ((uint64_t)BLOCKS * d->block, ut_stat(d, "lease.read.bytes"));
	EXPECT_EQ((uint64_t)BLOCKS * d->block, ut_stat(d, "lease.written.bytes"));
	EXPECT_EQ(ut_stat(d, "lease.taken.count"), ut_stat(d, "lease.committed.count"));
	/* What the server read does not count as written by the GPU. */
	EXPECT_FALSE(ut_state(d, base) & UGM_RESIDENCY_DIRTY);
	server_close(&s);
}

TEST_F(lease, serves_the_host_tier)
{
	struct ut *d = &self->d;
	struct server s;
	int64_t base = prepare(_metadata, d, &s, UGM_TIER_ID_FLASH, 2, LONG_MS);

	ASSERT_EQ(0, serve(&s));
	ASSERT_EQ(0, arrived(d, base, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_PREFETCH, TAG, 0, BLOCKS, UGM_TIER_ID_HOST));
	ASSERT_EQ(0, serve(&s));
	ASSERT_EQ(0, arrived(d, base, UGM_TIER_ID_HOST));
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_EVICT, TAG, 0, BLOCKS, UGM_TIER_ID_FLASH));
	ASSERT_EQ(0, serve(&s));
	ASSERT_EQ(0, arrived(d, base, UGM_TIER_ID_FLASH));
	EXPECT_EQ(0, wrong_blocks(d, base, 2));
	server_close(&s);
}

TEST_F(lease, neighbours_are_one_segment)
{
	struct ut *d = &self->d;
	struct server s;
	int64_t base = prepare(_metadata, d, &s, UGM_TIER_ID_FLASH, 3, LONG_MS);
	uint64_t most = 0;

	/* Let all of them gather, so that one lease can have them. */
	for (int i = 0; i < 20; i++)
		ut_sleep_ms(5);
	while (!exchange(&s, 0, 300)) {
		for (uint32_t i = 0; i < s.nr; i++)
			most = s.seg[i].len > most ? s.seg[i].len : most;
		transfer_all(&s);
	}
	ASSERT_EQ(0, arrived(d, base, UGM_TIER_ID_FLASH));
	EXPECT_EQ(d->block < 2 << 20, most > d->block);
	EXPECT_EQ(0, wrong_blocks(d, base, 3));
	server_close(&s);
}

TEST_F(lease, two_leases_at_once)
{
	struct ut *d = &self->d;
	struct server a, b;
	int64_t base = prepare(_metadata, d, &a, UGM_TIER_ID_FLASH, 4, LONG_MS);

	ASSERT_EQ(0, fetch(&a));
	b = a;
	b.nr = 0;
	/* A second batch while the first is out. */
	ASSERT_LE(0, ut_alloc_blocks(d, TAG + 1, 1));
	while (!exchange(&b, 0, 100)) {
		EXPECT_NE(a.lease, b.lease);
		transfer_all(&b);
	}
	transfer_all(&a);
	EXPECT_EQ(0, serve(&a));
	ASSERT_EQ(0, arrived(d, base, UGM_TIER_ID_FLASH));
	EXPECT_EQ(0, wrong_blocks(d, base, 4));
	server_close(&a);
}

TEST_F(lease, io_uring_through_the_window)
{
	struct ut *d = &self->d;
	struct io_uring_cqe *cqe;
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	struct server s;
	int64_t base = prepare(_metadata, d, &s, UGM_TIER_ID_GPU, 5, LONG_MS);

	ASSERT_EQ(0, io_uring_queue_init(SEGMENTS, &ring, 0));
	while (!exchange(&s, 0, 300)) {
		for (uint32_t i = 0; i < s.nr; i++) {
			sqe = io_uring_get_sqe(&ring);
			io_uring_prep_read(sqe, s.flash, s.window + s.seg[i].window_offset,
					   s.seg[i].len, s.seg[i].flash_offset);
			io_uring_sqe_set_data(sqe, &s.seg[i]);
		}
		ASSERT_EQ(s.nr, io_uring_submit(&ring));
		for (uint32_t i = 0; i < s.nr; i++) {
			ASSERT_EQ(0, io_uring_wait_cqe(&ring, &cqe));
			((struct ugm_segment *)io_uring_cqe_get_data(cqe))->result = cqe->res;
			io_uring_cqe_seen(&ring, cqe);
		}
	}
	ASSERT_EQ(0, arrived(d, base, UGM_TIER_ID_GPU));
	EXPECT_EQ(0, wrong_blocks(d, base, 5));
	EXPECT_EQ(BLOCKS, ut_stat(d, "transfer.flash.gpu.planner.planned.blocks"));
	io_uring_queue_exit(&ring);
	server_close(&s);
}

/* Every way not to do it, in both directions. */
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

TEST_F(lease, errors_and_short_results_lose_nothing)
{
	static const int32_t results[] = { -EIO, -EAGAIN, -ENOSPC, -EFAULT, -ECANCELED, 0 };

	for (unsigned int i = 0; i < sizeof(results) / sizeof(*results); i++) {
		bad_result(_metadata, &self->d, UGM_TIER_ID_FLASH, results[i]);
		bad_result(_metadata, &self->d, UGM_TIER_ID_GPU, results[i]);
	}
	EXPECT_LE(1, ut_stat(&self->d, "lease.short_io.count"));
}

TEST_F(lease, injected_short_result)
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

	ASSERT_EQ(0, fetch(&s));
	EXPECT_LE(1, leased_bytes(&s));
	EXPECT_EQ(0, ut_touch(s.window + s.seg[0].window_offset, false));
	ASSERT_EQ(0, arrived(d, base, tier));
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

TEST_F(lease, expires)
{
	expire(_metadata, &self->d, UGM_TIER_ID_FLASH);
	expire(_metadata, &self->d, UGM_TIER_ID_GPU);
}

TEST_F(lease, moves_do_not_wait_for_a_server_that_does_not_fetch)
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

TEST_F(lease, closed_at_every_step)
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

TEST_F(lease, killed_at_every_step)
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
TEST_F(lease, late_reads_hit_nobody)
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

TEST_F(lease, a_touch_takes_the_block_from_the_server)
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

TEST_F(lease, the_space_ends_first)
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

TEST_F(lease, a_wait_ends_when_it_should)
{
	struct ut *d = &self->d;
	struct server s;
	uint64_t start;
	int status;
	pid_t pid;

	ASSERT_EQ(0, server_open(&s, d, 0, 0));
	EXPECT_EQ(-EBUSY, server_open(&(struct server){ 0 }, d, 0, 0));
	EXPECT_EQ(-EAGAIN, exchange(&s, UGM_FETCH_NOWAIT, 0));
	start = ut_now();
	EXPECT_EQ(-ETIME, exchange(&s, 0, 100));
	EXPECT_LE(100 * 1000000ULL, ut_now() - start);
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

TEST_F(lease, the_namespace_goes)
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

TEST_F(lease, wrong_results_are_refused_and_the_lease_goes_on)
{
	struct ut *d = &self->d;
	struct server s, good;
	int64_t base = prepare(_metadata, d, &s, UGM_TIER_ID_FLASH, 13, LONG_MS);

	ASSERT_EQ(0, fetch(&s));
	transfer_all(&s);
	good = s;
#define REFUSED(change) do {                                               \
		s = good;                                                  \
		change;                                                    \
		EXPECT_EQ(-EINVAL, commit(&s));                            \
	} while (0)
	REFUSED(s.lease = 0);
	REFUSED(s.lease += 1000);
	REFUSED(s.seg[0].window_offset += d->block);
	REFUSED(s.seg[0].flash_offset += d->block);
	REFUSED(s.seg[0].len -= 512);
	REFUSED(s.seg[0].dir = UGM_LANE_READ);
	REFUSED(s.seg[0].result = (int32_t)s.seg[0].len + 1);
	REFUSED(s.seg[0].pad = 1);
	REFUSED(s.nr = SEGMENTS; s.seg[SEGMENTS - 1].len = 1);
#undef REFUSED
	s = good;
	EXPECT_EQ(0, serve(&s));
	ASSERT_EQ(0, arrived(d, base, UGM_TIER_ID_FLASH));
	EXPECT_EQ(0, wrong_blocks(d, base, 13));
	s = good;
	EXPECT_EQ(-ESTALE, commit(&s));
	server_close(&good);
}

TEST_F(lease, wrong_arguments)
{
	struct ut *d = &self->d;
	struct ugm_segment seg[2] = { 0 };
	struct ugm_ioc_lane lane = { .flags = 1 };
	struct ugm_ioc_fetch f;
	struct server s;

	EXPECT_EQ(-EINVAL, ut_ioctl(d->fd, UGM_IOC_LANE, &lane));
	lane = (struct ugm_ioc_lane){ .space = 12345 };
	EXPECT_EQ(-ENOENT, ut_ioctl(d->fd, UGM_IOC_LANE, &lane));
	ASSERT_EQ(0, server_open(&s, d, 0, 0));
	EXPECT_TRUE(fcntl(s.lane, F_GETFD) & FD_CLOEXEC);
#define FETCH(error, request, ...) do {                                    \
		f = (struct ugm_ioc_fetch){ .segments = (uintptr_t)seg, __VA_ARGS__ }; \
		EXPECT_EQ(error, ut_ioctl(s.lane, request, &f));           \
	} while (0)
	FETCH(-EINVAL, UGM_IOC_FETCH, .nr = 0, .flags = UGM_FETCH_NOWAIT);
	FETCH(-EINVAL, UGM_IOC_FETCH, .nr = 1, .flags = 1 << 7);
	FETCH(-EINVAL, UGM_IOC_FETCH, .nr = 1, .flags = UGM_FETCH_COMMIT_ONLY);
	FETCH(-EINVAL, UGM_IOC_FETCH, .nr = 1, .commit_nr = 1, .flags = UGM_FETCH_NOWAIT);
	FETCH(-EINVAL, UGM_IOC_COMMIT_AND_FETCH, .nr = 1, .lease = 0, .flags = UGM_FETCH_NOWAIT);
	FETCH(-EINVAL, UGM_IOC_COMMIT_AND_FETCH, .nr = 1, .lease = 99, .commit_nr = 1);
	FETCH(-EINVAL, UGM_IOC_COMMIT_AND_FETCH, .nr = 1, .lease = 99, .commit_nr = 1u << 31);
	FETCH(-EAGAIN, UGM_IOC_FETCH, .nr = UINT32_MAX, .flags = UGM_FETCH_NOWAIT);
#undef FETCH
	f = (struct ugm_ioc_fetch){ .segments = 16, .nr = 1, .commit_nr = 1, .lease = 1 };
	EXPECT_EQ(-EFAULT, ut_ioctl(s.lane, UGM_IOC_COMMIT_AND_FETCH, &f));
	EXPECT_EQ(-EFAULT, ut_ioctl(s.lane, UGM_IOC_FETCH, (void *)16));
	EXPECT_EQ(-ENOTTY, ut_ioctl(s.lane, UGM_IOC_INFO, &f));
	EXPECT_EQ(-ENOTTY, ut_ioctl(s.lane, _IOWR('U', 0xc7, struct ugm_ioc_fetch), &f));
	server_close(&s);
}

/* A batch whose segments cannot be told to the server is not lost. */
TEST_F(lease, segments_that_cannot_be_copied_out)
{
	struct ut *d = &self->d;
	struct ugm_ioc_fetch f = { .segments = 16, .nr = SEGMENTS };
	struct server s;
	int64_t base = prepare(_metadata, d, &s, UGM_TIER_ID_FLASH, 14, LONG_MS);

	EXPECT_EQ(-EFAULT, ut_ioctl(s.lane, UGM_IOC_FETCH, &f));
	EXPECT_EQ(0, serve(&s));
	ASSERT_EQ(0, arrived(d, base, UGM_TIER_ID_FLASH));
	EXPECT_EQ(0, wrong_blocks(d, base, 14));
	server_close(&s);
}

TEST_F(lease, the_window_is_the_server_s_alone)
{
	struct ut *d = &self->d;
	int status;
	struct server s;
	pid_t pid;
	void *p;

	prepare(_metadata, d, &s, UGM_TIER_ID_FLASH, 15, LONG_MS);
	ASSERT_EQ(0, fetch(&s));
	p = mmap(NULL, s.size, PROT_READ, MAP_PRIVATE, s.lane, 0);
	EXPECT_EQ(MAP_FAILED, p);
	p = mmap(NULL, d->block, PROT_READ, MAP_SHARED, s.lane, (off_t)s.size);
	EXPECT_EQ(MAP_FAILED, p);
	p = mmap(NULL, s.size + d->block, PROT_READ, MAP_SHARED, s.lane, 0);
	EXPECT_EQ(MAP_FAILED, p);
	if (d->block > 4096) {
		p = mmap(NULL, d->block, PROT_READ, MAP_SHARED, s.lane, 4096);
		EXPECT_EQ(MAP_FAILED, p);
	}
	/* No place but those of the lease. */
	EXPECT_EQ(SIGBUS, ut_touch(s.window + s.size - d->block, false));
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		p = mmap(NULL, s.size, PROT_READ, MAP_SHARED, s.lane, 0);
		if (p != MAP_FAILED || errno != EPERM)
			_exit(1);
		if (exchange(&s, UGM_FETCH_NOWAIT, 0) != -EPERM)
			_exit(2);
		_exit(ut_touch(s.window, false) == SIGSEGV ? 0 : 3);
	}
	EXPECT_EQ(0, ut_reap(pid, 5000, &status));
	EXPECT_EQ(0, status);
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct ugm_ioc_lane lane = { 0 };

		if (setuid(65534))
			_exit(1);
		_exit(ut_ioctl(d->fd, UGM_IOC_LANE, &lane) == -EPERM ? 0 : 2);
	}
	EXPECT_EQ(0, ut_reap(pid, 5000, &status));
	EXPECT_EQ(0, status);
	transfer_all(&s);
	EXPECT_EQ(0, serve(&s));
	server_close(&s);
}

TEST_HARNESS_MAIN
