// SPDX-License-Identifier: GPL-2.0
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>

#include "ioctl.h"
#include "ugm.h"

/**
 * DOC: invariants
 *
 * What always holds when nobody is inside the engine: places agree with states,
 * one owner a frame, counts that add up, a free frame that only the driver
 * knows. Each violation is a line in the log, and ends the use of the device: so
 * what is looked at must not be on its way to be right again.
 */

struct census {
	struct ugm_device *dev;
	unsigned long *owned; /* frames of blocks and of moves */
	u64 places[UGM_NR_TIERS];
	u64 copies[UGM_NR_TIERS];
	u64 spare[UGM_NR_TIERS];
	u64 violations;
};

static __printf(2, 3) void broken(struct census *c, const char *format, ...)
{
	struct va_format vaf;
	va_list args;

	va_start(args, format);
	vaf.fmt = format;
	vaf.va = &args;
	if (c->violations++ < 20)
		pr_err("%s: check: %pV\n", c->dev->name, &vaf);
	va_end(args);
}

static void own_frame(struct census *c, u32 frame, const char *who)
{
	if (frame > c->dev->pool.nr)
		broken(c, "%s has frame %u of %u", who, frame, c->dev->pool.nr);
	else if (test_and_set_bit(frame - 1, c->owned))
		broken(c, "frame %u has two owners, one is a %s", frame, who);
}

static void check_block(struct census *c, struct ugm_file_space *fs, struct ugm_block *b)
{
	u64 at = ugm_block_index(b);
	u32 s = b->state, have = 0, want, t;
	bool moving = b->transfer && b->transfer->phase != UGM_PHASE_QUEUED;

	if (!ugm_state_valid(s))
		broken(c, "space %llu block %llu: state %#x", fs->id, at, s);
	if (b->gpu_frame)
		have |= 1 << UGM_TIER_GPU;
	if (b->host_pfn)
		have |= 1 << UGM_TIER_HOST;
	if (b->slot)
		have |= 1 << UGM_TIER_FLASH;
	want = (1 << ugm_state_home(s) | ugm_state_copies(s)) & ~(1 << UGM_TIER_NONE);
	if (have != want)
		broken(c, "space %llu block %llu: state %#x, but places %#x", fs->id, at, s, have);
	if (s & UGM_S_BUSY && !b->transfer)
		broken(c, "space %llu block %llu: busy without a transfer", fs->id, at);
	if (b->transfer && b->transfer->block != b)
		broken(c, "space %llu block %llu: another one's transfer", fs->id, at);
	if (b->gpu_frame)
		own_frame(c, b->gpu_frame, "block");
	for (t = UGM_TIER_GPU; t < UGM_NR_TIERS; t++) {
		c->places[t] += !!(have & 1 << t);
		c->copies[t] += ugm_state_has_copy(s, t);
		c->spare[t] += ugm_state_has_copy(s, t) && ugm_tier_is_memory(t) &&
			       ugm_tier_is_memory(ugm_state_home(s));
		c->places[t] += moving && b->transfer->dst == t;
	}
	if (b->slot && c->dev->flash && !ugm_slot_readable(c->dev, b->slot))
		broken(c, "space %llu block %llu: slot %u was not written", fs->id, at,
		       b->slot - 1);
}

static void check_spaces(struct census *c)
{
	struct ugm_file_space *fs;
	struct ugm_block *b;
	unsigned long at;
	u64 nr;

	list_for_each_entry(fs, &c->dev->spaces, node) {
		nr = 0;
		xa_for_each(&fs->blocks, at, b) {
			nr++;
			if (ugm_space_of_block(b) != fs || ugm_block_index(b) != at)
				broken(c, "space %llu block %lu: it says it is another", fs->id,
				       at);
			check_block(c, fs, b);
		}
		if (nr != atomic_long_read(&fs->nr_blocks))
			broken(c, "space %llu: %llu blocks, %ld counted", fs->id, nr,
			       atomic_long_read(&fs->nr_blocks));
	}
}

static void check_engine(struct census *c)
{
	struct ugm_engine *e = &c->dev->engine;
	unsigned int t;

	for (t = UGM_TIER_GPU; t < UGM_NR_TIERS; t++) {
		if (c->places[t] != e->used[t])
			broken(c, "%s tier: %llu blocks, the engine counts %llu", ugm_tier_name(t),
			       c->places[t], e->used[t]);
		if (c->copies[t] != e->copies[t])
			broken(c, "%s tier: %llu copies, the engine counts %llu", ugm_tier_name(t),
			       c->copies[t], e->copies[t]);
		if (c->spare[t] != e->spares[t])
			broken(c, "%s tier: %llu copies to spare, the engine has %llu",
			       ugm_tier_name(t), c->spare[t], e->spares[t]);
		if (e->used[t] > e->capacity[t])
			broken(c, "%s tier: %llu of %llu blocks used", ugm_tier_name(t), e->used[t],
			       e->capacity[t]);
	}
}

static u32 check_list(struct census *c, u32 first, unsigned long *seen)
{
	struct ugm_pool *pool = &c->dev->pool;
	u32 frame, nr = 0;

	for (frame = first; frame; frame = pool->frames[frame - 1].next) {
		if (nr++ > pool->nr) {
			broken(c, "a list of frames has no end");
			break;
		}
		if (test_and_set_bit(frame - 1, seen))
			broken(c, "frame %u is in two lists", frame);
	}
	return nr;
}

