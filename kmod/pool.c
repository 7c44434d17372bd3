// SPDX-License-Identifier: GPL-2.0
#include <linux/ioport.h>
#include <linux/memcontrol.h>
#include <linux/memremap.h>
#include <linux/sched/mm.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "ugm.h"

/**
 * DOC: pool
 *
 * Memory of the two memory tiers, in block-sized compound pages.
 *
 * A frame of the GPU tier is named by its number in the pool. The pool lies on
 * reserved DRAM, or is taken from the page allocator when the device is bound.
 * The driver keeps one reference on each frame for ever; a free frame has no
 * other. One that is given back while somebody holds a reference (I/O that was
 * given up, a page that a slow completion has not dropped) waits in quarantine
 * until it is the driver's alone. A few spare frames, always from the page
 * allocator, keep the number of good frames at what the engine counts on.
 *
 * Pages of the host tier come from the page allocator one by one, charged to
 * the memory cgroup of whoever opened the space; for the virtual clock, whose
 * results must not depend on the allocator's mood, they are set aside before.
 */

static void frame_push(struct ugm_pool *pool, u32 *list, u32 frame)
{
	pool->frames[frame - 1].next = *list;
	*list = frame;
}

static u32 frame_pop(struct ugm_pool *pool, u32 *list)
{
	u32 frame = *list;

	if (frame)
		*list = pool->frames[frame - 1].next;
	return frame;
}

/**
 * ugm_frame_page() - the head page of a GPU frame
 * @dev: device
 * @frame: its number, from 1
 *
 * Context: any.
 */
struct page *ugm_frame_page(struct ugm_device *dev, u32 frame)
{
	return pfn_to_page(dev->pool.frames[frame - 1].pfn);
}

/* Move what is free of references from quarantine to the free list. */
static void release_quarantine(struct ugm_device *dev)
{
	struct ugm_pool *pool = &dev->pool;
	u32 frame, still = 0;

	lockdep_assert_held(&pool->lock);
	while ((frame = frame_pop(pool, &pool->quarantine))) {
		if (page_ref_count(ugm_frame_page(dev, frame)) == 1) {
			folio_clear_dirty(page_folio(ugm_frame_page(dev, frame)));
			set_page_private(ugm_frame_page(dev, frame), 0);
			frame_push(pool, &pool->free, frame);
			pool->nr_quarantined--;
			pool->nr_free++;
		} else {
			frame_push(pool, &still, frame);
		}
	}
	pool->quarantine = still;
}

/**
 * ugm_frame_alloc() - take a free frame of the GPU tier
 * @dev: device
 * @zero: clear it; else the caller overwrites all of it before anybody sees it
 *
 * Context: any if @zero is false, else may sleep.
 * Return: its number, from 1, or 0 if there is none.
 */
u32 ugm_frame_alloc(struct ugm_device *dev, bool zero)
{
	struct ugm_pool *pool = &dev->pool;
	unsigned long flags;
	u32 frame;

	spin_lock_irqsave(&pool->lock, flags);
	if (!pool->free)
		release_quarantine(dev);
	frame = frame_pop(pool, &pool->free);
	if (frame)
		pool->nr_free--;
	spin_unlock_irqrestore(&pool->lock, flags);
	if (frame && zero)
		ugm_page_clear(dev, ugm_frame_page(dev, frame));
	return frame;
}

/**
 * ugm_frame_free() - give a frame back
 * @dev: device
 * @frame: its number; nobody can find it any more
 *
 * Context: any.
 */
void ugm_frame_free(struct ugm_device *dev, u32 frame)
{
	struct ugm_pool *pool = &dev->pool;
	struct page *page = ugm_frame_page(dev, frame);
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	folio_clear_dirty(page_folio(page));
	if (page_ref_count(page) == 1) {
		set_page_private(page, 0);
		frame_push(pool, &pool->free, frame);
		pool->nr_free++;
	} else {
		frame_push(pool, &pool->quarantine, frame);
		pool->nr_quarantined++;
		ugm_count(dev, QUARANTINED);
	}
	spin_unlock_irqrestore(&pool->lock, flags);
}

/*
 * page_private() of a page in use: whether a view has shown it since it was last
 * found unheld, whether it is a page of the host tier that was not given back,
 * and how many references the module's own moves have on it.
 */
