// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "ugm.h"

/**
 * DOC: device
 *
 * A device is a platform device bound to the driver "ugm", with a character
 * device of its own and a folder of facts in sysfs (/sys/class/misc/ugm0).
 * Unbinding the driver unplugs it: mappings are revoked, moves and waits end
 * with -ENODEV, and what is left of it goes when its last file and its last
 * I/O have ended. Nobody waits for them but the unloading of the module.
 */

static struct workqueue_struct *ugm_free_wq;
static atomic_t ugm_nr_devices = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(ugm_no_devices);
static int ugm_probe_error;

/**
 * ugm_devices_init() - what all devices share
 *
 * Context: module init.
 */
int ugm_devices_init(void)
{
	ugm_free_wq = alloc_workqueue("ugm_free", WQ_UNBOUND, 0);
	return ugm_free_wq ? 0 : -ENOMEM;
}

/**
 * ugm_devices_exit() - wait until every device is gone for good
 *
 * Context: module exit, all devices are unbound and have no files; what may
 * still be under way is I/O to a namespace.
 */
void ugm_devices_exit(void)
{
	wait_event(ugm_no_devices, !atomic_read(&ugm_nr_devices));
	destroy_workqueue(ugm_free_wq);
}

/**
 * ugm_device_get() - take a reference on a device
 * @dev: device
 *
 * Context: any.
 */
void ugm_device_get(struct ugm_device *dev)
{
	kref_get(&dev->ref);
}

static void device_free(struct work_struct *work)
{
	struct ugm_device *dev = container_of(work, struct ugm_device, free_work);

	/* Who found the device there just before it went may have kicked it since. */
	cancel_delayed_work_sync(&dev->driver);
	ugm_flash_release(dev);
	ugm_pool_exit(dev);
	ugm_host_exit(dev);
	mutex_destroy(&dev->engine_lock);
	mutex_destroy(&dev->spaces_lock);
	free_percpu(dev->counters);
	kfree(dev);
	if (atomic_dec_and_test(&ugm_nr_devices))
		wake_up_all(&ugm_no_devices);
}

static void device_release(struct kref *ref)
{
	struct ugm_device *dev = container_of(ref, struct ugm_device, ref);

	/* The last reference may be that of a move, dropped by its end_io. */
	queue_work(ugm_free_wq, &dev->free_work);
}

/**
 * ugm_device_put() - drop a reference on a device
 * @dev: device
 *
 * Context: any.
 */
void ugm_device_put(struct ugm_device *dev)
{
	kref_put(&dev->ref, device_release);
}

/**
 * ugm_device_usable() - may new work begin?
 * @dev: device
 *
 * Context: any.
 * Return: 0, -ENODEV (unplugged) or -EIO (an invariant broke).
 */
int ugm_device_usable(struct ugm_device *dev)
{
	if (READ_ONCE(dev->gone))
		return -ENODEV;
	return READ_ONCE(dev->broken) ? -EIO : 0;
}

/**
 * ugm_device_broken() - an invariant broke: refuse new work from now on
 * @dev: device
 * @what: which one
 *
 * Context: process context, without spaces_lock.
 */
void ugm_device_broken(struct ugm_device *dev, const char *what)
{
	struct ugm_file_space *fs;

	pr_err("%s: broken: %s\n", dev->name, what);
	if (xchg(&dev->broken, true))
		return;
	mutex_lock(&dev->spaces_lock);
	list_for_each_entry(fs, &dev->spaces, node)
		ugm_event(fs, UGM_EVENT_BROKEN, 0, 0);
	mutex_unlock(&dev->spaces_lock);
}

static struct ugm_device *to_ugm(struct device *d)
{
	return container_of(dev_get_drvdata(d), struct ugm_device, misc);
}

static ssize_t block_size_show(struct device *d, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", to_ugm(d)->block_size);
}
static DEVICE_ATTR_RO(block_size);

static ssize_t gpu_frames_show(struct device *d, struct device_attribute *attr, char *buf)
{
	struct ugm_pool *pool = &to_ugm(d)->pool;

	return sysfs_emit(buf, "%u\n", pool->nr - pool->nr_spare);
}
static DEVICE_ATTR_RO(gpu_frames);

static ssize_t gpu_spare_frames_show(struct device *d, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", to_ugm(d)->pool.nr_spare);
}
static DEVICE_ATTR_RO(gpu_spare_frames);

static ssize_t gpu_phys_show(struct device *d, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%#llx\n", (u64)to_ugm(d)->pool.phys);
}
static DEVICE_ATTR_RO(gpu_phys);

static ssize_t host_blocks_show(struct device *d, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", to_ugm(d)->host_limit);
}
static DEVICE_ATTR_RO(host_blocks);

static ssize_t clock_show(struct device *d, struct device_attribute *attr, char *buf)
{
	static const char *const names[] = { "virtual", "real", "paced" };

	return sysfs_emit(buf, "%s\n", names[READ_ONCE(to_ugm(d)->engine.m.clock)]);
}
static DEVICE_ATTR_RO(clock);

static ssize_t broken_show(struct device *d, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(to_ugm(d)->broken));
}
static DEVICE_ATTR_RO(broken);

