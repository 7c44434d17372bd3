// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/uaccess.h>

#include "ugm.h"

/**
 * DOC: events
 *
 * What a user may want to know and did not ask: a ring for each space, read
 * from the device file in whole records. When it is full the newest is lost,
 * and the next one that is not says how many were.
 */

/**
 * ugm_events_init() - a space gets its ring
 * @fs: space
 *
 * Context: process context.
 */
int ugm_events_init(struct ugm_file_space *fs)
{
	spin_lock_init(&fs->event_lock);
	mutex_init(&fs->event_read);
	init_waitqueue_head(&fs->event_wait);
	fs->events = kvcalloc(UGM_EVENT_RING, sizeof(*fs->events), GFP_KERNEL_ACCOUNT);
	return fs->events ? 0 : -ENOMEM;
}

/**
 * ugm_events_exit() - undo ugm_events_init()
 * @fs: space
 *
 * Context: process context.
 */
void ugm_events_exit(struct ugm_file_space *fs)
{
	kvfree(fs->events);
}

/**
 * ugm_event() - tell the readers of a space something
 * @fs: space
 * @type: UGM_EVENT_*
 * @a: see the type
 * @b: see the type
 *
 * Context: any.
 */
void ugm_event(struct ugm_file_space *fs, u32 type, u64 a, u64 b)
{
	struct ugm_event_desc *ev;
	unsigned long flags;

	spin_lock_irqsave(&fs->event_lock, flags);
	if (fs->event_head - fs->event_tail == UGM_EVENT_RING) {
		fs->events_lost++;
		ugm_count(fs->dev, EVENTS_LOST);
	} else {
		ev = &fs->events[fs->event_head++ % UGM_EVENT_RING];
		ev->time_ns = READ_ONCE(fs->dev->engine.now_ns);
		ev->type = type;
		ev->lost = fs->events_lost;
		ev->a = a;
		ev->b = b;
		fs->events_lost = 0;
	}
	spin_unlock_irqrestore(&fs->event_lock, flags);
	wake_up_interruptible(&fs->event_wait);
}

/* The oldest one, which stays: under event_read nobody else takes it. */
static bool oldest(struct ugm_file_space *fs, struct ugm_event_desc *ev)
{
	bool any;

	spin_lock_irq(&fs->event_lock);
	any = fs->event_head != fs->event_tail;
	if (any)
		*ev = fs->events[fs->event_tail % UGM_EVENT_RING];
	spin_unlock_irq(&fs->event_lock);
	return any;
}

static void forget_oldest(struct ugm_file_space *fs)
{
	spin_lock_irq(&fs->event_lock);
	fs->event_tail++;
	spin_unlock_irq(&fs->event_lock);
}

/* Hand over what fits. An event leaves the ring when it has arrived. */
static ssize_t hand_over(struct ugm_file_space *fs, char __user *buf, size_t len)
{
	struct ugm_event_desc ev;
	ssize_t done = 0;

	if (mutex_lock_interruptible(&fs->event_read))
		return -ERESTARTSYS;
	while (len - done >= sizeof(ev) && oldest(fs, &ev)) {
		if (copy_to_user(buf + done, &ev, sizeof(ev))) {
			done = done ?: -EFAULT;
			break;
		}
		forget_oldest(fs);
		done += sizeof(ev);
	}
	mutex_unlock(&fs->event_read);
	return done;
}

static bool readable(struct ugm_file_space *fs)
{
	return READ_ONCE(fs->event_head) != READ_ONCE(fs->event_tail);
}

/**
 * ugm_event_read() - read() on the device file
 * @file: device file
 * @buf: for whole records
 * @len: bytes of it
 * @pos: ignored
 *
 * Context: process context; sleeps, interruptible, for the first record.
 * Return: bytes; -EINVAL (no room for one), -EFAULT, -EAGAIN, -ENODEV,
 * -ERESTARTSYS. An event that was not handed over stays.
 */
ssize_t ugm_event_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	struct ugm_file_space *fs = file->private_data;
	ssize_t ret;

	if (len < sizeof(struct ugm_event_desc))
		return -EINVAL;
	/* Another reader may have been faster: then there is nothing yet. */
	while (!(ret = hand_over(fs, buf, len))) {
		if (READ_ONCE(fs->dev->gone))
			return -ENODEV;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible(fs->event_wait,
					       readable(fs) || READ_ONCE(fs->dev->gone));
		if (ret)
			return ret;
	}
	return ret;
}

/**
 * ugm_event_poll() - poll() on the device file
 * @file: device file
 * @wait: poll table
 *
 * Context: process context.
 */
__poll_t ugm_event_poll(struct file *file, struct poll_table_struct *wait)
{
	struct ugm_file_space *fs = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &fs->event_wait, wait);
	if (readable(fs))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(fs->dev->gone))
		mask |= EPOLLHUP | EPOLLERR;
	return mask;
}
