// SPDX-License-Identifier: GPL-2.0
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include "trace.h"
#include "ugm.h"

/**
 * DOC: waits
 *
 * Whoever sleeps in the module for something that others have to do is
 * killable, and is listed with the reason while it sleeps: debugfs shows the
 * list, the tracepoint ugm_wait the times.
 *
 * Time limits are times of ktime_get_ns(), and whoever wakes up looks whether it
 * is that late: jiffies may lag behind, and a sleep of so many end early.
 */

/**
 * ugm_jiffies_until() - how long to sleep
 * @ns: until when, as of ktime_get_ns()
 *
 * Context: any.
 * Return: jiffies, at least one.
 */
unsigned long ugm_jiffies_until(u64 ns)
{
	u64 now = ktime_get_ns();

	return ns > now ? nsecs_to_jiffies64(ns - now) + 1 : 1;
}

/**
 * ugm_wait_begin() - tell that the current task is going to sleep
 * @dev: device
 * @w: record on the caller's stack
 * @reason: why, a constant string
 *
 * Context: process context.
 */
void ugm_wait_begin(struct ugm_device *dev, struct ugm_waiter *w, const char *reason)
{
	w->reason = reason;
	w->pid = current->pid;
	w->since_ns = ktime_get_ns();
	spin_lock(&dev->waiters_lock);
	list_add_tail(&w->node, &dev->waiters);
	spin_unlock(&dev->waiters_lock);
}

/**
 * ugm_wait_end() - and that it woke up
 * @dev: device
 * @w: what ugm_wait_begin() filled
 *
 * Context: process context.
 */
void ugm_wait_end(struct ugm_device *dev, struct ugm_waiter *w)
{
	u64 ns = ktime_get_ns() - w->since_ns;

	spin_lock(&dev->waiters_lock);
	list_del(&w->node);
	spin_unlock(&dev->waiters_lock);
	ugm_count(dev, WAITS);
	ugm_count_n(dev, UGM_C_WAIT_NS, ns);
	trace_ugm_wait(dev->name, w->reason, ns);
}
