// SPDX-License-Identifier: GPL-2.0
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/capability.h>
#include <linux/slab.h>

#include "flash.h"
#include "inject.h"

/**
 * DOC: flash
 *
 * The flash tier is a namespace, claimed exclusively through the block layer,
 * or a part of it. This file attaches and detaches it and is the kernel lane:
 * one asynchronous bio a move, whose end completes the move.
 *
 * Bios are submitted by a work item and never by whoever needs the block: a
 * device that stopped answering makes submitters sleep where no signal reaches
 * them, and a user must always be able to die. The work item takes all that has
 * gathered and submits it under one plug.
 *
 * A failed read is told to the move; the block layer and the device have
 * retried before that. A failed write marks its slot bad and goes to another
 * slot, a few times; the source stays valid all the while. A device that is
 * gone fails everything at once and leaves no bad slots.
 *
 * A namespace stays attached while a slot is in use or a move is alive, so
 * &ugm_device.flash may be looked at under the engine mutex and by whoever has a
 * slot or a move.
 */

#define MAX_TRIES   3
#define AGAIN_DELAY msecs_to_jiffies(2)

/**
 * ugm_flash_ended() - a move's bio has ended
 * @m: the move
 * @error: 0 or a negative errno
 *
 * Context: any.
 */
void ugm_flash_ended(struct ugm_move *m, int error)
{
	struct ugm_flash *flash = m->dev->flash;
	unsigned long flags;

	if (error && m->dst_slot) {
		spin_lock_irqsave(&flash->io_lock, flags);
		m->error = error;
		list_add_tail(&m->todo, &flash->failed);
		queue_work(flash->wq, &flash->io);
		spin_unlock_irqrestore(&flash->io_lock, flags);
		return;
	}
	if (m->dst_slot)
		ugm_slot_write_end(m);
	else if (error)
		ugm_count(flash->dev, FLASH_READ_ERRORS);
	ugm_move_done(m, error);
}

static void end_io(struct bio *bio)
{
	struct ugm_move *m = bio->bi_private;
	int error = blk_status_to_errno(bio->bi_status);

	bio_put(bio);
	if (!error)
		error = ugm_inject_flash(m);
	if (!ugm_inject_delay(m, error))
		ugm_flash_ended(m, error);
}

static void submit(struct ugm_flash *flash, struct ugm_move *m)
{
	bool write = m->dst_slot;
	struct page *page = write ? m->src_page : m->dst_page;
	struct bio *bio;
	int err = 0;

	if (test_bit(UGM_MOVE_VOID, &m->flags))
		err = -ECANCELED;
	else if (write)
		ugm_slot_write_begin(m);
	else
		err = ugm_slot_read_begin(m);
	if (err) {
		ugm_move_done(m, err);
		return;
	}
	bio = bio_alloc_bioset(flash->claim.bdev, 1,
			       write ? REQ_OP_WRITE | REQ_SYNC | REQ_IDLE : REQ_OP_READ, GFP_NOIO,
			       &flash->bios);
	bio->bi_iter.bi_sector = ugm_slot_offset(flash, write ? m->dst_slot : m->src_slot) >>
				 SECTOR_SHIFT;
	bio->bi_private = m;
	bio->bi_end_io = end_io;
	__bio_add_page(bio, page, flash->dev->block_size, 0);
	submit_bio(bio);
}

/* An event for the move's space, while the model still knows the move. */
static void write_error_event(struct ugm_move *m, int error)
{
	struct ugm_device *dev = m->dev;

	mutex_lock(&dev->engine_lock);
	if (!test_bit(UGM_MOVE_VOID, &m->flags))
		ugm_event(ugm_space_of_block(m->t.block), UGM_EVENT_WRITE_ERROR, m->dst_slot - 1,
			  -error);
	mutex_unlock(&dev->engine_lock);
}

static void mend_write(struct ugm_flash *flash, struct ugm_move *m)
{
	int error = m->error;

	ugm_count(flash->dev, FLASH_WRITE_ERRORS);
	write_error_event(m, error);
	m->error = 0;
	if (error == -ENODEV || ++m->tries >= MAX_TRIES ||
	    test_bit(UGM_MOVE_VOID, &m->flags)) {
		ugm_move_done(m, error);
		return;
	}
	pr_warn_ratelimited("%s: slot %u is bad: write error %d\n", flash->path, m->dst_slot - 1,
			    error);
	ugm_slot_bad(flash, m->dst_slot);
	m->dst_slot = 0;
	ugm_flash_again(m);
}

static void io_work(struct work_struct *work)
{
	struct ugm_flash *flash = container_of(work, struct ugm_flash, io);
	LIST_HEAD(todo);
	LIST_HEAD(failed);
	struct ugm_move *m, *next;
	struct blk_plug plug;

	spin_lock_irq(&flash->io_lock);
	list_splice_init(&flash->todo, &todo);
	list_splice_init(&flash->failed, &failed);
	spin_unlock_irq(&flash->io_lock);

	blk_start_plug(&plug);
	list_for_each_entry_safe(m, next, &todo, todo) {
		list_del_init(&m->todo);
		submit(flash, m);
	}
	blk_finish_plug(&plug);
	list_for_each_entry_safe(m, next, &failed, todo) {
		list_del_init(&m->todo);
		mend_write(flash, m);
	}
}

