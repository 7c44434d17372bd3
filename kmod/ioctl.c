// SPDX-License-Identifier: GPL-2.0
#include <linux/uaccess.h>

#include "ioctl.h"
#include "ugm.h"

/**
 * DOC: requests
 *
 * One table names every request of the device file. The size of its structure
 * is the caller's: a shorter one is read as if the rest were zero, a longer one
 * must have zeros where this module knows nothing, and no more is written back
 * than was given. Structures change hands here only; requests see copies.
 */

static_assert(UGM_TIER_ID_GPU == UGM_TIER_GPU && UGM_TIER_ID_HOST == UGM_TIER_HOST &&
	      UGM_TIER_ID_FLASH == UGM_TIER_FLASH && UGM_TIER_ID_NONE == UGM_TIER_NONE);
static_assert(UGM_HINT_PREFETCH == (int)UGM_OP_PREFETCH && UGM_HINT_EVICT == (int)UGM_OP_EVICT &&
	      UGM_HINT_DISCARD == (int)UGM_OP_DISCARD && UGM_HINT_PIN == (int)UGM_OP_PIN &&
	      UGM_HINT_UNPIN == (int)UGM_OP_UNPIN && UGM_HINT_PROTECT == (int)UGM_OP_PROTECT &&
	      UGM_HINT_UNPROTECT == (int)UGM_OP_UNPROTECT &&
	      UGM_HINT_WRITEBACK == (int)UGM_OP_WRITEBACK);

/**
 * ugm_ioc_info() - UGM_IOC_INFO
 * @fs: space
 * @p: struct ugm_ioc_info
 *
 * Context: process context.
 */
int ugm_ioc_info(struct ugm_file_space *fs, void *p)
{
	struct ugm_device *dev = fs->dev;
	struct ugm_lane_facts lane;
	struct ugm_ioc_info *arg = p;
	struct ugm_engine *e = &dev->engine;

	memset(arg, 0, sizeof(*arg));
	arg->features = UGM_FEATURE_LAUNCH | UGM_FEATURE_HINTS | UGM_FEATURE_LANE |
			UGM_FEATURE_MACHINE | UGM_FEATURE_EVENTS;
	if (dev->pool.phys)
		arg->flags |= UGM_INFO_RESERVED_DRAM;
	if (READ_ONCE(dev->broken))
		arg->flags |= UGM_INFO_BROKEN;
	arg->block_size = dev->block_size;
	arg->gpu_frames = dev->pool.nr - dev->pool.nr_spare;
	arg->gpu_phys = dev->pool.phys;
	arg->host_limit = dev->host_limit;
	mutex_lock(&dev->engine_lock);
	arg->gpu_free = arg->gpu_frames - min(arg->gpu_frames, e->used[UGM_TIER_GPU]);
	arg->host_used = e->used[UGM_TIER_HOST];
	ugm_lane_facts(fs, &lane);
	mutex_unlock(&dev->engine_lock);
	arg->space_id = fs->id;
	arg->space_blocks = atomic_long_read(&fs->nr_blocks);
	arg->metadata_bytes = atomic_long_read(&dev->metadata);
	arg->lane_pid = lane.pid;
	arg->version = UGM_VERSION;
	ugm_flash_info(dev, arg);
	return 0;
}

static int ioc_attach(struct ugm_file_space *fs, void *arg)
{
	return ugm_flash_attach(fs->dev, arg);
}

static int ioc_detach(struct ugm_file_space *fs, void *arg)
{
	return ugm_flash_detach(fs->dev);
}

/* Returns the number of a file. */
static int ioc_lane(struct ugm_file_space *fs, void *arg)
{
	return ugm_lane_create(fs, arg);
}

struct request {
	int (*act)(struct ugm_file_space *fs, void *arg);
	unsigned int cmd;
};

#define REQUEST(name, fn) [_IOC_NR(name) - _IOC_NR(UGM_IOC_INFO)] = { fn, name }

static const struct request requests[] = {
	REQUEST(UGM_IOC_INFO, ugm_ioc_info),
	REQUEST(UGM_IOC_ALLOC, ugm_ioc_alloc),
	REQUEST(UGM_IOC_FREE, ugm_ioc_free),
	REQUEST(UGM_IOC_ADVISE, ugm_ioc_advise),
	REQUEST(UGM_IOC_HINT, ugm_ioc_hint),
	REQUEST(UGM_IOC_LAUNCH, ugm_ioc_launch),
	REQUEST(UGM_IOC_WAIT, ugm_ioc_wait),
	REQUEST(UGM_IOC_RESIDENCY, ugm_ioc_residency),
	REQUEST(UGM_IOC_STATS, ugm_ioc_stats),
	REQUEST(UGM_IOC_OPTIONS, ugm_ioc_options),
	REQUEST(UGM_IOC_MACHINE, ugm_ioc_machine),
	REQUEST(UGM_IOC_RESET, ugm_ioc_reset),
	REQUEST(UGM_IOC_ATTACH, ioc_attach),
	REQUEST(UGM_IOC_DETACH, ioc_detach),
	REQUEST(UGM_IOC_LANE, ioc_lane),
	REQUEST(UGM_IOC_CHECK, ugm_ioc_check),
	REQUEST(UGM_IOC_SPACES, ugm_ioc_spaces),
	REQUEST(UGM_IOC_RANGES, ugm_ioc_ranges),
};

static const struct request *request_of(unsigned int cmd)
{
	unsigned int nr = _IOC_NR(cmd) - _IOC_NR(UGM_IOC_INFO);

	if (_IOC_TYPE(cmd) != _IOC_TYPE(UGM_IOC_INFO) || nr >= ARRAY_SIZE(requests) ||
	    !requests[nr].act || _IOC_DIR(cmd) != _IOC_DIR(requests[nr].cmd))
		return NULL;
	return &requests[nr];
}

/**
 * ugm_ioctl() - ioctl() on the device file
 * @file: device file
 * @cmd: request
 * @arg: user pointer to its structure
 *
 * Context: process context.
 * Return: 0 (a file number for UGM_IOC_LANE), -ENOTTY (unknown), -EINVAL, -E2BIG,
 * -EFAULT, -ENODEV (unplugged), or what the request says.
 */
long ugm_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct ugm_file_space *fs = file->private_data;
	const struct request *r = request_of(cmd);
	void __user *user = (void __user *)arg;
	u64 copy[320 / sizeof(u64)];
	size_t size, usize;
	int ret;

	if (!r)
		return -ENOTTY;
	if (READ_ONCE(fs->dev->gone))
		return -ENODEV;
	size = _IOC_SIZE(r->cmd);
	usize = _IOC_SIZE(cmd);
	if (WARN_ON_ONCE(size > sizeof(copy)))
		return -EOPNOTSUPP;
	if (size && !usize)
		return -EINVAL;
	memset(copy, 0, sizeof(copy));
	ret = copy_struct_from_user(copy, size, user, usize);
	if (ret)
		return ret;
	ret = r->act(fs, copy);
	if (ret >= 0 && copy_to_user(user, copy, min(size, usize)))
		return -EFAULT;
	return ret;
}
