// SPDX-License-Identifier: MIT
/**
 * DOC: flash server
 *
 * The planner lane's user-space half. The kernel leases batches of segments;
 * each is moved by O_DIRECT reads or writes between the namespace and the
 * transfer window, through one io_uring. As many leases are held as the kernel
 * gives, so that the device stays busy while a finished lease is committed and
 * the next one fetched. With nothing in flight the server sleeps in the kernel
 * until there is work; otherwise the ring also polls the lane file.
 *
 * A segment goes in pieces that the block layer takes whole, all of them at once,
 * and segments and leases in their order: so the first lease is done while those
 * behind it still keep the device busy.
 *
 * A piece that came back short goes on where it stopped. One that moves no byte,
 * or fails, makes its segment's result: the kernel lane does that transfer
 * again, nothing is lost.
 */

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "device.h"

#define LEASES 16
#define SEGMENTS 64
#define DEFAULT_DEPTH 64
#define MAX_DEPTH 4096
/*
 * Most bytes of a piece. A longer one needs more than one bio (256 pages), as
 * does one that is longer than the device's requests, which the block layer does
 * not do without blocking: io_uring would hand it to a worker thread.
 */
#define MAX_PIECE (1U << 20)
/* How often a sleeping server looks whether it should stop. */
#define TICK_MS 100
/* One page is mapped by its request as fast. */
#define SMALL_PAGE 4096u
/* Submissions of one request without progress before -EAGAIN is an error. */
#define MAX_TRIES 1000

/**
 * struct ugm_lane_file - the lane file of a space
 * @fd: the file
 * @flash: the namespace, O_DIRECT
 * @piece: most bytes of one request to it
 * @window: the transfer window
 * @window_size: its bytes
 */
struct ugm_lane_file {
	int fd;
	int flash;
	uint32_t piece;
	char *window;
	size_t window_size;
};

/**
 * struct lease - a lease, or room for one
 * @id: the kernel's number of it
 * @order: leases are worked on in this order
 * @nr: segments; 0: not held
 * @next: the segment to submit the next piece of
 * @offset: where that piece begins in it
 * @pieces: pieces in flight
 * @segments: what to move; their results are the bytes that were moved so far, or
 *            the first error
 */
struct lease {
	uint64_t id;
	uint64_t order;
	uint32_t nr;
	uint32_t next;
	uint32_t offset;
	uint32_t pieces;
	struct ugm_segment segments[SEGMENTS];
};

/**
 * struct piece - a request in flight, or room for one
 * @next: the next free one
 * @lease: its lease
 * @segment: its segment
 * @offset: where what is left of it begins in the segment
 * @len: bytes left of it
 * @tries: submissions since the last byte moved
 */
struct piece {
	struct piece *next;
	struct lease *lease;
	struct ugm_segment *segment;
	uint32_t offset;
	uint32_t len;
	uint32_t tries;
};

/**
 * struct server - one call of ugm_serve()
 * @lane: lane
 * @ring: its io_uring
 * @depth: requests in flight at most
 * @inflight: requests in flight
 * @pieces: all requests
 * @free: those that are not in flight
 * @held: leases held
 * @fetched: leases taken so far
 * @dry: the kernel had no more work when last asked, and has not said since that
 *       there is some
 * @watching: a request in flight, not counted as one, polls for work
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
	struct piece *pieces;
	struct piece *free;
	unsigned int held;
	uint64_t fetched;
	bool dry;
	bool watching;
	int gone;
	const volatile int *stop;
	struct ugm_serve_totals totals;
	struct lease leases[LEASES];
};

/* The longest request that the device takes whole, if that is less. */
static uint32_t piece_of(int flash)
{
	unsigned short sectors = 0;

	if (ioctl(flash, BLKSECTGET, &sectors) || !sectors || sectors >= MAX_PIECE >> 9)
		return MAX_PIECE;
	/* A multiple of every block size there is. */
	return sectors << 9 > 4096 ? (sectors << 9) / 4096 * 4096 : 4096;
}

/* The number of the block device that the kernel calls @name; 0: of none. */
static dev_t number_of(const char *name)
{
	unsigned int major, minor;
	dev_t number = 0;
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/block/%s/dev", name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%u:%u", &major, &minor) == 2)
		number = makedev(major, minor);
	fclose(f);
	return number;
}

