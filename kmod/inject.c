// SPDX-License-Identifier: GPL-2.0
#include <linux/debugfs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "flash.h"
#include "inject.h"

/**
 * DOC: failure injection
 *
 * Stock kernels have no fault injection, so the module has sites of its own,
 * for tests. A word and an optional number (1 where it is left out; 0 disarms)
 * written to the file "inject" in the device's debugfs folder arm one; reading
 * the file tells what is armed.
 *
 * ===================  =====================================================
 * lost N               the N-th next move copies nothing and says it did
 * stale N              the data of the block that the N-th next move takes out
 *                      of memory is remembered; the next time it is moved out
 *                      with other data, the old data arrives
 * swap N               the data of the block that the N-th next move takes out
 *                      of memory goes to the next such block, and that one's to
 *                      it, the next time it is moved out
 * read-error N         the N-th next read of the kernel lane fails with -EIO
 * write-error N        likewise a write
 * short N              the N-th next segment committed in the planner lane
 *                      counts as half done
 * delay-ms N           from now on I/O of the kernel lane ends N ms late
 * alloc-host N         the next N allocations of host pages fail
 * start N              the next N moves find no spare frame at first
 * lose-completion N    the N-th next move is not done and never ends
 * return               moves that "lose-completion" took are done after all
 * ===================  =====================================================
 */

static const char *const site_names[UGM_NR_INJECT] = {
	[UGM_INJECT_LOST] = "lost",
	[UGM_INJECT_STALE] = "stale",
	[UGM_INJECT_SWAP] = "swap",
	[UGM_INJECT_READ_ERROR] = "read-error",
	[UGM_INJECT_WRITE_ERROR] = "write-error",
	[UGM_INJECT_SHORT] = "short",
	[UGM_INJECT_DELAY] = "delay-ms",
	[UGM_INJECT_ALLOC_HOST] = "alloc-host",
	[UGM_INJECT_START] = "start",
	[UGM_INJECT_LOSE_COMPLETION] = "lose-completion",
	[UGM_INJECT_RETURN] = "return",
};

/**
 * struct delayed_end - an end of I/O held back
 * @work: tells it
 * @m: of which move
 * @error: how it ended
 */
struct delayed_end {
	struct delayed_work work;
	struct ugm_move *m;
	int error;
};

static void arm(struct ugm_inject *inj, unsigned int site, bool on)
{
	WRITE_ONCE(inj->armed, on ? inj->armed | BIT(site) : inj->armed & ~BIT(site));
}

static bool is_armed(struct ugm_inject *inj, unsigned int site)
{
	return unlikely(READ_ONCE(inj->armed) & BIT(site));
}

/* Counts one down. Returns what was left, so 1 at the one that is meant. */
static u32 count_down_locked(struct ugm_inject *inj, enum ugm_inject_site site)
{
	u32 left = is_armed(inj, site) ? inj->left[site] : 0;

	lockdep_assert_held(&inj->lock);
	if (left)
		inj->left[site]--;
	if (left <= 1)
		arm(inj, site, false);
	return left;
}

static u32 count_down(struct ugm_inject *inj, enum ugm_inject_site site)
{
	unsigned long flags;
	u32 left;

	if (!is_armed(inj, site))
		return 0;
	spin_lock_irqsave(&inj->lock, flags);
	left = count_down_locked(inj, site);
	spin_unlock_irqrestore(&inj->lock, flags);
	return left;
}

static bool same_block(const struct ugm_inject *inj, const struct ugm_block *b)
{
	return inj->block == b && inj->tag == b->range->tag && inj->index == b->index;
}

static void remember(struct ugm_inject *inj, const struct ugm_block *b, const void *data,
		     size_t len, enum ugm_inject_memory memory)
{
	memcpy(inj->data, data, len);
	inj->block = b;
	inj->tag = b->range->tag;
	inj->index = b->index;
	inj->memory = memory;
}

static void exchange(void *a, void *b, size_t len)
{
	u64 *x = a, *y = b, *end = a + len;

	for (; x < end; x++, y++)
		swap(*x, *y);
}

/*
 * Stale and swap change the source of a move, which is nobody's just then. Moves
 * that are done at the same time take turns.
 */
