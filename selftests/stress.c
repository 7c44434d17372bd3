// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 * UGM-TIMEOUT: 240
 *
 * Everything at once, at random, for UGM_STRESS_SECONDS (3): threads that touch,
 * hint, launch, allocate, free and unmap, each checking its own data; arguments
 * at their limits; very many ranges. SEED= repeats a run as far as threads can.
 */
#include <pthread.h>

#include "ugm_harness.h"

#define THREADS 16
/* No progress of a thread for so long is a hang. */
#define PATIENCE_MS 15000

static unsigned int seconds(void)
{
	const char *s = getenv("UGM_STRESS_SECONDS");

	return s ? strtoul(s, NULL, 0) : 3;
}

static uint64_t seed_of_run(void)
{
	const char *s = getenv("SEED");

	return s ? strtoull(s, NULL, 0) : ut_now();
}

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A thread and its range: what is in each block, and how it is doing. */
#define BLOCKS 6

struct worker {
	struct ut *d;
	pthread_t thread;
	uint64_t rng;
	uint64_t tag;
	int64_t offset;
	uint64_t value[BLOCKS];
	uint64_t generation;
	uint64_t progress;
	uint64_t ops;
	uint64_t refused;
	const char *wrong;
	int error;
	bool done;
	bool *stop;
};

static bool failed(struct worker *w, const char *what, int error)
{
	w->wrong = what;
	w->error = error;
	return false;
}

static volatile uint64_t *word_of(struct worker *w, char *view, unsigned int block,
				  unsigned int which)
{
	/* The first and the last word of a block: both ends of every copy. */
	return (uint64_t *)(view + w->offset + (uint64_t)block * w->d->block +
			    (which ? w->d->block - 8 : 0));
}

static bool touch(struct worker *w, char *view, bool write)
{
	unsigned int b = draw(&w->rng) % BLOCKS, i;
	volatile uint64_t *p;

	for (i = 0; i < 2; i++) {
		p = word_of(w, view, b, i);
		if (*p != w->value[b])
			return failed(w, "a block has other data", b);
	}
	if (!write)
		return true;
	w->value[b] = w->tag << 32 | ++w->generation;
	for (i = 0; i < 2; i++)
		*word_of(w, view, b, i) = w->value[b];
	return true;
}

static bool hint(struct worker *w)
{
	static const struct {
		uint32_t op, tier;
	} hints[] = {
		{ UGM_HINT_PREFETCH, UGM_TIER_ID_GPU },	  { UGM_HINT_PREFETCH, UGM_TIER_ID_HOST },
		{ UGM_HINT_EVICT, UGM_TIER_ID_HOST },	  { UGM_HINT_EVICT, UGM_TIER_ID_FLASH },
		{ UGM_HINT_WRITEBACK, UGM_TIER_ID_HOST }, { UGM_HINT_WRITEBACK, UGM_TIER_ID_FLASH },
		{ UGM_HINT_PROTECT, 0 },		  { UGM_HINT_UNPROTECT, 0 },
		{ UGM_HINT_UNPIN, 0 },
	};
	unsigned int i = draw(&w->rng) % (sizeof(hints) / sizeof(hints[0]));
	uint64_t first = draw(&w->rng) % BLOCKS, nr = 1 + draw(&w->rng) % (BLOCKS - first);
	uint64_t at = draw(&w->rng) % 4 ? UGM_HINT_NOW : draw(&w->rng) % 1000;
	int err = ut_hint(w->d, hints[i].op, w->tag, first * w->d->block, nr * w->d->block,
			  hints[i].tier, at, draw(&w->rng) % 1000);

	return err ? failed(w, "a hint was refused", err) : true;
}

static bool launch(struct worker *w)
{
	uint64_t b = draw(&w->rng) % BLOCKS;
	uint32_t access = 1 + draw(&w->rng) % 3;
	int err = ut_launch(w->d, w->offset + b * w->d->block, w->d->block, access,
			    draw(&w->rng) % 100000, NULL);

	/* Sixteen launches may hold all frames there are. */
	if (err == -ENOSPC)
		w->refused++;
	else if (err)
		return failed(w, "a launch failed", err);
	return true;
}

static bool pin_for_a_moment(struct worker *w)
{
	uint64_t b = draw(&w->rng) % BLOCKS;

	if (ut_hint_now(w->d, UGM_HINT_PIN, w->tag, b, 1, 0))
		return failed(w, "cannot pin", 0);
	if (!touch(w, w->d->gpu, true))
		return false;
	if (ut_hint_now(w->d, UGM_HINT_UNPIN, w->tag, 0, BLOCKS, 0))
		return failed(w, "cannot unpin", 0);
	return true;
}

