// SPDX-License-Identifier: GPL-2.0
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "flash.h"

/**
 * DOC: slots
 *
 * A slot is a block-sized piece of the namespace. Slots are given out in
 * ascending order from a cursor that goes round, so that blocks evicted one
 * after the other lie side by side and travel back in one segment, and so that
 * wear is spread.
 *
 * A slot that was given out is TAKEN until a write of it completed without
 * error; only then it is VALID and may be read. The write has to be of the same
 * generation, the number of times the slot was given out: one that belonged to
 * an earlier owner counts for nothing. A slot given back is STALE until a work
 * item has discarded it, which happens a second later and in long runs; one
 * that is given out again before that is not discarded. A slot whose write
 * failed is BAD for good.
 *
 * Attaching costs one bit a slot. The rest, 8 bytes a slot, is allocated in
 * chunks of a page when a slot of the chunk is first given out, and kept until
 * the namespace is detached because it holds the wear counts.
 *
 * Quarantine holds slots of a broken lease which the flash server may still be
 * writing to: until the pages that the write reads from are released.
 */

enum ugm_slot_state { SLOT_FREE, SLOT_STALE, SLOT_TAKEN, SLOT_VALID, SLOT_BAD };

/**
 * struct ugm_slot - what is known of a slot that was used once
 * @writes: completed writes
 * @generation: times it was given out
 * @state: enum ugm_slot_state
 */
struct ugm_slot {
	u32 writes;
	u16 generation;
	u16 state;
};

#define CHUNK_SLOTS   (PAGE_SIZE / sizeof(struct ugm_slot))
#define CHUNK_STALE   XA_MARK_0 /* it has stale slots */
#define DISCARD_DELAY HZ
#define RELEASE_DELAY msecs_to_jiffies(5)
#define RELEASE_LATE  (10 * HZ)

/**
 * struct held_slot - a slot in quarantine
 * @node: membership in &ugm_flash.quarantine
 * @slot: the slot
 * @page: what the write reads from; a reference
 * @host: it is a page of the host tier
 * @revoked: it counts in &ugm_device.nr_revoked
 * @since: when it came here, in jiffies; 0: its lateness was told
 */
struct held_slot {
	struct list_head node;
	u32 slot;
	struct page *page;
	bool host;
	bool revoked;
	unsigned long since;
};

/* The xarray's lock must be held, or the slot be the caller's. */
static struct ugm_slot *slot_of(struct ugm_flash *flash, u32 slot)
{
	struct ugm_slot *chunk;

	if (WARN_ON_ONCE(!slot || slot > flash->nr))
		return NULL;
	chunk = xa_load(&flash->slots, (slot - 1) / CHUNK_SLOTS);
	return chunk ? chunk + (slot - 1) % CHUNK_SLOTS : NULL;
}

static int chunk_add(struct ugm_flash *flash, unsigned long index)
{
	/* The engine mutex is held: reclaim may not wait for I/O. */
	gfp_t gfp = GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN;
	void *chunk = (void *)get_zeroed_page(gfp);
	int err;

	if (!chunk)
		return -ENOMEM;
	err = xa_insert_irq(&flash->slots, index, chunk, gfp);
	if (err) {
		free_page((unsigned long)chunk);
		return err == -EBUSY ? 0 : err;
	}
	atomic_long_add(PAGE_SIZE, &flash->dev->metadata);
	return 0;
}

/**
 * ugm_slot_alloc() - take a free slot
 * @dev: device
 * @slot: out: the slot; nothing can be read from it before it was written
 *
 * Context: process context under &ugm_device.engine_lock, or the caller has a
 * slot already; may sleep for memory, not for I/O.
 * Return: 0, -ENODEV (no namespace), -ENOSPC (all are in use or bad), -EAGAIN
 * (those that are free are being discarded: ugm_progress() follows), -ENOMEM.
 */
int ugm_slot_alloc(struct ugm_device *dev, u32 *slot)
{
	struct ugm_flash *flash = dev->flash;
	struct ugm_slot *s;
	unsigned long flags;
	int err;
	u32 n;

	if (!flash)
		return -ENODEV;
again:
	xa_lock_irqsave(&flash->slots, flags);
	err = 0;
	if (flash->used + flash->bad == flash->nr) {
		err = -ENOSPC;
	} else if (flash->used + flash->bad + flash->discarding == flash->nr) {
		flash->starved = true;
		err = -EAGAIN;
	}
	if (err) {
		xa_unlock_irqrestore(&flash->slots, flags);
		return err;
	}
	n = find_next_zero_bit(flash->taken, flash->nr, flash->cursor);
	if (n >= flash->nr)
		n = find_first_zero_bit(flash->taken, flash->nr);
	s = slot_of(flash, n + 1);
	if (!s) {
		xa_unlock_irqrestore(&flash->slots, flags);
		err = chunk_add(flash, n / CHUNK_SLOTS);
		if (err)
			return err;
		goto again;
	}
	__set_bit(n, flash->taken);
	flash->cursor = n + 1 < flash->nr ? n + 1 : 0;
	flash->used++;
	s->state = SLOT_TAKEN;
	s->generation++;
	xa_unlock_irqrestore(&flash->slots, flags);
	*slot = n + 1;
	return 0;
}

