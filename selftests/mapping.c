// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * How views are mapped: which mappings are allowed, how many faults they cost,
 * huge pages, and what munmap, mprotect and mremap leave behind.
 */
#include <sys/resource.h>

#include "ugm_harness.h"

UT_FIXTURE(mapping);
UT_VARIANT(mapping, blocks_4k, "block_size=4K gpu_mem=256K host_mem=256K");
UT_VARIANT(mapping, blocks_64k, "block_size=64K gpu_mem=2M host_mem=2M");
UT_VARIANT(mapping, blocks_2m, "block_size=2M gpu_mem=64M host_mem=64M");
UT_VARIANT(mapping, reserved_4k,
	   "block_size=4K gpu_phys=$UGM_GPU_PHYS gpu_mem=2M host_mem=256K");
UT_VARIANT(mapping, reserved_2m,
	   "block_size=2M gpu_phys=$UGM_GPU_PHYS gpu_mem=64M host_mem=64M");

#define HUGE_PAGE (2u << 20)

static long faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_minflt + u.ru_majflt;
}

/* A field of smaps, in KiB, of the mapping that has an address. */
static long smaps(const void *address, const char *field)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long begin, end;
	char line[512];
	bool here = false;
	long value = -1;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			here = (unsigned long)address >= begin && (unsigned long)address < end;
		else if (here && !strncmp(line, field, strlen(field)))
			value = atol(line + strlen(field) + 1);
	}
	if (f)
		fclose(f);
	return value;
}

/* Of device memory, which reserved DRAM is, smaps tells no huge mappings. */
static long huge_kib(struct ut *d, const void *address)
{
	struct ugm_ioc_info info = { 0 };
	long kib = smaps(address, "FilePmdMapped:");

	if (ut_ioctl(d->fd, UGM_IOC_INFO, &info))
		return -1;
	return info.gpu_phys && !kib ? smaps(address, "Rss:") : kib;
}

/* Address space where a huge page may begin, to map into. */
static char *window(size_t len)
{
	char *p = mmap(NULL, len + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	return (char *)(((uintptr_t)p + HUGE_PAGE - 1) & ~((uintptr_t)HUGE_PAGE - 1));
}

static char *map_at(struct ut *d, char *at, uint64_t view, size_t len)
{
	char *p = mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), d->fd,
		       (off_t)view);

	return p == MAP_FAILED ? NULL : p;
}

TEST_F(mapping, one_fault_a_block)
{
	struct ut *d = &self->d;
	struct ugm_ioc_info info = { 0 };
	uint64_t i, mapped, mapped_4k, nr;
	long before;

	ASSERT_EQ(0, ut_ioctl(d->fd, UGM_IOC_INFO, &info));
	nr = info.gpu_frames;
	ASSERT_EQ(0, ut_alloc_blocks(d, 1, nr));
	mapped = ut_stat(d, "mapping.2m.count");
	mapped_4k = ut_stat(d, "mapping.4k.count");
	before = faults();
	for (i = 0; i < nr; i++)
		*(volatile char *)(d->gpu + i * d->block) = 1;
	EXPECT_EQ((long)nr, faults() - before);
	if (d->block == HUGE_PAGE) {
		EXPECT_EQ(nr, ut_stat(d, "mapping.2m.count") - mapped);
		EXPECT_EQ((long)(nr * d->block >> 10), huge_kib(d, d->gpu));
		EXPECT_EQ(mapped_4k, ut_stat(d, "mapping.4k.count"));
		/* All of a block is there with its first byte. */
		before = faults();
		for (i = 0; i < nr; i++)
			*(volatile char *)(d->gpu + i * d->block + d->block - 1) = 1;
		EXPECT_EQ(0, faults() - before);
	} else {
		EXPECT_EQ(0, smaps(d->gpu, "FilePmdMapped:"));
	}
	EXPECT_EQ(0, ut_ioctl(d->fd, UGM_IOC_INFO, &info));
	EXPECT_EQ(0u, info.gpu_free);
}