static bool map_again(struct worker *w)
{
	char *at = (draw(&w->rng) & 1 ? w->d->gpu : w->d->host) + w->offset;
	uint64_t view = at - w->offset == w->d->gpu ? UGM_VIEW_GPU : UGM_VIEW_HOST;
	size_t len = BLOCKS * (size_t)w->d->block;

	if (draw(&w->rng) & 1)
		return madvise(at, len, MADV_DONTNEED) ? failed(w, "madvise", errno) : true;
	/* Over the old mapping at once: nobody else may get the address. */
	if (mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, w->d->fd,
		 (off_t)(view + w->offset)) == MAP_FAILED)
		return failed(w, "mmap", errno);
	return true;
}

static bool new_range(struct worker *w)
{
	int err, i;

	if (w->offset >= 0) {
		/* A hint that acts just now may keep a page for a moment. */
		for (i = 0; i < 100 && (err = ut_free(w->d, w->offset)) == -EBUSY; i++)
			ut_sleep_ms(1);
		if (err)
			return failed(w, "cannot free", err);
	}
	w->offset = ut_alloc_blocks(w->d, w->tag, BLOCKS);
	if (w->offset < 0)
		return failed(w, "cannot allocate", w->offset);
	if ((uint64_t)w->offset + BLOCKS * w->d->block > UT_SPAN)
		return failed(w, "beyond the mapping", 0);
	memset(w->value, 0, sizeof(w->value));
	return true;
}

static bool one_operation(struct worker *w)
{
	unsigned int r = draw(&w->rng) % 100;

	if (w->offset < 0 || r < 3)
		return new_range(w);
	if (r < 25)
		return touch(w, w->d->gpu, false);
	if (r < 45)
		return touch(w, w->d->gpu, true);
	if (r < 55)
		return touch(w, w->d->host, false);
	if (r < 65)
		return touch(w, w->d->host, true);
	if (r < 85)
		return hint(w);
	if (r < 92)
		return launch(w);
	if (r < 95)
		return pin_for_a_moment(w);
	return map_again(w);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	w->offset = -1;
	while (!__atomic_load_n(w->stop, __ATOMIC_RELAXED) && one_operation(w)) {
		w->ops++;
		__atomic_store_n(&w->progress, ut_now(), __ATOMIC_RELAXED);
	}
	__atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Let them work. Returns what went wrong, or NULL. */
static const char *watch(struct ut *d, struct worker *w, bool *stop)
{
	uint64_t end = ut_now() + seconds() * UT_NSEC, now;
	struct ugm_ioc_check check;
	const char *wrong = NULL;
	bool all;
	int i;

	do {
		ut_sleep_ms(1000);
		check = (struct ugm_ioc_check){ 0 };
		if (ut_ioctl(d->fd, UGM_IOC_CHECK, &check) || check.violations)
			wrong = "an invariant is broken";
		now = ut_now();
		all = true;
		for (i = 0; i < THREADS; i++) {
			if (__atomic_load_n(&w[i].done, __ATOMIC_ACQUIRE)) {
				if (w[i].wrong)
					wrong = w[i].wrong;
				continue;
			}
			all = false;
			if (now > w[i].progress + ut_limit(PATIENCE_MS))
				return "a thread hangs";
		}
		if (now > end || wrong)
			__atomic_store_n(stop, true, __ATOMIC_RELAXED);
	} while (!all);
	return wrong;
}

UT_FIXTURE(stress);
UT_VARIANT(stress, ten_frames, "block_size=4K gpu_mem=40K host_mem=64K");
UT_VARIANT(stress, blocks_64k, "block_size=64K gpu_mem=2M host_mem=2M");
UT_VARIANT(stress, reserved_2m, "block_size=2M gpu_phys=$UGM_GPU_PHYS gpu_mem=64M host_mem=64M");

static void race(struct __test_metadata *_metadata, struct ut *d)
{
	uint64_t seed = seed_of_run(), ops = 0, refused = 0;
	struct worker w[THREADS];
	const char *wrong;
	bool stop = false;
	int i;

	TH_LOG("SEED=%llu", (unsigned long long)seed);
	for (i = 0; i < THREADS; i++) {
		w[i] = (struct worker){
			.d = d,
			.tag = i + 1,
			.rng = seed + i * 0x9e3779b97f4a7c15ULL ?: 1,
			.progress = ut_now(),
			.stop = &stop,
		};
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, work, &w[i]));
	}
	wrong = watch(d, w, &stop);
	for (i = 0; i < THREADS; i++) {
		if (w[i].wrong)
			TH_LOG("thread %d, operation %llu: %s (%d)", i,
			       (unsigned long long)w[i].ops, w[i].wrong, w[i].error);
		ops += w[i].ops;
		refused += w[i].refused;
	}
	TH_LOG("%llu operations, %llu launches without room", (unsigned long long)ops,
	       (unsigned long long)refused);
	/* With a thread that hangs there is no way on. */
	ASSERT_EQ(NULL, wrong) TH_LOG("%s", wrong);
	for (i = 0; i < THREADS; i++)
		pthread_join(w[i].thread, NULL);
	EXPECT_LT(THREADS * 4u, ops);
}