/**
 * ugm_slot_free() - give a slot back; its content is discarded
 * @dev: device
 * @slot: the slot; no I/O can hit it any more
 *
 * Context: any.
 */
void ugm_slot_free(struct ugm_device *dev, u32 slot)
{
	struct ugm_flash *flash = dev->flash;
	struct ugm_slot *s;
	unsigned long flags;

	xa_lock_irqsave(&flash->slots, flags);
	s = slot_of(flash, slot);
	if (WARN_ON_ONCE(!s || (s->state != SLOT_TAKEN && s->state != SLOT_VALID))) {
		xa_unlock_irqrestore(&flash->slots, flags);
		return;
	}
	__clear_bit(slot - 1, flash->taken);
	flash->used--;
	s->state = SLOT_FREE;
	if (flash->discards) {
		s->state = SLOT_STALE;
		__xa_set_mark(&flash->slots, (slot - 1) / CHUNK_SLOTS, CHUNK_STALE);
	}
	xa_unlock_irqrestore(&flash->slots, flags);
	if (flash->discards)
		queue_delayed_work(flash->wq, &flash->discard, DISCARD_DELAY);
}

/**
 * ugm_slot_bad() - give up a slot that could not be written
 * @flash: namespace
 * @slot: the slot; the caller's no longer
 *
 * Context: any.
 */
void ugm_slot_bad(struct ugm_flash *flash, u32 slot)
{
	struct ugm_slot *s;
	unsigned long flags;

	xa_lock_irqsave(&flash->slots, flags);
	s = slot_of(flash, slot);
	if (!WARN_ON_ONCE(!s || (s->state != SLOT_TAKEN && s->state != SLOT_VALID))) {
		s->state = SLOT_BAD;
		flash->used--;
		flash->bad++;
	}
	xa_unlock_irqrestore(&flash->slots, flags);
}

/**
 * ugm_slot_write_begin() - a write of a move's slot is about to begin
 * @m: move to flash
 *
 * Context: any.
 */
void ugm_slot_write_begin(struct ugm_move *m)
{
	struct ugm_flash *flash = m->dev->flash;
	struct ugm_slot *s;
	unsigned long flags;

	xa_lock_irqsave(&flash->slots, flags);
	s = slot_of(flash, m->dst_slot);
	if (!WARN_ON_ONCE(!s || s->state != SLOT_TAKEN))
		m->generation = s->generation;
	xa_unlock_irqrestore(&flash->slots, flags);
}

/**
 * ugm_slot_write_end() - the write has completed without error
 * @m: move to flash; its slot can be read from now on
 *
 * Context: any.
 */
void ugm_slot_write_end(struct ugm_move *m)
{
	struct ugm_flash *flash = m->dev->flash;
	struct ugm_slot *s;
	unsigned long flags;

	xa_lock_irqsave(&flash->slots, flags);
	s = slot_of(flash, m->dst_slot);
	if (!WARN_ON_ONCE(!s || s->state != SLOT_TAKEN || s->generation != m->generation)) {
		s->state = SLOT_VALID;
		s->writes++;
		flash->writes++;
		flash->max_writes = max(flash->max_writes, s->writes);
	}
	xa_unlock_irqrestore(&flash->slots, flags);
}

/**
 * ugm_slot_read_begin() - a read of a move's slot is about to begin
 * @m: move from flash
 *
 * Context: process context, without &ugm_device.spaces_lock.
 * Return: 0, -ECANCELED (the model gave the move up, and perhaps the slot) or
 * -EIO: there is nothing to read, which breaks an invariant.
 */
int ugm_slot_read_begin(struct ugm_move *m)
{
	/* A slot is given up after its moves were, so ask for that last. */
	bool readable = ugm_slot_readable(m->dev, m->src_slot);

	if (test_bit(UGM_MOVE_VOID, &m->flags))
		return -ECANCELED;
	if (readable)
		return 0;
	ugm_device_broken(m->dev, "read of a slot that was not written");
	return -EIO;
}

/**
 * ugm_slot_readable() - was the slot written since it was given out?
 * @dev: device
 * @slot: a slot of the caller's
 *
 * Context: any.
 */
