// SPDX-License-Identifier: GPL-2.0
#include <linux/capability.h>

#include "ioctl.h"
#include "ugm.h"

/**
 * DOC: machines
 *
 * The modelled machine is the device's. A device begins with the real clock and
 * all it has; a study sets the virtual clock and the capacities, bandwidths and
 * latencies of the machine it is about. For the virtual clock the host tier's
 * memory is set aside then, so that no result depends on the page allocator.
 */

/* PCIe 4.0 x16 and a fast SSD: what the links are where nobody says otherwise. */
#define GPU_BANDWIDTH	  15754000000ULL
#define FLASH_BANDWIDTH	  3200000000ULL
#define FAULT_BATCH_BYTES SZ_1M

static u64 visible_frames(const struct ugm_device *dev)
{
	return dev->pool.nr - dev->pool.nr_spare;
}

/**
 * ugm_machine_init() - the machine a device begins with
 * @dev: device with its pool
 *
 * Context: process context, nobody else uses the device.
 * Return: 0 or an error of ugm_engine_set_machine().
 */
int ugm_machine_init(struct ugm_device *dev)
{
	struct ugm_machine m = {
		.clock = UGM_CLOCK_REAL,
		.block_bytes = dev->block_size,
		.capacity[UGM_TIER_GPU] = visible_frames(dev) << dev->block_shift,
		.capacity[UGM_TIER_HOST] = dev->host_limit << dev->block_shift,
		.bandwidth[UGM_LINK_GPU_IN] = GPU_BANDWIDTH,
		.bandwidth[UGM_LINK_GPU_OUT] = GPU_BANDWIDTH,
		.bandwidth[UGM_LINK_FLASH_READ] = FLASH_BANDWIDTH,
		.bandwidth[UGM_LINK_FLASH_WRITE] = FLASH_BANDWIDTH,
		.fault_batch_bytes = FAULT_BATCH_BYTES,
	};

	ugm_engine_init(&dev->engine, &ugm_module_ops);
	return ugm_engine_set_machine(&dev->engine, &m);
}

/**
 * ugm_machine_idle() - a space was closed: memory set aside for nobody goes back
 * @dev: device
 *
 * Context: process context.
 */
void ugm_machine_idle(struct ugm_device *dev)
{
	bool idle;

	mutex_lock(&dev->spaces_lock);
	idle = list_empty(&dev->spaces);
	if (idle) {
		mutex_lock(&dev->engine_lock);
		ugm_host_set_aside(dev, 0);
		mutex_unlock(&dev->engine_lock);
	}
	mutex_unlock(&dev->spaces_lock);
}

static void get_machine(struct ugm_device *dev, struct ugm_ioc_machine *arg)
{
	struct ugm_machine *m = &dev->engine.m;
	int i;

	mutex_lock(&dev->engine_lock);
	arg->clock = m->clock;
	arg->block_bytes = m->block_bytes;
	arg->gpu_bytes = m->capacity[UGM_TIER_GPU];
	arg->host_bytes = m->capacity[UGM_TIER_HOST];
	for (i = 0; i < UGM_NR_LINKS; i++)
		arg->bandwidth[i] = m->bandwidth[i];
	arg->gpu_latency_ns = m->gpu_latency_ns;
	arg->flash_latency_ns = m->flash_latency_ns;
	arg->fault_ns = m->fault_ns;
	arg->fault_batch_bytes = m->fault_batch_bytes;
	mutex_unlock(&dev->engine_lock);
}

static int set_machine(struct ugm_device *dev, const struct ugm_ioc_machine *arg)
{
	struct ugm_engine *e = &dev->engine;
	struct ugm_machine old, m = {
		.clock = arg->clock,
		.block_bytes = arg->block_bytes ?: dev->block_size,
		.capacity[UGM_TIER_HOST] = arg->host_bytes,
		.gpu_latency_ns = arg->gpu_latency_ns,
		.flash_latency_ns = arg->flash_latency_ns,
		.fault_ns = arg->fault_ns,
		.fault_batch_bytes = arg->fault_batch_bytes,
	};
	u64 reserve;
	int i, err;

	if (m.block_bytes > 1ULL << 32)
		return -EINVAL;
	m.capacity[UGM_TIER_GPU] = arg->gpu_bytes ?: visible_frames(dev) * m.block_bytes;
	for (i = 0; i < UGM_NR_LINKS; i++)
		m.bandwidth[i] = arg->bandwidth[i];
	if (div64_u64(m.capacity[UGM_TIER_GPU], m.block_bytes) > visible_frames(dev) ||
	    div64_u64(m.capacity[UGM_TIER_HOST], m.block_bytes) > dev->host_limit)
		return -ENOSPC;

	mutex_lock(&dev->engine_lock);
	old = e->m;
	err = ugm_engine_set_machine(e, &m);
	if (!err) {
		reserve = m.clock == UGM_CLOCK_VIRTUAL ? e->capacity[UGM_TIER_HOST] : 0;
		err = ugm_host_set_aside(dev, reserve);
		if (err)
			WARN_ON_ONCE(ugm_engine_set_machine(e, &old));
	}
	mutex_unlock(&dev->engine_lock);
	return err;
}

