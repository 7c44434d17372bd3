// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "ugm.h"

/**
 * DOC: pages
 *
 * What the block-sized pages of both memory tiers have in common: who uses one
 * besides the tier it belongs to, and how its data is cleared and copied.
 */

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
 * ugm_page_enter_host() - a page comes to be used by the host tier
 * @page: head page that nobody else uses
 *
 * Context: any.
 */
void ugm_page_enter_host(struct page *page)
{
	set_page_private(page, HOST);
}

/**
 * ugm_page_leave_host() - it is given back: the tier's reference is none any more
 * @page: head page
 *
 * Context: any.
 */
void ugm_page_leave_host(struct page *page)
{
	folio_clear_dirty(page_folio(page));
	atomic_long_andnot(HOST, page_word(page));
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

/* References that are not I/O: the tier's and those of moves. */
static int refs_owned(struct page *page, bool host)
{
	unsigned long word = atomic_long_read(page_word(page));

	return (!host || word & HOST) + word / MOVE;
}

/* And of mappings, which may take long to count. */
static int refs_known(struct ugm_device *dev, struct page *page, bool host)
{
	return refs_owned(page, host) + ugm_page_mapcount(page, dev->block_order);
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
	int owned = refs_owned(page, host), known;
	int refs;

	/*
	 * A reference is taken before it becomes known, and forgotten before it
	 * is dropped: the smaller of a count before and one after is never too
	 * large.
	 */
	smp_rmb();
	refs = page_ref_count(page);
	smp_rmb(); /* as above */
	if (refs <= min(owned, refs_owned(page, host)))
		return true;

	known = refs_known(dev, page, host);
	smp_rmb(); /* as above */
	refs = page_ref_count(page);
	smp_rmb(); /* as above */
	return refs <= min(known, refs_known(dev, page, host));
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
 * ugm_page_copy() - copy a block
 * @dev: device
 * @dst: head page of where to
 * @src: head page of where from
 *
 * Context: may sleep.
 */
void ugm_page_copy(struct ugm_device *dev, struct page *dst, struct page *src)
{
	void *to = page_address(dst), *from = page_address(src);
	size_t size = dev->block_size, n, done;

	for (done = 0; done < size; done += n) {
		n = min_t(size_t, size - done, SZ_256K);
		memcpy(to + done, from + done, n);
		cond_resched();
	}
}

/* What ugm_page_copy_ns() copies, where there is twice as much memory. */
#define MEASURE_BYTES SZ_128M

/**
 * ugm_page_copy_ns() - how long it takes to copy memory
 * @dev: device
 * @bytes: out: how much was copied
 *
 * Each block is copied once, as by moves: neither caches nor TLBs know it. That
 * is several times slower than copying one block over and over again. As with
 * moves, the blocks of a pair lie anywhere: at some distances, the same for all
 * pairs of neighbours, they displace each other from a cache or a TLB.
 *
 * Context: process context, may sleep.
 * Return: ns, or -ENOMEM.
 */
s64 ugm_page_copy_ns(struct ugm_device *dev, u64 *bytes)
{
	u32 most = 2 * (MEASURE_BYTES >> dev->block_shift), got, nr, i, round, other;
	struct page **pages;
	u64 began;
	s64 ns = -ENOMEM;

	pages = kvcalloc(most, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	for (got = 0; got < most; got++) {
		pages[got] = alloc_pages(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN | __GFP_COMP,
					 dev->block_order);
		if (!pages[got])
			break;
	}
	nr = got / 2;
	for (i = got; i > 1; i--) {
		other = get_random_u32() % i;
		swap(pages[i - 1], pages[other]);
	}
	/* The memory of a virtual machine may not be there before it is used. */
	for (round = 0; nr && round < 2; round++) {
		began = ktime_get_ns();
		for (i = 0; i < nr; i++)
			ugm_page_copy(dev, pages[nr + i], pages[i]);
		ns = ktime_get_ns() - began;
	}
	*bytes = (u64)nr << dev->block_shift;
	while (got--)
		__free_pages(pages[got], dev->block_order);
	kvfree(pages);
	return ns;
}