static void check_frames(struct census *c, unsigned long *seen)
{
	struct ugm_pool *pool = &c->dev->pool;
	struct ugm_move *m;
	u32 i, nr_free, nr_quarantined;

	/*
	 * A move that was given up may end at any time: its frame is then in a
	 * list and still the move's for a moment. So that is not looked at.
	 */
	spin_lock_irq(&c->dev->moves_lock);
	list_for_each_entry(m, &c->dev->moves, all)
		if (m->dst_frame && !test_bit(UGM_MOVE_VOID, &m->flags))
			own_frame(c, m->dst_frame, "move");
		else if (m->dst_frame)
			set_bit(m->dst_frame - 1, seen);
	spin_unlock_irq(&c->dev->moves_lock);

	spin_lock_irq(&pool->lock);
	bitmap_zero(seen, pool->nr);
	nr_free = check_list(c, pool->free, seen);
	nr_quarantined = check_list(c, pool->quarantine, seen);
	if (nr_free != pool->nr_free || nr_quarantined != pool->nr_quarantined)
		broken(c, "%u free frames and %u in quarantine, %u and %u counted", nr_free,
		       nr_quarantined, pool->nr_free, pool->nr_quarantined);
	for (i = 0; i < pool->nr; i++)
		if (test_bit(i, seen) && test_bit(i, c->owned))
			broken(c, "frame %u is in use and in a list", i + 1);
	spin_unlock_irq(&pool->lock);
}

static void check_host(struct census *c)
{
	struct ugm_host *host = &c->dev->host;
	struct page *page;
	u64 nr = 0;

	spin_lock_irq(&host->lock);
	list_for_each_entry(page, &host->free, lru)
		nr++;
	if (nr != host->nr_free || nr > atomic64_read(&host->nr_pages))
		broken(c, "%llu free host pages, %llu counted, of %lld", nr, host->nr_free,
		       atomic64_read(&host->nr_pages));
	spin_unlock_irq(&host->lock);
}

/* Free pages that not only the driver holds. Tells one of them. */
static u64 nr_held(struct ugm_device *dev, struct page **held)
{
	struct ugm_pool *pool = &dev->pool;
	struct page *page;
	u32 frame, i = 0;
	u64 nr = 0;

	spin_lock_irq(&pool->lock);
	for (frame = pool->free; frame && i < pool->nr; frame = pool->frames[frame - 1].next, i++) {
		page = ugm_frame_page(dev, frame);
		if (page_ref_count(page) != 1) {
			*held = page;
			nr++;
		}
	}
	spin_unlock_irq(&pool->lock);

	spin_lock_irq(&dev->host.lock);
	list_for_each_entry(page, &dev->host.free, lru) {
		if (page_ref_count(page) != 1) {
			*held = page;
			nr++;
		}
	}
	spin_unlock_irq(&dev->host.lock);
	return nr;
}

/*
 * A fault finds its page without a lock, and may for a moment hold one that is
 * free by now. With engine_lock held blocks stay where they are, so that after a
 * grace period no fault has a page of before.
 */
static void check_free(struct census *c)
{
	struct page *page;
	u64 nr = nr_held(c->dev, &page);

	if (!nr)
		return;
	synchronize_rcu();
	nr = nr_held(c->dev, &page);
	if (nr)
		broken(c, "%llu free pages are held, one (%#lx) by %d references", nr,
		       page_to_pfn(page), page_ref_count(page));
}

/**
 * ugm_check() - check every invariant of a device
 * @dev: device
 *
 * Context: process context; takes spaces_lock and engine_lock for as long as it
 * takes to look at every block.
 * Return: how many are broken, each a line in the log.
 */
u64 ugm_check(struct ugm_device *dev)
{
	struct census c = { .dev = dev };
	unsigned long *seen;

	c.owned = kvcalloc(BITS_TO_LONGS(dev->pool.nr), sizeof(long), GFP_KERNEL);
	seen = kvcalloc(BITS_TO_LONGS(dev->pool.nr), sizeof(long), GFP_KERNEL);
	if (!c.owned || !seen) {
		broken(&c, "no memory for the check itself");
		goto out;
	}
	mutex_lock(&dev->spaces_lock);
	mutex_lock(&dev->engine_lock);
	check_spaces(&c);
	check_engine(&c);
	check_frames(&c, seen);
	check_host(&c);
	check_free(&c);
	if (dev->flash)
		c.violations += ugm_slot_check(dev);
	mutex_unlock(&dev->engine_lock);
	mutex_unlock(&dev->spaces_lock);
out:
	kvfree(c.owned);
	kvfree(seen);
	if (c.violations)
		ugm_device_broken(dev, "the check found violations");
	return c.violations;
}

/**
 * ugm_ioc_check() - UGM_IOC_CHECK
 * @fs: space
 * @p: struct ugm_ioc_check
 *
 * Context: process context.
 */
int ugm_ioc_check(struct ugm_file_space *fs, void *p)
{
	struct ugm_ioc_check *arg = p;

	if (arg->flags)
		return -EINVAL;
	arg->violations = ugm_check(fs->dev);
	return 0;
}
