// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "compat.h"
#include "trace.h"
#include "ugm.h"

/**
 * DOC: mappings
 *
 * A view is a mapping of the device file; its offset says which view and which
 * unified address. Page tables are filled by faults and emptied by revoking.
 *
 * Revoking takes blocks from all views of their space. The caller has marked
 * them busy. A fault that looked before that holds the page lock until the page
 * is mapped, so locking and unlocking the page waits for it; one that comes
 * later sees the block busy once it has the page lock, and maps nothing. Then
 * the mappings go, neighbours in one call, which carries the hardware's dirty
 * bits to the pages, and the reference counts tell whether direct I/O still
 * holds a page.
 *
 * A block that is only written back is not marked busy. It may be mapped again
 * at once: what is written then shows as a new dirty bit.
 */

/**
 * ugm_mmap() - map a view
 * @file: device file
 * @vma: the mapping
 *
 * Context: mmap_lock held for writing.
 * Return: 0, -EINVAL (private, or not within a view), -EPERM (another address
 * space than the opener's) or -ENODEV.
 */
int ugm_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct ugm_file_space *fs = file->private_data;
	u64 first = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 last = first + (vma->vm_end - vma->vm_start) - 1;

	/* A file opened for reading clears VM_SHARED, so that is not asked. */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (last < first || last >= UGM_VIEW_HOST + UGM_VIEW_SIZE ||
	    (first < UGM_VIEW_HOST) != (last < UGM_VIEW_HOST))
		return -EINVAL;
	if (current->mm != fs->mm)
		return -EPERM;
	if (READ_ONCE(fs->dev->gone))
		return -ENODEV;
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &ugm_vm_ops;
	return 0;
}

static struct page *home_page(struct ugm_device *dev, struct ugm_block *b)
{
	return ugm_block_page(dev, b, ugm_state_home(b->state));
}

/* A fault that saw a block before it was marked has mapped it after this. */
static void wait_for_fault(struct page *page)
{
	lock_page(page);
	unlock_page(page);
}

static void zap(struct ugm_file_space *fs, u64 address, u64 len)
{
	unmap_mapping_range(fs->inode->i_mapping, UGM_VIEW_GPU + address, len, 1);
	unmap_mapping_range(fs->inode->i_mapping, UGM_VIEW_HOST + address, len, 1);
}

static void zap_blocks(struct ugm_file_space *fs, u64 index, unsigned int nr)
{
	struct ugm_device *dev = fs->dev;
	unsigned int i;

	if (UGM_SPLIT_BEFORE_ZAP && dev->block_size == HPAGE_PMD_SIZE)
		for (i = 0; i < nr; i++)
			zap(fs, (index + i) << dev->block_shift, PAGE_SIZE);
	zap(fs, index << dev->block_shift, (u64)nr << dev->block_shift);
	ugm_count(dev, REVOKES);
	ugm_count_n(dev, UGM_C_REVOKED_BLOCKS, nr);
	trace_ugm_revoke(fs->id, index << dev->block_shift, nr);
}

/**
 * ugm_map_revoke() - take blocks from every mapping
 * @e: engine
 * @blocks: blocks, marked busy unless they are only written back; those whose
 *          page somebody holds are replaced by NULL
 * @nr: how many
 *
 * Tells the engine of blocks that were written.
 *
 * Context: engine_lock held; may sleep for a fault that is mapping a page.
 */
void ugm_map_revoke(struct ugm_engine *e, struct ugm_block **blocks, unsigned int nr)
{
	struct ugm_device *dev = ugm_device_of(e);
	unsigned int i, run = 0;
	struct ugm_file_space *fs;
	struct page *page;
	bool mapped = false;
	u64 index = 0;

	lockdep_assert_held(&dev->engine_lock);
	for (i = 0; i < nr; i++) {
		page = home_page(dev, blocks[i]);
		if (page)
			wait_for_fault(page);
	}
	for (i = 0; i < nr; i += run) {
		fs = ugm_space_of_block(blocks[i]);
		index = ugm_block_index(blocks[i]);
		mapped = false;
		for (run = 0; i + run < nr; run++) {
			if (ugm_space_of_block(blocks[i + run]) != fs ||
			    ugm_block_index(blocks[i + run]) != index + run)
				break;
			page = home_page(dev, blocks[i + run]);
			mapped |= page && ugm_page_mapped(page);
		}
		if (mapped)
			zap_blocks(fs, index, run);
	}
	for (i = 0; i < nr; i++) {
		page = home_page(dev, blocks[i]);
		if (!page)
			continue;
		if (folio_test_clear_dirty(page_folio(page)))
			ugm_engine_found_dirty(e, blocks[i]);
		if (ugm_page_held(page)) {
			ugm_count(dev, HELD);
			blocks[i] = NULL;
		}
	}
}

/**
 * ugm_map_forget() - see that no view shows a page that is given up
 * @dev: device
 * @b: the block whose place it was; it does not name the page any more
 * @page: its head page
 *
 * Context: engine_lock held; may sleep for a fault that is mapping the page.
 */
void ugm_map_forget(struct ugm_device *dev, struct ugm_block *b, struct page *page)
{
	lockdep_assert_held(&dev->engine_lock);
	wait_for_fault(page);
	if (ugm_page_mapped(page))
		zap_blocks(ugm_space_of_block(b), ugm_block_index(b), 1);
}

/**
 * ugm_map_revoke_all() - take everything from every mapping of a space
 * @fs: space of a device that is gone
 *
 * Context: process context.
 */
void ugm_map_revoke_all(struct ugm_file_space *fs)
{
	struct ugm_block *b;
	struct page *page;
	unsigned long at;

	mutex_lock(&fs->dev->engine_lock);
	xa_for_each(&fs->blocks, at, b) {
		page = home_page(fs->dev, b);
		if (page)
			wait_for_fault(page);
	}
	mutex_unlock(&fs->dev->engine_lock);
	unmap_mapping_range(fs->inode->i_mapping, 0, 0, 1);
}
