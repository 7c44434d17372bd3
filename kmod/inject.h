/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UGM_INJECT_H
#define UGM_INJECT_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

struct dentry;
struct ugm_device;
struct ugm_move;

/* What can be injected; the words are in inject.c. */
enum ugm_inject_site {
	UGM_INJECT_LOST,
	UGM_INJECT_STALE,
	UGM_INJECT_SWAP,
	UGM_INJECT_READ_ERROR,
	UGM_INJECT_WRITE_ERROR,
	UGM_INJECT_SHORT,
	UGM_INJECT_DELAY,
	UGM_INJECT_ALLOC_HOST,
	UGM_INJECT_START,
	UGM_INJECT_LOSE_COMPLETION,
	UGM_INJECT_RETURN,
	UGM_NR_INJECT
};

/* Of stale and swap: what becomes of the remembered data. */
enum ugm_inject_memory {
	UGM_MEMORY_NONE,
	UGM_MEMORY_STALE,
	UGM_MEMORY_SWAP_FIRST,
	UGM_MEMORY_SWAP_SECOND,
};

/**
 * struct ugm_inject - failure injection of a device
 * @file: its file in debugfs
 * @lock: protects the rest; taken with interrupts off
 * @armed: a bit a site, and bit UGM_NR_INJECT while "stale" or "swap" has
 *         something to do; read without @lock
 * @left: by site: how many more times until it acts, or a value
 * @memory: what is to be done with @data
 * @block: the block it came from, only ever compared
 * @tag: likewise, its range's tag
 * @index: likewise, its number
 * @data: its data
 * @lost: moves whose completion was lost
 * @kick: wakes those that UGM_INJECT_START made wait
 */
struct ugm_inject {
	struct dentry *file;
	spinlock_t lock;
	unsigned long armed;
	u32 left[UGM_NR_INJECT];
	enum ugm_inject_memory memory;
	const void *block;
	u64 tag;
	u32 index;
	void *data;
	struct list_head lost;
	struct delayed_work kick;
};

void ugm_inject_init(struct ugm_device *dev);
void ugm_inject_exit(struct ugm_device *dev);

/* The sites; each is one test of a word while nothing is armed. */
bool ugm_inject_move(struct ugm_move *m);
int ugm_inject_flash(struct ugm_move *m);
bool ugm_inject_delay(struct ugm_move *m, int error);
bool ugm_inject_short(struct ugm_device *dev);
bool ugm_inject_alloc_host(struct ugm_device *dev);
bool ugm_inject_start(struct ugm_device *dev);

#endif /* UGM_INJECT_H */
