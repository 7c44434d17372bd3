// SPDX-License-Identifier: GPL-2.0
#include <linux/anon_inodes.h>
#include <linux/bitmap.h>
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "lane.h"

/**
 * DOC: planner lane
 *
 * A flash server moves blocks between flash and memory for one space. It holds a
 * lane file, maps the transfer window through it, takes leases and gives them
 * back. Only the process that made the file may do so: it sees the whole
 * namespace, which is why making one needs CAP_SYS_ADMIN.
 *
 * User space is never needed for progress. A move comes here only if a server is
 * there and asks for work; one that it does not fetch in time goes to the kernel
 * lane, as do all when the lane file is closed, and further ones until the
 * server asks again.
 */

#define WINDOW_BYTES	SZ_128M
#define DEFAULT_TIMEOUT 1000U /* ms */
#define MAX_TIMEOUT	600000U /* ms */

static void lane_free(struct kref *ref)
{
	kfree(container_of(ref, struct ugm_lane_file, ref));
}

/**
 * ugm_lane_put() - drop a reference on a lane
 * @lane: lane, or NULL
 *
 * Context: any.
 */
void ugm_lane_put(struct ugm_lane_file *lane)
{
	if (lane)
		kref_put(&lane->ref, lane_free);
}

/**
 * ugm_lane_fall_back() - let the kernel lane do moves
 * @lane: the lane they were assigned to
 * @moves: list of moves
 *
 * Context: process context.
 */
void ugm_lane_fall_back(struct ugm_lane_file *lane, struct list_head *moves)
{
	struct ugm_move *m, *next;

	list_for_each_entry_safe(m, next, moves, todo) {
		list_del_init(&m->todo);
		WRITE_ONCE(m->t.lane, UGM_LANE_KERNEL);
		ugm_count(lane->dev, LANE_FALLBACK);
		ugm_flash_again(m);
	}
}

/**
 * ugm_lane_assign() - give a move that starts to the planner lane, if it may
 * @fs: the move's space
 * @m: the move
 *
 * Context: &ugm_device.engine_lock held.
 * Return: true if ugm_lane_queue() is the one to do it, false if it is not for
 * the lane: not flash, wanted by a demand, or no server asks for work.
 */
bool ugm_lane_assign(struct ugm_file_space *fs, struct ugm_move *m)
{
	struct ugm_lane_file *lane = fs->lane;

	lockdep_assert_held(&fs->dev->engine_lock);
	if (!lane || m->t.demand ||
	    (m->t.src != UGM_TIER_FLASH && m->t.dst != UGM_TIER_FLASH))
		return false;
	if (!READ_ONCE(lane->serving) || READ_ONCE(lane->dead))
		return false;
	if (!m->lane) {
		kref_get(&lane->ref);
		m->lane = lane;
	}
	return true;
}

/* Takes all that waits. */
static void take_queue(struct ugm_lane_file *lane, struct list_head *moves)
{
	struct ugm_move *m;

	lockdep_assert_held(&lane->lock);
	list_for_each_entry(m, &lane->queue, todo)
		clear_bit(UGM_MOVE_QUEUED, &m->flags);
	list_splice_tail_init(&lane->queue, moves);
	lane->nr_queued = 0;
}

/**
 * ugm_lane_queue() - the planner lane: let the flash server do a move
 * @m: move that ugm_lane_assign() took, with an I/O reference that
 *     ugm_move_done() takes
 *
 * Context: process context.
 */
void ugm_lane_queue(struct ugm_move *m)
{
	struct ugm_lane_file *lane = m->lane;
	LIST_HEAD(moves);
	int err = m->src_slot ? ugm_slot_read_begin(m) : 0;

	if (err) {
		ugm_move_done(m, err);
		return;
	}
	spin_lock(&lane->lock);
	if (!lane->serving) {
		list_add(&m->todo, &moves);
	} else {
		if (list_empty(&lane->queue))
			lane->since = ktime_get_ns();
		list_add_tail(&m->todo, &lane->queue);
		set_bit(UGM_MOVE_QUEUED, &m->flags);
		lane->nr_queued++;
		lane->seq++;
		queue_delayed_work(ugm_unbound_wq, &lane->expiry,
				   ugm_jiffies_until(lane->since + lane->timeout));
	}
	spin_unlock(&lane->lock);
	wake_up(&lane->wait);
	ugm_lane_fall_back(lane, &moves);
}

