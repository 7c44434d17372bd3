// SPDX-License-Identifier: GPL-2.0
#include <linux/ioport.h>
#include <linux/memremap.h>
#include <linux/vmalloc.h>

#include "ugm.h"

/**
 * DOC: pool
 *
 * Memory of the GPU tier, in block-sized compound pages. A frame is named by its
 * number in the pool. The pool lies on reserved DRAM, or is taken from the page
 * allocator when the device is bound.
 * The driver keeps one reference on each frame for ever; a free frame has no
 * other. One that is given back while somebody holds a reference (I/O that was
 * given up, a page that a slow completion has not dropped) waits in quarantine
 * until it is the driver's alone. A few spare frames, always from the page
 * allocator, keep the number of good frames at what the engine counts on.
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
		/* It has that of its last use; see the owner of a host page. */
		page_folio(page)->index = 0;
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
