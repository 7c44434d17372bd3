// SPDX-License-Identifier: GPL-2.0
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "ioctl.h"
#include "ugm.h"

/**
 * DOC: ranges
 *
 * A range is one allocation: whole blocks at the lowest free unified address,
 * with a tag by which hints name it, and advice. Making one costs a tree node:
 * its blocks come with the first touch. Launches and touches under way count
 * themselves in @users; a range that has some is not freed.
 */

/**
 * ugm_range_find() - the range at an address
 * @fs: space
 * @index: unified address, in blocks
 *
 * Context: RCU or ranges_sem held.
 * Return: the range or NULL.
 */
struct ugm_file_range *ugm_range_find(struct ugm_file_space *fs, u64 index)
{
	return mtree_load(&fs->ranges, index);
}

/**
 * ugm_range_use() - keep the range at an address from being freed
 * @fs: space
 * @index: unified address, in blocks
 *
 * Context: process context.
 * Return: the range, to be given back with ugm_range_unuse(), or NULL.
 */
struct ugm_file_range *ugm_range_use(struct ugm_file_space *fs, u64 index)
{
	struct ugm_file_range *r;

	down_read(&fs->ranges_sem);
	r = ugm_range_find(fs, index);
	if (r)
		atomic_inc(&r->users);
	up_read(&fs->ranges_sem);
	return r;
}

/**
 * ugm_range_unuse() - the opposite of ugm_range_use()
 * @r: range
 *
 * Context: any.
 */
void ugm_range_unuse(struct ugm_file_range *r)
{
	atomic_dec(&r->users);
}

static struct ugm_file_range *range_new(struct ugm_file_space *fs,
					const struct ugm_ioc_alloc *arg)
{
	struct ugm_device *dev = fs->dev;
	u64 block_bytes = dev->engine.m.block_bytes;
	u64 nr = (arg->len + dev->block_size - 1) >> dev->block_shift;
	u64 tail = block_bytes;
	struct ugm_file_range *r;

	if (arg->model_len) {
		tail = arg->model_len - (nr - 1) * block_bytes;
		if (arg->model_len <= (nr - 1) * block_bytes || tail > block_bytes)
			return ERR_PTR(-EINVAL);
	} else if (block_bytes == dev->block_size) {
		tail = arg->len - ((nr - 1) << dev->block_shift);
	}
	r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	if (!r)
		return ERR_PTR(-ENOMEM);
	r->len = arg->len;
	r->model_len = (nr - 1) * block_bytes + tail;
	ugm_range_init(&r->r, &fs->s, arg->tag, nr, tail);
	r->r.arena = arg->flags & UGM_ALLOC_ARENA;
	atomic_set(&r->users, 0);
	return r;
}

/* End a range's data and hints. Its blocks go when RCU has seen the last fault. */
static void range_empty(struct ugm_file_space *fs, struct ugm_file_range *r)
{
	struct ugm_device *dev = fs->dev;
	struct ugm_block *b;
	unsigned int n = 0;

	mutex_lock(&dev->engine_lock);
	ugm_engine_forget_range(&dev->engine, &r->r);
	while ((b = ugm_block_next(&dev->engine, &r->r, 0))) {
		ugm_engine_discard(&dev->engine, b);
		ugm_block_free(fs, b);
		if (!(++n % 1024)) {
			mutex_unlock(&dev->engine_lock);
			cond_resched();
			mutex_lock(&dev->engine_lock);
		}
	}
	mutex_unlock(&dev->engine_lock);
	ugm_progress(dev);
}

static void range_free(struct ugm_file_space *fs, struct ugm_file_range *r)
{
	range_empty(fs, r);
	mtree_erase(&fs->ranges, r->first);
	xa_erase(&fs->tags, r->r.tag);
	WRITE_ONCE(fs->nr_ranges, fs->nr_ranges - 1);
	atomic_long_sub(sizeof(*r), &fs->dev->metadata);
	kfree_rcu(r, rcu);
}

/* Frames for all of an arena, from the start. */
static int arena_place(struct ugm_file_space *fs, struct ugm_file_range *r)
{
	struct ugm_device *dev = fs->dev;
	struct ugm_block *b;
	int err = 0;
	u32 i;

	mutex_lock(&dev->engine_lock);
	for (i = 0; i < r->r.nr_blocks && !err; i++) {
		b = ugm_block_get(&dev->engine, &r->r, i);
		err = b ? ugm_engine_place(&dev->engine, b, UGM_TIER_GPU) : -ENOMEM;
		if (fatal_signal_pending(current))
			err = -EINTR;
	}
	mutex_unlock(&dev->engine_lock);
	return err;
}

/*
 * Give a range the lowest address that is free. mtree_alloc_range() would do,
 * but that of 6.1 returns nonsense for an empty tree.
 */