/* What the page allocator gives remembers the place of its last use. */
TEST_F(mapping, pages_used_elsewhere_before)
{
	struct ut *d = &self->d;
	size_t len = 64 << 20;
	uint64_t i, nr = 8;
	char *p;

	if (d->block < HUGE_PAGE)
		SKIP(return, "there are no huge entries");
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	ASSERT_EQ(0, madvise(p, len, MADV_NOHUGEPAGE));
	ASSERT_EQ(0, madvise(p, len, MADV_POPULATE_WRITE));
	ASSERT_EQ(0, munmap(p, len));
	ASSERT_EQ(0, ut_alloc_blocks(d, 1, nr));
	for (i = 0; i < nr; i++)
		*(volatile char *)(d->host + i * d->block) = 1;
	EXPECT_EQ((long)(nr * d->block >> 10), smaps(d->host, "FilePmdMapped:"));
}

TEST_F(mapping, pool_is_where_the_parameters_say)
{
	bool reserved = strstr(variant->params, "gpu_phys");
	struct ugm_ioc_info info = { 0 };

	ASSERT_EQ(0, ut_ioctl(self->d.fd, UGM_IOC_INFO, &info));
	EXPECT_EQ(reserved, !!(info.flags & UGM_INFO_RESERVED_DRAM));
	EXPECT_EQ(reserved, !!info.gpu_phys);
	if (reserved) {
		EXPECT_EQ(strtoull(getenv("UGM_GPU_PHYS"), NULL, 0), info.gpu_phys);
	}
}

TEST_F(mapping, refused)
{
	struct ut *d = &self->d;
	char *p;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, 2));
	p = mmap(NULL, d->block, PROT_READ | PROT_WRITE, MAP_PRIVATE, d->fd, 0);
	EXPECT_EQ(MAP_FAILED, p);
	EXPECT_EQ(EINVAL, errno);
	p = mmap(NULL, d->block, PROT_READ, MAP_PRIVATE, d->fd, (off_t)UGM_VIEW_HOST);
	EXPECT_EQ(MAP_FAILED, p);
	EXPECT_EQ(EINVAL, errno);
	/* Across the border of two views, and beyond the last. */
	EXPECT_EQ(NULL, map_at(d, NULL, UGM_VIEW_HOST - 4096, 8192));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, map_at(d, NULL, UGM_VIEW_HOST + UGM_VIEW_SIZE, 4096));
	EXPECT_EQ(NULL, map_at(d, NULL, UGM_VIEW_HOST + UGM_VIEW_SIZE - 4096, 8192));
	EXPECT_EQ(NULL, map_at(d, NULL, 0x7ffffffffffff000ULL, 4096));
}

TEST_F(mapping, read_only_file)
{
	struct ut d = { .block = self->d.block };
	char *p;

	d.fd = open(UT_DEVICE, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, d.fd);
	ASSERT_EQ(0, ut_alloc_blocks(&d, 1, 1));
	EXPECT_EQ(NULL, map_at(&d, NULL, UGM_VIEW_HOST, d.block));
	EXPECT_EQ(EACCES, errno);
	p = mmap(NULL, d.block, PROT_READ, MAP_PRIVATE, d.fd, 0);
	EXPECT_EQ(MAP_FAILED, p);
	EXPECT_EQ(EINVAL, errno);
	p = mmap(NULL, d.block, PROT_READ, MAP_SHARED, d.fd, (off_t)UGM_VIEW_HOST);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_TRUE(ut_zero(p, d.block));
	EXPECT_EQ(SIGSEGV, ut_touch(p, true));
	EXPECT_NE(0, mprotect(p, d.block, PROT_READ | PROT_WRITE));
	munmap(p, d.block);
	close(d.fd);
}