TEST_F(stress, everything_at_once)
{
	race(_metadata, &self->d);
}

TEST_F(stress, everything_at_once_clean_drop)
{
	struct ugm_ioc_options opt = { .clean = 1, .victim = 1, .prefetch_evicts = 2, .demand = 1,
				       .promote = 1 };

	ASSERT_EQ(0, ut_options(&self->d, &opt));
	race(_metadata, &self->d);
}

/* Failures 10, 5 and 11, on one small device. */
UT_FIXTURE(limits);
UT_VARIANT(limits, small, "block_size=4K gpu_mem=1M host_mem=1M");

#define RANGES 100000
#define SAMPLE 10000

TEST_F(limits, a_hundred_thousand_ranges)
{
	struct ut *d = &self->d;
	uint64_t began, first = 0, last = 0;
	struct ugm_ioc_info info = { 0 };
	int64_t at;
	int i;

	began = ut_now();
	for (i = 0; i < RANGES; i++) {
		at = ut_alloc(d, i, 4096, 0);
		ASSERT_EQ((int64_t)i * 4096, at);
		if (i == SAMPLE - 1)
			first = ut_now() - began;
		if (i == RANGES - SAMPLE - 1)
			last = ut_now();
	}
	last = ut_now() - last;
	TH_LOG("first %d: %llu ms, last %d: %llu ms", SAMPLE, (unsigned long long)first / 1000000,
	       SAMPLE, (unsigned long long)last / 1000000);
	EXPECT_GT(5 * first, last);
	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_INFO, &info));
	EXPECT_EQ(0u, info.space_blocks);
	EXPECT_GT(512u, info.metadata_bytes / RANGES);
	/* Each is a range of its own. */
	EXPECT_EQ(0, ut_touch(d->gpu + 4096 * 777, true));
	EXPECT_EQ(0, ut_hint_now(d, UGM_HINT_PIN, RANGES - 1, 0, 1, 0));
	for (i = 0; i < RANGES; i += 2) {
		if (i == 0 || i == RANGES - SAMPLE)
			began = ut_now();
		ASSERT_EQ(0, ut_free(d, (uint64_t)i * 4096));
		if (i == SAMPLE - 2)
			first = ut_now() - began;
	}
	last = ut_now() - began;
	TH_LOG("free first %d: %llu ms, last %d: %llu ms", SAMPLE / 2,
	       (unsigned long long)first / 1000000, SAMPLE / 2,
	       (unsigned long long)last / 1000000);
	EXPECT_GT(5 * first, last);
	/* The lowest address that is free. */
	EXPECT_EQ(0, ut_alloc(d, RANGES, 4096, 0));
	EXPECT_EQ(8192, ut_alloc(d, RANGES + 1, 4096, 0));
	EXPECT_EQ(RANGES * 4096LL, ut_alloc(d, RANGES + 2, 8192, 0));
	began = ut_now();
	EXPECT_EQ(0, ut_close(d));
	EXPECT_GT(20 * (first + last), ut_now() - began);
}

/* The last operand of many is bad: nothing stays pinned by the others. */
TEST_F(limits, a_launch_that_fails_at_its_end)
{
	struct ut *d = &self->d;
	struct ugm_operand_desc *o = calloc(4096, sizeof(*o));
	struct ugm_ioc_launch l = { .operands = (uintptr_t)o, .nr_operands = 4096 };
	uint64_t began;
	int i;

	ASSERT_NE(NULL, o);
	ASSERT_EQ(0, ut_alloc_blocks(d, 1, 128));
	for (i = 0; i < 4096; i++)
		o[i] = (struct ugm_operand_desc){ .offset = i % 128 * 4096ULL, .len = 4096,
						  .access = UGM_ACCESS_READ };
	o[4095].offset = 1000 * 4096;
	began = ut_now();
	EXPECT_EQ(-EINVAL, ut_ioctl(d->fd, UGM_IOC_LAUNCH, &l));
	/* A block that more use at once than can be counted. */
	for (i = 0; i < 4096; i++)
		o[i].offset = 0;
	EXPECT_EQ(-EBUSY, ut_ioctl(d->fd, UGM_IOC_LAUNCH, &l));
	EXPECT_GT(ut_limit(2000), ut_now() - began);
	EXPECT_EQ(0, ut_state(d, 0) & UGM_RESIDENCY_PINNED);
	for (i = 0; i < 4096; i++)
		o[i].offset = i % 128 * 4096ULL;
	EXPECT_EQ(0, ut_ioctl(d->fd, UGM_IOC_LAUNCH, &l));
	EXPECT_EQ(0, ut_state(d, 0) & UGM_RESIDENCY_PINNED);
	EXPECT_EQ(0, ut_free(d, 0));
	free(o);
}

