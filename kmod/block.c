// SPDX-License-Identifier: GPL-2.0
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "ioctl.h"
#include "ugm.h"

/**
 * DOC: blocks
 *
 * The page table of a space is an xarray of blocks, by unified address in
 * blocks. A block is made when it is first touched and freed with its range,
 * after an RCU grace period: a fault finds it without a lock. Its state and
 * places change under engine_lock only; a place is written before the state
 * that makes it valid.
 */

static struct kmem_cache *block_cache;

/**
 * ugm_blocks_init() - what blocks are made of
 *
 * Context: module init.
 */
int ugm_blocks_init(void)
{
	block_cache = kmem_cache_create("ugm_block", sizeof(struct ugm_block), 0,
					SLAB_ACCOUNT, NULL);
	return block_cache ? 0 : -ENOMEM;
}

/**
 * ugm_blocks_exit() - undo ugm_blocks_init()
 *
 * Context: module exit.
 */
void ugm_blocks_exit(void)
{
	rcu_barrier();
	kmem_cache_destroy(block_cache);
}

/**
 * ugm_block_page() - where a block's data is in a memory tier
 * @dev: device
 * @b: block
 * @tier: GPU or host tier
 *
 * Context: any; without engine_lock the answer may be old.
 * Return: the head page, or NULL if it has no place there.
 */
struct page *ugm_block_page(struct ugm_device *dev, struct ugm_block *b, enum ugm_tier tier)
{
	u32 place;

	switch (tier) {
	case UGM_TIER_GPU:
		place = READ_ONCE(b->gpu_frame);
		return place ? ugm_frame_page(dev, place) : NULL;
	case UGM_TIER_HOST:
		place = READ_ONCE(b->host_pfn);
		return place ? pfn_to_page(place) : NULL;
	default:
		return NULL;
	}
}

/* Is any block there in the 64 that share a leaf of the xarray with @index? */
static bool leaf_in_use(struct ugm_file_space *fs, unsigned long index)
{
	unsigned long first = round_down(index, XA_CHUNK_SIZE);

	return xa_find(&fs->blocks, &first, first + XA_CHUNK_SIZE - 1, XA_PRESENT);
}

/* A block came or went: what it and, with the first in a leaf, its node take. */
static void account(struct ugm_file_space *fs, bool leaf_too, int sign)
{
	long bytes = sizeof(struct ugm_block) + (leaf_too ? sizeof(struct xa_node) : 0);

	atomic_long_add(sign * bytes, &fs->dev->metadata);
	atomic_long_add(sign, &fs->nr_blocks);
}

/**
 * ugm_block_get() - find a block of a range, or make it
 * @e: engine
 * @range: range
 * @index: number within the range
 *
 * Context: engine_lock held; may sleep.
 * Return: the block, or NULL: no memory.
 */
struct ugm_block *ugm_block_get(struct ugm_engine *e, struct ugm_range *range, u32 index)
{
	struct ugm_file_space *fs = ugm_file_space_of(range->space);
	u64 at = ugm_file_range_of(range)->first + index;
	struct mem_cgroup *old;
	struct ugm_block *b;
	bool first;

	lockdep_assert_held(&fs->dev->engine_lock);
	b = xa_load(&fs->blocks, at);
	if (b)
		return b;
	old = set_active_memcg(fs->memcg);
	b = kmem_cache_zalloc(block_cache, GFP_KERNEL | __GFP_NOWARN);
	if (b) {
		ugm_block_init(b, range, index);
		first = !leaf_in_use(fs, at);
		if (xa_err(xa_store(&fs->blocks, at, b, GFP_KERNEL_ACCOUNT | __GFP_NOWARN))) {
			kmem_cache_free(block_cache, b);
			b = NULL;
		} else {
			account(fs, first, 1);
		}
	}
	set_active_memcg(old);
	return b;
}

/**
 * ugm_block_next() - the first existing block of a range at or after a number
 * @e: engine
 * @range: range
 * @index: number within the range
 *
 * Context: engine_lock held.
 * Return: the block or NULL.
 */
struct ugm_block *ugm_block_next(struct ugm_engine *e, struct ugm_range *range, u32 index)
{
	struct ugm_file_space *fs = ugm_file_space_of(range->space);
	u64 first = ugm_file_range_of(range)->first;
	unsigned long at = first + index;

	lockdep_assert_held(&fs->dev->engine_lock);
	return xa_find(&fs->blocks, &at, first + range->nr_blocks - 1, XA_PRESENT);
}

