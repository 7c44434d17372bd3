// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "lane.h"

/**
 * DOC: transfer window
 *
 * The flash server reaches the pages of its leases through the window, a mapping
 * of the lane file. Each block-sized place of it shows the page of the move that
 * a lease put there, and only while the lease lasts and the model wants the
 * move. It hangs on an inode of its own, so that it can be revoked alone.
 *
 * To take a page from the window, first see to it that faults do not find it any
 * more, then ugm_window_wait_for_fault(), then ugm_window_unmap().
 */

/**
 * ugm_window_wait_for_fault() - let a fault that found a page map it
 * @page: head page; no later fault finds it
 *
 * A fault holds the page lock from when it looks for the last time until the
 * page is mapped.
 *
 * Context: process context, may sleep.
 */
void ugm_window_wait_for_fault(struct page *page)
{
	lock_page(page);
	unlock_page(page);
}

/**
 * ugm_window_unmap() - empty places of the window
 * @lane: lane
 * @place: first place
 * @nr: how many
 *
 * Context: process context, may sleep.
 */
void ugm_window_unmap(struct ugm_lane_file *lane, u32 place, u32 nr)
{
	unsigned int shift = lane->dev->block_shift;

	unmap_mapping_range(lane->inode->i_mapping, (u64)place << shift, (u64)nr << shift, 1);
}

/* The page that may be mapped at a place, or NULL. */
static struct page *page_at(struct ugm_lane_file *lane, pgoff_t place)
{
	struct ugm_move *m;

	lockdep_assert_held(&lane->lock);
	if (place >= lane->nr_places)
		return NULL;
	m = lane->place[place];
	return m && !test_bit(UGM_MOVE_VOID, &m->flags) ? ugm_move_memory(m) : NULL;
}

static vm_fault_t window_fault(struct vm_fault *vmf)
{
	struct ugm_lane_file *lane = vmf->vma->vm_file->private_data;
	unsigned int order = lane->dev->block_order;
	pgoff_t place = vmf->pgoff >> order;
	struct page *page, *now;

	if (vmf->vma->vm_mm != lane->mm)
		return VM_FAULT_SIGBUS;
	spin_lock(&lane->lock);
	page = page_at(lane, place);
	if (page)
		get_page(page);
	spin_unlock(&lane->lock);
	if (!page)
		return VM_FAULT_SIGBUS;

	lock_page(page);
	spin_lock(&lane->lock);
	now = page_at(lane, place);
	spin_unlock(&lane->lock);
	if (now != page) {
		unlock_page(page);
		put_page(page);
		return now ? VM_FAULT_NOPAGE : VM_FAULT_SIGBUS;
	}
	vmf->page = page + (vmf->pgoff & ((1UL << order) - 1));
	return VM_FAULT_LOCKED;
}

static const struct vm_operations_struct window_vm_ops = {
	.fault = window_fault,
};

/**
 * ugm_window_mmap() - map (part of) the window
 * @file: lane file
 * @vma: the mapping
 *
 * Context: mmap_lock held for writing.
 * Return: 0, -EINVAL (private, not whole blocks, beyond its end) or -EPERM
 * (another address space than the server's).
 */
int ugm_window_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct ugm_lane_file *lane = file->private_data;
	u64 start = (u64)vma->vm_pgoff << PAGE_SHIFT, len = vma->vm_end - vma->vm_start;
	u64 size = (u64)lane->nr_places << lane->dev->block_shift;

	if (!(vma->vm_flags & VM_MAYSHARE) || start >= size || len > size - start ||
	    !IS_ALIGNED(start | len, lane->dev->block_size))
		return -EINVAL;
	if (current->mm != lane->mm)
		return -EPERM;
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &window_vm_ops;
	return 0;
}
