// SPDX-License-Identifier: MIT
/**
 * DOC: flash server
 *
 * The planner lane's user-space half. The kernel leases batches of segments;
 * each is one O_DIRECT read or write between the namespace and the transfer
 * window, through one io_uring. As many leases are held as the kernel gives, so
 * that the device stays busy while a finished lease is committed and the next
 * one fetched; with nothing in flight the server sleeps in the kernel.
 *
 * A request that came back short goes on where it stopped. One that moves no
 * byte, or fails, is reported in its segment's result: the kernel lane does
 * that transfer again, nothing is lost.
 */

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"

#define LEASES 16
#define SEGMENTS 64
#define DEFAULT_DEPTH 64
#define MAX_DEPTH 4096
/*
 * Bytes of one submission. A longer one needs more than one bio (256 pages),
 * which the block layer does not do without blocking: io_uring would hand it to
 * a worker thread. Half of that also stays whole under the usual max_sectors_kb.
 */
#define PIECE (512U << 10)
/* How often a sleeping server looks whether it should stop. */
#define TICK_MS 100
/* Submissions of one request without progress before -EAGAIN is an error. */
#define MAX_TRIES 1000

/**
 * struct ugm_lane_file - the lane file of a space
 * @fd: the file
 * @flash: the namespace, O_DIRECT
 * @window: the transfer window
 * @window_size: its bytes
 */
struct ugm_lane_file {
	int fd;
	int flash;
	char *window;
	size_t window_size;
};

struct lease;

/**
 * struct request - a segment on its way
 * @lease: its lease
 * @done: bytes moved so far
 * @asked: bytes of the piece that is under way
 * @tries: submissions since the last byte moved
 */
struct request {
	struct lease *lease;
	uint32_t done;
	uint32_t asked;
	uint32_t tries;
};

/**
 * struct lease - a lease, or room for one
 * @id: the kernel's number of it
 * @nr: segments; 0: not held
 * @next: first segment not yet submitted
 * @finished: segments with a result
 * @segments: what to move
 * @requests: by segment
 */
struct lease {
	uint64_t id;
	uint32_t nr;
	uint32_t next;
	uint32_t finished;
	struct ugm_segment segments[SEGMENTS];
	struct request requests[SEGMENTS];
};

/**
 * struct server - one call of ugm_serve()
 * @lane: lane
 * @ring: its io_uring
 * @depth: requests in flight at most
 * @inflight: requests in flight
 * @held: leases held
 * @dry: the kernel had no more work when last asked
 * @gone: 0, or why no more leases can be had
 * @stop: the caller's flag, or NULL
 * @totals: what was done
 * @leases: room for leases
 */
struct server {
	struct ugm_lane_file *lane;
	struct io_uring ring;
	unsigned int depth;
	unsigned int inflight;
	unsigned int held;
	bool dry;
	int gone;
	const volatile int *stop;
	struct ugm_serve_totals totals;
	struct lease leases[LEASES];
};

int ugm_lane_open(struct ugm *space, uint64_t id, uint32_t timeout_ms,
		  struct ugm_lane_file **lane)
{
	struct ugm_ioc_lane arg = { .space = id, .timeout_ms = timeout_ms };
	struct ugm_ioc_info info;
	struct ugm_lane_file *l;
	int ret;