static struct attribute *ugm_attrs[] = {
	&dev_attr_block_size.attr,
	&dev_attr_gpu_frames.attr,
	&dev_attr_gpu_spare_frames.attr,
	&dev_attr_gpu_phys.attr,
	&dev_attr_host_blocks.attr,
	&dev_attr_clock.attr,
	&dev_attr_broken.attr,
	NULL,
};
ATTRIBUTE_GROUPS(ugm);

static int ugm_open(struct inode *inode, struct file *file)
{
	/* misc_open() keeps the device from being unregistered meanwhile. */
	struct ugm_device *dev = container_of(file->private_data, struct ugm_device, misc);
	struct ugm_file_space *fs;

	fs = ugm_space_open(dev, file);
	if (IS_ERR(fs))
		return PTR_ERR(fs);
	file->private_data = fs;
	return 0;
}

static int ugm_release(struct inode *inode, struct file *file)
{
	ugm_space_close(file->private_data);
	return 0;
}

static const struct file_operations ugm_fops = {
	.owner = THIS_MODULE,
	.open = ugm_open,
	.release = ugm_release,
	.unlocked_ioctl = ugm_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = ugm_mmap,
	.get_unmapped_area = thp_get_unmapped_area,
	.read = ugm_event_read,
	.poll = ugm_event_poll,
	.llseek = noop_llseek,
};

static void device_init(struct ugm_device *dev, struct platform_device *pdev)
{
	kref_init(&dev->ref);
	dev->id = pdev->id;
	dev->pdev = pdev;
	snprintf(dev->name, sizeof(dev->name), "ugm%d", dev->id);
	dev->block_size = ugm_params.block_size;
	dev->block_shift = ilog2(dev->block_size);
	dev->block_order = dev->block_shift - PAGE_SHIFT;
	dev->host_limit = ugm_params.host_mem >> dev->block_shift;
	INIT_WORK(&dev->free_work, device_free);
	mutex_init(&dev->engine_lock);
	INIT_DELAYED_WORK(&dev->driver, ugm_drive_work);
	spin_lock_init(&dev->moves_lock);
	INIT_LIST_HEAD(&dev->moves);
	INIT_LIST_HEAD(&dev->todo);
	INIT_LIST_HEAD(&dev->failed);
	init_waitqueue_head(&dev->progress_wait);
	ugm_host_init(dev);
	mutex_init(&dev->spaces_lock);
	INIT_LIST_HEAD(&dev->spaces);
	dev->next_space = 1;
	spin_lock_init(&dev->waiters_lock);
	INIT_LIST_HEAD(&dev->waiters);

	dev->misc.minor = MISC_DYNAMIC_MINOR;
	dev->misc.name = dev->name;
	dev->misc.nodename = dev->name;
	dev->misc.mode = 0660;
	dev->misc.fops = &ugm_fops;
	dev->misc.parent = &pdev->dev;
	dev->misc.groups = ugm_groups;
}

static int probe(struct platform_device *pdev)
{
	struct ugm_device *dev;
	int err;

	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	device_init(dev, pdev);
	err = -ENOMEM;
	dev->counters = alloc_percpu(struct ugm_counts);
	if (!dev->counters || ugm_init_fails())
		goto free;
	err = ugm_pool_init(dev);
	if (err)
		goto free;
	err = ugm_init_fails() ? -ENOMEM : ugm_machine_init(dev);
	if (err)
		goto pool;
	err = ugm_init_fails() ? -ENOMEM : misc_register(&dev->misc);
	if (err) {
		dev_err(&pdev->dev, "no character device: error %d\n", err);
		goto pool;
	}
	atomic_inc(&ugm_nr_devices);
	ugm_debug_add(dev);
	platform_set_drvdata(pdev, dev);
	dev_info(&pdev->dev, "%s: %u frames of %u bytes %s, up to %llu blocks of host memory\n",
		 dev->name, dev->pool.nr - dev->pool.nr_spare, dev->block_size,
		 dev->pool.phys ? "on reserved memory" : "from the page allocator",
		 dev->host_limit);
	return 0;
pool:
	ugm_pool_exit(dev);
free:
	free_percpu(dev->counters);
	kfree(dev);
	return err;
}

static int ugm_probe(struct platform_device *pdev)
{
	ugm_probe_error = probe(pdev);
	return ugm_probe_error;
}

/**
 * ugm_device_probed() - did binding a platform device work?
 * @pdev: just registered
 *
 * Context: module init, which is what serialises probes with each other.
 * Return: 0, or the error of its probe.
 */
int ugm_device_probed(struct platform_device *pdev)
{
	if (platform_get_drvdata(pdev))
		return 0;
	return ugm_probe_error ?: -ENODEV;
}

static UGM_REMOVE_RETURN ugm_remove(struct platform_device *pdev)
{
	struct ugm_device *dev = platform_get_drvdata(pdev);

	platform_set_drvdata(pdev, NULL);
	misc_deregister(&dev->misc);
	ugm_debug_remove(dev);

	mutex_lock(&dev->engine_lock);
	WRITE_ONCE(dev->gone, true);
	mutex_unlock(&dev->engine_lock);
	/* Faults saw it gone, or their mappings are there and are revoked now. */
	ugm_spaces_unplug(dev);
	ugm_progress(dev);
	cancel_delayed_work_sync(&dev->driver);
	dev->pdev = NULL;
	ugm_device_put(dev);
	ugm_remove_return;
}

struct platform_driver ugm_driver = {
	.driver.name = "ugm",
	.probe = ugm_probe,
	.remove = ugm_remove,
};
