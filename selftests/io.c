// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * Other parts of the kernel that read and write ugm memory: files, direct I/O,
 * io_uring and process_vm_readv, for blocks in every place, with the data
 * compared; and what a page that somebody holds means for moves.
 */
#include <liburing.h>
#include <pthread.h>
#include <sys/uio.h>

#include "ugm_harness.h"

#define NR 3
/* A part of the namespace that is not attached. */
#define RAW_OFFSET (2LL << 30)

/* Where a block is when the kernel gets its pointer, and which view that is of. */
struct place {
	const char *name;
	bool host_view;
	bool in_place;
	uint32_t tier;
};

static const struct place places[] = {
	{ "nowhere, GPU view", false, false, UGM_TIER_ID_NONE },
	{ "nowhere, host view", true, false, UGM_TIER_ID_NONE },
	{ "GPU, GPU view", false, false, UGM_TIER_ID_GPU },
	{ "host, GPU view", false, false, UGM_TIER_ID_HOST },
	{ "flash, GPU view", false, false, UGM_TIER_ID_FLASH },
	{ "GPU, host view", true, false, UGM_TIER_ID_GPU },
	{ "GPU, host view in place", true, true, UGM_TIER_ID_GPU },
	{ "host, host view", true, false, UGM_TIER_ID_HOST },
	{ "flash, host view", true, false, UGM_TIER_ID_FLASH },
};

FIXTURE(io)
{
	struct ut d;
	size_t len;
	int raw;
	char *plain;
};

FIXTURE_VARIANT(io)
{
	const char *params;
};

UT_VARIANT(io, blocks_4k, "block_size=4K gpu_mem=64K host_mem=64K");
UT_VARIANT(io, blocks_2m, "block_size=2M gpu_mem=16M host_mem=16M");
UT_VARIANT(io, reserved_4k, "block_size=4K gpu_phys=$UGM_GPU_PHYS gpu_mem=2M host_mem=64K");
UT_VARIANT(io, reserved_2m, "block_size=2M gpu_phys=$UGM_GPU_PHYS gpu_mem=16M host_mem=16M");