#define EXPOSED 1UL
#define HOST 2UL
#define MOVE 4UL

static atomic_long_t *page_word(struct page *page)
{
	return (atomic_long_t *)&page->private;
}

/**
 * ugm_page_hold() - a move uses a page
 * @page: head page
 *
 * Context: any.
 */
void ugm_page_hold(struct page *page)
{
	get_page(page);
	atomic_long_add(MOVE, page_word(page));
}

/**
 * ugm_page_drop() - the opposite of ugm_page_hold()
 * @page: head page
 *
 * Context: any.
 */
void ugm_page_drop(struct page *page)
{
	atomic_long_sub(MOVE, page_word(page));
	put_page(page);
}

/**
 * ugm_page_expose() - a view is about to map a page
 * @page: head page, locked
 *
 * Context: any.
 */
void ugm_page_expose(struct page *page)
{
	if (!(atomic_long_read(page_word(page)) & EXPOSED))
		atomic_long_or(EXPOSED, page_word(page));
}

/**
 * ugm_page_held() - does anybody else hold a page that no view maps any more?
 * @page: head page
 *
 * References come from mappings (direct I/O, pins). A page that no view has
 * shown since this function said no has none but the driver's and those of
 * moves that were given up, which only read it. A fault that came too late
 * holds one for a moment, so this spins a little.
 *
 * Context: any.
 */
bool ugm_page_held(struct page *page)
{
	int i;

	if (!(atomic_long_fetch_andnot(EXPOSED, page_word(page)) & EXPOSED))
		return false;
	for (i = 0; i < 200; i++) {
		if (page_ref_count(page) <= 1 + atomic_long_read(page_word(page)) / MOVE)
			return false;
		cpu_relax();
	}
	atomic_long_or(EXPOSED, page_word(page));
	return true;
}

/* References that are not I/O: the tier's, those of moves, and mappings. */
static int page_refs_known(struct ugm_device *dev, struct page *page, bool host)
{
	unsigned long word = atomic_long_read(page_word(page));

	return (!host || word & HOST) + word / MOVE + ugm_page_mapcount(page, dev->block_order);
}

/**
 * ugm_page_quiet() - is nobody but the module using a page?
 * @dev: device
 * @page: head page of a block, perhaps of one that was given up meanwhile; held
 * @host: it belongs to the host tier
 *
 * Page-table entries do not count: a block that is written back may be mapped.
 * What remains is I/O.
 *
 * Context: any.
 */
bool ugm_page_quiet(struct ugm_device *dev, struct page *page, bool host)
{
	int known = page_refs_known(dev, page, host);
	int refs;

	/*
	 * A reference is taken before it becomes known, and forgotten before it
	 * is dropped: the smaller of a count before and one after is never too
	 * large.
	 */
	smp_rmb();
	refs = page_ref_count(page);
	smp_rmb();
	known = min(known, page_refs_known(dev, page, host));
	return refs <= known;
}

/**
 * ugm_page_clear() - fill a block with zeros
 * @dev: device
 * @page: its head page
 *
 * Context: may sleep.
 */
void ugm_page_clear(struct ugm_device *dev, struct page *page)
{
	unsigned int i;

	for (i = 0; i < 1U << dev->block_order; i++) {
		clear_highpage(page + i);
		cond_resched();
	}
}

/**
 * ugm_host_alloc() - a page for the host tier
 * @fs: whose memory cgroup pays for it
 * @zero: clear it; else the caller overwrites all of it before anybody sees it
 *
 * Context: may sleep.
 * Return: its head page, or NULL: the host is full, which is counted.
 */
struct page *ugm_host_alloc(struct ugm_file_space *fs, bool zero)
{
	struct ugm_device *dev = fs->dev;
	struct mem_cgroup *old;
	struct page *page;
	unsigned long flags;

	if (ugm_inject_alloc_host(dev)) {
		ugm_count(dev, HOST_ALLOC_FAILED);
		return NULL;
	}
	spin_lock_irqsave(&dev->host_lock, flags);
	page = list_first_entry_or_null(&dev->host_reserve, struct page, lru);
	if (page) {
		list_del(&page->lru);
		dev->nr_host_reserve--;
	}
	spin_unlock_irqrestore(&dev->host_lock, flags);

