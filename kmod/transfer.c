// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "trace.h"
#include "ugm.h"

/**
 * DOC: transfers
 *
 * This file is the engine's host: what the model starts becomes a move, what
 * has really moved is committed. A started move owns its destination (a frame,
 * a host page or a slot) until it is committed, and holds a reference on its
 * source; the last to let go of a move that was given up gives them back. So
 * nothing is re-used while I/O may still hit it, and nobody waits for that I/O.
 */

static struct kmem_cache *move_cache;

/**
 * ugm_transfers_init() - what moves are made of
 *
 * Context: module init.
 */
int ugm_transfers_init(void)
{
	move_cache = kmem_cache_create("ugm_move", sizeof(struct ugm_move), 0, 0, NULL);
	return move_cache ? 0 : -ENOMEM;
}

/**
 * ugm_transfers_exit() - undo ugm_transfers_init()
 *
 * Context: module exit; no move is left.
 */
void ugm_transfers_exit(void)
{
	kmem_cache_destroy(move_cache);
}

static struct ugm_transfer *op_transfer_alloc(struct ugm_engine *e)
{
	struct ugm_device *dev = ugm_device_of(e);
	struct ugm_move *m;

	m = kmem_cache_zalloc(move_cache, GFP_KERNEL | __GFP_NOWARN);
	if (!m)
		return NULL;
	kref_init(&m->ref);
	INIT_LIST_HEAD(&m->todo);
	m->dev = dev;
	ugm_device_get(dev);
	spin_lock_irq(&dev->moves_lock);
	list_add_tail(&m->all, &dev->moves);
	spin_unlock_irq(&dev->moves_lock);
	atomic_long_add(sizeof(*m), &dev->metadata);
	return &m->t;
}

static void give_back_destination(struct ugm_move *m)
{
	if (m->dst_frame)
		ugm_frame_free(m->dev, m->dst_frame);
	else if (m->dst_page)
		ugm_host_free(m->dev, m->dst_page);
	m->dst_frame = 0;
	m->dst_page = NULL;
	if (m->dst_slot)
		ugm_slot_free(m->dev, m->dst_slot);
	m->dst_slot = 0;
}

static void move_free(struct kref *ref)
{
	struct ugm_move *m = container_of(ref, struct ugm_move, ref);
	struct ugm_device *dev = m->dev;
	unsigned long flags;
	bool gave_back = m->dst_page || m->dst_slot;

	if (m->src_page)
		ugm_page_drop(m->src_page);
	give_back_destination(m);
	if (m->lane)
		ugm_lane_put(m->lane);
	spin_lock_irqsave(&dev->moves_lock, flags);
	list_del(&m->all);
	spin_unlock_irqrestore(&dev->moves_lock, flags);
	atomic_long_sub(sizeof(*m), &dev->metadata);
	kmem_cache_free(move_cache, m);
	if (gave_back)
		ugm_progress(dev);
	ugm_device_put(dev);
}

/**
 * ugm_move_get() - take a reference on a move
 * @m: move
 *
 * Context: any.
 */
void ugm_move_get(struct ugm_move *m)
{
	kref_get(&m->ref);
}

/**
 * ugm_move_put() - drop a reference on a move
 * @m: move
 *
 * Context: any.
 */
void ugm_move_put(struct ugm_move *m)
{
	kref_put(&m->ref, move_free);
}

static void op_transfer_free(struct ugm_engine *e, struct ugm_transfer *t)
{
	ugm_move_put(ugm_move_of(t));
}

/**
 * ugm_move_end() - the real move has finished, and the caller says so
 * @m: move, with the reference of its I/O, which is dropped
 * @error: 0, or what could not be mended
 *
 * For who ends many: ugm_progress() has to follow, once.
 *
 * Context: any.
 */
