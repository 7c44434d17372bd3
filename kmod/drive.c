// SPDX-License-Identifier: GPL-2.0
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "ugm.h"

/**
 * DOC: driving the engine
 *
 * Whoever wants something of the engine drives it: run the model, do the moves
 * it started, and where it has to wait sleep until there is progress. Under the
 * virtual clock nobody else does; under the others a work item does, when a move
 * has ended or the next event is due: at once while nobody waits, or a launch only
 * sleeps for its duration, else a little later.
 *
 * @progress is bumped whenever a move ends, a demand ends or room was made. It
 * is read before the engine is run, so that nothing that happens meanwhile is
 * missed. A task that waits for a frame and finds nobody who could give one
 * away, for a while, gives up with -ENOSPC.
 */

#define STUCK_LIMIT (4 * HZ)
/* Moves that may fail before whoever waits for one of them is told so. */
#define MAX_FAILURES 64
/* Frames and slots also come back without a word: from a late reference. */
#define POLL msecs_to_jiffies(20)
#define LONGEST_SLEEP_NS (100 * NSEC_PER_MSEC)

static bool wall_clock(const struct ugm_device *dev)
{
	return READ_ONCE(dev->engine.m.clock) != UGM_CLOCK_VIRTUAL;
}

static void drive_in(struct ugm_device *dev, unsigned long delay)
{
	if (wall_clock(dev) && !READ_ONCE(dev->gone) && current_work() != &dev->driver.work)
		mod_delayed_work(ugm_unbound_wq, &dev->driver, delay);
}

/**
 * ugm_drive_kick() - have the work item drive the engine, if the clock has one
 * @dev: device
 *
 * The work item itself sees by @progress that it has to go on.
 *
 * Context: any.
 */
void ugm_drive_kick(struct ugm_device *dev)
{
	drive_in(dev, 0);
}

/**
 * ugm_progress() - something happened that those who wait may wait for
 * @dev: device
 *
 * Who is woken drives the engine, and says so here when it leaves: the work item
 * would only do the same once more, and each wake costs a switch. But others must
 * not wait for long for a task that gets no processor: the work item looks later.
 *
 * Context: any.
 */
void ugm_progress(struct ugm_device *dev)
{
	atomic_inc(&dev->progress);
	if (wq_has_sleeper(&dev->progress_wait)) {
		wake_up_all(&dev->progress_wait);
		drive_in(dev, POLL);
	} else {
		ugm_drive_kick(dev);
	}
}

/* How long until the model's next event, in jiffies, rounded up. */
static unsigned long until_event(struct ugm_device *dev, unsigned long max)
{
	u64 next = ugm_engine_next_event(&dev->engine);

	if (!wall_clock(dev) || next == U64_MAX)
		return max;
	return min(ugm_jiffies_until(next), max);
}

/**
 * ugm_drive_work() - the work item of the wall clocks
 * @work: &ugm_device.driver
 *
 * Context: workqueue.
 */
void ugm_drive_work(struct work_struct *work)
{
	struct ugm_device *dev = container_of(work, struct ugm_device, driver.work);
	int r, seq = atomic_read(&dev->progress);
	unsigned long delay = 0;

	mutex_lock(&dev->engine_lock);
	if (dev->gone || !wall_clock(dev)) {
		mutex_unlock(&dev->engine_lock);
		return;
	}
	ugm_transfer_tell_failed(dev);
	r = ugm_engine_run(&dev->engine, NULL);
	if (r == UGM_RUN_WAIT)
		delay = dev->engine.again ? POLL : until_event(dev, HZ);
	mutex_unlock(&dev->engine_lock);
	ugm_transfer_perform(dev);
	wake_up_all(&dev->progress_wait);
	if (READ_ONCE(dev->gone))
		return;
	if (atomic_read(&dev->progress) != seq)
		mod_delayed_work(ugm_unbound_wq, &dev->driver, 0);
	else if (delay)
		queue_delayed_work(ugm_unbound_wq, &dev->driver, delay);
}

/* Sleep until the end of a launch, as exactly as a timer can, or until killed. */
static int sleep_until(struct ugm_device *dev, u64 end_ns)
{
	struct ugm_waiter w;
	ktime_t expires;
	int err = 0;
	u64 now;

	ugm_wait_begin(dev, &w, "launch duration");
	while (!err && (now = ktime_get_ns()) < end_ns && !READ_ONCE(dev->gone)) {
		/* In steps: the device may be unplugged meanwhile. */
		expires = ns_to_ktime(min(end_ns, now + LONGEST_SLEEP_NS));
		set_current_state(TASK_KILLABLE);
		schedule_hrtimeout(&expires, HRTIMER_MODE_ABS);
		if (fatal_signal_pending(current))
			err = -EINTR;
	}
	ugm_wait_end(dev, &w);
	return err;
}

static bool over(struct ugm_device *dev, const struct ugm_demand *d)
{
	return READ_ONCE(dev->gone) || (d && READ_ONCE(d->done));
}