static int range_place(struct ugm_file_space *fs, struct ugm_file_range *r)
{
	u64 nr = r->r.nr_blocks, max = (UGM_VIEW_SIZE >> fs->dev->block_shift) - 1;
	int err;

	MA_STATE(mas, &fs->ranges, 0, 0);

	mas_lock(&mas);
	err = mas_empty_area(&mas, 0, max, nr);
	if (err) {
		err = -ENOSPC;
	} else {
		/* Faults find it by this as soon as it is stored. */
		r->first = mas.index;
		mas_set_range(&mas, r->first, r->first + nr - 1);
		err = mas_store_gfp(&mas, r, GFP_KERNEL_ACCOUNT);
	}
	mas_unlock(&mas);
	return err;
}

/**
 * ugm_ioc_alloc() - UGM_IOC_ALLOC
 * @fs: space
 * @p: struct ugm_ioc_alloc
 *
 * Context: process context.
 */
int ugm_ioc_alloc(struct ugm_file_space *fs, void *p)
{
	struct ugm_ioc_alloc *arg = p;
	struct ugm_device *dev = fs->dev;
	struct ugm_file_range *r;
	int err;

	if (!arg->len || arg->pad || arg->flags & ~UGM_ALLOC_ARENA)
		return -EINVAL;
	if (arg->len >= UGM_VIEW_SIZE || (arg->len >> dev->block_shift) >= U32_MAX)
		return -ENOSPC;
	r = range_new(fs, arg);
	if (IS_ERR(r))
		return PTR_ERR(r);

	down_write(&fs->ranges_sem);
	err = xa_insert(&fs->tags, arg->tag, r, GFP_KERNEL_ACCOUNT);
	if (err) {
		err = err == -EBUSY ? -EEXIST : err;
		goto free;
	}
	err = range_place(fs, r);
	if (err) {
		xa_erase(&fs->tags, arg->tag);
		goto free;
	}
	WRITE_ONCE(fs->nr_ranges, fs->nr_ranges + 1);
	atomic_long_add(sizeof(*r), &dev->metadata);
	if (r->r.arena) {
		err = arena_place(fs, r);
		if (err) {
			range_free(fs, r);
			goto unlock;
		}
	}
	arg->offset = r->first << dev->block_shift;
	up_write(&fs->ranges_sem);
	return 0;
free:
	kfree(r);
unlock:
	up_write(&fs->ranges_sem);
	return err;
}

/* Take a range from its mappings. Does anybody hold a page of it? */
static bool range_held(struct ugm_file_space *fs, struct ugm_file_range *r)
{
	struct ugm_device *dev = fs->dev;
	struct ugm_block *b, *batch[64];
	bool held = false;
	unsigned int n, i;
	u64 next = 0;

	do {
		n = 0;
		mutex_lock(&dev->engine_lock);
		while (n < ARRAY_SIZE(batch) && next < r->r.nr_blocks) {
			b = ugm_block_next(&dev->engine, &r->r, next);
			if (!b)
				break;
			next = (u64)b->index + 1;
			if (!(b->state & UGM_S_BUSY))
				batch[n++] = b;
		}
		ugm_map_revoke(&dev->engine, batch, n);
		for (i = 0; i < n; i++)
			held |= !batch[i];
		mutex_unlock(&dev->engine_lock);
		cond_resched();
	} while (n && !held);
	return held;
}

/**
 * ugm_ioc_free() - UGM_IOC_FREE
 * @fs: space
 * @p: struct ugm_ioc_free
 *
 * Context: process context.
 */
int ugm_ioc_free(struct ugm_file_space *fs, void *p)
{
	struct ugm_ioc_free *arg = p;
	struct ugm_file_range *r;
	int err = 0;

	if (!IS_ALIGNED(arg->offset, fs->dev->block_size))
		return -EINVAL;
	down_write(&fs->ranges_sem);
	r = ugm_range_find(fs, arg->offset >> fs->dev->block_shift);
	if (!r || r->first != arg->offset >> fs->dev->block_shift) {
		err = -ENOENT;
	} else if (atomic_read(&r->users)) {
		err = -EBUSY;
	} else {
		/* Faults look at it under the page lock, which revoking takes. */
		WRITE_ONCE(r->dead, true);
		if (range_held(fs, r)) {
			WRITE_ONCE(r->dead, false);
			err = -EBUSY;
		} else {
			range_free(fs, r);
		}
	}
	up_write(&fs->ranges_sem);
	return err;
}

/**
 * ugm_ranges_free() - end all ranges of a space
 * @fs: space without mappings and calls under way
 *
 * Context: process context.
 */
void ugm_ranges_free(struct ugm_file_space *fs)
{
	struct ugm_file_range *r;
	unsigned long index = 0;

	down_write(&fs->ranges_sem);
	mt_for_each(&fs->ranges, r, index, ULONG_MAX) {
		WARN_ON_ONCE(atomic_read(&r->users));
		range_empty(fs, r);
		atomic_long_sub(sizeof(*r), &fs->dev->metadata);
		kfree_rcu(r, rcu);
	}
	mtree_destroy(&fs->ranges);
	up_write(&fs->ranges_sem);
}