	ret = ugm_info(space, &info);
	if (ret)
		return ret;
	if (!(info.flags & UGM_INFO_ATTACHED))
		return -ENODEV;

	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->fd = -1;
	info.namespace_path[sizeof(info.namespace_path) - 1] = '\0';
	l->flash = open(info.namespace_path, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (l->flash < 0) {
		ret = -errno;
		goto fail;
	}
	l->fd = ugm_ioctl(ugm_fd(space), UGM_IOC_LANE, &arg);
	if (l->fd < 0) {
		ret = l->fd;
		goto fail;
	}
	l->window_size = arg.window_size;
	l->window = mmap(NULL, l->window_size, PROT_READ | PROT_WRITE, MAP_SHARED, l->fd, 0);
	if (l->window == MAP_FAILED) {
		ret = -errno;
		l->window = NULL;
		goto fail;
	}
	*lane = l;
	return 0;

fail:
	ugm_lane_close(l);
	return ret;
}

void ugm_lane_close(struct ugm_lane_file *lane)
{
	if (!lane)
		return;
	if (lane->window)
		munmap(lane->window, lane->window_size);
	if (lane->fd >= 0)
		close(lane->fd);
	if (lane->flash >= 0)
		close(lane->flash);
	free(lane);
}

static bool stopping(const struct server *s)
{
	return s->gone || (s->stop && *s->stop);
}

/*
 * Fetch a lease into the room @l, giving back first the one that is in it. The
 * kernel commits before it looks for work, so an error other than -ESTALE is
 * about the fetch.
 */
static void exchange(struct server *s, struct lease *l)
{
	bool commit = l->nr;
	struct ugm_ioc_fetch f = {
		.segments = (uintptr_t)l->segments,
		.nr = SEGMENTS,
		.commit_nr = l->nr,
		.lease = l->id,
	};
	uint32_t i;
	int ret;

	if (commit) {
		s->held--;
		l->nr = 0;
	}
	if (stopping(s))
		f.flags = UGM_FETCH_COMMIT_ONLY;
	else if (s->held)
		f.flags = UGM_FETCH_NOWAIT;
	else
		f.timeout_ms = TICK_MS;

	ret = ioctl(s->lane->fd, commit ? UGM_IOC_COMMIT_AND_FETCH : UGM_IOC_FETCH, &f);
	if (ret < 0)
		ret = -errno;
	if (commit && ret != -ESTALE)
		s->totals.leases++;
	switch (ret) {
	case 0:
		break;
	case -ESTALE:
		s->totals.stale++;
		return;
	case -EAGAIN:
	case -ETIME:
	case -EINTR:
		s->dry = true;
		return;
	default:
		s->gone = ret;
		return;
	}
	if (f.flags & UGM_FETCH_COMMIT_ONLY)
		return;
	if (!f.nr || f.nr > SEGMENTS) {
		s->gone = -EPROTO;
		return;
	}
	l->id = f.lease;
	l->nr = f.nr;
	l->next = 0;
	l->finished = 0;
	for (i = 0; i < l->nr; i++)
		l->requests[i] = (struct request){ .lease = l };
	s->held++;
}

static bool submit(struct server *s, struct request *r)
{
	const struct ugm_segment *g = &r->lease->segments[r - r->lease->requests];
	struct io_uring_sqe *sqe = io_uring_get_sqe(&s->ring);
	char *at = s->lane->window + g->window_offset + r->done;
	uint64_t offset = g->flash_offset + r->done;
	uint32_t len = g->len - r->done;

	if (!sqe)
		return false;
	if (len > PIECE)
		len = PIECE;
	r->asked = len;
	if (g->dir == UGM_LANE_WRITE)
		io_uring_prep_write(sqe, 0, at, len, offset);
	else
		io_uring_prep_read(sqe, 0, at, len, offset);
	sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data(sqe, r);
	r->tries++;
	s->inflight++;
	return true;
}

static void submit_leases(struct server *s)
{
	struct lease *l;

	for (l = s->leases; l < s->leases + LEASES; l++)
		while (l->next < l->nr && s->inflight < s->depth) {
			if (!submit(s, &l->requests[l->next]))
				return;
			l->next++;
		}
}

static void finish(struct server *s, struct request *r, int32_t result)
{
	struct ugm_segment *g = &r->lease->segments[r - r->lease->requests];

	g->result = result;
	r->lease->finished++;
	s->totals.segments++;
	if (result < 0 || (uint32_t)result < g->len)
		s->totals.failed++;
	if (g->dir == UGM_LANE_WRITE)
		s->totals.written_bytes += r->done;
	else
		s->totals.read_bytes += r->done;
}

/* A request came back; whatever can go on is submitted again at once. */
static void complete(struct server *s, struct request *r, int res)
{
	const struct ugm_segment *g = &r->lease->segments[r - r->lease->requests];

	s->inflight--;
	if (res > 0) {
		r->done += (uint32_t)res;
		r->tries = 0;
		if (r->done >= g->len) {
			finish(s, r, (int32_t)r->done);
			return;
		}
		if ((uint32_t)res < r->asked)
			s->totals.continued++;
	} else if ((res == -EAGAIN || res == -EINTR) && r->tries < MAX_TRIES) {
		s->totals.retried++;
	} else {
		/* An end of file is a short result, which is an error there. */
		finish(s, r, res ? res : (int32_t)r->done);
		return;
	}
	/* The completion left a free entry: there is one per request in flight. */
	if (!submit(s, r))
		finish(s, r, -EAGAIN);
}

static int reap(struct server *s)
{
	struct io_uring_cqe *cqe;
	unsigned int head, seen = 0;
	int ret = io_uring_submit_and_wait(&s->ring, 1);

	if (ret < 0 && ret != -EINTR && ret != -EAGAIN && ret != -EBUSY)
		return ret;
	io_uring_for_each_cqe(&s->ring, head, cqe) {
		complete(s, io_uring_cqe_get_data(cqe), cqe->res);
		seen++;
	}
	io_uring_cq_advance(&s->ring, seen);
	return 0;
}

static int serve_loop(struct server *s)
{
	struct lease *l;
	int ret;

	for (;;) {
		/* Without I/O to wait for, wait in the kernel for work. */
		for (l = s->leases; l < s->leases + LEASES; l++)
			if (!l->nr && !stopping(s) && (!s->dry || !s->held))
				exchange(s, l);
		s->dry = false;
		if (!s->held) {
			if (stopping(s))
				return s->gone == -ENODEV ? 0 : s->gone;
			continue;
		}
		submit_leases(s);
		ret = reap(s);
		if (ret)
			return ret;
		for (l = s->leases; l < s->leases + LEASES; l++)
			if (l->nr && l->finished == l->nr)
				exchange(s, l);
	}
}

static int ring_setup(struct server *s)
{
	/* Completions are only wanted when we wait for them. */
	int ret = io_uring_queue_init(s->depth, &s->ring,
				      IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);

	if (ret == -EINVAL)
		ret = io_uring_queue_init(s->depth, &s->ring, 0);
	if (ret)
		return ret;
	ret = io_uring_register_files(&s->ring, &s->lane->flash, 1);
	if (ret)
		io_uring_queue_exit(&s->ring);
	return ret;
}

int ugm_serve(struct ugm_lane_file *lane, unsigned int depth, const volatile int *stop,
	      struct ugm_serve_totals *totals)
{
	struct server *s;
	int ret;

	if (!depth)
		depth = DEFAULT_DEPTH;
	if (depth > MAX_DEPTH)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->lane = lane;
	s->depth = depth;
	s->stop = stop;
	ret = ring_setup(s);
	if (!ret) {
		ret = serve_loop(s);
		/* Waits for what is in flight: the window must outlive it. */
		while (s->inflight && !reap(s))
			;
		io_uring_queue_exit(&s->ring);
	}
	if (totals)
		*totals = s->totals;
	free(s);
	return ret;
}