TEST_F(mapping, outside_of_ranges)
{
	struct ut *d = &self->d;
	int64_t b;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, 1));
	b = ut_alloc_blocks(d, 2, 1);
	ASSERT_LE(0, b);
	EXPECT_EQ(0, ut_touch(d->gpu, true));
	EXPECT_EQ(0, ut_touch(d->host + b, true));
	EXPECT_EQ(SIGBUS, ut_touch(d->gpu + 2 * d->block, false));
	EXPECT_EQ(SIGBUS, ut_touch(d->host + 2 * d->block, true));
	EXPECT_EQ(SIGBUS, ut_touch(d->host + UT_SPAN - 1, false));
	/* Freed under a mapping. */
	ASSERT_EQ(0, ut_free(d, 0));
	ASSERT_EQ(0, ut_free(d, b));
	EXPECT_EQ(SIGBUS, ut_touch(d->gpu, false));
	EXPECT_EQ(SIGBUS, ut_touch(d->host + b, true));
	EXPECT_EQ(0, ut_alloc_blocks(d, 3, 1));
	EXPECT_TRUE(ut_zero(d->gpu, d->block));
}

TEST_F(mapping, unaligned_gets_small_entries)
{
	struct ut *d = &self->d;
	size_t len = 2 * d->block;
	char *at = window(len + 4096), *p;
	uint64_t small, huge;
	long before, nr;

	ASSERT_NE(NULL, at);
	ASSERT_EQ(0, ut_alloc_blocks(d, 1, 2));
	/* The mapping begins one page after where a huge page could. */
	p = map_at(d, at + 4096, UGM_VIEW_GPU, len);
	ASSERT_NE(NULL, p);
	small = ut_stat(d, "mapping.4k.count");
	huge = ut_stat(d, "mapping.2m.count");
	before = faults();
	ut_fill(p, len, 1);
	nr = faults() - before;
	/* Since 6.18 one fault enters all of a block that has one page table. */
	if (d->block == HUGE_PAGE || nr != (long)(len / d->block)) {
		EXPECT_EQ((long)(len / 4096), nr);
	}
	EXPECT_EQ(0, smaps(p, "FilePmdMapped:"));
	EXPECT_EQ(huge, ut_stat(d, "mapping.2m.count"));
	if (d->block == HUGE_PAGE) {
		EXPECT_EQ(len / 4096, ut_stat(d, "mapping.4k.count") - small);
	}
	EXPECT_EQ(-1, ut_compare(d->gpu, len, 1));
	munmap(p, len);
}

TEST_F(mapping, cut_block_gets_small_entries)
{
	struct ut *d = &self->d;
	size_t len = d->block + d->block / 2;
	char *at = window(2 * d->block), *p;
	uint64_t huge;

	if (d->block < HUGE_PAGE)
		SKIP(return, "there is nothing to cut");
	ASSERT_NE(NULL, at);
	ASSERT_EQ(0, ut_alloc_blocks(d, 1, 2));
	p = map_at(d, at, UGM_VIEW_GPU, len);
	ASSERT_NE(NULL, p);
	huge = ut_stat(d, "mapping.2m.count");
	ut_fill(p, len, 2);
	EXPECT_EQ(huge + 1, ut_stat(d, "mapping.2m.count"));
	EXPECT_EQ((long)((d->block + d->block / 2) >> 10), smaps(p, "Rss:"));
	EXPECT_EQ(-1, ut_compare(d->gpu, len, 2));
	EXPECT_TRUE(ut_zero(d->gpu + len, 2 * d->block - len));
	munmap(p, len);
}

TEST_F(mapping, partial_munmap)
{
	struct ut *d = &self->d;
	size_t len = 4 * d->block, page = 4096;
	char *p;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, 4));
	p = map_at(d, NULL, UGM_VIEW_GPU, len);
	ASSERT_NE(NULL, p);
	ut_fill(p, len, 3);
	/* A page out of the second block. */
	ASSERT_EQ(0, munmap(p + d->block, page));
	EXPECT_EQ(SIGSEGV, ut_touch(p + d->block, false));
	EXPECT_EQ(-1, ut_compare(p, d->block, 3));
	EXPECT_EQ(0, memcmp(p + d->block + page, d->gpu + d->block + page,
			    len - d->block - page));
	/* The data does not hang on the mapping. */
	EXPECT_EQ(-1, ut_compare(d->gpu, len, 3));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, 4, UGM_TIER_ID_HOST));
	EXPECT_EQ(UGM_TIER_ID_HOST, ut_tier(d, d->block));
	EXPECT_EQ(-1, ut_compare(d->host, len, 3));
	munmap(p, d->block);
	munmap(p + d->block + page, len - d->block - page);
}