/**
 * ugm_lane_void() - the model gave a move up
 * @m: move with UGM_MOVE_VOID set, in whatever lane
 *
 * Context: process context, may sleep; &ugm_device.engine_lock may be held.
 */
void ugm_lane_void(struct ugm_move *m)
{
	struct ugm_lane_file *lane = m->lane;
	struct page *page = NULL;
	bool queued;
	u32 place;

	if (!lane)
		return;
	spin_lock(&lane->lock);
	queued = test_and_clear_bit(UGM_MOVE_QUEUED, &m->flags);
	if (queued) {
		list_del_init(&m->todo);
		lane->nr_queued--;
	} else if (m->lease) {
		page = ugm_move_memory(m);
		place = m->window;
		if (m->dst_slot && !test_and_set_bit(UGM_MOVE_REVOKED, &m->flags))
			atomic_inc(&m->dev->nr_revoked);
	}
	spin_unlock(&lane->lock);
	if (queued)
		ugm_move_done(m, -ECANCELED);
	if (page) {
		ugm_window_wait_for_fault(page);
		ugm_window_unmap(lane, place, 1);
		ugm_count(lane->dev, LEASE_REVOKED);
	}
}

/* No more leases: what the server has and what waits goes to the kernel lane. */
static void lane_end(struct ugm_lane_file *lane)
{
	LIST_HEAD(leases);
	LIST_HEAD(moves);

	spin_lock(&lane->lock);
	lane->dead = true;
	lane->serving = false;
	take_queue(lane, &moves);
	ugm_lease_detach(lane, false, &leases);
	spin_unlock(&lane->lock);
	wake_up_all(&lane->wait);
	ugm_lane_fall_back(lane, &moves);
	ugm_lease_break(lane, &leases, UGM_LEASE_RELEASED);
}

/**
 * ugm_lane_shutdown() - the space ends
 * @fs: space
 *
 * Context: process context, may sleep; takes &ugm_device.engine_lock.
 */
void ugm_lane_shutdown(struct ugm_file_space *fs)
{
	struct ugm_lane_file *lane;

	mutex_lock(&fs->dev->engine_lock);
	lane = fs->lane;
	if (lane)
		kref_get(&lane->ref);
	mutex_unlock(&fs->dev->engine_lock);
	if (!lane)
		return;
	lane_end(lane);
	ugm_lane_put(lane);
}

/**
 * ugm_lanes_wake() - have the flash servers of a device look what has changed
 * @dev: device
 *
 * Context: process context, takes &ugm_device.spaces_lock and engine_lock.
 */
void ugm_lanes_wake(struct ugm_device *dev)
{
	struct ugm_file_space *fs;

	mutex_lock(&dev->spaces_lock);
	mutex_lock(&dev->engine_lock);
	list_for_each_entry(fs, &dev->spaces, node) {
		if (!fs->lane)
			continue;
		spin_lock(&fs->lane->lock);
		fs->lane->seq++;
		spin_unlock(&fs->lane->lock);
		wake_up_all(&fs->lane->wait);
	}
	mutex_unlock(&dev->engine_lock);
	mutex_unlock(&dev->spaces_lock);
}