FIXTURE_SETUP(io)
{
	int err = ut_setup(&self->d, variant->params);

	if (err == -ENXIO)
		SKIP(return, "no reserved memory in this machine");
	ASSERT_EQ(0, err);
	self->len = NR * (size_t)self->d.block;
	self->raw = open(UT_NAMESPACE, O_RDWR | O_DIRECT | O_CLOEXEC);
	ASSERT_LE(0, self->raw);
	self->plain = mmap(NULL, self->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	ASSERT_NE(MAP_FAILED, self->plain);
}

FIXTURE_TEARDOWN(io)
{
	close(self->raw);
	munmap(self->plain, self->len);
	EXPECT_EQ(0, ut_teardown(&self->d));
}

/* A range with a pattern in the place that is asked for. Returns the pointer. */
static char *put(struct ut *d, const struct place *at, uint64_t seed)
{
	size_t len = NR * (size_t)d->block;

	if (ut_alloc_blocks(d, 1, NR))
		return NULL;
	if (at->in_place && ut_advise(d, 0, len, UGM_ADVICE_ACCESSED_BY_CPU, 0))
		return NULL;
	if (at->tier != UGM_TIER_ID_NONE)
		ut_fill(d->gpu, len, seed);
	if (at->tier > UGM_TIER_ID_GPU && ut_move(d, UGM_HINT_EVICT, 1, 0, NR, at->tier))
		return NULL;
	if (ut_tier(d, 0) != (int)at->tier)
		return NULL;
	return at->host_view ? d->host : d->gpu;
}

static bool holds(const char *p, size_t len, const struct place *at, uint64_t seed)
{
	return at->tier == UGM_TIER_ID_NONE ? ut_zero(p, len) : ut_compare(p, len, seed) == -1;
}

/*
 * A way for the kernel to read ugm memory (out) and to write it (in): the other
 * side is ordinary memory. Returns the bytes, or a negative errno.
 */
typedef ssize_t transfer(int raw, char *ugm, char *plain, size_t len);

static ssize_t file_out(int raw, char *ugm, char *plain, size_t len)
{
	int fd = memfd_create("ugm", MFD_CLOEXEC);
	ssize_t n = write(fd, ugm, len);

	if (n < 0)
		n = -errno;
	else if (pread(fd, plain, len, 0) != n)
		n = -EPROTO;
	close(fd);
	return n;
}

static ssize_t file_in(int raw, char *ugm, char *plain, size_t len)
{
	int fd = memfd_create("ugm", MFD_CLOEXEC);
	ssize_t n = -EPROTO;

	if (write(fd, plain, len) == (ssize_t)len) {
		n = pread(fd, ugm, len, 0);
		if (n < 0)
			n = -errno;
	}
	close(fd);
	return n;
}

static ssize_t direct_out(int raw, char *ugm, char *plain, size_t len)
{
	ssize_t n = pwrite(raw, ugm, len, RAW_OFFSET);

	if (n < 0)
		return -errno;
	return pread(raw, plain, len, RAW_OFFSET) == n ? n : -EPROTO;
}

static ssize_t direct_in(int raw, char *ugm, char *plain, size_t len)
{
	ssize_t n;

	if (pwrite(raw, plain, len, RAW_OFFSET) != (ssize_t)len)
		return -EPROTO;
	n = pread(raw, ugm, len, RAW_OFFSET);
	return n < 0 ? -errno : n;
}

static ssize_t uring(int raw, char *ugm, size_t len, bool write)
{
	struct io_uring ring;
	struct io_uring_cqe *cqe;
	struct io_uring_sqe *sqe;
	ssize_t n;
	int err;

	err = io_uring_queue_init(4, &ring, 0);
	if (err)
		return err;
	sqe = io_uring_get_sqe(&ring);
	if (write)
		io_uring_prep_write(sqe, raw, ugm, len, RAW_OFFSET);
	else
		io_uring_prep_read(sqe, raw, ugm, len, RAW_OFFSET);
	io_uring_submit(&ring);
	err = io_uring_wait_cqe(&ring, &cqe);
	n = err ? err : cqe->res;
	io_uring_queue_exit(&ring);
	return n;
}

static ssize_t uring_out(int raw, char *ugm, char *plain, size_t len)
{
	ssize_t n = uring(raw, ugm, len, true);

	if (n < 0)
		return n;
	return pread(raw, plain, len, RAW_OFFSET) == n ? n : -EPROTO;
}

static ssize_t uring_in(int raw, char *ugm, char *plain, size_t len)
{
	if (pwrite(raw, plain, len, RAW_OFFSET) != (ssize_t)len)
		return -EPROTO;
	return uring(raw, ugm, len, false);
}

static ssize_t process_out(int raw, char *ugm, char *plain, size_t len)
{
	struct iovec to = { plain, len }, from = { ugm, len };
	ssize_t n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

	return n < 0 ? -errno : n;
}

static ssize_t process_in(int raw, char *ugm, char *plain, size_t len)
{
	struct iovec from = { plain, len }, to = { ugm, len };
	ssize_t n = process_vm_writev(getpid(), &from, 1, &to, 1, 0);

	return n < 0 ? -errno : n;
}

static ssize_t pipe_out(int raw, char *ugm, char *plain, size_t len)
{
	struct iovec iov = { ugm, 4096 };
	int p[2];
	ssize_t n;

	if (pipe(p))
		return -errno;
	/* The pipe gets the page itself, not what is in it. */
	n = vmsplice(p[1], &iov, 1, 0);
	if (n < 0)
		n = -errno;
	else if (read(p[0], plain, 4096) != n)
		n = -EPROTO;
	close(p[0]);
	close(p[1]);
	if (n != 4096)
		return n;
	/* The rest, to give the same answer as the others. */
	memcpy(plain + 4096, ugm + 4096, len - 4096);
	return len;
}

/* Out of every place, and into every place. Returns what went wrong, or NULL. */
static const char *everywhere(struct ut *d, int raw, char *plain, size_t len, transfer *out,
			      transfer *in)
{
	uint64_t seed = 1;
	const char *wrong = NULL;
	char *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places) && !wrong; i++) {
		p = put(d, &places[i], seed);
		if (!p)
			return "cannot put it there";
		memset(plain, 0x55, len);
		if (out(raw, p, plain, len) != (ssize_t)len)
			wrong = "out failed";
		else if (!holds(plain, len, &places[i], seed))
			wrong = "other data came out";
		else if (!holds(d->gpu, len, &places[i], seed))
			wrong = "it changed the data";
		if (ut_free(d, 0) && !wrong)
			wrong = "the pages are still held";
		if (wrong || !in)
			goto next;

		p = put(d, &places[i], seed);
		if (!p)
			return "cannot put it there";
		ut_fill(plain, len, ++seed);
		if (in(raw, p, plain, len) != (ssize_t)len)
			wrong = "in failed";
		else if (ut_compare(p, len, seed) != -1)
			wrong = "other data went in";
		/* What was written by the kernel is dirty, and goes where the block goes. */
		else if (ut_move(d, UGM_HINT_EVICT, 1, 0, NR, UGM_TIER_ID_FLASH))
			wrong = "cannot evict it";
		else if (ut_compare(d->gpu, len, seed) != -1)
			wrong = "what went in was lost";
		if (ut_free(d, 0) && !wrong)
			wrong = "the pages are still held";
next:
		if (wrong)
			fprintf(stderr, "# %s: %s\n", places[i].name, wrong);
		seed++;
	}
	return wrong;
}