TEST_F(mapping, protection)
{
	struct ut *d = &self->d;
	size_t len = 2 * d->block;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, 2));
	ut_fill(d->gpu, len, 4);
	ASSERT_EQ(0, mprotect(d->gpu, len, PROT_READ));
	EXPECT_EQ(0, ut_touch(d->gpu + len - 1, false));
	EXPECT_EQ(SIGSEGV, ut_touch(d->gpu, true));
	ASSERT_EQ(0, mprotect(d->gpu, 4096, PROT_NONE));
	EXPECT_EQ(SIGSEGV, ut_touch(d->gpu, false));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, 2, UGM_TIER_ID_HOST));
	ASSERT_EQ(0, mprotect(d->gpu, len, PROT_READ | PROT_WRITE));
	EXPECT_EQ(-1, ut_compare(d->gpu, len, 4));
	EXPECT_EQ(0, ut_touch(d->gpu, true));
	/* Written before it became read-only, so it is written all the same. */
	ut_fill(d->gpu, len, 5);
	ASSERT_EQ(0, mprotect(d->gpu, len, PROT_READ));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, 2, UGM_TIER_ID_FLASH));
	EXPECT_EQ(-1, ut_compare(d->gpu, len, 5));
	ASSERT_EQ(0, mprotect(d->gpu, len, PROT_READ | PROT_WRITE));
}

TEST_F(mapping, does_not_grow)
{
	struct ut *d = &self->d;
	size_t len = 2 * d->block;
	char *p, *q, *at = window(len);

	ASSERT_NE(NULL, at);
	ASSERT_EQ(0, ut_alloc_blocks(d, 1, 8));
	p = map_at(d, NULL, UGM_VIEW_GPU, len);
	ASSERT_NE(NULL, p);
	ut_fill(p, len, 6);
	q = mremap(p, len, 2 * len, MREMAP_MAYMOVE);
	EXPECT_EQ(MAP_FAILED, q);
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, ut_compare(p, len, 6));
	/* It may move and shrink. */
	q = mremap(p, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, at);
	ASSERT_EQ(at, q);
	EXPECT_EQ(SIGSEGV, ut_touch(p, false));
	EXPECT_EQ(-1, ut_compare(q, len, 6));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, 2, UGM_TIER_ID_HOST));
	EXPECT_EQ(-1, ut_compare(q, len, 6));
	q = mremap(q, len, d->block, 0);
	ASSERT_EQ(at, q);
	EXPECT_EQ(-1, ut_compare(q, d->block, 6));
	EXPECT_EQ(SIGSEGV, ut_touch(q + d->block, false));
	munmap(q, d->block);
}

TEST_F(mapping, dropped_entries_come_back)
{
	struct ut *d = &self->d;
	size_t len = 2 * d->block;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, 2));
	ut_fill(d->gpu, len, 7);
	/* The dirty bit of what is dropped must not get lost. */
	ASSERT_EQ(0, madvise(d->gpu, len, MADV_DONTNEED));
	EXPECT_EQ(UGM_TIER_ID_GPU, ut_tier(d, 0));
	ASSERT_EQ(0, ut_move(d, UGM_HINT_EVICT, 1, 0, 2, UGM_TIER_ID_FLASH));
	EXPECT_EQ(-1, ut_compare(d->gpu, len, 7));
}

/* Another process that got the file: not its memory. */
TEST_F(mapping, other_address_space)
{
	struct ut *d = &self->d;
	int status = 0;
	pid_t pid;

	ASSERT_EQ(0, ut_alloc_blocks(d, 1, 1));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (map_at(d, NULL, UGM_VIEW_GPU, d->block) || errno != EPERM)
			_exit(1);
		if (map_at(d, NULL, UGM_VIEW_HOST, d->block) || errno != EPERM)
			_exit(2);
		_exit(0);
	}
	ASSERT_EQ(0, ut_reap(pid, 10000, &status));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST_HARNESS_MAIN