/*
 * The kernel tells the namespace by its name in /dev, which is the caller's: in a
 * container, or after somebody's mknod, another device may be there, and would be
 * written to.
 */
static int open_flash(const char *path)
{
	int fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	int ret = fd < 0 ? -errno : fd;
	struct stat st;

	if (!(fd < 0 ? stat(path, &st) : fstat(fd, &st)) && S_ISBLK(st.st_mode) &&
	    st.st_rdev == number_of(strrchr(path, '/') + 1))
		return ret;
	if (fd >= 0)
		close(fd);
	return -ENOTBLK;
}

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
	l->flash = open_flash(info.namespace_path);
	if (l->flash < 0) {
		ret = l->flash;
		goto fail;
	}
	l->piece = piece_of(l->flash);
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
	s->dry = false;
	l->order = s->fetched++;
	l->nr = f.nr;
	l->next = 0;
	l->offset = 0;
	s->held++;
}

/* There is an entry of the ring for each piece. */
static void submit(struct server *s, struct piece *p)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&s->ring);
	char *at = s->lane->window + p->segment->window_offset + p->offset;
	uint64_t offset = p->segment->flash_offset + p->offset;

	if (p->segment->dir == UGM_LANE_WRITE)
		io_uring_prep_write(sqe, 0, at, p->len, offset);
	else
		io_uring_prep_read(sqe, 0, at, p->len, offset);
	sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data(sqe, p);
	p->tries++;
}

static bool submitted(const struct lease *l)
{
	return l->next == l->nr;
}

/*
 * Map a segment at once. Otherwise its first request finds nothing mapped and
 * takes the kernel's slow way to the pages, one by one. Where this fails, the
 * request will fail as well, and that is what counts.
 */
static void populate(struct server *s, const struct ugm_segment *g)
{
	if (g->len > SMALL_PAGE)
		madvise(s->lane->window + g->window_offset, g->len,
			g->dir == UGM_LANE_WRITE ? MADV_POPULATE_READ : MADV_POPULATE_WRITE);
}

/* The next piece of a lease, into a free request. */
static void submit_next(struct server *s, struct lease *l)
{
	struct ugm_segment *g = &l->segments[l->next];
	uint32_t left = g->len - l->offset;
	struct piece *p = s->free;

	s->free = p->next;
	*p = (struct piece){
		.lease = l,
		.segment = g,
		.offset = l->offset,
		.len = left < s->lane->piece ? left : s->lane->piece,
	};
	if (!l->offset) {
		g->result = 0;
		populate(s, g);
	}
	l->offset += p->len;
	if (l->offset == g->len) {
		l->next++;
		l->offset = 0;
	}
	l->pieces++;
	s->inflight++;
	submit(s, p);
}

static struct lease *first_unsubmitted(struct server *s)
{
	struct lease *l, *first = NULL;

	for (l = s->leases; l < s->leases + LEASES; l++)
		if (l->nr && !submitted(l) && (!first || l->order < first->order))
			first = l;
	return first;
}

static void submit_leases(struct server *s)
{
	struct lease *l;

	while (s->free && (l = first_unsubmitted(s)))
		while (s->free && !submitted(l))
			submit_next(s, l);
}

static void count(struct server *s, const struct ugm_segment *g, uint32_t bytes)
{
	if (g->dir == UGM_LANE_WRITE)
		s->totals.written_bytes += bytes;
	else
		s->totals.read_bytes += bytes;
}

static void finish(struct server *s, struct piece *p, int32_t error)
{
	if (error && p->segment->result >= 0)
		p->segment->result = error;
	p->lease->pieces--;
	p->next = s->free;
	s->free = p;
	s->inflight--;
}

/* A request came back; what is left of it is submitted again at once. */
static void complete(struct server *s, struct piece *p, int res)
{
	if (res > 0) {
		count(s, p->segment, (uint32_t)res);
		if (p->segment->result >= 0)
			p->segment->result += res;
		p->offset += (uint32_t)res;
		p->len -= (uint32_t)res;
		p->tries = 0;
		if (!p->len) {
			finish(s, p, 0);
			return;
		}
		s->totals.continued++;
	} else if ((res == -EAGAIN || res == -EINTR) && p->tries < MAX_TRIES) {
		s->totals.retried++;
	} else {
		/* Zero bytes are the end of the device. */
		finish(s, p, res ? res : -EIO);
		return;
	}
	submit(s, p);
}