#define EVERYWHERE(name, out, in)                                                        \
	TEST_F(io, name)                                                                 \
	{                                                                                \
		struct ugm_ioc_options drop = { .clean = 1, .promote = 1,                \
						.prefetch_evicts = 1, .demand = 1 };     \
											 \
		ASSERT_EQ(0, ut_options(&self->d, &drop));                               \
		EXPECT_EQ(NULL, everywhere(&self->d, self->raw, self->plain, self->len,  \
					   out, in));                                    \
	}

EVERYWHERE(file, file_out, file_in)
EVERYWHERE(direct, direct_out, direct_in)
EVERYWHERE(io_uring, uring_out, uring_in)
EVERYWHERE(process_vm, process_out, process_in)
EVERYWHERE(vmsplice, pipe_out, NULL)

/* A buffer that is registered stays where it is, and is let go. */
TEST_F(io, registered_buffers)
{
	struct ut *d = &self->d;
	struct iovec iov = { d->gpu, self->len };
	struct io_uring ring;
	uint64_t held;
	int err, i;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ut_fill(d->gpu, self->len, 1);
	ASSERT_EQ(0, io_uring_queue_init(4, &ring, 0));
	err = io_uring_register_buffers(&ring, &iov, 1);
	if (err == -EOPNOTSUPP) {
		io_uring_queue_exit(&ring);
		SKIP(return, "this kernel registers no pages of a driver");
	}
	ASSERT_EQ(0, err);
	held = ut_stat(d, "page.held.count");
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, NR, UGM_TIER_ID_HOST));
	for (i = 0; i < NR; i++) {
		EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, i * d->block));
	}
	EXPECT_EQ((uint64_t)NR, ut_stat(d, "hint.refused.held.blocks"));
	EXPECT_EQ(held + NR, ut_stat(d, "page.held.count"));
	EXPECT_EQ(-EBUSY, ut_free(d, 0));
	EXPECT_EQ(-1, ut_compare(d->gpu, self->len, 1));
	ASSERT_EQ(0, io_uring_unregister_buffers(&ring));
	for (i = 0; i < 200 && ut_tier(d, (NR - 1) * d->block) == UGM_TIER_ID_GPU; i++) {
		ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, NR, UGM_TIER_ID_HOST));
		ut_sleep_ms(10);
	}
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, 0));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, (NR - 1) * d->block));
	EXPECT_EQ(-1, ut_compare(d->host, self->len, 1));
	io_uring_queue_exit(&ring);
}

/* The next victim is taken where the first one is held. */
TEST_F(io, held_pages_are_passed_over)
{
	struct ut *d = &self->d;
	struct ugm_ioc_info info = { 0 };
	struct iovec iov = { d->gpu, 4096 };
	uint64_t frames, i;
	int p[2];

	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_INFO, &info));
	frames = info.gpu_frames;
	ASSERT_EQ(0, ut_alloc_blocks(d, 1, frames + 2));
	for (i = 0; i < frames; i++) {
		ASSERT_EQ(0, ut_launch(d, i * d->block, 8, UGM_ACCESS_WRITE, 0, NULL));
	}
	/* A page in a pipe is held until somebody reads it. */
	ut_fill(d->gpu, 4096, 1);
	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(4096, vmsplice(p[1], &iov, 1, 0));
	ASSERT_EQ(0, ut_launch(d, frames * d->block, 8, UGM_ACCESS_WRITE, 0, NULL));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 0));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, d->block));
	EXPECT_LT(0u, ut_stat(d, "page.held.count"));
	ASSERT_EQ(4096, read(p[0], self->plain, 4096));
	EXPECT_EQ(-1, ut_compare(self->plain, 4096, 1));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, 1, UGM_TIER_ID_HOST));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, 0));
	close(p[0]);
	close(p[1]);
}

