// SPDX-License-Identifier: GPL-2.0
#include <linux/slab.h>

#include "ioctl.h"
#include "ugm.h"

/**
 * DOC: launches
 *
 * A launch is an emulated GPU kernel: what it uses, how long it runs. It is a
 * demand like a touch, and driven by its caller like one.
 */

#define MAX_OPERANDS 4096

static int resolve(struct ugm_file_space *fs, const struct ugm_operand_desc *desc,
		   struct ugm_operand *op)
{
	unsigned int shift = fs->dev->block_shift;
	struct ugm_file_range *r;
	u64 first, last;

	if (!desc->len || !desc->access || desc->pad ||
	    desc->access & ~(UGM_ACCESS_READ | UGM_ACCESS_WRITE) ||
	    desc->offset >= UGM_VIEW_SIZE || desc->len > UGM_VIEW_SIZE - desc->offset)
		return -EINVAL;
	first = desc->offset >> shift;
	last = (desc->offset + desc->len - 1) >> shift;
	/* What can never fit is refused before a block is made for each part. */
	if (last - first >= READ_ONCE(fs->dev->engine.capacity[UGM_TIER_GPU]))
		return -ENOSPC;
	r = ugm_range_use(fs, first);
	if (!r)
		return -EINVAL;
	if (last - r->first >= r->r.nr_blocks) {
		ugm_range_unuse(r);
		return -EINVAL;
	}
	op->range = &r->r;
	op->first = first - r->first;
	op->nr = last - first + 1;
	op->mode = (desc->access & UGM_ACCESS_READ ? UGM_OPERAND_READ : 0) |
		   (desc->access & UGM_ACCESS_WRITE ? UGM_OPERAND_WRITE : 0);
	return 0;
}

static void unuse(struct ugm_operand *ops, u32 nr)
{
	while (nr--)
		ugm_range_unuse(ugm_file_range_of(ops[nr].range));
}

/**
 * ugm_ioc_launch() - UGM_IOC_LAUNCH
 * @fs: space
 * @p: struct ugm_ioc_launch
 *
 * Context: process context; sleeps, killable.
 */
int ugm_ioc_launch(struct ugm_file_space *fs, void *p)
{
	struct ugm_ioc_launch *arg = p;
	struct ugm_operand_desc *desc;
	struct ugm_operand *ops;
	struct ugm_demand d = {
		.space = &fs->s,
		.duration_ns = arg->duration_ns,
		.launch = true,
		.cause = UGM_CAUSE_DEMAND,
		.tier = UGM_TIER_GPU,
	};
	u32 i;
	int err;

	if (arg->flags || arg->nr_operands > MAX_OPERANDS || arg->duration_ns > S64_MAX / 2)
		return -EINVAL;
	desc = vmemdup_user(u64_to_user_ptr(arg->operands), arg->nr_operands * sizeof(*desc));
	if (IS_ERR(desc))
		return PTR_ERR(desc);
	ops = kvmalloc_array(max(arg->nr_operands, 1U), sizeof(*ops), GFP_KERNEL_ACCOUNT);
	if (!ops) {
		kvfree(desc);
		return -ENOMEM;
	}
	for (i = 0; i < arg->nr_operands; i++) {
		err = resolve(fs, &desc[i], &ops[i]);
		if (err)
			goto out;
	}
	d.operands = ops;
	d.nr_operands = arg->nr_operands;
	err = ugm_drive(fs->dev, &d);
	arg->number = d.number;
	arg->begin_ns = d.begin_ns;
	arg->arrived_ns = d.arrived_ns;
	arg->end_ns = d.end_ns;
	arg->batches = d.batches;
	arg->fault_bytes = d.fault_bytes;
out:
	unuse(ops, i);
	kvfree(ops);
	kvfree(desc);
	return err;
}

/**
 * ugm_ioc_wait() - UGM_IOC_WAIT
 * @fs: space
 * @p: struct ugm_ioc_wait
 *
 * Context: process context; sleeps, killable.
 */
int ugm_ioc_wait(struct ugm_file_space *fs, void *p)
{
	struct ugm_ioc_wait *arg = p;
	int err;

	if (arg->flags)
		return -EINVAL;
	err = ugm_device_usable(fs->dev);
	if (!err)
		err = ugm_drive_drain(fs->dev);
	mutex_lock(&fs->dev->engine_lock);
	arg->now_ns = fs->dev->engine.now_ns;
	mutex_unlock(&fs->dev->engine_lock);
	return err;
}
