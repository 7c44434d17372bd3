/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UGM_FLASH_H
#define UGM_FLASH_H

#include <linux/bio.h>
#include <linux/xarray.h>

#include "compat.h"
#include "ugm.h"

/**
 * struct ugm_flash - the attached namespace
 * @dev: device whose flash tier it is
 * @claim: the block device
 * @path: its device node
 * @start: its first byte that is used
 * @discards: it can discard
 * @wq: where all its work items run
 *
 * Kernel lane (flash.c):
 * @bios: bios come from here, so that one can always be had
 * @io_lock: protects @todo and @failed; taken with interrupts off
 * @todo: moves to submit
 * @failed: moves whose write failed
 * @again: moves that wait for a destination to be done again
 * @io: submits @todo, mends @failed
 * @again_io: retries @again
 *
 * Slots (slot.c), under the xarray's lock, taken with interrupts off:
 * @slots: chunks of struct ugm_slot by slot number / slots of a chunk
 * @taken: slots that cannot be allocated: in use, bad, being discarded
 * @nr: slots
 * @cursor: where the search for a free one begins
 * @used: slots owned by somebody
 * @bad: bad slots
 * @discarding: slots being discarded
 * @starved: an allocation found nothing but slots being discarded
 * @writes: slot writes
 * @max_writes: most writes of one slot
 * @discarded: slots discarded
 * @discard: discards free slots
 * @quarantine: slots that old I/O may still hit
 * @quarantined: how many
 * @release: looks after @quarantine
 */
struct ugm_flash {
	struct ugm_device *dev;
	struct ugm_claim claim;
	char path[sizeof_field(struct ugm_ioc_info, namespace_path)];
	u64 start;
	bool discards;
	struct workqueue_struct *wq;

	struct bio_set bios;
	spinlock_t io_lock;
	struct list_head todo;
	struct list_head failed;
	struct list_head again;
	struct work_struct io;
	struct delayed_work again_io;

	struct xarray slots;
	unsigned long *taken;
	u32 nr;
	u32 cursor;
	u32 used;
	u32 bad;
	u32 discarding;
	bool starved;
	u64 writes;
	u32 max_writes;
	u64 discarded;
	struct delayed_work discard;
	struct list_head quarantine;
	u32 quarantined;
	struct delayed_work release;
};

/* flash.c */
void ugm_flash_ended(struct ugm_move *m, int error);

/* slot.c */
int ugm_slots_init(struct ugm_flash *flash, u32 nr);
void ugm_slots_exit(struct ugm_flash *flash);
int ugm_slot_read_begin(struct ugm_move *m);
void ugm_slot_write_begin(struct ugm_move *m);
void ugm_slot_write_end(struct ugm_move *m);
void ugm_slot_bad(struct ugm_flash *flash, u32 slot);
void ugm_slot_quarantine(struct ugm_flash *flash, u32 slot, struct page *page, bool host,
			 bool revoked);
u64 ugm_slot_offset(const struct ugm_flash *flash, u32 slot);

#endif /* UGM_FLASH_H */