static void block_free_rcu(struct rcu_head *rcu)
{
	/* The list head of a block that is in no list has room for an rcu_head. */
	kmem_cache_free(block_cache, container_of((struct list_head *)rcu, struct ugm_block, order));
}

/**
 * ugm_block_free() - forget a block
 * @fs: space
 * @b: block with home none, in no list, without a transfer
 *
 * Context: engine_lock held.
 */
void ugm_block_free(struct ugm_file_space *fs, struct ugm_block *b)
{
	u64 at = ugm_block_index(b);

	BUILD_BUG_ON(sizeof(struct rcu_head) > sizeof(struct list_head));
	lockdep_assert_held(&fs->dev->engine_lock);
	xa_erase(&fs->blocks, at);
	account(fs, !leaf_in_use(fs, at), -1);
	call_rcu((struct rcu_head *)&b->order, block_free_rcu);
}

static u32 residency_of(const struct ugm_block *b)
{
	static const struct {
		u32 state, residency;
	} flags[] = {
		{ UGM_S_DIRTY, UGM_RESIDENCY_DIRTY },
		{ UGM_S_BUSY, UGM_RESIDENCY_BUSY },
		{ UGM_S_POISON, UGM_RESIDENCY_POISON },
		{ UGM_S_PIN, UGM_RESIDENCY_PINNED },
		{ UGM_S_PROTECT, UGM_RESIDENCY_PROTECTED },
		{ UGM_S_DEAD, UGM_RESIDENCY_DEAD },
	};
	u32 r, s;
	int i;

	if (!b)
		return UGM_TIER_ID_NONE;
	s = READ_ONCE(b->state);
	r = ugm_state_home(s) | ugm_state_copies(s) << UGM_RESIDENCY_COPY_SHIFT;
	for (i = 0; i < ARRAY_SIZE(flags); i++)
		if (s & flags[i].state)
			r |= flags[i].residency;
	if (ugm_state_pins(s))
		r |= UGM_RESIDENCY_PINNED;
	return r;
}

static int summarize(struct ugm_file_space *fs, struct ugm_ioc_residency *arg)
{
	struct ugm_file_range *r;
	struct ugm_block *b;
	unsigned long index = 0, at;

	down_read(&fs->ranges_sem);
	mutex_lock(&fs->dev->engine_lock);
	mt_for_each(&fs->ranges, r, index, ULONG_MAX)
		arg->digest += ugm_engine_digest(&fs->dev->engine, &r->r);
	xa_for_each(&fs->blocks, at, b)
		arg->blocks[ugm_state_home(b->state)]++;
	mutex_unlock(&fs->dev->engine_lock);
	up_read(&fs->ranges_sem);
	return 0;
}

static int list_states(struct ugm_file_space *fs, struct ugm_ioc_residency *arg)
{
	u32 chunk[256], __user *to = u64_to_user_ptr(arg->states);
	u64 first = arg->offset >> fs->dev->block_shift;
	u32 done, n, i;

	for (done = 0; done < arg->nr; done += n) {
		n = min_t(u32, arg->nr - done, ARRAY_SIZE(chunk));
		rcu_read_lock();
		for (i = 0; i < n; i++) {
			chunk[i] = residency_of(xa_load(&fs->blocks, first + done + i));
			arg->blocks[chunk[i] & 0xff]++;
		}
		rcu_read_unlock();
		if (copy_to_user(to + done, chunk, n * sizeof(*chunk)))
			return -EFAULT;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/**
 * ugm_ioc_residency() - UGM_IOC_RESIDENCY
 * @fs: space
 * @p: struct ugm_ioc_residency
 *
 * Context: process context.
 */
int ugm_ioc_residency(struct ugm_file_space *fs, void *p)
{
	struct ugm_ioc_residency *arg = p;
	struct ugm_file_space *of;
	int err;

	if (arg->pad || !IS_ALIGNED(arg->offset, fs->dev->block_size) ||
	    arg->offset >= UGM_VIEW_SIZE ||
	    arg->nr > (UGM_VIEW_SIZE - arg->offset) >> fs->dev->block_shift)
		return -EINVAL;
	of = ugm_space_find(fs, arg->space);
	if (IS_ERR(of))
		return PTR_ERR(of);
	arg->digest = 0;
	memset(arg->blocks, 0, sizeof(arg->blocks));
	err = arg->nr ? list_states(of, arg) : summarize(of, arg);
	ugm_space_put(of);
	return err;
}
