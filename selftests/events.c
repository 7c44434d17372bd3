// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * Events: what a space tells those who read its file.
 */
#include <poll.h>
#include <pthread.h>

#include "ugm_harness.h"

UT_FIXTURE(events);
UT_VARIANT(events, small, "block_size=4K gpu_mem=64K host_mem=64K");

#define BLOCK 4096

/* A hint that cannot be followed makes one event, with a cookie. */
static int make_event(struct ut *d, uint64_t cookie)
{
	struct ugm_hint_desc h = {
		.tag = 1, .at = UGM_HINT_NOW, .need = UGM_HINT_NO_NEED, .op = UGM_HINT_EVICT,
		.tier = UGM_TIER_ID_HOST, .len = BLOCK, .cookie = cookie,
	};
	struct ugm_ioc_hint arg = { .hints = (uintptr_t)&h, .nr = 1 };
	int err = ut_ioctl(d->fd, UGM_IOC_HINT, &arg);

	return err ? err : h.result;
}

static int non_blocking(struct ut *d)
{
	int64_t range = ut_alloc(d, 1, BLOCK, 0);

	return range < 0 ? (int)range : fcntl(d->fd, F_SETFL, O_NONBLOCK);
}

TEST_F(events, read_and_poll)
{
	struct ugm_event_desc ev[2];
	struct pollfd p = { .fd = self->d.fd, .events = POLLIN };
	int fd = self->d.fd;

	ASSERT_EQ(0, non_blocking(&self->d));
	EXPECT_EQ(-1, read(fd, ev, sizeof(ev)));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(0, poll(&p, 1, 0));
	ASSERT_EQ(0, make_event(&self->d, 5));
	EXPECT_EQ(1, poll(&p, 1, 1000));
	EXPECT_EQ(-1, read(fd, ev, sizeof(ev[0]) - 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ((ssize_t)sizeof(ev[0]), read(fd, ev, sizeof(ev)));
	EXPECT_EQ((uint32_t)UGM_EVENT_HINT_REFUSED, ev[0].type);
	EXPECT_EQ(5u, ev[0].a);
	EXPECT_EQ(0, poll(&p, 1, 0));
}

/* What could not be handed over is still there. */
TEST_F(events, none_is_lost_to_a_bad_buffer)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = sizeof(struct ugm_event_desc);
	struct ugm_event_desc ev[4];
	char *room, *edge;
	uint64_t i;

	room = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, room);
	edge = room + page;
	ASSERT_EQ(0, mprotect(edge, page, PROT_NONE));
	ASSERT_EQ(0, non_blocking(&self->d));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, make_event(&self->d, i));
	}

	EXPECT_EQ(-1, read(self->d.fd, edge, 3 * size));
	EXPECT_EQ(EFAULT, errno);
	/* One fits before the edge, of the next one a half. */
	ASSERT_EQ((ssize_t)size, read(self->d.fd, edge - size - size / 2, 3 * size));
	memcpy(ev, edge - size - size / 2, size);
	EXPECT_EQ(0u, ev[0].a);
	EXPECT_EQ(-1, read(self->d.fd, edge - size / 2, 3 * size));
	EXPECT_EQ(EFAULT, errno);
	ASSERT_EQ(2 * (ssize_t)size, read(self->d.fd, ev, sizeof(ev)));
	EXPECT_EQ(1u, ev[0].a);
	EXPECT_EQ(2u, ev[1].a);
	EXPECT_EQ(0u, ut_stat(&self->d, "event.lost.count"));
	munmap(room, 2 * page);
}

#define EVENTS 2000
#define READERS 3

/**
 * struct reader - one of several that read the same events
 * @fd: device file
 * @seen: by cookie: how often it was read by anybody
 * @nr: how many this one has read
 * @failed: what read() said that it should not have, or 0
 */
struct reader {
	int fd;
	uint8_t *seen;
	unsigned int nr;
	int failed;
};

static void *read_events(void *arg)
{
	struct reader *r = arg;
	struct ugm_event_desc ev[3];
	ssize_t n, i;

	for (;;) {
		n = read(r->fd, ev, sizeof(ev));
		if (n <= 0 || n % (ssize_t)sizeof(ev[0])) {
			r->failed = n < 0 ? -errno : -EPROTO;
			return NULL;
		}
		for (i = 0; i < n / (ssize_t)sizeof(ev[0]); i++) {
			/* The last ones end the readers. */
			if (ev[i].a >= EVENTS)
				return NULL;
			r->nr++;
			__atomic_add_fetch(&r->seen[ev[i].a], 1, __ATOMIC_RELAXED);
		}
	}
}

/* Blocking readers share them: each event is read once, by one of them. */
TEST_F(events, readers_share_them)
{
	static uint8_t seen[EVENTS];
	struct reader readers[READERS];
	pthread_t threads[READERS];
	unsigned int i, lost = 0, once = 0;
	unsigned int total = 0;

	ASSERT_EQ(0, ut_alloc(&self->d, 1, BLOCK, 0));
	memset(seen, 0, sizeof(seen));
	for (i = 0; i < READERS; i++) {
		readers[i] = (struct reader){ .fd = self->d.fd, .seen = seen };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, read_events, &readers[i]));
	}
	for (i = 0; i < EVENTS; i++) {
		ASSERT_EQ(0, make_event(&self->d, i));
	}
	/* One that ends a reader may take others of its kind along. */
	for (i = 0; i < READERS; i++) {
		while (pthread_tryjoin_np(threads[i], NULL) == EBUSY) {
			ASSERT_EQ(0, make_event(&self->d, EVENTS));
			ut_sleep_ms(1);
		}
	}
	for (i = 0; i < READERS; i++) {
		EXPECT_EQ(0, readers[i].failed);
		total += readers[i].nr;
	}
	for (i = 0; i < EVENTS; i++) {
		EXPECT_GE(1, seen[i]);
		once += seen[i];
	}
	EXPECT_EQ(total, once);
	lost = (unsigned int)ut_stat(&self->d, "event.lost.count");
	EXPECT_LE(EVENTS, once + lost);
}

TEST_F(events, lost_events_are_counted)
{
	struct ut *d = &self->d;
	struct ugm_event_desc ev[64];
	int i, nr = 0;
	ssize_t n;

	ASSERT_EQ(0, non_blocking(d));
	for (i = 0; i < 300; i++) {
		ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_EVICT, 1, 0, 1, UGM_TIER_ID_HOST));
	}
	while ((n = read(d->fd, ev, sizeof(ev))) > 0)
		nr += n / sizeof(ev[0]);
	EXPECT_LT(0, nr);
	EXPECT_GT(300, nr);
	ASSERT_EQ(0, ut_hint_now(d, UGM_HINT_EVICT, 1, 0, 1, UGM_TIER_ID_HOST));
	ASSERT_EQ((ssize_t)sizeof(ev[0]), read(d->fd, ev, sizeof(ev)));
	EXPECT_EQ(300u, nr + ev[0].lost);
	EXPECT_EQ(ev[0].lost, ut_stat(d, "event.lost.count"));
}

TEST_HARNESS_MAIN
