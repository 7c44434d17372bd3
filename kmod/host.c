// SPDX-License-Identifier: GPL-2.0
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "ugm.h"

/**
 * DOC: host pages
 *
 * Memory of the host tier: block-sized compound pages of the page allocator,
 * charged to the memory cgroup of whoever opened the space.
 *
 * The engine takes pages from a list, under engine_lock, and never waits for the
 * allocator there. Where the list is empty it is told to try again (-EAGAIN),
 * and whoever drives it fills the list once the lock is dropped. What cannot be
 * had then is a full host tier, for the space that asked. A cgroup is full some
 * room before its limit: these pages cannot be reclaimed, so that with all of it
 * taken the next page its processes need for themselves would have them killed.
 *
 * A page that is given back goes to the list too: the allocator would clear the
 * next one, which costs as much as the move that then overwrites it. What was
 * not needed for a second goes back to the allocator, as does a page that is
 * charged to another cgroup than the one that asks. For the virtual clock, whose
 * results must not depend on the allocator's mood, the whole tier is set aside
 * in the list beforehand, and stays there.
 */

/* An allocation that fails says "full", it does not try hard. */
#define GFP_HOST   (GFP_KERNEL | __GFP_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN | __GFP_COMP)
/* Most bytes on the list, but for what is set aside. */
#define MAX_KEPT   SZ_256M
/* Blocks allocated in one go, while moves of others go on. */
#define BATCH	   16
/* Bytes that are left to a cgroup. */
#define LEFT	   SZ_1M
#define TRIM_DELAY HZ
/* How long "full" is the answer before the allocator is asked again. */
#define FULL_FOR   msecs_to_jiffies(20)

/*
 * Who a page is charged to; 0: whoever comes. A cgroup's serial number is never
 * given again, its address may be. It is kept in the index while the page is on
 * the list, and in the then unused list entry while it is used: since 6.18 a
 * fault that finds an index beyond the end of the file enters small pages. The
 * list entry's lowest bit marks tail pages, so it stays 0.
 */
static pgoff_t owner_of(struct mem_cgroup *memcg)
{
#ifdef CONFIG_MEMCG
	if (memcg)
		return memcg->css.serial_nr << 1;
#endif
	return 0;
}

static void set_owner(struct page *page, struct mem_cgroup *memcg)
{
	page_folio(page)->index = owner_of(memcg);
}

static bool owned_by(struct page *page, struct mem_cgroup *memcg)
{
	return !page_folio(page)->index || page_folio(page)->index == owner_of(memcg);
}

static void begin_use(struct page *page)
{
	page->lru.next = (void *)page_folio(page)->index;
	page_folio(page)->index = 0;
	ugm_page_enter_host(page);
}

static void end_use(struct page *page)
{
	set_page_private(page, 0);
	page_folio(page)->index = (pgoff_t)page->lru.next;
}

/* May a cgroup, and what it is part of, take so many pages more? */
static bool within_limits(struct mem_cgroup *memcg, unsigned long nr)
{
#ifdef CONFIG_MEMCG
	struct page_counter *c;

	for (c = memcg ? &memcg->memory : NULL; c; c = c->parent)
		if (page_counter_read(c) + nr > min(READ_ONCE(c->max), READ_ONCE(c->high)))
			return false;
#endif
	return true;
}

/*
 * Does a block leave room in the cgroup that pays? One that is near its limit may
 * have what can be reclaimed, and allocating as much does that.
 */
static bool leaves_room(struct ugm_device *dev, struct mem_cgroup *memcg)
{
	unsigned long nr = (dev->block_size + LEFT) >> PAGE_SHIFT, i;
	struct page *page, *next;
	LIST_HEAD(pages);

	if (within_limits(memcg, nr))
		return true;
	/* Some more, that this is not done for each small block. */
	for (i = 0; i < nr + (LEFT >> PAGE_SHIFT); i++) {
		page = alloc_page(GFP_HOST & ~__GFP_COMP);
		if (!page)
			break;
		list_add(&page->lru, &pages);
	}
	list_for_each_entry_safe(page, next, &pages, lru)
		__free_page(page);
	return within_limits(memcg, nr);
}

static struct page *allocate(struct ugm_device *dev, struct mem_cgroup *memcg)
{
	struct page *page = NULL;