static void expiry_work(struct work_struct *work)
{
	struct ugm_lane_file *lane = container_of(work, struct ugm_lane_file, expiry.work);
	u64 next = U64_MAX, until;
	LIST_HEAD(leases);
	LIST_HEAD(moves);

	spin_lock(&lane->lock);
	ugm_lease_detach(lane, true, &leases);
	if (!list_empty(&lane->leases))
		next = list_first_entry(&lane->leases, struct ugm_lease, node)->until;
	if (!list_empty(&lane->queue)) {
		until = lane->since + lane->timeout;
		if (ktime_get_ns() >= until) {
			lane->serving = false;
			take_queue(lane, &moves);
		} else {
			next = min(next, until);
		}
	}
	if (next != U64_MAX)
		queue_delayed_work(ugm_unbound_wq, &lane->expiry, ugm_jiffies_until(next));
	spin_unlock(&lane->lock);
	ugm_lane_fall_back(lane, &moves);
	ugm_lease_break(lane, &leases, UGM_LEASE_EXPIRED);
}

/* Waits for work and leases it. Returns how many segments, or an error. */
static int lane_fetch(struct ugm_lane_file *lane, struct ugm_ioc_fetch *arg,
		      struct ugm_segment *segments)
{
	u64 until = ktime_get_ns() + arg->timeout_ms * NSEC_PER_MSEC;
	u32 room = min(arg->nr, UGM_LEASE_SEGMENTS), seq;
	long left = MAX_SCHEDULE_TIMEOUT;
	int nr;

	for (;;) {
		spin_lock(&lane->lock);
		lane->serving = !lane->dead;
		seq = lane->seq;
		spin_unlock(&lane->lock);
		if (READ_ONCE(lane->dead) || !READ_ONCE(lane->dev->flash))
			return -ENODEV;
		nr = ugm_lease_take(lane, room, segments, &arg->lease);
		if (nr)
			return nr;
		if (arg->flags & UGM_FETCH_NOWAIT)
			return -EAGAIN;
		if (arg->timeout_ms) {
			if (ktime_get_ns() >= until)
				return -ETIME;
			left = ugm_jiffies_until(until);
		}
		left = ugm_wait_killable(lane->dev, "lane: flash server waits for work", lane->wait,
					 READ_ONCE(lane->seq) != seq || READ_ONCE(lane->dead), left);
		if (left < 0)
			return -EINTR;
	}
}

static bool fetch_args_valid(const struct ugm_ioc_fetch *arg, bool commit)
{
	bool commit_only = arg->flags & UGM_FETCH_COMMIT_ONLY;

	if (arg->flags & ~(UGM_FETCH_NOWAIT | UGM_FETCH_COMMIT_ONLY))
		return false;
	if (arg->timeout_ms > MAX_TIMEOUT || arg->commit_nr > UGM_LEASE_SEGMENTS)
		return false;
	if (!commit && (commit_only || arg->commit_nr))
		return false;
	return commit_only || arg->nr;
}

static long lane_exchange(struct ugm_lane_file *lane, struct ugm_ioc_fetch *arg, bool commit)
{
	void __user *user = u64_to_user_ptr(arg->segments);
	struct ugm_segment *segments;
	int ret = 0;
	u32 room;

	if (!fetch_args_valid(arg, commit))
		return -EINVAL;
	room = max3(min(arg->nr, UGM_LEASE_SEGMENTS), arg->commit_nr, 1U);
	segments = kvmalloc_array(room, sizeof(*segments), GFP_KERNEL_ACCOUNT);
	if (!segments)
		return -ENOMEM;
	if (commit) {
		if (copy_from_user(segments, user, arg->commit_nr * sizeof(*segments)))
			ret = -EFAULT;
		else
			ret = ugm_lease_commit(lane, arg->lease, segments, arg->commit_nr);
		if (ret)
			goto out;
	}
	arg->lease = 0;
	arg->commit_nr = 0;
	arg->nr = arg->flags & UGM_FETCH_COMMIT_ONLY ? 0 : arg->nr;
	if (!arg->nr)
		goto out;
	ret = lane_fetch(lane, arg, segments);
	if (ret < 0)
		goto out;
	arg->nr = ret;
	ret = 0;
	if (copy_to_user(user, segments, arg->nr * sizeof(*segments))) {
		ugm_lease_drop(lane, arg->lease);
		ret = -EFAULT;
	}
out:
	kvfree(segments);
	return ret;
}