static const unsigned long requests[] = {
	UGM_IOC_INFO, UGM_IOC_ALLOC, UGM_IOC_FREE, UGM_IOC_ADVISE, UGM_IOC_HINT,
	UGM_IOC_LAUNCH, UGM_IOC_WAIT, UGM_IOC_RESIDENCY, UGM_IOC_STATS, UGM_IOC_OPTIONS,
	UGM_IOC_MACHINE, UGM_IOC_RESET, UGM_IOC_ATTACH, UGM_IOC_DETACH, UGM_IOC_LANE,
	UGM_IOC_CHECK, UGM_IOC_SPACES, UGM_IOC_RANGES, UGM_IOC_FETCH, UGM_IOC_COMMIT_AND_FETCH,
};

/* Random structures of boundary values, for ever, on a file and its lane. */
static void fuzz(uint64_t rng)
{
	static uint64_t buf[64], inner[512];
	const uint64_t values[] = {
		0, 1, 2, 3, 7, 8, 63, 64, 255, 256, 511, 4095, 4096, 4097, 8192, 65535, 65536,
		1 << 20, (1 << 21) - 1, 1 << 21, INT32_MAX, 1ULL << 31, UINT32_MAX, 1ULL << 32,
		UGM_VIEW_SIZE - 4096, UGM_VIEW_SIZE, UGM_VIEW_SIZE * 2, 1ULL << 62, INT64_MAX,
		1ULL << 63, UINT64_MAX - 4096, UINT64_MAX - 1, UINT64_MAX, (uintptr_t)inner,
		(uintptr_t)inner, (uintptr_t)inner, (uintptr_t)(inner + 512) - 8,
	};
	const size_t nr = ARRAY_SIZE(values);
	unsigned long request;
	int fd[2], i, err;

	fd[0] = open(UT_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	fd[1] = -1;
	for (;;) {
		request = requests[draw(&rng) % ARRAY_SIZE(requests)];
		if (!(draw(&rng) % 8))
			request = _IOC(_IOC_DIR(request), 'U', _IOC_NR(request),
				       draw(&rng) % sizeof(buf));
		for (i = 0; i < 64; i++) {
			buf[i] = values[draw(&rng) % nr];
			if (!(draw(&rng) % 3))
				buf[i] = (uint32_t)buf[i] | values[draw(&rng) % nr] << 32;
			/* Mostly plausible ones get further. */
			if (draw(&rng) % 2)
				buf[i] = draw(&rng) % 4 ? 0 : 1 + draw(&rng) % 4;
		}
		for (i = 0; i < 512; i++)
			inner[i] = draw(&rng) % 3 ? values[draw(&rng) % nr] : draw(&rng) % 8;
		if (_IOC_NR(request) == _IOC_NR(UGM_IOC_LAUNCH) && draw(&rng) % 2)
			buf[2] = draw(&rng) % 1000;
		if (draw(&rng) % 3)
			buf[0] = (uintptr_t)inner;
		err = ioctl(fd[draw(&rng) % 2], request, buf);
		if (_IOC_NR(request) == _IOC_NR(UGM_IOC_LANE) && err >= 0) {
			if (fd[1] >= 0)
				close(fd[1]);
			fd[1] = err;
		}
	}
}

#define FUZZERS 4

TEST_F(limits, boundary_values)
{
	uint64_t seed = seed_of_run(), until = ut_now() + seconds() * UT_NSEC, began;
	pid_t pid[FUZZERS];
	int i, status;

	TH_LOG("SEED=%llu", (unsigned long long)seed);
	for (i = 0; i < FUZZERS; i++) {
		pid[i] = fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i]) {
			fuzz(seed + i * 0x9e3779b97f4a7c15ULL ?: 1);
			_exit(1);
		}
	}
	/* One that sleeps for good is killed and another takes its place. */
	for (i = 0; ut_now() < until; i = (i + 1) % FUZZERS) {
		ut_sleep_ms(500);
		began = ut_now();
		kill(pid[i], SIGKILL);
		ASSERT_EQ(0, ut_reap(pid[i], 10000, &status));
		EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
			TH_LOG("status %#x", status);
		EXPECT_GT(ut_limit(2000), ut_now() - began);
		pid[i] = fork();
		if (!pid[i]) {
			fuzz(seed + ut_now());
			_exit(1);
		}
	}
	for (i = 0; i < FUZZERS; i++) {
		kill(pid[i], SIGKILL);
		ASSERT_EQ(0, ut_reap(pid[i], 10000, &status));
	}
}

TEST_HARNESS_MAIN