void ugm_move_end(struct ugm_move *m, int error)
{
	struct ugm_device *dev = m->dev;
	unsigned long flags;

	m->error = error;
	smp_mb__before_atomic(); /* who sees it done sees the error */
	set_bit(UGM_MOVE_DONE, &m->flags);
	if (error && !test_bit(UGM_MOVE_VOID, &m->flags)) {
		ugm_move_get(m);
		spin_lock_irqsave(&dev->moves_lock, flags);
		list_add_tail(&m->todo, &dev->failed);
		spin_unlock_irqrestore(&dev->moves_lock, flags);
	}
	ugm_move_put(m);
}

/**
 * ugm_move_done() - the real move has finished
 * @m: move, with the reference of its I/O, which is dropped
 * @error: 0, or what could not be mended
 *
 * Context: any.
 */
void ugm_move_done(struct ugm_move *m, int error)
{
	struct ugm_device *dev = m->dev;

	ugm_device_get(dev);
	ugm_move_end(m, error);
	ugm_progress(dev);
	ugm_device_put(dev);
}

/**
 * ugm_transfer_tell_failed() - tell the engine of moves that ended badly
 * @dev: device
 *
 * What could not be read is lost: its block is poisoned. What could not be
 * written, or was ended by unplugging, is still at its source.
 *
 * Context: engine_lock held.
 */
void ugm_transfer_tell_failed(struct ugm_device *dev)
{
	struct ugm_move *m, *next;
	struct ugm_block *b;
	LIST_HEAD(failed);

	lockdep_assert_held(&dev->engine_lock);
	spin_lock_irq(&dev->moves_lock);
	list_splice_init(&dev->failed, &failed);
	spin_unlock_irq(&dev->moves_lock);
	list_for_each_entry_safe(m, next, &failed, todo) {
		list_del_init(&m->todo);
		if (!test_bit(UGM_MOVE_VOID, &m->flags)) {
			b = m->t.block;
			if (m->t.src == UGM_TIER_FLASH)
				ugm_event(ugm_space_of_block(b), UGM_EVENT_POISON,
					  ugm_block_index(b) << dev->block_shift, -m->error);
			else
				atomic_inc(&dev->failures);
			ugm_engine_move_failed(&dev->engine, &m->t);
		}
		ugm_move_put(m);
	}
}

static void trace_end(struct ugm_move *m, int error)
{
	struct ugm_transfer *t = &m->t;

	trace_ugm_transfer_end(ugm_space_of_block(t->block)->id,
			       ugm_block_index(t->block) << m->dev->block_shift, t->src, t->dst,
			       t->lane, t->cause, m->dev->engine.now_ns, error);
}

static int take_frame(struct ugm_move *m)
{
	m->dst_frame = ugm_frame_alloc(m->dev, false);
	if (!m->dst_frame)
		return -EAGAIN; /* quarantine has more than the spare ones */
	m->dst_page = ugm_frame_page(m->dev, m->dst_frame);
	return 0;
}

static int take_destination(struct ugm_move *m)
{
	switch (m->t.dst) {
	case UGM_TIER_GPU:
		return take_frame(m);
	case UGM_TIER_HOST:
		return ugm_host_alloc(ugm_space_of_block(m->t.block), false, &m->dst_page);
	default:
		return ugm_slot_alloc(m->dev, &m->dst_slot);
	}
}

static int op_start(struct ugm_engine *e, struct ugm_transfer *t)
{
	struct ugm_device *dev = ugm_device_of(e);
	struct ugm_move *m = ugm_move_of(t);
	struct ugm_block *b = t->block;
	struct ugm_file_space *fs = ugm_space_of_block(b);
	int err;

	if (dev->gone)
		return -ENODEV;
	if (ugm_inject_start(dev))
		return -EAGAIN;
	err = take_destination(m);
	if (err)
		return err;
	if (ugm_tier_is_memory(t->src)) {
		m->src_page = ugm_block_page(dev, b, t->src);
		ugm_page_hold(m->src_page);
	} else {
		m->src_slot = b->slot;
	}
	t->lane = UGM_LANE_KERNEL;
	if (t->cause == UGM_CAUSE_PLANNED &&
	    (t->src == UGM_TIER_FLASH || t->dst == UGM_TIER_FLASH) && ugm_lane_assign(fs, m))
		t->lane = UGM_LANE_PLANNER;
	ugm_move_get(m);
	spin_lock_irq(&dev->moves_lock);
	list_add_tail(&m->todo, &dev->todo);
	spin_unlock_irq(&dev->moves_lock);
	trace_ugm_transfer_start(fs->id, ugm_block_index(b) << dev->block_shift, t->src, t->dst,
				 t->lane, t->cause, e->now_ns, 0);
	return 0;
}