static void change_source(struct ugm_inject *inj, struct ugm_move *m)
{
	struct ugm_block *b = m->t.block;
	void *src = page_address(m->src_page);
	size_t len = m->dev->block_size;
	unsigned long flags;

	spin_lock_irqsave(&inj->lock, flags);
	if (!inj->data) {
		/* Nothing is remembered, and nothing shall be. */
	} else if (inj->memory == UGM_MEMORY_NONE) {
		if (count_down_locked(inj, UGM_INJECT_STALE) == 1)
			remember(inj, b, src, len, UGM_MEMORY_STALE);
		else if (count_down_locked(inj, UGM_INJECT_SWAP) == 1)
			remember(inj, b, src, len, UGM_MEMORY_SWAP_FIRST);
	} else if (inj->memory == UGM_MEMORY_SWAP_FIRST && !same_block(inj, b)) {
		exchange(src, inj->data, len);
		inj->memory = UGM_MEMORY_SWAP_SECOND;
	} else if (same_block(inj, b) &&
		   (inj->memory == UGM_MEMORY_SWAP_SECOND ||
		    (inj->memory == UGM_MEMORY_STALE && memcmp(src, inj->data, len)))) {
		memcpy(src, inj->data, len);
		inj->memory = UGM_MEMORY_NONE;
		arm(inj, UGM_NR_INJECT, false);
	}
	spin_unlock_irqrestore(&inj->lock, flags);
}

/**
 * ugm_inject_move() - site: a move is about to be done
 * @m: the move, with the reference of its I/O
 *
 * Context: process context.
 * Return: true if it was taken, and must not be done.
 */
bool ugm_inject_move(struct ugm_move *m)
{
	struct ugm_inject *inj = &m->dev->inject;
	unsigned long flags;

	if (likely(!READ_ONCE(inj->armed)))
		return false;
	if (count_down(inj, UGM_INJECT_LOSE_COMPLETION) == 1) {
		spin_lock_irqsave(&inj->lock, flags);
		list_add_tail(&m->todo, &inj->lost);
		spin_unlock_irqrestore(&inj->lock, flags);
		return true;
	}
	if (count_down(inj, UGM_INJECT_LOST) == 1) {
		if (m->dst_slot) {
			ugm_slot_write_begin(m);
			ugm_slot_write_end(m);
		}
		ugm_move_done(m, 0);
		return true;
	}
	/* A block whose move was not given up is freed after a grace period. */
	rcu_read_lock();
	if (is_armed(inj, UGM_NR_INJECT) && m->src_page && !m->t.copy &&
	    !test_bit(UGM_MOVE_VOID, &m->flags))
		change_source(inj, m);
	rcu_read_unlock();
	return false;
}

/**
 * ugm_inject_flash() - site: a bio of the kernel lane has ended well
 * @m: its move
 *
 * Context: any.
 * Return: 0 or -EIO.
 */
int ugm_inject_flash(struct ugm_move *m)
{
	enum ugm_inject_site site = m->dst_slot ? UGM_INJECT_WRITE_ERROR : UGM_INJECT_READ_ERROR;

	return count_down(&m->dev->inject, site) == 1 ? -EIO : 0;
}

static void delayed_end(struct work_struct *work)
{
	struct delayed_end *d = container_of(work, struct delayed_end, work.work);

	ugm_flash_ended(d->m, d->error);
	kfree(d);
}

/**
 * ugm_inject_delay() - site: a bio of the kernel lane is about to end its move
 * @m: its move
 * @error: how it ended
 *
 * Context: any.
 * Return: true if ugm_flash_ended() will be called later.
 */
bool ugm_inject_delay(struct ugm_move *m, int error)
{
	struct ugm_inject *inj = &m->dev->inject;
	struct delayed_end *d;

	if (!is_armed(inj, UGM_INJECT_DELAY))
		return false;
	d = kmalloc(sizeof(*d), GFP_ATOMIC);
	if (!d)
		return false;
	d->m = m;
	d->error = error;
	INIT_DELAYED_WORK(&d->work, delayed_end);
	queue_delayed_work(m->dev->flash->wq, &d->work,
			   msecs_to_jiffies(READ_ONCE(inj->left[UGM_INJECT_DELAY])));
	return true;
}

/**
 * ugm_inject_short() - site: a segment of the planner lane is committed
 * @dev: device
 *
 * Context: any.
 * Return: true if it counts as half done.
 */
bool ugm_inject_short(struct ugm_device *dev)
{
	return count_down(&dev->inject, UGM_INJECT_SHORT) == 1;
}

/**
 * ugm_inject_alloc_host() - site: a host page is about to be allocated
 * @dev: device
 *
 * Context: any.
 * Return: true if there is no memory.
 */
bool ugm_inject_alloc_host(struct ugm_device *dev)
{
	return count_down(&dev->inject, UGM_INJECT_ALLOC_HOST);
}

static void kick_work(struct work_struct *work)
{
	ugm_progress(container_of(work, struct ugm_device, inject.kick.work));
}

/**
 * ugm_inject_start() - site: a move is about to take its destination
 * @dev: device
 *
 * Context: any.
 * Return: true if there is none just now; ugm_progress() follows.
 */
bool ugm_inject_start(struct ugm_device *dev)
{
	if (!count_down(&dev->inject, UGM_INJECT_START))
		return false;
	schedule_delayed_work(&dev->inject.kick, 1);
	return true;
}

