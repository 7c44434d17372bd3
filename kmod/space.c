// SPDX-License-Identifier: GPL-2.0
#include <linux/capability.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "ioctl.h"
#include "ugm.h"

/**
 * DOC: spaces
 *
 * Opening a device makes a space. All its mappings hang on an inode of its own,
 * from a pseudo filesystem: taking a block from every mapping then looks at
 * this space only, and never at an mm. A space belongs to the address space
 * that opened it: others may hold the file, but not map it. Its host pages are
 * charged to the opener's memory cgroup.
 */

static struct vfsmount *ugm_mnt;

static int ugm_init_fs_context(struct fs_context *fc)
{
	return init_pseudo(fc, 0x75676d00) ? 0 : -ENOMEM;
}

/* Without an owner: its one mount is the module's, and must not pin it. */
static struct file_system_type ugm_fs = {
	.name = "ugm",
	.init_fs_context = ugm_init_fs_context,
	.kill_sb = kill_anon_super,
};

/**
 * ugm_spaces_init() - what all spaces share
 *
 * Context: module init.
 */
int ugm_spaces_init(void)
{
	ugm_mnt = kern_mount(&ugm_fs);
	return PTR_ERR_OR_ZERO(ugm_mnt);
}

/**
 * ugm_spaces_exit() - undo ugm_spaces_init()
 *
 * Context: module exit; no space is left.
 */
void ugm_spaces_exit(void)
{
	kern_unmount(ugm_mnt);
}

static int space_inode(struct ugm_file_space *fs, struct file *file)
{
	struct inode *inode = alloc_anon_inode(ugm_mnt->mnt_sb);

	if (IS_ERR(inode))
		return PTR_ERR(inode);
	/* Huge mappings need a size that covers them. */
	i_size_write(inode, UGM_VIEW_HOST + UGM_VIEW_SIZE);
	fs->inode = inode;
	file->f_mapping = inode->i_mapping;
	return 0;
}

/**
 * ugm_space_open() - make a space for a file
 * @dev: device
 * @file: being opened
 *
 * Context: process context, the device cannot be unregistered meanwhile.
 * Return: the space, with one reference, or an error.
 */
struct ugm_file_space *ugm_space_open(struct ugm_device *dev, struct file *file)
{
	struct ugm_file_space *fs;
	int err;

	err = ugm_device_usable(dev);
	if (err)
		return ERR_PTR(err);
	if (!current->mm)
		return ERR_PTR(-EINVAL);
	fs = kzalloc(sizeof(*fs), GFP_KERNEL_ACCOUNT);
	if (!fs)
		return ERR_PTR(-ENOMEM);
	err = ugm_events_init(fs);
	if (err)
		goto free;
	err = space_inode(fs, file);
	if (err)
		goto events;

	kref_init(&fs->ref);
	ugm_device_get(dev);
	fs->dev = dev;
	init_rwsem(&fs->ranges_sem);
	mt_init_flags(&fs->ranges, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU);
	xa_init(&fs->tags);
	xa_init(&fs->blocks);
	xa_init(&fs->touch_errors);
	ugm_space_init(&fs->s);
	fs->mm = current->mm;
	mmgrab(fs->mm);
	fs->memcg = get_mem_cgroup_from_mm(current->mm);
	fs->cred = get_current_cred();
	fs->pid = current->tgid;

	mutex_lock(&dev->spaces_lock);
	fs->id = dev->next_space++;
	list_add_tail(&fs->node, &dev->spaces);
	mutex_unlock(&dev->spaces_lock);
	return fs;
events:
	ugm_events_exit(fs);
free:
	kfree(fs);
	return ERR_PTR(err);
}

/**
 * ugm_space_get() - take a reference on a space
 * @fs: space
 *
 * Context: any.
 */
void ugm_space_get(struct ugm_file_space *fs)
{
	kref_get(&fs->ref);
}

static void space_release(struct kref *ref)
{
	struct ugm_file_space *fs = container_of(ref, struct ugm_file_space, ref);

	mem_cgroup_put(fs->memcg);
	put_cred(fs->cred);
	mmdrop(fs->mm);
	xa_destroy(&fs->touch_errors);
	ugm_events_exit(fs);
	ugm_device_put(fs->dev);
	kfree(fs);
}

/**
 * ugm_space_put() - drop a reference on a space
 * @fs: space
 *
 * Context: process context.
 */
void ugm_space_put(struct ugm_file_space *fs)
{
	kref_put(&fs->ref, space_release);
}