	if (leaves_room(dev, memcg))
		page = alloc_pages(GFP_HOST, dev->block_order);
	if (!page)
		return NULL;
	set_owner(page, memcg);
	atomic64_inc(&dev->host.nr_pages);
	return page;
}

static void release(struct ugm_device *dev, struct page *page)
{
	atomic64_dec(&dev->host.nr_pages);
	put_page(page);
}

static void push(struct ugm_host *host, struct page *page)
{
	lockdep_assert_held(&host->lock);
	list_add(&page->lru, &host->free);
	host->nr_free++;
}

static struct page *pop(struct ugm_host *host)
{
	struct page *page = list_first_entry_or_null(&host->free, struct page, lru);

	lockdep_assert_held(&host->lock);
	if (page) {
		list_del(&page->lru);
		host->nr_free--;
		host->fewest = min(host->fewest, host->nr_free);
	}
	return page;
}

/* Free the pages on the list that were there longest, all but @keep. */
static void trim(struct ugm_device *dev, u64 keep)
{
	struct ugm_host *host = &dev->host;
	struct page *page;

	for (;;) {
		spin_lock_irq(&host->lock);
		page = NULL;
		if (host->nr_free > keep) {
			page = list_last_entry(&host->free, struct page, lru);
			list_del(&page->lru);
			host->nr_free--;
		}
		spin_unlock_irq(&host->lock);
		if (!page)
			return;
		release(dev, page);
		cond_resched();
	}
}

static void trim_work(struct work_struct *work)
{
	struct ugm_device *dev = container_of(work, struct ugm_device, host.trim.work);
	struct ugm_host *host = &dev->host;
	u64 keep;

	spin_lock_irq(&host->lock);
	keep = host->nr_free - min(host->fewest, host->nr_free);
	keep = max(keep, host->set_aside);
	host->fewest = keep;
	if (keep > host->set_aside)
		queue_delayed_work(ugm_unbound_wq, &host->trim, TRIM_DELAY);
	spin_unlock_irq(&host->lock);
	trim(dev, keep);
}

/* Fill the list for @fs. False: there is no memory. */
static bool fill(struct ugm_file_space *fs, u64 nr)
{
	struct ugm_device *dev = fs->dev;
	struct mem_cgroup *old = set_active_memcg(fs->memcg);
	struct page *page = NULL;

	while (nr--) {
		page = allocate(dev, fs->memcg);
		if (!page)
			break;
		spin_lock_irq(&dev->host.lock);
		push(&dev->host, page);
		queue_delayed_work(ugm_unbound_wq, &dev->host.trim, TRIM_DELAY);
		spin_unlock_irq(&dev->host.lock);
	}
	set_active_memcg(old);
	return page;
}

/**
 * ugm_host_refill() - allocate the pages that the engine did not find
 * @dev: device
 *
 * Context: process context, without engine_lock; may sleep.
 */
void ugm_host_refill(struct ugm_device *dev)
{
	struct ugm_host *host = &dev->host;
	struct ugm_file_space *fs;
	u64 nr;

	if (!READ_ONCE(host->wanted_by))
		return;
	spin_lock_irq(&host->lock);
	fs = host->wanted_by;
	nr = host->wanted;
	host->wanted_by = NULL;
	host->filling |= !!fs;
	spin_unlock_irq(&host->lock);
	if (!fs)
		return;
	if (!fill(fs, nr))
		WRITE_ONCE(fs->host_full_until, get_jiffies_64() + FULL_FOR);
	ugm_space_put(fs);
	spin_lock_irq(&host->lock);
	host->filling = false;
	spin_unlock_irq(&host->lock);
	ugm_progress(dev);
}

/* Pages that queued moves will ask for. */
static u64 pages_wanted(const struct ugm_engine *e)
{
	unsigned int src;
	u64 nr = 0;

	for (src = 0; src < UGM_NR_TIERS; src++)
		nr += e->queue[src][UGM_TIER_HOST].nr;
	return clamp_t(u64, nr, 1, BATCH);
}

/* Did the allocator just say that there is nothing for a space? */
static bool full(const struct ugm_file_space *fs)
{
	return time_before64(get_jiffies_64(), READ_ONCE(fs->host_full_until));
}