/**
 * ugm_ioc_machine() - UGM_IOC_MACHINE
 * @fs: space
 * @p: struct ugm_ioc_machine
 *
 * Context: process context.
 */
int ugm_ioc_machine(struct ugm_file_space *fs, void *p)
{
	struct ugm_ioc_machine *arg = p;
	int err;

	BUILD_BUG_ON(ARRAY_SIZE(arg->bandwidth) != UGM_NR_LINKS);
	if (arg->set > 1 || (arg->set && arg->clock > UGM_CLOCK_PACED))
		return -EINVAL;
	if (arg->set) {
		if (!capable(CAP_SYS_ADMIN))
			return -EPERM;
		err = ugm_device_usable(fs->dev) ?: set_machine(fs->dev, arg);
		if (err)
			return err;
	}
	get_machine(fs->dev, arg);
	return 0;
}

/**
 * ugm_ioc_options() - UGM_IOC_OPTIONS
 * @fs: space
 * @p: struct ugm_ioc_options
 *
 * Context: process context.
 */
int ugm_ioc_options(struct ugm_file_space *fs, void *p)
{
	struct ugm_ioc_options *arg = p;
	struct ugm_options *opt = &fs->s.opt;

	if (arg->set > 1)
		return -EINVAL;
	if (arg->set && (arg->victim > UGM_VICTIM_NEED || arg->clean > UGM_CLEAN_DROP ||
			 arg->dead > UGM_DEAD_DROP || arg->promote > 1 ||
			 arg->prefetch_evicts > UGM_PREFETCH_EVICTS_ANY ||
			 arg->overlap > UGM_OVERLAP_NONE || arg->demand > 1))
		return -EINVAL;
	mutex_lock(&fs->dev->engine_lock);
	if (arg->set) {
		*opt = (struct ugm_options){
			.victim = arg->victim,
			.clean = arg->clean,
			.dead = arg->dead,
			.promote = arg->promote,
			.prefetch_evicts = arg->prefetch_evicts,
			.overlap = arg->overlap,
			.demand = arg->demand,
		};
	}
	arg->victim = opt->victim;
	arg->clean = opt->clean;
	arg->dead = opt->dead;
	arg->promote = opt->promote;
	arg->prefetch_evicts = opt->prefetch_evicts;
	arg->overlap = opt->overlap;
	arg->demand = opt->demand;
	mutex_unlock(&fs->dev->engine_lock);
	return 0;
}

/* Counters of a device are everybody's who uses it. */
static int reset(struct ugm_file_space *fs)
{
	struct ugm_device *dev = fs->dev;
	struct ugm_file_space *other;
	int cpu, err = 0;

	lockdep_assert_held(&dev->spaces_lock);
	lockdep_assert_held(&dev->engine_lock);
	list_for_each_entry(other, &dev->spaces, node)
		if (!uid_eq(other->cred->euid, current_euid()) && !capable(CAP_SYS_ADMIN))
			return -EPERM;
	err = ugm_engine_reset(&dev->engine);
	if (err)
		return err;
	list_for_each_entry(other, &dev->spaces, node)
		ugm_space_reset(&other->s);
	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(dev->counters, cpu), 0, sizeof(struct ugm_counts));
	return 0;
}

/**
 * ugm_ioc_reset() - UGM_IOC_RESET
 * @fs: space
 * @p: struct ugm_ioc_reset
 *
 * Context: process context.
 */
int ugm_ioc_reset(struct ugm_file_space *fs, void *p)
{
	struct ugm_ioc_reset *arg = p;
	struct ugm_device *dev = fs->dev;
	int err = 0;

	if (arg->flags > 1)
		return -EINVAL;
	mutex_lock(&dev->spaces_lock);
	mutex_lock(&dev->engine_lock);
	arg->exact = dev->engine.inexact;
	if (!arg->flags)
		err = reset(fs);
	mutex_unlock(&dev->engine_lock);
	mutex_unlock(&dev->spaces_lock);
	return err;
}
