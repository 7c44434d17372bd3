// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * The planner lane: leases that are served, and what a server may not do.
 */
#include <poll.h>

#include "lease.h"

UT_FIXTURE(lease);
UT_VARIANT(lease, small, "block_size=4096 gpu_mem=512K host_mem=1M");
UT_VARIANT(lease, huge, "block_size=2097152 gpu_mem=32M host_mem=32M");

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

/* More data than the window has places for. */
FIXTURE(wide)
{
	struct ut d;
	uint64_t nr;
	int64_t base;
};

FIXTURE_VARIANT(wide)
{
	const char *params;
	uint64_t len;
};

FIXTURE_VARIANT_ADD(wide, small)
{
	.params = "block_size=4096 gpu_mem=64M host_mem=1M",
	.len = 48 << 20,
};

FIXTURE_VARIANT_ADD(wide, huge)
{
	.params = "block_size=2097152 gpu_mem=200M host_mem=2M",
	.len = 192 << 20,
};

FIXTURE_SETUP(wide)
{
	struct ut *d = &self->d;

	*d = (struct ut){ .fd = -1 };
	ASSERT_EQ(0, ut_load(variant->params));
	ASSERT_EQ(0, ut_attach(UT_NAMESPACE, variant->len));
	ASSERT_EQ(0, ut_open(d));
	self->nr = variant->len / d->block;
	self->base = ut_alloc_blocks(d, TAG, self->nr);
	ASSERT_LE(0, self->base);
	ut_fill(d->gpu + self->base, variant->len, 20);
}

FIXTURE_TEARDOWN(wide)
{
	EXPECT_EQ(0, ut_teardown(&self->d));
}

/* Serve all there is, but some leases in part only: the rest is not done. */
static int serve_in_parts(struct server *s)
{
	uint32_t turn = 0;
	int err;

	while (!(err = exchange(s, 0, 300))) {
		transfer_all(s);
		if (++turn % 16)
			continue;
		s->seg[0].result /= 2;
		s->nr = (s->nr + 1) / 2;
	}
	return err == -ETIME ? 0 : err;
}

/* Places are used again and again, also across the end of the window. */
TEST_F(wide, places_go_round)
{
	struct ut *d = &self->d;
	struct server s;
	uint64_t places = 0;

	ASSERT_EQ(0, server_open(&s, d, 0, LONG_MS));
	ASSERT_EQ(-EAGAIN, exchange(&s, UGM_FETCH_NOWAIT, 0));
	while (places <= 5 * (s.size / d->block) / 2) {
		ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_EVICT, TAG, 0, self->nr, UGM_TIER_ID_FLASH));
		ASSERT_EQ(0, serve_in_parts(&s));
		ASSERT_EQ(UGM_TIER_ID_FLASH, ut_tier(d, self->base));
		ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_PREFETCH, TAG, 0, self->nr, UGM_TIER_ID_GPU));
		ASSERT_EQ(0, serve_in_parts(&s));
		ASSERT_EQ(UGM_TIER_ID_GPU, ut_tier(d, self->base));
		places = (ut_stat(d, "lease.read.bytes") + ut_stat(d, "lease.written.bytes")) /
			 d->block;
	}
	EXPECT_EQ(-1, ut_compare(d->gpu + self->base, variant->len, 20));
	EXPECT_LE(1u, ut_stat(d, "lease.kernel_lane.blocks"));
	server_close(&s);
}

/* A server that takes all it can get has no more than the window. */
TEST_F(wide, a_full_window)
{
	struct ut *d = &self->d;
	struct server s, held[160];
	struct pollfd p = { .events = POLLIN };
	uint64_t leased = 0;
	int i, n = 0;

	ASSERT_EQ(0, server_open(&s, d, 0, LONG_MS));
	ASSERT_EQ(-EAGAIN, exchange(&s, UGM_FETCH_NOWAIT, 0));
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_EVICT, TAG, 0, self->nr, UGM_TIER_ID_FLASH));
	p.fd = s.lane;
	for (; n < 160; n++) {
		held[n] = s;
		if (exchange(&held[n], 0, 300))
			break;
		leased += leased_bytes(&held[n]);
	}
	ASSERT_GT(160, n);
	EXPECT_GE(s.size, leased);
	if (d->block == 2 << 20) {
		EXPECT_EQ(s.size, leased);
		/* There is work, but no place for it: nothing to wake up for. */
		EXPECT_LT(0u, ut_stat(d, "lane.queued.blocks"));
		EXPECT_EQ(0, poll(&p, 1, 0));
	}
	for (i = 0; i < n; i++) {
		transfer_all(&held[i]);
		ASSERT_EQ(0, commit(&held[i]));
	}
	EXPECT_EQ(0, serve(&s));
	EXPECT_EQ(0, ut_wait(d, NULL));
	EXPECT_EQ(self->nr, ut_moved(d, "gpu", "flash"));
	EXPECT_EQ(-1, ut_compare(d->gpu + self->base, variant->len, 20));
	server_close(&s);
}

TEST_HARNESS_MAIN