bool ugm_slot_readable(struct ugm_device *dev, u32 slot)
{
	struct ugm_flash *flash = dev->flash;
	struct ugm_slot *s;
	unsigned long flags;
	bool readable;

	xa_lock_irqsave(&flash->slots, flags);
	s = slot_of(flash, slot);
	readable = s && s->state == SLOT_VALID;
	xa_unlock_irqrestore(&flash->slots, flags);
	return readable;
}

/**
 * ugm_slot_offset() - where a slot lies
 * @flash: namespace
 * @slot: the slot
 *
 * Context: any.
 * Return: bytes from the start of the block device.
 */
u64 ugm_slot_offset(const struct ugm_flash *flash, u32 slot)
{
	return flash->start + ((u64)(slot - 1) << flash->dev->block_shift);
}

/* Takes the next run of stale slots of a chunk, of @max at most. */
static u32 stale_run(struct ugm_flash *flash, unsigned long index, u32 max, u32 *first)
{
	struct ugm_slot *chunk = xa_load(&flash->slots, index);
	u32 base = index * CHUNK_SLOTS, i = 0, n = 0;

	while (i < CHUNK_SLOTS && chunk[i].state != SLOT_STALE)
		i++;
	while (n < max && i + n < CHUNK_SLOTS && chunk[i + n].state == SLOT_STALE) {
		chunk[i + n].state = SLOT_FREE;
		__set_bit(base + i + n, flash->taken);
		n++;
	}
	if (i == CHUNK_SLOTS)
		__xa_clear_mark(&flash->slots, index, CHUNK_STALE);
	*first = base + i + 1;
	return n;
}

/*
 * Slots under discard cannot be given out. At most half of the free ones are
 * taken at a time, so that eviction seldom has to wait for a discard.
 */
static void discard_work(struct work_struct *work)
{
	struct ugm_flash *flash = container_of(work, struct ugm_flash, discard.work);
	unsigned long index = 0;
	u32 first, free, n;
	bool starved;
	int err;

	for (;;) {
		xa_lock_irq(&flash->slots);
		if (!xa_find(&flash->slots, &index, ULONG_MAX, CHUNK_STALE)) {
			xa_unlock_irq(&flash->slots);
			return;
		}
		free = flash->nr - flash->used - flash->bad;
		n = stale_run(flash, index, max(free / 2, 1U), &first);
		flash->discarding = n;
		xa_unlock_irq(&flash->slots);
		if (!n)
			continue;

		err = blkdev_issue_discard(flash->claim.bdev,
					   ugm_slot_offset(flash, first) >> SECTOR_SHIFT,
					   (sector_t)n << (flash->dev->block_shift - SECTOR_SHIFT),
					   GFP_NOIO);
		if (err)
			pr_warn_ratelimited("%s: discard of %u slots failed: error %d\n",
					    flash->path, n, err);

		xa_lock_irq(&flash->slots);
		bitmap_clear(flash->taken, first - 1, n);
		flash->discarding = 0;
		flash->discarded += err ? 0 : n;
		starved = flash->starved;
		flash->starved = false;
		xa_unlock_irq(&flash->slots);
		if (starved)
			ugm_progress(flash->dev);
		cond_resched();
	}
}

static void release_work(struct work_struct *work)
{
	struct ugm_flash *flash = container_of(work, struct ugm_flash, release.work);
	struct held_slot *h, *next;
	LIST_HEAD(quiet);
	bool more;

	xa_lock_irq(&flash->slots);
	list_for_each_entry_safe(h, next, &flash->quarantine, node) {
		if (ugm_page_quiet(flash->dev, h->page, h->host)) {
			list_move(&h->node, &quiet);
			flash->quarantined--;
		} else if (h->since && time_after(jiffies, h->since + RELEASE_LATE)) {
			h->since = 0;
			pr_warn("%s: slot %u stays in quarantine: a page of its old lease is held\n",
				flash->path, h->slot - 1);
		}
	}
	more = !list_empty(&flash->quarantine);
	xa_unlock_irq(&flash->slots);

	list_for_each_entry_safe(h, next, &quiet, node) {
		ugm_page_drop(h->page);
		ugm_slot_free(flash->dev, h->slot);
		if (h->revoked && atomic_dec_and_test(&flash->dev->nr_revoked))
			ugm_progress(flash->dev);
		kfree(h);
	}
	if (more)
		queue_delayed_work(flash->wq, &flash->release, RELEASE_DELAY);
}

/**
 * ugm_slot_quarantine() - free a slot once old I/O cannot hit it any more
 * @flash: namespace
 * @slot: the slot; the caller's no longer
 * @page: head page that the I/O reads from
 * @host: it belongs to the host tier
 * @revoked: it counts in &ugm_device.nr_revoked until then
 *
 * Context: process context, may sleep.
 */