/**
 * ugm_space_close() - the file of a space was closed
 * @fs: space; nobody maps it and nobody is in a call on it
 *
 * Its data is gone when this returns. I/O that is still under way is not
 * waited for: its frames and slots come back when it ends.
 *
 * Context: process context.
 */
void ugm_space_close(struct ugm_file_space *fs)
{
	struct ugm_device *dev = fs->dev;

	WRITE_ONCE(fs->closed, true);
	ugm_lane_shutdown(fs);
	ugm_ranges_free(fs);
	mutex_lock(&dev->engine_lock);
	ugm_engine_drop_hints(&dev->engine, &fs->s);
	mutex_unlock(&dev->engine_lock);
	/* Not before: the sum over the spaces is what the engine counts. */
	mutex_lock(&dev->spaces_lock);
	list_del(&fs->node);
	mutex_unlock(&dev->spaces_lock);
	xa_destroy(&fs->blocks);
	xa_destroy(&fs->tags);
	ugm_machine_idle(dev);
	iput(fs->inode);
	ugm_space_put(fs);
}

static bool may_touch(struct ugm_file_space *other)
{
	return uid_eq(current_euid(), other->cred->euid) || capable(CAP_SYS_ADMIN);
}

/**
 * ugm_space_find() - a space by its id
 * @fs: who asks
 * @id: id, or 0 for @fs itself
 *
 * Context: process context.
 * Return: the space, with a reference that the caller drops, or an error:
 * -ENOENT, or -EPERM for the space of another user without CAP_SYS_ADMIN.
 */
struct ugm_file_space *ugm_space_find(struct ugm_file_space *fs, u64 id)
{
	struct ugm_file_space *other, *found = ERR_PTR(-ENOENT);

	if (!id || id == fs->id) {
		ugm_space_get(fs);
		return fs;
	}
	mutex_lock(&fs->dev->spaces_lock);
	list_for_each_entry(other, &fs->dev->spaces, node) {
		if (other->id != id)
			continue;
		if (may_touch(other)) {
			ugm_space_get(other);
			found = other;
		} else {
			found = ERR_PTR(-EPERM);
		}
		break;
	}
	mutex_unlock(&fs->dev->spaces_lock);
	return found;
}

/**
 * ugm_spaces_unplug() - end all use of a device that is gone
 * @dev: device with @gone set
 *
 * Context: process context.
 */
void ugm_spaces_unplug(struct ugm_device *dev)
{
	struct ugm_file_space *fs;

	mutex_lock(&dev->spaces_lock);
	list_for_each_entry(fs, &dev->spaces, node) {
		ugm_lane_shutdown(fs);
		ugm_map_revoke_all(fs);
		wake_up_all(&fs->event_wait);
	}
	mutex_unlock(&dev->spaces_lock);
}

/**
 * ugm_ioc_spaces() - UGM_IOC_SPACES
 * @fs: space
 * @p: struct ugm_ioc_spaces
 *
 * Context: process context.
 */
int ugm_ioc_spaces(struct ugm_file_space *fs, void *p)
{
	struct ugm_ioc_spaces *arg = p;
	struct ugm_device *dev = fs->dev;
	struct ugm_lane_facts lane;
	struct ugm_file_space *other;
	struct ugm_space_desc *desc;
	u32 room, nr = 0;
	int err = 0;

	if (arg->pad)
		return -EINVAL;
	room = min_t(u32, arg->nr, 4096);
	desc = kvcalloc(max(room, 1U), sizeof(*desc), GFP_KERNEL_ACCOUNT);
	if (!desc)
		return -ENOMEM;
	mutex_lock(&dev->spaces_lock);
	list_for_each_entry(other, &dev->spaces, node) {
		if (nr < room) {
			mutex_lock(&dev->engine_lock);
			ugm_lane_facts(other, &lane);
			mutex_unlock(&dev->engine_lock);
			desc[nr].id = other->id;
			desc[nr].blocks = atomic_long_read(&other->nr_blocks);
			desc[nr].launches = READ_ONCE(other->s.launches);
			desc[nr].pid = other->pid;
			desc[nr].uid = from_kuid_munged(current_user_ns(), other->cred->euid);
			desc[nr].lane_pid = lane.pid;
			desc[nr].ranges = READ_ONCE(other->nr_ranges);
		}
		nr++;
	}
	mutex_unlock(&dev->spaces_lock);
	if (copy_to_user(u64_to_user_ptr(arg->spaces), desc,
			 min(room, nr) * sizeof(*desc)))
		err = -EFAULT;
	arg->nr = nr;
	kvfree(desc);
	return err;
}