	if (!page) {
		old = set_active_memcg(fs->memcg);
		page = alloc_pages(UGM_GFP_HOST, dev->block_order);
		set_active_memcg(old);
		if (!page) {
			ugm_count(dev, HOST_ALLOC_FAILED);
			return NULL;
		}
		atomic64_inc(&dev->nr_host_pages);
	}
	set_page_private(page, HOST);
	if (zero)
		ugm_page_clear(dev, page);
	return page;
}

/**
 * ugm_host_free() - give a page of the host tier back
 * @dev: device
 * @page: its head page; nobody can find it any more
 *
 * One that was set aside goes back there, unless somebody holds it.
 *
 * Context: any.
 */
void ugm_host_free(struct ugm_device *dev, struct page *page)
{
	unsigned long flags;

	folio_clear_dirty(page_folio(page));
	atomic_long_andnot(HOST, page_word(page));
	spin_lock_irqsave(&dev->host_lock, flags);
	if (dev->nr_host_reserve < dev->host_reserve_target && page_ref_count(page) == 1) {
		set_page_private(page, 0);
		list_add(&page->lru, &dev->host_reserve);
		dev->nr_host_reserve++;
		page = NULL;
	}
	spin_unlock_irqrestore(&dev->host_lock, flags);
	if (page) {
		atomic64_dec(&dev->nr_host_pages);
		put_page(page);
	}
}

static void host_unreserve(struct ugm_device *dev, u64 keep)
{
	struct page *page;
	unsigned long flags;

	for (;;) {
		spin_lock_irqsave(&dev->host_lock, flags);
		page = NULL;
		if (dev->nr_host_reserve > keep) {
			page = list_first_entry(&dev->host_reserve, struct page, lru);
			list_del(&page->lru);
			dev->nr_host_reserve--;
		}
		spin_unlock_irqrestore(&dev->host_lock, flags);
		if (!page)
			return;
		atomic64_dec(&dev->nr_host_pages);
		put_page(page);
		cond_resched();
	}
}

/**
 * ugm_host_reserve() - set the host tier's pages aside
 * @dev: device; no block is in use
 * @blocks: how many; 0 gives all back
 *
 * Context: process context, may sleep for long; killable.
 * Return: 0, -ENOMEM or -EINTR; on an error nothing is set aside.
 */
int ugm_host_reserve(struct ugm_device *dev, u64 blocks)
{
	struct page *page;

	host_unreserve(dev, blocks);
	while (dev->nr_host_reserve < blocks) {
		page = alloc_pages(UGM_GFP_HOST, dev->block_order);
		if (!page || fatal_signal_pending(current)) {
			if (page)
				__free_pages(page, dev->block_order);
			dev->host_reserve_target = 0;
			host_unreserve(dev, 0);
			return page ? -EINTR : -ENOMEM;
		}
		atomic64_inc(&dev->nr_host_pages);
		spin_lock_irq(&dev->host_lock);
		list_add(&page->lru, &dev->host_reserve);
		dev->nr_host_reserve++;
		spin_unlock_irq(&dev->host_lock);
		cond_resched();
	}
	dev->host_reserve_target = blocks;
	return 0;
}

static int map_reserved_dram(struct ugm_device *dev, u64 phys, u64 len)
{
	struct ugm_pool *pool = &dev->pool;
	struct dev_pagemap *pagemap;
	void *addr;

	if (!request_mem_region(phys, len, dev->name)) {
		dev_err(&dev->pdev->dev, "memory at %#llx is in use: see /proc/iomem\n", phys);
		return -EBUSY;
	}
	pagemap = kzalloc(sizeof(*pagemap), GFP_KERNEL);
	if (!pagemap) {
		release_mem_region(phys, len);
		return -ENOMEM;
	}
	pagemap->type = MEMORY_DEVICE_GENERIC;
	pagemap->range.start = phys;
	pagemap->range.end = phys + len - 1;
	pagemap->nr_range = 1;
	pagemap->vmemmap_shift = dev->block_order;
	addr = memremap_pages(pagemap, NUMA_NO_NODE);
	if (IS_ERR(addr)) {
		dev_err(&dev->pdev->dev, "cannot use the memory at %#llx: error %ld\n", phys,
			PTR_ERR(addr));
		kfree(pagemap);
		release_mem_region(phys, len);
		return PTR_ERR(addr);
	}
	pool->pagemap = pagemap;
	pool->phys = phys;
	return 0;
}

