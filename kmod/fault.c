// SPDX-License-Identifier: GPL-2.0
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "compat.h"
#include "trace.h"
#include "ugm.h"

/**
 * DOC: faults
 *
 * A fault on a block that is where its view may show it takes the page lock and
 * nothing else. Otherwise the engine is asked to bring it: a demand of one
 * block, driven by the faulting task itself, without the fault lock where the
 * caller can do without. What it had to tell then (no room in time) is kept for
 * the next fault on the block, which is the same access tried again.
 *
 * The GPU view shows what is in the GPU tier, and host-resident blocks of a
 * range that prefers the host. The host view shows what is in the host tier,
 * and GPU-resident blocks of a range that the CPU accesses in place or that
 * prefers the GPU.
 */

struct touch {
	struct ugm_file_space *fs;
	u64 index; /* unified address, in blocks */
	bool host_view;
	bool write;
};

static struct touch touch_of(struct vm_fault *vmf)
{
	struct ugm_file_space *fs = vmf->vma->vm_file->private_data;
	u64 offset = (u64)vmf->pgoff << PAGE_SHIFT;
	struct touch t = {
		.fs = fs,
		.host_view = offset >= UGM_VIEW_HOST,
		.write = vmf->flags & FAULT_FLAG_WRITE,
	};

	if (t.host_view)
		offset -= UGM_VIEW_HOST;
	t.index = offset >> fs->dev->block_shift;
	return t;
}

/* Where a touch brings a block of @r that its view cannot show. */
static enum ugm_tier touch_tier(const struct touch *t, const struct ugm_file_range *r)
{
	enum ugm_tier prefer = READ_ONCE(r->prefer);

	if (prefer != UGM_TIER_NONE)
		return prefer;
	return t->host_view ? UGM_TIER_HOST : UGM_TIER_GPU;
}

static bool shows(const struct touch *t, const struct ugm_file_range *r, enum ugm_tier home)
{
	if (!ugm_tier_is_memory(home))
		return false;
	if (home == (t->host_view ? UGM_TIER_HOST : UGM_TIER_GPU))
		return true;
	return home == READ_ONCE(r->prefer) || (t->host_view && READ_ONCE(r->cpu_in_place));
}

/* The page a view may show, by the block's state now, or why there is none. */
static struct page *shown_page(const struct touch *t, const struct ugm_block *b)
{
	struct ugm_file_range *r;
	struct page *page;
	u32 state;

	if (READ_ONCE(t->fs->dev->gone))
		return ERR_PTR(-ENODEV);
	if (!b)
		return NULL;
	r = ugm_file_range_of(b->range);
	if (READ_ONCE(r->dead))
		return ERR_PTR(-EFAULT);
	state = READ_ONCE(b->state);
	if (state & UGM_S_POISON)
		return ERR_PTR(-EIO);
	if (state & UGM_S_BUSY || !shows(t, r, ugm_state_home(state)))
		return NULL;
	smp_rmb(); /* places are written before the state that makes them valid */
	page = ugm_block_page(t->fs->dev, (struct ugm_block *)b, ugm_state_home(state));
	return page;
}

/*
 * The fast path: the page, locked and with a reference, NULL if the block must
 * be brought, or an error. A page found without a lock may be anybody's by now:
 * it is not locked before it was found a second time with a reference, and not
 * shown before a third time with its lock.
 */
static struct page *resident_page(const struct touch *t)
{
	struct ugm_block *b;
	struct page *page;

	for (;;) {
		rcu_read_lock();
		b = xa_load(&t->fs->blocks, t->index);
		page = shown_page(t, b);
		if (IS_ERR_OR_NULL(page))
			break;
		if (!get_page_unless_zero(page)) {
			rcu_read_unlock();
			cond_resched();
			continue;
		}
		if (shown_page(t, b) == page && trylock_page(page)) {
			if (shown_page(t, b) == page)
				break;
			unlock_page(page);
		} else if (shown_page(t, b) == page) {
			rcu_read_unlock();
			lock_page(page);
			unlock_page(page);
			put_page(page);
			continue;
		}
		rcu_read_unlock();
		put_page(page);
	}
	rcu_read_unlock();
	return page;
}

