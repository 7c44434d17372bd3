/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LEASE_H
#define LEASE_H

#include <liburing.h>
#include <sys/prctl.h>

#include "ugm_harness.h"

/* What tests of the planner lane share: the test itself is the server. */

#define TAG 7
#define BLOCKS 8
#define SEGMENTS 64
/* Leases that shall not expire have as long as a lease can, and those that shall: */
#define LONG_MS 600000
#define SHORT_MS ((uint32_t)(ut_limit(200) / UT_MSEC))

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

static inline int server_open(struct server *s, struct ut *d, uint64_t space, uint32_t timeout_ms)
{
	struct ugm_ioc_lane arg = { .space = space, .timeout_ms = timeout_ms };

	*s = (struct server){ .lane = ut_ioctl(d->fd, UGM_IOC_LANE, &arg) };
	if (s->lane < 0)
		return s->lane;
	s->size = arg.window_size;
	s->flash = open(UT_NAMESPACE, O_RDWR | O_DIRECT | O_CLOEXEC);
	s->window = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, s->lane, 0);
	return s->flash < 0 || s->window == MAP_FAILED ? -errno : 0;
}

static inline void server_close(struct server *s)
{
	munmap(s->window, s->size);
	close(s->lane);
	close(s->flash);
	s->lane = -1;
}

/* Exchange the lease that is held, if any, for another. */
static inline int exchange(struct server *s, uint32_t flags, uint32_t timeout_ms)
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

static inline int fetch(struct server *s)
{
	return exchange(s, 0, ut_limit(2000) / UT_MSEC);
}

static inline int commit(struct server *s)
{
	return exchange(s, UGM_FETCH_COMMIT_ONLY, 0);
}

static inline void transfer(struct server *s, struct ugm_segment *g)
{
	ssize_t n;

	if (g->dir == UGM_LANE_READ)
		n = pread(s->flash, s->window + g->window_offset, g->len, (off_t)g->flash_offset);
	else
		n = pwrite(s->flash, s->window + g->window_offset, g->len,
			   (off_t)g->flash_offset);
	g->result = n < 0 ? -errno : (int32_t)n;
}

static inline void transfer_all(struct server *s)
{
	for (uint32_t i = 0; i < s->nr; i++)
		transfer(s, &s->seg[i]);
}

static inline uint64_t leased_bytes(const struct server *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->nr; i++)
		sum += s->seg[i].len;
	return sum;
}

/* Serve until there is nothing to do for a moment. */
static inline int serve(struct server *s)
{
	int err = 0;

	while (!err) {
		err = exchange(s, 0, 300);
		transfer_all(s);
	}
	return err == -ETIME ? 0 : err;
}

/* A child that does not outlive the test, which may be ended by its time limit. */
static inline pid_t fork_child(void)
{
	pid_t pid = fork();

	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static inline void fill_blocks(struct ut *d, int64_t base, uint64_t seed)
{
	for (uint64_t i = 0; i < BLOCKS; i++)
		ut_fill(d->gpu + base + i * d->block, d->block, seed + i);
}

static inline int wrong_blocks(struct ut *d, int64_t base, uint64_t seed)
{
	int wrong = 0;

	for (uint64_t i = 0; i < BLOCKS; i++)
		wrong += ut_compare(d->gpu + base + i * d->block, d->block, seed + i) >= 0;
	return wrong;
}

/* Wait until all blocks are in a tier. */
static inline int arrived(struct ut *d, int64_t base, int tier)
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
static inline int64_t prepare(struct __test_metadata *_metadata, struct ut *d, struct server *s, int tier,
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

#endif /* LEASE_H */
