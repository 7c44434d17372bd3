/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UGM_COMPAT_H
#define UGM_COMPAT_H

#include <linux/blkdev.h>
#include <linux/mm.h>
#include <linux/platform_device.h>
#include <linux/version.h>
#include <linux/workqueue.h>

/**
 * DOC: compat
 *
 * Every test of the kernel's version is here.
 */

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

/**
 * ugm_release_fault_lock() - drop the lock a fault handler was called with
 * @vmf: the fault, with FAULT_FLAG_ALLOW_RETRY
 */
static inline void ugm_release_fault_lock(struct vm_fault *vmf)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	mmap_read_unlock(vmf->vma->vm_mm);
#else
	release_fault_lock(vmf);
#endif
}

/**
 * ugm_page_mapped() - is any part of a page in a page table?
 * @page: head page
 */
static inline bool ugm_page_mapped(struct page *page)
{
	return folio_mapped(page_folio(page));
}

/*
 * Some kernels after 6.1 lose the hardware dirty bit of a huge entry that is
 * zapped as a whole, and carry it over if the entry is split first. Which ones
 * cannot be told from a version, so all of them get the split.
 */
#define UGM_SPLIT_BEFORE_ZAP (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0))

/* The remove callback of a platform driver returned an int until 6.10. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define UGM_REMOVE_RETURN int
#define ugm_remove_return return 0
#else
#define UGM_REMOVE_RETURN void
#define ugm_remove_return return
#endif

/**
 * ugm_page_mapcount() - page-table entries of a page that no rmap looks after
 * @page: head page
 * @order: its order
 *
 * Context: any; a moment's value.
 */
static inline int ugm_page_mapcount(struct page *page, unsigned int order)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
	/* folio_mapcount() is not for modules; this is what it does for a file page. */
	int huge = order ? folio_entire_mapcount(page_folio(page)) : 0;
	int i, nr = 1 << order, sum = huge;

	for (i = 0; i < nr; i++)
		sum += atomic_read(&page[i]._mapcount) + 1;
	/* Until 6.2 a huge entry counted for each of its small pages, too. */
	if (LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0))
		sum -= huge * nr;
	return sum;
#else
	return folio_mapcount(page_folio(page));
#endif
}

/**
 * struct ugm_claim - a block device claimed exclusively
 * @bdev: the device
 * @key: what closes it: a file, before 6.9 a handle, before 6.7 its holder
 */
struct ugm_claim {
	struct block_device *bdev;
	void *key;
};

/**
 * ugm_claim_take() - claim a block device exclusively, for reading and writing
 * @claim: out: the claim
 * @path: its path, looked up as the caller
 * @holder: who claims it
 *
 * Context: process context, may sleep.
 * Return: 0, -EBUSY (it is mounted or claimed), -ENOTBLK, or what open(2) gives.
 */
static inline int ugm_claim_take(struct ugm_claim *claim, const char *path, void *holder)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	struct file *file;

	file = bdev_file_open_by_path(path, BLK_OPEN_READ | BLK_OPEN_WRITE, holder, NULL);
	if (IS_ERR(file))
		return PTR_ERR(file);
	claim->bdev = file_bdev(file);
	claim->key = file;
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	struct bdev_handle *handle;

	handle = bdev_open_by_path(path, BLK_OPEN_READ | BLK_OPEN_WRITE, holder, NULL);
	if (IS_ERR(handle))
		return PTR_ERR(handle);
	claim->bdev = handle->bdev;
	claim->key = handle;
#else
	struct block_device *bdev;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	bdev = blkdev_get_by_path(path, BLK_OPEN_READ | BLK_OPEN_WRITE, holder, NULL);
#else
	bdev = blkdev_get_by_path(path, FMODE_READ | FMODE_WRITE | FMODE_EXCL, holder);
#endif
	if (IS_ERR(bdev))
		return PTR_ERR(bdev);
	claim->bdev = bdev;
	claim->key = holder;
#endif
	return 0;
}

/**
 * ugm_claim_release() - give a claimed block device back
 * @claim: from ugm_claim_take()
 *
 * Context: process context, may sleep.
 */
static inline void ugm_claim_release(struct ugm_claim *claim)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	bdev_fput(claim->key);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	bdev_release(claim->key);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	blkdev_put(claim->bdev, claim->key);
#else
	blkdev_put(claim->bdev, FMODE_READ | FMODE_WRITE | FMODE_EXCL);
#endif
}

/*
 * The flag of a work queue that is not unbound, and the system's unbound queue:
 * there are new names for them, and kernels that complain of the old.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define UGM_WQ_PERCPU  0
#define ugm_unbound_wq system_unbound_wq
#else
#define UGM_WQ_PERCPU  WQ_PERCPU
#define ugm_unbound_wq system_dfl_wq
#endif

/* A tracepoint's __assign_str() lost its second argument in 6.10. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define UGM_ASSIGN_STR(dst, src) __assign_str(dst, src)
#else
#define UGM_ASSIGN_STR(dst, src) __assign_str(dst)
#endif

#endif /* UGM_COMPAT_H */