static void unmap_reserved_dram(struct ugm_device *dev)
{
	struct ugm_pool *pool = &dev->pool;
	u64 len = (u64)(pool->nr - pool->nr_spare) << dev->block_shift;

	memunmap_pages(pool->pagemap);
	kfree(pool->pagemap);
	release_mem_region(pool->phys, len);
	pool->pagemap = NULL;
}

/**
 * ugm_pool_init() - get the frames of the GPU tier
 * @dev: device, with its block size set
 *
 * Context: process context, may sleep.
 * Return: 0, -ENOMEM, -EBUSY (reserved DRAM is in use), or what the kernel says
 * of reserved DRAM; the reason is in the log.
 */
int ugm_pool_init(struct ugm_device *dev)
{
	struct ugm_pool *pool = &dev->pool;
	u32 i, nr = ugm_params.gpu_mem >> dev->block_shift;
	struct page *page;
	int err;

	spin_lock_init(&pool->lock);
	spin_lock_init(&dev->host_lock);
	INIT_LIST_HEAD(&dev->host_reserve);
	pool->order = dev->block_order;
	pool->nr_spare = clamp_t(u32, nr / 32, 2, 16);
	pool->frames = kvcalloc(nr + pool->nr_spare, sizeof(*pool->frames), GFP_KERNEL);
	if (!pool->frames)
		return -ENOMEM;
	atomic_long_add((nr + pool->nr_spare) * sizeof(*pool->frames), &dev->metadata);

	if (ugm_params.gpu_phys) {
		err = map_reserved_dram(dev, ugm_params.gpu_phys + dev->id * ugm_params.gpu_mem,
					ugm_params.gpu_mem);
		if (err) {
			kvfree(pool->frames);
			return err;
		}
		for (i = 0; i < nr; i++)
			pool->frames[i].pfn = PHYS_PFN(pool->phys + ((u64)i << dev->block_shift));
		pool->nr = nr;
	}
	for (i = pool->nr; i < nr + pool->nr_spare; i++) {
		page = alloc_pages(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN | __GFP_COMP,
				   dev->block_order);
		if (!page) {
			dev_err(&dev->pdev->dev,
				"gpu_mem=%llu: no memory after %u of %u blocks of %u bytes: take less, or reserve memory and name it with gpu_phys\n",
				ugm_params.gpu_mem, i, nr, dev->block_size);
			pool->nr_spare = i > nr ? i - nr : 0;
			pool->nr = i;
			ugm_pool_exit(dev);
			return -ENOMEM;
		}
		pool->frames[i].pfn = page_to_pfn(page);
		pool->nr = i + 1;
		cond_resched();
	}
	for (i = pool->nr; i > 0; i--)
		frame_push(pool, &pool->free, i);
	pool->nr_free = pool->nr;
	return 0;
}

/* Wait a moment for references that I/O still has; it cannot be for ever. */
static bool reserved_dram_is_ours(struct ugm_device *dev)
{
	struct ugm_pool *pool = &dev->pool;
	unsigned long until = jiffies + 5 * HZ;
	u32 i;

	for (i = 0; i < pool->nr - pool->nr_spare; i++) {
		while (page_ref_count(ugm_frame_page(dev, i + 1)) != 1) {
			if (time_after(jiffies, until))
				return false;
			schedule_timeout_uninterruptible(1);
		}
	}
	return true;
}

/**
 * ugm_pool_exit() - give the memory back
 * @dev: device without users
 *
 * A page that somebody still holds goes with its last reference. Reserved DRAM
 * cannot: it stays claimed, which is better than freeing its struct pages under
 * somebody's feet.
 *
 * Context: process context, may sleep.
 */
void ugm_pool_exit(struct ugm_device *dev)
{
	struct ugm_pool *pool = &dev->pool;
	u32 i, first = pool->pagemap ? pool->nr - pool->nr_spare : 0;

	dev->host_reserve_target = 0;
	host_unreserve(dev, 0);
	for (i = first; i < pool->nr; i++)
		put_page(ugm_frame_page(dev, i + 1));
	if (pool->pagemap) {
		if (reserved_dram_is_ours(dev))
			unmap_reserved_dram(dev);
		else
			pr_err("%s: memory at %pa is held by somebody: not released\n", dev->name,
			       &pool->phys);
	}
	kvfree(pool->frames);
	pool->frames = NULL;
}