static void *touch_one(void *arg)
{
	return (void *)(intptr_t)ut_touch(arg, true);
}

/* All are held: whoever needs room waits, and goes on when they are let go. */
TEST_F(io, room_comes_when_pages_are_let_go)
{
	struct ut *d = &self->d;
	struct ugm_ioc_info info = { 0 };
	uint64_t frames, i;
	pthread_t thread;
	struct iovec iov;
	void *sig;
	int p[2];

	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_INFO, &info));
	frames = info.gpu_frames;
	if (frames > 16)
		SKIP(return, "a pipe does not hold as many pages");
	ASSERT_EQ(0, ut_alloc_blocks(d, 1, frames + 1));
	ASSERT_EQ(0, pipe(p));
	for (i = 0; i < frames; i++) {
		iov = (struct iovec){ d->gpu + i * d->block, 4096 };
		ut_fill(iov.iov_base, 4096, i);
		ASSERT_EQ(4096, vmsplice(p[1], &iov, 1, 0));
	}
	ASSERT_EQ(0, pthread_create(&thread, NULL, touch_one, d->gpu + frames * d->block));
	EXPECT_TRUE(ut_await_waiter("free frame"));
	ut_sleep_ms(100);
	for (i = 0; i < frames; i++) {
		ASSERT_EQ(4096, read(p[0], self->plain, 4096));
		EXPECT_EQ(-1, ut_compare(self->plain, 4096, i));
	}
	pthread_join(thread, &sig);
	EXPECT_EQ(NULL, sig);
	close(p[0]);
	close(p[1]);
}

/* Moves of blocks that direct reads and writes go into just then. */
struct mover {
	struct ut *d;
	volatile bool stop;
	uint64_t moves;
};

static void *move_about(void *arg)
{
	static const uint32_t tiers[] = { UGM_TIER_ID_HOST, UGM_TIER_ID_FLASH };
	struct mover *m = arg;
	uint64_t i;

	for (i = 0; !m->stop; i++) {
		if (ut_move(m->d, UGM_HINT_EVICT, 1, 0, NR, tiers[i & 1]) ||
		    ut_move(m->d, UGM_HINT_PREFETCH, 1, 0, NR, UGM_TIER_ID_GPU))
			break;
		m->moves++;
		/* A read needs all of its pages at one time. */
		ut_sleep_ms(2);
	}
	return NULL;
}

TEST_F(io, direct_reads_under_moves)
{
	struct ut *d = &self->d;
	struct mover m = { d, false, 0 };
	uint64_t until = ut_now() + 2 * UT_NSEC, seed;
	pthread_t thread;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, NR));
	ut_fill(d->gpu, self->len, 1);
	ASSERT_EQ(0, pthread_create(&thread, NULL, move_about, &m));
	for (seed = 1; ut_now() < until; seed++) {
		ut_fill(self->plain, self->len, seed);
		ASSERT_EQ((ssize_t)self->len, direct_in(self->raw, seed & 1 ? d->gpu : d->host,
							self->plain, self->len));
		ASSERT_EQ(-1, ut_compare(seed & 2 ? d->gpu : d->host, self->len, seed));
		ASSERT_EQ((ssize_t)self->len, direct_out(self->raw, d->gpu, self->plain,
							 self->len));
		ASSERT_EQ(-1, ut_compare(self->plain, self->len, seed));
	}
	m.stop = true;
	pthread_join(thread, NULL);
	EXPECT_LT(0u, m.moves);
	TH_LOG("%llu reads and writes, %llu moves", (unsigned long long)seed,
	       (unsigned long long)m.moves);
}

TEST_HARNESS_MAIN