/**
 * ugm_flash_submit() - the kernel lane: do a move by a bio
 * @m: move from or to flash, with an I/O reference that ugm_move_done() takes
 *
 * Context: any.
 */
void ugm_flash_submit(struct ugm_move *m)
{
	struct ugm_flash *flash = m->dev->flash;
	unsigned long flags;

	spin_lock_irqsave(&flash->io_lock, flags);
	list_add_tail(&m->todo, &flash->todo);
	queue_work(flash->wq, &flash->io);
	spin_unlock_irqrestore(&flash->io_lock, flags);
}

/* Gets what the move lacks, and submits it. False: there is none just now. */
static bool do_again(struct ugm_move *m)
{
	int err = 0;

	if (test_bit(UGM_MOVE_VOID, &m->flags)) {
		ugm_move_done(m, -ECANCELED);
		return true;
	}
	if (m->src_page)
		err = m->dst_slot ? 0 : ugm_move_new_slot(m);
	else if (!ugm_page_quiet(m->dev, m->dst_page, m->t.dst == UGM_TIER_HOST))
		err = ugm_move_new_frame(m);
	if (err == -EAGAIN)
		return false;
	if (err)
		ugm_move_done(m, err);
	else
		ugm_flash_submit(m);
	return true;
}

static void again_work(struct work_struct *work)
{
	struct ugm_flash *flash = container_of(work, struct ugm_flash, again_io.work);
	struct ugm_move *m, *next;
	LIST_HEAD(again);
	bool more;

	spin_lock_irq(&flash->io_lock);
	list_splice_init(&flash->again, &again);
	spin_unlock_irq(&flash->io_lock);
	list_for_each_entry_safe(m, next, &again, todo) {
		list_del_init(&m->todo);
		if (!do_again(m)) {
			spin_lock_irq(&flash->io_lock);
			list_add_tail(&m->todo, &flash->again);
			spin_unlock_irq(&flash->io_lock);
		}
	}
	spin_lock_irq(&flash->io_lock);
	more = !list_empty(&flash->again);
	spin_unlock_irq(&flash->io_lock);
	if (more)
		queue_delayed_work(flash->wq, &flash->again_io, AGAIN_DELAY);
}

/**
 * ugm_flash_again() - do a move once more, by the kernel lane
 * @m: move that did not succeed; a write without a slot gets another one, a read
 *     whose destination is not quiet another page
 *
 * Context: any.
 */
void ugm_flash_again(struct ugm_move *m)
{
	struct ugm_flash *flash = m->dev->flash;
	unsigned long flags;

	spin_lock_irqsave(&flash->io_lock, flags);
	list_add_tail(&m->todo, &flash->again);
	mod_delayed_work(flash->wq, &flash->again_io, 0);
	spin_unlock_irqrestore(&flash->io_lock, flags);
}

/* There are no moves, and nobody can find it. */
static void flash_free(struct ugm_flash *flash)
{
	cancel_delayed_work_sync(&flash->again_io);
	ugm_slots_exit(flash);
	if (flash->wq)
		destroy_workqueue(flash->wq);
	bioset_exit(&flash->bios);
	if (flash->claim.bdev)
		ugm_claim_release(&flash->claim);
	kfree(flash);
}

/* How many slots @arg leaves of the device, or an error with its line. */
static s64 flash_slots(struct ugm_flash *flash, const struct ugm_ioc_attach *arg)
{
	struct ugm_device *dev = flash->dev;
	struct block_device *bdev = flash->claim.bdev;
	u64 size = bdev_nr_bytes(bdev), len = arg->len;

	if (bdev_logical_block_size(bdev) > dev->block_size) {
		pr_err("%s: its logical blocks of %u bytes are larger than the block size %u\n",
		       arg->path, bdev_logical_block_size(bdev), dev->block_size);
		return -EINVAL;
	}
	if (!IS_ALIGNED(arg->offset, dev->block_size) || !IS_ALIGNED(len, dev->block_size)) {
		pr_err("%s: offset %llu and length %llu must be multiples of the block size %u\n",
		       arg->path, arg->offset, len, dev->block_size);
		return -EINVAL;
	}
	if (arg->offset >= size || len > size - arg->offset) {
		pr_err("%s: offset %llu and length %llu go beyond its %llu bytes\n", arg->path,
		       arg->offset, len, size);
		return -EINVAL;
	}
	if (!len)
		len = round_down(size - arg->offset, dev->block_size);
	if (!len) {
		pr_err("%s: not one block of %u bytes fits after offset %llu of %llu bytes\n",
		       arg->path, dev->block_size, arg->offset, size);
		return -EINVAL;
	}
	if (len >> dev->block_shift >= U32_MAX) {
		pr_err("%s: %llu blocks of %u bytes are more than %u: give a length\n", arg->path,
		       len >> dev->block_shift, dev->block_size, U32_MAX - 1);
		return -EFBIG;
	}
	return len >> dev->block_shift;
}