static bool maps_huge(struct vm_fault *vmf, const struct ugm_device *dev)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long start = vmf->address & HPAGE_PMD_MASK;

	return dev->block_size == HPAGE_PMD_SIZE && start >= vma->vm_start &&
	       start + HPAGE_PMD_SIZE <= vma->vm_end && pmd_none(READ_ONCE(*vmf->pmd)) &&
	       IS_ALIGNED((vma->vm_start >> PAGE_SHIFT) - vma->vm_pgoff, HPAGE_PMD_NR);
}

static vm_fault_t show(struct vm_fault *vmf, const struct touch *t, struct page *page)
{
	struct ugm_device *dev = t->fs->dev;

	ugm_page_expose(page);
	ugm_count_n(dev, maps_huge(vmf, dev) ? UGM_C_MAPPED_HUGE : UGM_C_MAPPED_4K, 1);
	vmf->page = page + (vmf->pgoff & ((1UL << dev->block_order) - 1));
	return VM_FAULT_LOCKED;
}

/* Have the engine bring the block. */
static int fetch(const struct touch *t)
{
	struct ugm_device *dev = t->fs->dev;
	struct ugm_file_range *r;
	struct ugm_operand op;
	struct ugm_demand d;
	int err;

	r = ugm_range_use(t->fs, t->index);
	if (!r)
		return -EFAULT;
	op = (struct ugm_operand){
		.range = &r->r,
		.first = t->index - r->first,
		.nr = 1,
		.mode = UGM_OPERAND_READ,
	};
	d = (struct ugm_demand){
		.space = &t->fs->s,
		.operands = &op,
		.nr_operands = 1,
		.tier = touch_tier(t, r),
		.cause = t->host_view ? UGM_CAUSE_TOUCH : UGM_CAUSE_DEMAND,
	};
	err = ugm_drive(dev, &d);
	ugm_range_unuse(r);
	return err;
}

static vm_fault_t fault_error(const struct touch *t, int err)
{
	/* A fatal signal is dealt with on the way back to user space. */
	if (err == -EINTR || err == -ERESTARTSYS)
		return VM_FAULT_NOPAGE;
	if (err == -ENOMEM)
		return VM_FAULT_OOM;
	ugm_count(t->fs->dev, FAULT_SIGBUS);
	return VM_FAULT_SIGBUS;
}

/*
 * What an earlier try of this access left to be told. It is taken whatever comes
 * of this try, so that it is not told to an access of much later.
 */
static int take_error(const struct touch *t)
{
	void *told = NULL;

	if (unlikely(!xa_empty(&t->fs->touch_errors)))
		told = xa_erase(&t->fs->touch_errors, t->index);
	return told ? -(int)xa_to_value(told) : 0;
}

static vm_fault_t missing(struct vm_fault *vmf, const struct touch *t)
{
	struct file *file;
	int err;

	ugm_count_n(t->fs->dev, t->host_view ? UGM_C_FAULT_HOST_SLOW : UGM_C_FAULT_GPU_SLOW, 1);
	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY)) {
		err = fetch(t);
		return err ? fault_error(t, err) : VM_FAULT_NOPAGE;
	}
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	file = get_file(vmf->vma->vm_file);
	ugm_release_fault_lock(vmf);
	err = fetch(t);
	if (err && err != -EINTR && err != -ERESTARTSYS)
		xa_store(&t->fs->touch_errors, t->index, xa_mk_value(-err), GFP_KERNEL);
	fput(file);
	return VM_FAULT_RETRY;
}

static vm_fault_t ugm_fault(struct vm_fault *vmf)
{
	struct touch t = touch_of(vmf);
	struct ugm_device *dev = t.fs->dev;
	struct page *page;
	int told;

	/* A child that inherited the mapping (MADV_DOFORK) may not use it. */
	if (vmf->vma->vm_mm != t.fs->mm)
		return fault_error(&t, -EPERM);
	told = take_error(&t);
	page = resident_page(&t);
	trace_ugm_fault(t.fs->id, t.index << dev->block_shift, t.host_view, t.write,
			!IS_ERR_OR_NULL(page));
	if (IS_ERR(page))
		return fault_error(&t, PTR_ERR(page));
	if (!page)
		return told ? fault_error(&t, told) : missing(vmf, &t);
	ugm_count_n(dev, t.host_view ? UGM_C_FAULT_HOST_FAST : UGM_C_FAULT_GPU_FAST, 1);
	return show(vmf, &t, page);
}

const struct vm_operations_struct ugm_vm_ops = {
	.fault = ugm_fault,
};
