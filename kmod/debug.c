// SPDX-License-Identifier: GPL-2.0
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/timekeeping.h>

#include "ugm.h"

/**
 * DOC: debugfs
 *
 * A folder a device, for people: "blocks" has a line for each block, "moves" for
 * each live move, "waiters" for each task that sleeps in the module and why,
 * "check" checks the invariants when it is read, "copy" measures how fast this
 * kernel copies blocks, "inject" injects failures.
 */

static struct dentry *ugm_debugfs;

static int blocks_show(struct seq_file *s, void *unused)
{
	struct ugm_device *dev = s->private;
	struct ugm_file_space *fs;
	struct ugm_block *b;
	unsigned long at;

	seq_puts(s, "# space address tag home copies flags pins frame pfn slot\n");
	mutex_lock(&dev->spaces_lock);
	mutex_lock(&dev->engine_lock);
	list_for_each_entry(fs, &dev->spaces, node)
		xa_for_each(&fs->blocks, at, b)
			seq_printf(s, "%llu %#llx %llu %s %#x %s%s%s%s%s %u %u %#x %u\n", fs->id,
				   (u64)at << dev->block_shift, b->range->tag,
				   ugm_tier_name(ugm_state_home(b->state)),
				   ugm_state_copies(b->state), b->state & UGM_S_DIRTY ? "D" : "-",
				   b->state & UGM_S_BUSY ? "B" : "-",
				   b->state & UGM_S_PIN ? "P" : "-",
				   b->state & UGM_S_DEAD ? "X" : "-",
				   b->state & UGM_S_POISON ? "!" : "-", ugm_state_pins(b->state),
				   b->gpu_frame, b->host_pfn, b->slot);
	mutex_unlock(&dev->engine_lock);
	mutex_unlock(&dev->spaces_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(blocks);

static int moves_show(struct seq_file *s, void *unused)
{
	struct ugm_device *dev = s->private;
	struct ugm_engine *e = &dev->engine;
	struct ugm_move *m;
	unsigned int src, dst;

	mutex_lock(&dev->engine_lock);
	seq_printf(s, "# now %llu ns, %llu under way\n", e->now_ns, e->nr_moving);
	for (src = 0; src < UGM_NR_TIERS; src++)
		for (dst = 0; dst < UGM_NR_TIERS; dst++)
			if (e->queue[src][dst].nr)
				seq_printf(s, "# queued from %s to %s: %llu\n", ugm_tier_name(src),
					   ugm_tier_name(dst), e->queue[src][dst].nr);
	seq_puts(s, "# source destination phase cause lane state error\n");
	spin_lock_irq(&dev->moves_lock);
	list_for_each_entry(m, &dev->moves, all)
		seq_printf(s, "%s %s %u %u %u %s%s %d\n", ugm_tier_name(m->t.src),
			   ugm_tier_name(m->t.dst), m->t.phase, m->t.cause, m->t.lane,
			   test_bit(UGM_MOVE_DONE, &m->flags) ? "done" : "pending",
			   test_bit(UGM_MOVE_VOID, &m->flags) ? ",void" : "", m->error);
	spin_unlock_irq(&dev->moves_lock);
	mutex_unlock(&dev->engine_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(moves);

static int waiters_show(struct seq_file *s, void *unused)
{
	struct ugm_device *dev = s->private;
	struct ugm_waiter *w;
	u64 now = ktime_get_ns();

	seq_puts(s, "# pid ns reason\n");
	spin_lock(&dev->waiters_lock);
	list_for_each_entry(w, &dev->waiters, node)
		seq_printf(s, "%d %llu %s\n", w->pid, now - w->since_ns, w->reason);
	spin_unlock(&dev->waiters_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(waiters);

static int check_show(struct seq_file *s, void *unused)
{
	seq_printf(s, "%llu\n", ugm_check(s->private));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(check);

static int copy_show(struct seq_file *s, void *unused)
{
	u64 bytes;
	s64 ns = ugm_page_copy_ns(s->private, &bytes);

	if (ns < 0)
		return ns;
	seq_printf(s, "%llu %lld\n", bytes, ns);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(copy);

/**
 * ugm_debug_init() - the module's folder in debugfs
 *
 * Context: module init.
 * Return: 0: what goes wrong with debugfs is no reason to fail.
 */
int ugm_debug_init(void)
{
	ugm_debugfs = debugfs_create_dir("ugm", NULL);
	return 0;
}

/**
 * ugm_debug_exit() - undo ugm_debug_init()
 *
 * Context: module exit.
 */
void ugm_debug_exit(void)
{
	debugfs_remove(ugm_debugfs);
}

/**
 * ugm_debug_add() - a device's folder
 * @dev: device
 *
 * Context: process context.
 */
void ugm_debug_add(struct ugm_device *dev)
{
	dev->debugfs = debugfs_create_dir(dev->name, ugm_debugfs);
	debugfs_create_file("blocks", 0400, dev->debugfs, dev, &blocks_fops);
	debugfs_create_file("moves", 0400, dev->debugfs, dev, &moves_fops);
	debugfs_create_file("waiters", 0400, dev->debugfs, dev, &waiters_fops);
	debugfs_create_file("check", 0400, dev->debugfs, dev, &check_fops);
	debugfs_create_file("copy", 0400, dev->debugfs, dev, &copy_fops);
	ugm_inject_init(dev);
}

/**
 * ugm_debug_remove() - undo ugm_debug_add(); waits for readers
 * @dev: device
 *
 * Context: process context.
 */
void ugm_debug_remove(struct ugm_device *dev)
{
	ugm_inject_exit(dev);
	debugfs_remove(dev->debugfs);
	dev->debugfs = NULL;
}