/* One turn. Returns what the engine says, or an error; says how long to sleep. */
static int turn(struct ugm_device *dev, struct ugm_demand *d, unsigned long *sleep, u64 *wake_ns,
		u64 *placed)
{
	struct ugm_engine *e = &dev->engine;
	int r;

	*sleep = HZ;
	*wake_ns = 0;
	mutex_lock(&dev->engine_lock);
	ugm_transfer_tell_failed(dev);
	if (dev->gone)
		r = -ENODEV;
	else
		r = d ? ugm_engine_run(e, d) : ugm_engine_drain(e);
	/* What was about to come may not come at all. */
	if (d && r == UGM_RUN_WAIT && e->again && !e->nr_moving && !d->end_ns)
		r = UGM_RUN_STUCK;
	*placed = dev->placed;
	if (r == UGM_RUN_STUCK || e->again)
		*sleep = POLL;
	if (r == UGM_RUN_WAIT && d && wall_clock(dev) && d->end_ns && !d->missing)
		*wake_ns = d->end_ns;
	else if (r == UGM_RUN_WAIT)
		*sleep = until_event(dev, *sleep);
	mutex_unlock(&dev->engine_lock);
	return r;
}

/*
 * The flash server may still read what it was to write before that was given up.
 * A later eviction would find the page held, or not, as chance has it: under the
 * virtual clock, let the server or its lease end first.
 */
static long settle(struct ugm_device *dev, const struct ugm_demand *d)
{
	return ugm_wait_killable(dev, "lease that was given up", dev->progress_wait,
				 !atomic_read(&dev->nr_revoked) || over(dev, d), HZ);
}

static int drive(struct ugm_device *dev, struct ugm_demand *d)
{
	unsigned long sleep, stuck_since = 0;
	int r, seq, failures = atomic_read(&dev->failures);
	long left;
	u64 wake_ns, placed, seen = 0;

	for (;;) {
		if (!wall_clock(dev) && atomic_read(&dev->nr_revoked) && settle(dev, d) < 0)
			return -EINTR;
		seq = atomic_read(&dev->progress);
		r = turn(dev, d, &sleep, &wake_ns, &placed);
		ugm_transfer_perform(dev);
		if (r != UGM_RUN_WAIT && r != UGM_RUN_STUCK)
			return r;
		/* A demand of somebody else may have ended in our turn. */
		wake_up_all(&dev->progress_wait);
		if (r == UGM_RUN_STUCK && !d)
			return 0;
		if (atomic_read(&dev->failures) - failures > MAX_FAILURES)
			return -EIO;
		/* While blocks of others find room there is hope. */
		if (r != UGM_RUN_STUCK || !stuck_since || placed != seen) {
			stuck_since = jiffies ?: 1;
			seen = placed;
		} else if (time_after(jiffies, stuck_since + STUCK_LIMIT)) {
			return -ENOSPC;
		}
		if (wake_ns) {
			/* There may be events before that. */
			ugm_drive_kick(dev);
			if (sleep_until(dev, wake_ns))
				return -EINTR;
			continue;
		}
		left = ugm_wait_killable(dev, r == UGM_RUN_STUCK ? "free frame" : "move",
					 dev->progress_wait,
					 atomic_read(&dev->progress) != seq || over(dev, d),
					 sleep);
		if (left < 0)
			return -EINTR;
	}
}

/**
 * ugm_drive() - see a demand through
 * @dev: device
 * @d: the demand, with its question filled in
 *
 * Context: process context, no locks but possibly mmap_lock for reading; sleeps,
 * killable.
 * Return: 0, -EINTR (killed), -ENODEV (unplugged), -EIO (device is broken, or a
 * block is poisoned), -ENOSPC (no room in time), -ENODATA, -ENOMEM or -EBUSY
 * (see ugm_engine_run()).
 */
int ugm_drive(struct ugm_device *dev, struct ugm_demand *d)
{
	int err = ugm_device_usable(dev);

	if (err)
		return err;
	if (mutex_lock_killable(&dev->engine_lock))
		return -EINTR;
	ugm_engine_begin(&dev->engine, d);
	mutex_unlock(&dev->engine_lock);
	err = drive(dev, d);
	if (err && !READ_ONCE(d->done)) {
		mutex_lock(&dev->engine_lock);
		if (!d->done)
			ugm_engine_abort(&dev->engine, d);
		mutex_unlock(&dev->engine_lock);
	}
	ugm_progress(dev);
	return err;
}

/**
 * ugm_drive_drain() - wait until no move is queued or under way
 * @dev: device
 *
 * Context: process context, no locks; sleeps, killable.
 * Return: 0, -EINTR or -ENODEV.
 */
int ugm_drive_drain(struct ugm_device *dev)
{
	int err = drive(dev, NULL);

	/* If it was killed, it may have been woken to drive. */
	ugm_drive_kick(dev);
	return err;
}