static void want(struct ugm_file_space *fs)
{
	struct ugm_host *host = &fs->dev->host;

	lockdep_assert_held(&fs->dev->engine_lock);
	spin_lock_irq(&host->lock);
	if (!host->wanted_by && !host->filling) {
		ugm_space_get(fs);
		host->wanted_by = fs;
		host->wanted = pages_wanted(&fs->dev->engine);
	}
	spin_unlock_irq(&host->lock);
}

/**
 * ugm_host_alloc() - a page for the host tier
 * @fs: whose memory cgroup pays for it
 * @zero: clear it; else the caller overwrites all of it before anybody sees it
 * @page: out: its head page
 *
 * Context: engine_lock held.
 * Return: 0; -EAGAIN: there will be some after ugm_host_refill(); -ENOMEM: the
 * host is full, which is counted.
 */
int ugm_host_alloc(struct ugm_file_space *fs, bool zero, struct page **page)
{
	struct ugm_device *dev = fs->dev;
	struct ugm_host *host = &dev->host;

	lockdep_assert_held(&dev->engine_lock);
	for (;;) {
		spin_lock_irq(&host->lock);
		*page = pop(host);
		spin_unlock_irq(&host->lock);
		if (!*page || owned_by(*page, fs->memcg))
			break;
		release(dev, *page);
	}
	if (!*page && !full(fs)) {
		want(fs);
		return -EAGAIN;
	}
	if (*page)
		begin_use(*page);
	if (*page && ugm_inject_alloc_host(dev)) {
		ugm_host_free(dev, *page);
		*page = NULL;
	}
	if (!*page) {
		ugm_count(dev, HOST_ALLOC_FAILED);
		return -ENOMEM;
	}
	if (zero)
		ugm_page_clear(dev, *page);
	return 0;
}

/**
 * ugm_host_free() - give a page of the host tier back
 * @dev: device
 * @page: its head page; nobody can find it any more
 *
 * Context: any.
 */
void ugm_host_free(struct ugm_device *dev, struct page *page)
{
	struct ugm_host *host = &dev->host;
	u64 most = host->set_aside ?: MAX_KEPT >> dev->block_shift;
	unsigned long flags;

	ugm_page_leave_host(page);
	spin_lock_irqsave(&host->lock, flags);
	/* One that somebody holds goes with its last reference. */
	if (host->nr_free < most && page_ref_count(page) == 1) {
		end_use(page);
		push(host, page);
		page = NULL;
		if (!host->set_aside)
			queue_delayed_work(ugm_unbound_wq, &host->trim, TRIM_DELAY);
	}
	spin_unlock_irqrestore(&host->lock, flags);
	if (page)
		release(dev, page);
}

/**
 * ugm_host_set_aside() - have the host tier's pages ready for good
 * @dev: device; no block is in use
 * @blocks: how many; 0 gives all back
 *
 * Context: process context, engine_lock held; may sleep for long, killable.
 * Return: 0, -ENOMEM or -EINTR; on an error nothing is set aside.
 */
int ugm_host_set_aside(struct ugm_device *dev, u64 blocks)
{
	struct ugm_host *host = &dev->host;
	struct page *page;

	lockdep_assert_held(&dev->engine_lock);
	/* Those that were only kept are charged to somebody. */
	trim(dev, host->set_aside ? blocks : 0);
	host->set_aside = blocks;
	while (host->nr_free < blocks) {
		page = fatal_signal_pending(current) ? NULL : allocate(dev, NULL);
		if (!page) {
			host->set_aside = 0;
			trim(dev, 0);
			return fatal_signal_pending(current) ? -EINTR : -ENOMEM;
		}
		spin_lock_irq(&host->lock);
		push(host, page);
		spin_unlock_irq(&host->lock);
		cond_resched();
	}
	return 0;
}

/**
 * ugm_host_init() - no pages yet
 * @dev: device
 *
 * Context: process context.
 */
void ugm_host_init(struct ugm_device *dev)
{
	spin_lock_init(&dev->host.lock);
	INIT_LIST_HEAD(&dev->host.free);
	INIT_DELAYED_WORK(&dev->host.trim, trim_work);
}

/**
 * ugm_host_exit() - give the memory back
 * @dev: device without users
 *
 * Context: process context, may sleep.
 */
void ugm_host_exit(struct ugm_device *dev)
{
	dev->host.set_aside = 0;
	cancel_delayed_work_sync(&dev->host.trim);
	trim(dev, 0);
}
