// SPDX-License-Identifier: GPL-2.0
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ioctl.h"
#include "ugm.h"

/**
 * DOC: hints
 *
 * Hints come in batches, by tag. Each is resolved to blocks here, with its own
 * result; from there on it is the engine's, which holds it until its launch.
 * Another process of the same user may feed a space too, which its results then
 * say.
 */

#define MAX_HINTS 65536
/* Hints looked at between two copies from user space. */
#define CHUNK 128

/**
 * struct file_hint - a hint in the module
 * @h: the engine's part
 * @fs: its space, which outlives it
 */
struct file_hint {
	struct ugm_hint h;
	struct ugm_file_space *fs;
};

static struct kmem_cache *hint_cache;

/**
 * ugm_hints_init() - what hints are made of
 *
 * Context: module init.
 */
int ugm_hints_init(void)
{
	hint_cache = kmem_cache_create("ugm_hint", sizeof(struct file_hint), 0, SLAB_ACCOUNT,
				       NULL);
	return hint_cache ? 0 : -ENOMEM;
}

/**
 * ugm_hints_exit() - undo ugm_hints_init()
 *
 * Context: module exit; no hint is left.
 */
void ugm_hints_exit(void)
{
	kmem_cache_destroy(hint_cache);
}

/**
 * ugm_hint_done() - the engine is done with a hint
 * @e: engine
 * @h: hint
 * @refused: blocks of it that were not followed
 * @why: the last reason, enum ugm_refusal
 *
 * Context: engine_lock held.
 */
void ugm_hint_done(struct ugm_engine *e, struct ugm_hint *h, u64 refused, u32 why)
{
	struct file_hint *fh = container_of(h, struct file_hint, h);

	if (h->nr > refused)
		ugm_event(fh->fs, UGM_EVENT_HINT_DONE, h->cookie, h->nr - refused);
	if (refused)
		ugm_event(fh->fs, UGM_EVENT_HINT_REFUSED, h->cookie, why);
	atomic_long_sub(sizeof(*fh), &ugm_device_of(e)->metadata);
	kmem_cache_free(hint_cache, fh);
}

static bool tier_fits(const struct ugm_hint_desc *d)
{
	switch (d->op) {
	case UGM_HINT_PREFETCH:
		return d->tier == UGM_TIER_ID_GPU || d->tier == UGM_TIER_ID_HOST;
	case UGM_HINT_EVICT:
	case UGM_HINT_WRITEBACK:
		return d->tier == UGM_TIER_ID_HOST || d->tier == UGM_TIER_ID_FLASH;
	default:
		return d->tier == 0;
	}
}

/* The blocks a hint speaks of. An inward rounding may leave none. */
static int resolve(struct ugm_file_space *fs, const struct ugm_hint_desc *d, struct ugm_hint *h)
{
	u64 size = fs->dev->block_size, len, first, end;
	struct ugm_file_range *r;

	if (d->op >= UGM_NR_OPS || d->pad || !tier_fits(d))
		return -EINVAL;
	r = xa_load(&fs->tags, d->tag);
	if (!r)
		return -ENOENT;
	if (d->offset >= r->len || d->len > r->len - d->offset)
		return -ERANGE;
	len = d->len ?: r->len - d->offset;
	end = d->offset + len;
	if (d->op == UGM_HINT_EVICT || d->op == UGM_HINT_DISCARD || d->op == UGM_HINT_WRITEBACK) {
		first = (d->offset + size - 1) >> fs->dev->block_shift;
		/* The last block of a range may be shorter than a block. */
		if (end < r->len)
			end = round_down(end, size);
	} else {
		first = d->offset >> fs->dev->block_shift;
	}
	end = (end + size - 1) >> fs->dev->block_shift;
	h->range = &r->r;
	h->first = first;
	h->nr = end > first ? end - first : 0;
	h->at = d->at == UGM_HINT_NOW ? UGM_AT_NOW : d->at;
	h->need = d->need == UGM_HINT_NO_NEED ? UGM_NEED_NONE : d->need;
	h->cookie = d->cookie;
	h->op = d->op;
	h->tier = d->tier;
	return 0;
}

/* Take one hint. Context: ranges_sem held. */
static int take(struct ugm_file_space *fs, const struct ugm_hint_desc *d, bool foreign)
{
	struct ugm_device *dev = fs->dev;
	struct file_hint *fh;
	int err;

	fh = kmem_cache_zalloc(hint_cache, GFP_KERNEL);
	if (!fh)
		return -ENOMEM;
	fh->fs = fs;
	err = resolve(fs, d, &fh->h);
	if (err || !fh->h.nr) {
		kmem_cache_free(hint_cache, fh);
		return err;
	}
	atomic_long_add(sizeof(*fh), &dev->metadata);
	mutex_lock(&dev->engine_lock);
	if (foreign)
		dev->engine.inexact |= UGM_INEXACT_FOREIGN;
	ugm_engine_hint(&dev->engine, &fs->s, &fh->h);
	mutex_unlock(&dev->engine_lock);
	return 0;
}

static int take_batch(struct ugm_file_space *fs, struct ugm_ioc_hint *arg, bool foreign)
{
	struct ugm_hint_desc __user *user = u64_to_user_ptr(arg->hints);
	struct ugm_hint_desc *d;
	u32 n, i, done;
	int err = 0;

	d = kmalloc_array(CHUNK, sizeof(*d), GFP_KERNEL_ACCOUNT);
	if (!d)
		return -ENOMEM;
	for (done = 0; done < arg->nr && !err; done += n) {
		n = min_t(u32, arg->nr - done, CHUNK);
		if (copy_from_user(d, user + done, n * sizeof(*d))) {
			err = -EFAULT;
			break;
		}
		down_read(&fs->ranges_sem);
		for (i = 0; i < n; i++)
			d[i].result = READ_ONCE(fs->closed) ? -ENODEV : take(fs, &d[i], foreign);
		up_read(&fs->ranges_sem);
		if (copy_to_user(user + done, d, n * sizeof(*d)))
			err = -EFAULT;
		else if (fatal_signal_pending(current))
			err = -EINTR;
		cond_resched();
	}
	kfree(d);
	arg->done = done;
	/* What was taken cannot be taken back: the user sees how far it got. */
	return done ? 0 : err;
}

/**
 * ugm_ioc_hint() - UGM_IOC_HINT
 * @fs: who gives them
 * @p: struct ugm_ioc_hint
 *
 * Context: process context.
 */
int ugm_ioc_hint(struct ugm_file_space *fs, void *p)
{
	struct ugm_ioc_hint *arg = p;
	struct ugm_file_space *to;
	int err;

	if (arg->pad || arg->nr > MAX_HINTS)
		return -EINVAL;
	to = ugm_space_find(fs, arg->space);
	if (IS_ERR(to))
		return PTR_ERR(to);
	arg->done = 0;
	err = ugm_device_usable(to->dev);
	if (!err)
		err = take_batch(to, arg, current->tgid != to->pid);
	ugm_progress(to->dev);
	ugm_space_put(to);
	return err;
}