static bool op_moved(struct ugm_engine *e, struct ugm_transfer *t)
{
	struct ugm_move *m = ugm_move_of(t);

	return test_bit_acquire(UGM_MOVE_DONE, &m->flags) && !m->error;
}

/* Give up a block's place. Nobody can find it there any more. */
static void give_up_place(struct ugm_device *dev, struct ugm_block *b, enum ugm_tier tier)
{
	struct page *page = ugm_block_page(dev, b, tier);
	u32 place;

	switch (tier) {
	case UGM_TIER_GPU:
		place = b->gpu_frame;
		WRITE_ONCE(b->gpu_frame, 0);
		if (WARN_ON_ONCE(!place))
			return;
		ugm_map_forget(dev, b, page);
		ugm_frame_free(dev, place);
		break;
	case UGM_TIER_HOST:
		WRITE_ONCE(b->host_pfn, 0);
		if (WARN_ON_ONCE(!page))
			return;
		ugm_map_forget(dev, b, page);
		ugm_host_free(dev, page);
		break;
	case UGM_TIER_FLASH:
		place = b->slot;
		WRITE_ONCE(b->slot, 0);
		if (!WARN_ON_ONCE(!place))
			ugm_slot_free(dev, place);
		break;
	default:
		break;
	}
}

static void op_commit(struct ugm_engine *e, struct ugm_transfer *t)
{
	struct ugm_device *dev = ugm_device_of(e);
	struct ugm_move *m = ugm_move_of(t);
	struct ugm_block *b = t->block;

	dev->placed++;
	if (m->src_page)
		ugm_page_drop(m->src_page);
	m->src_page = NULL;
	if (t->dst == UGM_TIER_GPU) {
		WRITE_ONCE(b->gpu_frame, m->dst_frame);
	} else if (t->dst == UGM_TIER_HOST) {
		WRITE_ONCE(b->host_pfn, page_to_pfn(m->dst_page));
	} else {
		WARN_ON_ONCE(!ugm_slot_readable(dev, m->dst_slot));
		WRITE_ONCE(b->slot, m->dst_slot);
	}
	m->dst_frame = 0;
	m->dst_page = NULL;
	m->dst_slot = 0;
	if (!t->keep && !t->copy)
		give_up_place(dev, b, t->src);
	smp_wmb(); /* faults look at the state first */
	trace_end(m, 0);
}

static void op_cancel(struct ugm_engine *e, struct ugm_transfer *t)
{
	struct ugm_move *m = ugm_move_of(t);

	set_bit(UGM_MOVE_VOID, &m->flags);
	if (m->lane)
		ugm_lane_void(m);
	trace_end(m, -ECANCELED);
}

static int op_alloc(struct ugm_engine *e, struct ugm_block *b, enum ugm_tier tier)
{
	struct ugm_device *dev = ugm_device_of(e);
	struct page *page;
	u32 frame;
	int err;

	if (tier == UGM_TIER_GPU) {
		frame = ugm_frame_alloc(dev, true);
		if (!frame)
			return -EAGAIN;
		WRITE_ONCE(b->gpu_frame, frame);
	} else {
		err = ugm_host_alloc(ugm_space_of_block(b), true, &page);
		if (err)
			return err;
		WRITE_ONCE(b->host_pfn, page_to_pfn(page));
	}
	dev->placed++;
	smp_wmb(); /* as in op_commit() */
	return 0;
}