/* Gives lost moves back to those who do moves, or ends them. */
static void return_lost(struct ugm_device *dev, int error)
{
	struct ugm_inject *inj = &dev->inject;
	struct ugm_move *m, *next;
	LIST_HEAD(lost);

	spin_lock_irq(&inj->lock);
	list_splice_init(&inj->lost, &lost);
	spin_unlock_irq(&inj->lock);
	list_for_each_entry_safe(m, next, &lost, todo) {
		list_del_init(&m->todo);
		if (error || test_bit(UGM_MOVE_VOID, &m->flags)) {
			ugm_move_done(m, error ?: -ECANCELED);
			continue;
		}
		spin_lock_irq(&dev->moves_lock);
		list_add_tail(&m->todo, &dev->todo);
		spin_unlock_irq(&dev->moves_lock);
	}
	ugm_progress(dev);
}

static int set_site(struct ugm_device *dev, enum ugm_inject_site site, u32 n)
{
	struct ugm_inject *inj = &dev->inject;
	bool remembers = site == UGM_INJECT_STALE || site == UGM_INJECT_SWAP;
	void *data = NULL;

	if (remembers && n) {
		data = kvmalloc(dev->block_size, GFP_KERNEL);
		if (!data)
			return -ENOMEM;
	}
	spin_lock_irq(&inj->lock);
	inj->left[site] = n;
	arm(inj, site, n);
	if (remembers) {
		inj->memory = UGM_MEMORY_NONE;
		arm(inj, UGM_NR_INJECT, n);
		swap(inj->data, data);
	}
	spin_unlock_irq(&inj->lock);
	kvfree(data);
	return 0;
}

static ssize_t inject_write(struct file *file, const char __user *ubuf, size_t len, loff_t *pos)
{
	struct ugm_device *dev = ((struct seq_file *)file->private_data)->private;
	char buf[64], *arg, *word;
	int site, err = 0;
	u32 n = 1;

	if (len >= sizeof(buf))
		return -EINVAL;
	if (copy_from_user(buf, ubuf, len))
		return -EFAULT;
	buf[len] = '\0';
	arg = strim(buf);
	word = strsep(&arg, " ");
	site = match_string(site_names, UGM_NR_INJECT, word);
	if (site < 0 || (arg && (site == UGM_INJECT_RETURN || kstrtou32(strim(arg), 0, &n)))) {
		pr_err("%s: cannot inject \"%s%s%s\"\n", dev->name, word, arg ? " " : "", arg ?: "");
		return -EINVAL;
	}
	if (site == UGM_INJECT_RETURN)
		return_lost(dev, 0);
	else
		err = set_site(dev, site, n);
	return err ?: len;
}

static int inject_show(struct seq_file *s, void *unused)
{
	struct ugm_device *dev = s->private;
	struct ugm_inject *inj = &dev->inject;
	struct ugm_move *m;
	u32 i, lost = 0;

	spin_lock_irq(&inj->lock);
	for (i = 0; i < UGM_INJECT_RETURN; i++)
		if (inj->armed & BIT(i))
			seq_printf(s, "%s %u\n", site_names[i], inj->left[i]);
	if (inj->memory != UGM_MEMORY_NONE)
		seq_printf(s, "%s under way\n",
			   inj->memory == UGM_MEMORY_STALE ? "stale" : "swap");
	list_for_each_entry(m, &inj->lost, todo)
		lost++;
	spin_unlock_irq(&inj->lock);
	if (lost)
		seq_printf(s, "%u moves lost\n", lost);
	return 0;
}

static int inject_open(struct inode *inode, struct file *file)
{
	return single_open(file, inject_show, inode->i_private);
}

static const struct file_operations inject_fops = {
	.owner = THIS_MODULE,
	.open = inject_open,
	.read = seq_read,
	.write = inject_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/**
 * ugm_inject_init() - set failure injection up, with nothing armed
 * @dev: device, with its debugfs folder
 *
 * Context: process context.
 */
void ugm_inject_init(struct ugm_device *dev)
{
	struct ugm_inject *inj = &dev->inject;

	spin_lock_init(&inj->lock);
	INIT_LIST_HEAD(&inj->lost);
	INIT_DELAYED_WORK(&inj->kick, kick_work);
	inj->file = debugfs_create_file("inject", 0600, dev->debugfs, dev, &inject_fops);
}

/**
 * ugm_inject_exit() - disarm everything and end what was lost
 * @dev: device that is being unplugged
 *
 * Context: process context, may sleep.
 */
void ugm_inject_exit(struct ugm_device *dev)
{
	struct ugm_inject *inj = &dev->inject;
	void *data;

	debugfs_remove(inj->file);
	spin_lock_irq(&inj->lock);
	WRITE_ONCE(inj->armed, 0);
	data = inj->data;
	inj->data = NULL;
	spin_unlock_irq(&inj->lock);
	kvfree(data);
	cancel_delayed_work_sync(&inj->kick);
	return_lost(dev, -ENODEV);
}