/**
 * ugm_flash_attach() - make a namespace the flash tier
 * @dev: device
 * @arg: its path and the part to use
 *
 * Context: process context, may sleep.
 * Return: 0, -EPERM, -EEXIST (one is attached), -EBUSY (mounted or claimed),
 * -EINVAL (flags, part, logical block size), -EFBIG (too many slots), -ENOMEM, or
 * what opening it gives; the reason is in the log.
 */
int ugm_flash_attach(struct ugm_device *dev, const struct ugm_ioc_attach *arg)
{
	struct ugm_flash *flash;
	s64 nr;
	int err;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (arg->flags || !arg->path[0] || strnlen(arg->path, sizeof(arg->path)) == sizeof(arg->path))
		return -EINVAL;
	/* A hint that saves the work; the answer is given under the lock below. */
	if (READ_ONCE(dev->flash))
		return -EEXIST;

	flash = kzalloc(sizeof(*flash), GFP_KERNEL);
	if (!flash)
		return -ENOMEM;
	flash->dev = dev;
	flash->start = arg->offset;
	spin_lock_init(&flash->io_lock);
	INIT_LIST_HEAD(&flash->todo);
	INIT_LIST_HEAD(&flash->failed);
	INIT_LIST_HEAD(&flash->again);
	INIT_WORK(&flash->io, io_work);
	INIT_DELAYED_WORK(&flash->again_io, again_work);

	err = ugm_claim_take(&flash->claim, arg->path, flash);
	if (err) {
		pr_err("%s: cannot claim it: error %d%s\n", arg->path, err,
		       err == -EBUSY ? " (mounted or in use)" : "");
		goto fail;
	}
	/* The path may be relative, a link or too long to be told. */
	snprintf(flash->path, sizeof(flash->path), "/dev/%pg", flash->claim.bdev);
	nr = flash_slots(flash, arg);
	if (nr < 0) {
		err = nr;
		goto fail;
	}
	flash->discards = bdev_max_discard_sectors(flash->claim.bdev);
	err = bioset_init(&flash->bios, BIO_POOL_SIZE, 0, BIOSET_NEED_BVECS);
	if (err)
		goto fail;
	err = -ENOMEM;
	flash->wq = alloc_workqueue("%s-flash", WQ_MEM_RECLAIM | WQ_HIGHPRI | UGM_WQ_PERCPU, 0,
				    dev->name);
	if (!flash->wq)
		goto fail;
	err = ugm_slots_init(flash, nr);
	if (err)
		goto fail;

	mutex_lock(&dev->engine_lock);
	err = dev->flash ? -EEXIST : ugm_device_usable(dev);
	if (!err)
		dev->flash = flash;
	mutex_unlock(&dev->engine_lock);
	if (err)
		goto fail;
	pr_info("%s: attached %s: %lld slots of %u bytes\n", dev->name, arg->path, nr,
		dev->block_size);
	return 0;

fail:
	flash_free(flash);
	return err;
}

static bool moves_live(struct ugm_device *dev)
{
	bool live;

	spin_lock_irq(&dev->moves_lock);
	live = !list_empty(&dev->moves);
	spin_unlock_irq(&dev->moves_lock);
	return live;
}

/**
 * ugm_flash_detach() - give the namespace back
 * @dev: device
 *
 * Context: process context, may sleep; discards what has not been discarded.
 * Return: 0, -EPERM, -ENODEV (none is attached), -EBUSY (slots are in
 * use, or moves under way).
 */
int ugm_flash_detach(struct ugm_device *dev)
{
	struct ugm_flash *flash;
	int err = 0;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	mutex_lock(&dev->engine_lock);
	flash = dev->flash;
	if (!flash)
		err = -ENODEV;
	else if (READ_ONCE(flash->used) || moves_live(dev))
		err = -EBUSY;
	else
		dev->flash = NULL;
	mutex_unlock(&dev->engine_lock);
	if (err)
		return err;
	ugm_lanes_wake(dev);
	pr_info("%s: detached %s\n", dev->name, flash->path);
	flash_free(flash);
	return 0;
}

/**
 * ugm_flash_release() - give the namespace back at the device's end
 * @dev: device without users and without moves
 *
 * Context: process context, may sleep.
 */
void ugm_flash_release(struct ugm_device *dev)
{
	struct ugm_flash *flash = dev->flash;

	if (!flash)
		return;
	flash_free(flash);
	dev->flash = NULL;
}

/**
 * ugm_flash_info() - what UGM_IOC_INFO tells of the namespace
 * @dev: device
 * @info: out: flags, slots and path
 *
 * Context: process context, takes &ugm_device.engine_lock.
 */
void ugm_flash_info(struct ugm_device *dev, struct ugm_ioc_info *info)
{
	mutex_lock(&dev->engine_lock);
	if (dev->flash) {
		info->flags |= UGM_INFO_ATTACHED;
		info->flash_slots = dev->flash->nr;
		info->flash_used = READ_ONCE(dev->flash->used);
		strscpy(info->namespace_path, dev->flash->path, sizeof(info->namespace_path));
	}
	mutex_unlock(&dev->engine_lock);
}