/* All of a lease has come back. */
static bool finished(struct server *s, const struct lease *l)
{
	uint32_t i;

	if (!l->nr || !submitted(l) || l->pieces)
		return false;
	s->totals.segments += l->nr;
	for (i = 0; i < l->nr; i++)
		if (l->segments[i].result < 0)
			s->totals.failed++;
	return true;
}

/* The server itself stands for the request that polls. */
static void watch(struct server *s)
{
	struct io_uring_sqe *sqe;

	if (!s->dry || s->watching || s->held == LEASES)
		return;
	sqe = io_uring_get_sqe(&s->ring);
	io_uring_prep_poll_add(sqe, s->lane->fd, POLLIN);
	io_uring_sqe_set_data(sqe, s);
	s->watching = true;
}

/* What is polled is held: the lane file could not be closed. */
static void unwatch(struct server *s)
{
	struct io_uring_sqe *sqe;

	if (!s->watching)
		return;
	sqe = io_uring_get_sqe(&s->ring);
	io_uring_prep_cancel(sqe, s, 0);
	io_uring_sqe_set_data(sqe, NULL);
}

static void watched(struct server *s, int res)
{
	s->watching = false;
	if (res > 0)
		s->dry = false;
	else if (res != -ECANCELED)
		s->gone = res ? res : -EPROTO;
}

/*
 * Wait for some requests, not for each: the others keep the device busy, and a
 * wake-up costs more than a completion. But new work is not to wait.
 */
static int reap(struct server *s)
{
	unsigned int some = s->watching ? 1 : s->inflight / 8, head, seen = 0;
	int ret = io_uring_submit_and_wait(&s->ring, some ? some : 1);
	struct io_uring_cqe *cqe;
	void *what;

	if (ret < 0 && ret != -EINTR && ret != -EAGAIN && ret != -EBUSY)
		return ret;
	io_uring_for_each_cqe(&s->ring, head, cqe) {
		what = io_uring_cqe_get_data(cqe);
		if (what == s)
			watched(s, cqe->res);
		else if (what)
			complete(s, what, cqe->res);
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
		if (!s->held) {
			if (stopping(s))
				return s->gone == -ENODEV ? 0 : s->gone;
			continue;
		}
		submit_leases(s);
		watch(s);
		ret = reap(s);
		if (ret)
			return ret;
		/*
		 * Exchanging leases takes a while: not with an idle device. What
		 * cannot be submitted now, reap() tries again.
		 */
		submit_leases(s);
		io_uring_submit(&s->ring);
		for (l = s->leases; l < s->leases + LEASES; l++)
			if (finished(s, l))
				exchange(s, l);
	}
}

static int pieces_setup(struct server *s)
{
	unsigned int i;

	s->pieces = calloc(s->depth, sizeof(*s->pieces));
	if (!s->pieces)
		return -ENOMEM;
	for (i = s->depth; i; i--) {
		s->pieces[i - 1].next = s->free;
		s->free = &s->pieces[i - 1];
	}
	return 0;
}

static int ring_setup(struct server *s)
{
	/* One to poll, one to end that. */
	unsigned int entries = s->depth + 2;
	/* Completions are only wanted when we wait for them. */
	int ret = io_uring_queue_init(entries, &s->ring,
				      IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);

	if (ret == -EINVAL)
		ret = io_uring_queue_init(entries, &s->ring, 0);
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
	ret = pieces_setup(s);
	if (!ret)
		ret = ring_setup(s);
	if (!ret) {
		ret = serve_loop(s);
		unwatch(s);
		/* Waits for what is in flight: the window must outlive it. */
		while ((s->inflight || s->watching) && !reap(s))
			;
		io_uring_queue_exit(&s->ring);
	}
	if (totals)
		*totals = s->totals;
	free(s->pieces);
	free(s);
	return ret;
}