static int advise_blocks(struct ugm_file_space *fs, struct ugm_file_range *r, u32 first, u32 nr,
			 bool pin)
{
	struct ugm_engine *e = &fs->dev->engine;
	u64 i = first, end = (u64)first + nr;
	struct ugm_block *b;
	int err = 0;

	mutex_lock(&fs->dev->engine_lock);
	/* What can never fit is refused before a block is made for each part. */
	if (pin && nr > e->capacity[UGM_TIER_GPU])
		err = -ENOSPC;
	while (!err && i < end) {
		b = pin ? ugm_block_get(e, &r->r, i) : ugm_block_next(e, &r->r, i);
		if (!b || b->index >= end) {
			err = pin ? -ENOMEM : 0;
			break;
		}
		WRITE_ONCE(b->state, pin ? b->state | UGM_S_PIN : b->state & ~UGM_S_PIN);
		i = b->index + 1;
	}
	mutex_unlock(&fs->dev->engine_lock);
	ugm_progress(fs->dev);
	return err;
}

/**
 * ugm_ioc_advise() - UGM_IOC_ADVISE
 * @fs: space
 * @p: struct ugm_ioc_advise
 *
 * Context: process context.
 */
int ugm_ioc_advise(struct ugm_file_space *fs, void *p)
{
	struct ugm_ioc_advise *arg = p;
	struct ugm_device *dev = fs->dev;
	u64 index = arg->offset >> dev->block_shift;
	struct ugm_file_range *r;
	bool whole;
	u64 nr;
	int err = 0;

	if (!IS_ALIGNED(arg->offset, dev->block_size) || !arg->len ||
	    arg->advice > UGM_ADVICE_UNPIN || arg->len > UGM_VIEW_SIZE)
		return -EINVAL;
	if (arg->advice == UGM_ADVICE_PREFER ? arg->tier > UGM_TIER_ID_HOST : arg->tier != 0)
		return -EINVAL;
	nr = (arg->len + dev->block_size - 1) >> dev->block_shift;

	down_write(&fs->ranges_sem);
	r = ugm_range_find(fs, index);
	if (!r) {
		err = -ENOENT;
		goto out;
	}
	if (index - r->first + nr > r->r.nr_blocks) {
		err = -EINVAL;
		goto out;
	}
	whole = index == r->first && nr == r->r.nr_blocks;
	switch (arg->advice) {
	case UGM_ADVICE_PREFER:
		if (whole)
			WRITE_ONCE(r->prefer, arg->tier);
		break;
	case UGM_ADVICE_ACCESSED_BY_CPU:
	case UGM_ADVICE_UNSET_ACCESSED_BY_CPU:
		if (whole)
			WRITE_ONCE(r->cpu_in_place, arg->advice == UGM_ADVICE_ACCESSED_BY_CPU);
		break;
	case UGM_ADVICE_PIN:
	case UGM_ADVICE_UNPIN:
		whole = true;
		err = advise_blocks(fs, r, index - r->first, nr, arg->advice == UGM_ADVICE_PIN);
		break;
	}
	if (!whole)
		err = -EINVAL;
	/* Blocks a view may not show any more must fault again. */
	if (!err && arg->advice != UGM_ADVICE_PIN && arg->advice != UGM_ADVICE_UNPIN)
		range_held(fs, r);
out:
	up_write(&fs->ranges_sem);
	return err;
}

/**
 * ugm_ioc_ranges() - UGM_IOC_RANGES
 * @fs: who asks
 * @p: struct ugm_ioc_ranges
 *
 * Context: process context.
 */
int ugm_ioc_ranges(struct ugm_file_space *fs, void *p)
{
	struct ugm_ioc_ranges *arg = p;
	unsigned long index = arg->start >> fs->dev->block_shift;
	u32 room = min_t(u32, arg->nr, 65536), nr = 0;
	struct ugm_file_space *of;
	struct ugm_range_desc *desc;
	struct ugm_file_range *r;
	int err = 0;

	if (arg->pad)
		return -EINVAL;
	desc = kvcalloc(max(room, 1U), sizeof(*desc), GFP_KERNEL_ACCOUNT);
	if (!desc)
		return -ENOMEM;
	of = ugm_space_find(fs, arg->space);
	if (IS_ERR(of)) {
		kvfree(desc);
		return PTR_ERR(of);
	}
	down_read(&of->ranges_sem);
	if (!READ_ONCE(of->closed)) {
		mt_for_each(&of->ranges, r, index, ULONG_MAX) {
			if (nr == room)
				break;
			desc[nr].tag = r->r.tag;
			desc[nr].offset = r->first << of->dev->block_shift;
			desc[nr].len = r->len;
			desc[nr].model_len = r->model_len;
			nr++;
		}
	}
	up_read(&of->ranges_sem);
	ugm_space_put(of);
	if (copy_to_user(u64_to_user_ptr(arg->ranges), desc, nr * sizeof(*desc)))
		err = -EFAULT;
	arg->nr = nr;
	kvfree(desc);
	return err;
}