void ugm_slot_quarantine(struct ugm_flash *flash, u32 slot, struct page *page, bool host,
			 bool revoked)
{
	struct held_slot *h = kmalloc(sizeof(*h), GFP_NOIO);

	if (!h) {
		/* Lost until the namespace is attached again, but safe. */
		ugm_slot_bad(flash, slot);
		if (revoked)
			atomic_dec(&flash->dev->nr_revoked);
		return;
	}
	ugm_page_hold(page);
	*h = (struct held_slot){
		.slot = slot,
		.page = page,
		.host = host,
		.revoked = revoked,
		.since = jiffies ?: 1,
	};
	xa_lock_irq(&flash->slots);
	list_add_tail(&h->node, &flash->quarantine);
	flash->quarantined++;
	xa_unlock_irq(&flash->slots);
	queue_delayed_work(flash->wq, &flash->release, RELEASE_DELAY);
}

/**
 * ugm_slot_facts() - tell the slots by state
 * @dev: device
 * @facts: out; zeros where no namespace is attached
 *
 * Context: under &ugm_device.engine_lock.
 */
void ugm_slot_facts(struct ugm_device *dev, struct ugm_slot_facts *facts)
{
	struct ugm_flash *flash = dev->flash;

	memset(facts, 0, sizeof(*facts));
	if (!flash)
		return;
	xa_lock_irq(&flash->slots);
	*facts = (struct ugm_slot_facts){
		.slots = flash->nr,
		.used = flash->used,
		.quarantined = flash->quarantined,
		.bad = flash->bad,
		.writes = flash->writes,
		.max_writes = flash->max_writes,
		.discarded = flash->discarded,
	};
	xa_unlock_irq(&flash->slots);
}

/**
 * ugm_slot_check() - count the broken invariants of the slots
 * @dev: device
 *
 * Context: under &ugm_device.engine_lock, may sleep.
 * Return: how many are broken; each is a line in the log.
 */
u64 ugm_slot_check(struct ugm_device *dev)
{
	struct ugm_flash *flash = dev->flash;
	u32 used = 0, bad = 0, i;
	unsigned long index;
	struct ugm_slot *chunk;
	u64 broken = 0;
	u32 taken;

	if (!flash)
		return 0;
	xa_lock_irq(&flash->slots);
	xa_for_each(&flash->slots, index, chunk) {
		for (i = 0; i < CHUNK_SLOTS; i++) {
			used += chunk[i].state == SLOT_TAKEN || chunk[i].state == SLOT_VALID;
			bad += chunk[i].state == SLOT_BAD;
		}
	}
	taken = bitmap_weight(flash->taken, flash->nr);
	if (used != flash->used || bad != flash->bad) {
		pr_err("%s: %u slots in use and %u bad are counted as %u and %u\n", flash->path,
		       used, bad, flash->used, flash->bad);
		broken++;
	}
	if (taken != flash->used + flash->bad + flash->discarding) {
		pr_err("%s: %u slots are taken, but %u in use, %u bad, %u being discarded\n",
		       flash->path, taken, flash->used, flash->bad, flash->discarding);
		broken++;
	}
	xa_unlock_irq(&flash->slots);
	return broken;
}

/**
 * ugm_slots_init() - make the slots of a namespace
 * @flash: namespace
 * @nr: how many
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int ugm_slots_init(struct ugm_flash *flash, u32 nr)
{
	size_t words = BITS_TO_LONGS((u64)nr);

	xa_init_flags(&flash->slots, XA_FLAGS_LOCK_IRQ);
	INIT_LIST_HEAD(&flash->quarantine);
	INIT_DELAYED_WORK(&flash->discard, discard_work);
	INIT_DELAYED_WORK(&flash->release, release_work);
	flash->taken = kvcalloc(words, sizeof(long), GFP_KERNEL);
	if (!flash->taken)
		return -ENOMEM;
	flash->nr = nr;
	atomic_long_add(words * sizeof(long), &flash->dev->metadata);
	return 0;
}

/**
 * ugm_slots_exit() - give the slots up; what is stale is discarded first
 * @flash: namespace nobody can find any more, without I/O
 *
 * Context: process context, may sleep for I/O.
 */
void ugm_slots_exit(struct ugm_flash *flash)
{
	struct held_slot *h, *next;
	unsigned long index;
	void *chunk;

	if (!flash->taken)
		return;
	cancel_delayed_work_sync(&flash->release);
	flush_delayed_work(&flash->discard);
	list_for_each_entry_safe(h, next, &flash->quarantine, node) {
		ugm_page_drop(h->page);
		kfree(h);
	}
	xa_for_each(&flash->slots, index, chunk) {
		free_page((unsigned long)chunk);
		atomic_long_sub(PAGE_SIZE, &flash->dev->metadata);
	}
	xa_destroy(&flash->slots);
	atomic_long_sub(BITS_TO_LONGS((u64)flash->nr) * sizeof(long), &flash->dev->metadata);
	kvfree(flash->taken);
}