static long lane_ioctl(struct file *file, unsigned int cmd, unsigned long ptr)
{
	struct ugm_lane_file *lane = file->private_data;
	void __user *user = (void __user *)ptr;
	size_t size = _IOC_SIZE(cmd);
	struct ugm_ioc_fetch arg;
	unsigned int nr = _IOC_NR(cmd);
	int err;

	if (_IOC_TYPE(cmd) != _IOC_TYPE(UGM_IOC_FETCH) ||
	    _IOC_DIR(cmd) != _IOC_DIR(UGM_IOC_FETCH) ||
	    (nr != _IOC_NR(UGM_IOC_FETCH) && nr != _IOC_NR(UGM_IOC_COMMIT_AND_FETCH)))
		return -ENOTTY;
	if (current->mm != lane->mm)
		return -EPERM;
	err = copy_struct_from_user(&arg, sizeof(arg), user, size);
	if (err)
		return err;
	err = lane_exchange(lane, &arg, nr == _IOC_NR(UGM_IOC_COMMIT_AND_FETCH));
	if (err)
		return err;
	if (copy_to_user(user, &arg, min(size, sizeof(arg)))) {
		if (arg.lease)
			ugm_lease_drop(lane, arg.lease);
		return -EFAULT;
	}
	return 0;
}

static __poll_t lane_poll(struct file *file, struct poll_table_struct *wait)
{
	struct ugm_lane_file *lane = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &lane->wait, wait);
	spin_lock(&lane->lock);
	if (!list_empty(&lane->queue) && !bitmap_full(lane->taken, lane->nr_places))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (lane->dead)
		mask |= EPOLLERR | EPOLLHUP;
	spin_unlock(&lane->lock);
	return mask;
}

/* What the file alone holds of a lane. */
static void lane_close(struct ugm_lane_file *lane)
{
	cancel_delayed_work_sync(&lane->expiry);
	kvfree(lane->place);
	bitmap_free(lane->taken);
	iput(lane->inode);
	mmdrop(lane->mm);
	ugm_space_put(lane->fs);
	ugm_lane_put(lane);
}

static int lane_release(struct inode *inode, struct file *file)
{
	struct ugm_lane_file *lane = file->private_data;

	mutex_lock(&lane->dev->engine_lock);
	if (lane->fs->lane == lane)
		lane->fs->lane = NULL;
	mutex_unlock(&lane->dev->engine_lock);
	lane_end(lane);
	lane_close(lane);
	return 0;
}

static const struct file_operations lane_fops = {
	.owner = THIS_MODULE,
	.release = lane_release,
	.unlocked_ioctl = lane_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = ugm_window_mmap,
	.get_unmapped_area = thp_get_unmapped_area,
	.poll = lane_poll,
	.llseek = noop_llseek,
};

static struct ugm_lane_file *lane_new(struct ugm_file_space *fs, u32 timeout_ms)
{
	struct ugm_lane_file *lane = kzalloc(sizeof(*lane), GFP_KERNEL_ACCOUNT);
	struct inode *inode;