static void op_release(struct ugm_engine *e, struct ugm_block *b, enum ugm_tier tier)
{
	give_up_place(ugm_device_of(e), b, tier);
}

static u64 op_now(struct ugm_engine *e)
{
	return ktime_get_ns();
}

const struct ugm_engine_ops ugm_module_ops = {
	.block = ugm_block_get,
	.next_block = ugm_block_next,
	.transfer_alloc = op_transfer_alloc,
	.transfer_free = op_transfer_free,
	.revoke = ugm_map_revoke,
	.start = op_start,
	.moved = op_moved,
	.commit = op_commit,
	.cancel = op_cancel,
	.alloc = op_alloc,
	.release = op_release,
	.now = op_now,
	.hint_free = ugm_hint_done,
};

/**
 * ugm_move_new_frame() - another destination in memory for a move
 * @m: move to memory that has not ended
 *
 * The old one goes into quarantine while somebody holds it.
 *
 * Context: process context, takes engine_lock.
 * Return: 0, -EAGAIN (none just now) or -ECANCELED (the model gave it up).
 */
int ugm_move_new_frame(struct ugm_move *m)
{
	struct ugm_device *dev = m->dev;
	struct page *page = NULL;
	u32 frame = 0;
	int err = 0;

	mutex_lock(&dev->engine_lock);
	if (test_bit(UGM_MOVE_VOID, &m->flags)) {
		err = -ECANCELED;
		goto out;
	}
	if (m->t.dst == UGM_TIER_GPU) {
		frame = ugm_frame_alloc(dev, false);
		if (frame)
			page = ugm_frame_page(dev, frame);
	} else {
		ugm_host_alloc(ugm_space_of_block(m->t.block), false, &page);
	}
	if (!page) {
		err = -EAGAIN;
		goto out;
	}
	give_back_destination(m);
	m->dst_frame = frame;
	m->dst_page = page;
out:
	mutex_unlock(&dev->engine_lock);
	ugm_host_refill(dev);
	return err;
}

/**
 * ugm_move_new_slot() - another destination in flash for a move
 * @m: move to flash that has not ended
 *
 * Context: process context, takes engine_lock.
 * Return: 0, -ECANCELED, or what ugm_slot_alloc() says.
 */
int ugm_move_new_slot(struct ugm_move *m)
{
	struct ugm_device *dev = m->dev;
	u32 slot;
	int err;

	mutex_lock(&dev->engine_lock);
	err = test_bit(UGM_MOVE_VOID, &m->flags) ? -ECANCELED : ugm_slot_alloc(dev, &slot);
	if (!err) {
		give_back_destination(m);
		m->dst_slot = slot;
	}
	mutex_unlock(&dev->engine_lock);
	return err;
}

static void perform(struct ugm_move *m)
{
	if (test_bit(UGM_MOVE_VOID, &m->flags)) {
		ugm_move_done(m, -ECANCELED);
		return;
	}
	if (ugm_inject_move(m))
		return;
	if (m->lane) {
		ugm_lane_queue(m);
	} else if (m->src_slot || m->dst_slot) {
		ugm_flash_submit(m);
	} else {
		ugm_page_copy(m->dev, m->dst_page, m->src_page);
		ugm_move_done(m, 0);
	}
}

/**
 * ugm_transfer_perform() - do the moves that the engine has started, and get
 *			    the memory that it lacks
 * @dev: device
 *
 * Context: process context, without engine_lock; may sleep, not for I/O.
 * Return: were there any?
 */
bool ugm_transfer_perform(struct ugm_device *dev)
{
	struct ugm_move *m;
	bool any = false;

	for (;;) {
		spin_lock_irq(&dev->moves_lock);
		m = list_first_entry_or_null(&dev->todo, struct ugm_move, todo);
		if (m)
			list_del_init(&m->todo);
		spin_unlock_irq(&dev->moves_lock);
		if (!m)
			break;
		any = true;
		perform(m);
	}
	ugm_host_refill(dev);
	return any;
}