	if (!lane)
		return ERR_PTR(-ENOMEM);
	lane->nr_places = max_t(u32, WINDOW_BYTES >> fs->dev->block_shift, 1);
	lane->place = kvcalloc(lane->nr_places, sizeof(*lane->place), GFP_KERNEL_ACCOUNT);
	lane->taken = bitmap_zalloc(lane->nr_places, GFP_KERNEL_ACCOUNT);
	inode = alloc_anon_inode(fs->inode->i_sb);
	if (!lane->place || !lane->taken || IS_ERR(inode)) {
		if (!IS_ERR(inode))
			iput(inode);
		bitmap_free(lane->taken);
		kvfree(lane->place);
		kfree(lane);
		return ERR_PTR(-ENOMEM);
	}
	/* Huge mappings need a size that covers them. */
	i_size_write(inode, (u64)lane->nr_places << fs->dev->block_shift);
	lane->inode = inode;
	kref_init(&lane->ref);
	lane->dev = fs->dev;
	ugm_space_get(fs);
	lane->fs = fs;
	lane->mm = current->mm;
	mmgrab(lane->mm);
	lane->pid = current->tgid;
	lane->timeout = timeout_ms * NSEC_PER_MSEC;
	spin_lock_init(&lane->lock);
	init_waitqueue_head(&lane->wait);
	INIT_LIST_HEAD(&lane->queue);
	INIT_LIST_HEAD(&lane->leases);
	INIT_DELAYED_WORK(&lane->expiry, expiry_work);
	lane->next_id = 1;
	return lane;
}

static int lane_create(struct ugm_file_space *fs, struct ugm_ioc_lane *arg)
{
	struct ugm_device *dev = fs->dev;
	struct ugm_lane_file *lane;
	struct file *file;
	int fd, err;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	lane = lane_new(fs, arg->timeout_ms ?: DEFAULT_TIMEOUT);
	if (IS_ERR(lane)) {
		err = PTR_ERR(lane);
		goto put_fd;
	}
	file = anon_inode_getfile("[ugm-lane]", &lane_fops, lane, O_RDWR | O_CLOEXEC);
	if (IS_ERR(file)) {
		err = PTR_ERR(file);
		lane_close(lane);
		goto put_fd;
	}
	file->f_mapping = lane->inode->i_mapping;

	mutex_lock(&dev->engine_lock);
	err = ugm_device_usable(dev);
	if (!err && (!dev->flash || READ_ONCE(fs->closed)))
		err = -ENODEV;
	if (!err && fs->lane)
		err = -EBUSY;
	if (!err)
		fs->lane = lane;
	mutex_unlock(&dev->engine_lock);
	if (err) {
		fput(file);
		goto put_fd;
	}
	arg->window_size = (u64)lane->nr_places << dev->block_shift;
	fd_install(fd, file);
	return fd;

put_fd:
	put_unused_fd(fd);
	return err;
}

/**
 * ugm_lane_create() - make the lane file of a space
 * @fs: who asks
 * @arg: the space, and how long leases may last; out: size of the window
 *
 * Context: process context, may sleep.
 * Return: a close-on-exec file descriptor, -EPERM, -EINVAL (flags, time-out),
 * -ENOENT (no such space), -ENODEV (no namespace, or the space is closed), -EBUSY
 * (the space has a lane), -ENOMEM, -EMFILE.
 */
int ugm_lane_create(struct ugm_file_space *fs, struct ugm_ioc_lane *arg)
{
	struct ugm_file_space *target;
	int fd;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (arg->flags || arg->timeout_ms > MAX_TIMEOUT)
		return -EINVAL;
	target = ugm_space_find(fs, arg->space);
	if (IS_ERR(target))
		return PTR_ERR(target);
	fd = lane_create(target, arg);
	ugm_space_put(target);
	return fd;
}

/**
 * ugm_lane_facts() - tell the state of a space's planner lane
 * @fs: space
 * @facts: out; zeros where there is none
 *
 * Context: process context, &ugm_device.engine_lock held.
 */
void ugm_lane_facts(struct ugm_file_space *fs, struct ugm_lane_facts *facts)
{
	struct ugm_lane_file *lane = fs->lane;

	lockdep_assert_held(&fs->dev->engine_lock);
	memset(facts, 0, sizeof(*facts));
	if (!lane)
		return;
	spin_lock(&lane->lock);
	*facts = (struct ugm_lane_facts){
		.pid = lane->pid,
		.serving = lane->serving,
		.queued = lane->nr_queued,
		.outstanding = lane->nr_leases,
		.leased = lane->nr_leased,
	};
	spin_unlock(&lane->lock);
}
