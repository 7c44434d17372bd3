/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UGM_MOVE_H
#define UGM_MOVE_H

#include <linux/kref.h>
#include <linux/mm_types.h>
#include "engine.h"

struct ugm_device;
struct ugm_lease;

/**
 * DOC: moves
 *
 * A move is the real shadow of a transfer of the model. ops->start (engine
 * mutex held) takes the destination's frame or slot, chooses the lane and puts
 * the move on the device's list of moves to do; ugm_transfer_perform(), called
 * without the engine mutex, does them: it copies between memory tiers, submits
 * bios (kernel lane), or hands them to the flash server (planner lane). Whoever
 * finishes one calls ugm_move_done(), from any context.
 *
 * A move outlives its transfer where the model gives up (cancel) while I/O is
 * under way: the transfer's reference is dropped, the I/O's keeps frame and
 * slot away from re-use until nothing can hit them any more.
 */

/* &ugm_move.flags, bit numbers */
enum {
	UGM_MOVE_DONE, /* the real move has finished, see error */
	UGM_MOVE_VOID, /* the model gave it up: release what it took when it ends */
};

/**
 * struct ugm_move - a transfer and where its data really is
 * @t: the model's part
 * @dev: device
 * @ref: one of the transfer, one of the I/O under way
 * @todo: membership in the device's list of moves to do, or in a lane's queue
 * @flags: UGM_MOVE_*
 * @error: 0 or a negative errno, valid with UGM_MOVE_DONE
 * @src_page: head page of the source, where it is memory
 * @dst_page: head page of the destination, where it is memory
 * @src_slot: flash slot + 1 of the source, where it is flash
 * @dst_slot: flash slot + 1 of the destination, where it is flash
 * @dst_frame: index + 1 of the GPU frame behind @dst_page, or 0
 * @lease: the lease it is part of, or NULL (the lane's lock)
 * @window: its place in the transfer window (the lane's lock)
 */
struct ugm_move {
	struct ugm_transfer t;
	struct ugm_device *dev;
	struct kref ref;
	struct list_head todo;
	unsigned long flags;
	int error;
	struct page *src_page;
	struct page *dst_page;
	u32 src_slot;
	u32 dst_slot;
	u32 dst_frame;
	struct ugm_lease *lease;
	u32 window;
};

static inline struct ugm_move *ugm_move_of(struct ugm_transfer *t)
{
	return container_of(t, struct ugm_move, t);
}

/* transfer.c: performs moves */
void ugm_move_get(struct ugm_move *m);
void ugm_move_put(struct ugm_move *m);
void ugm_move_done(struct ugm_move *m, int error);
int ugm_move_new_frame(struct ugm_move *m);
int ugm_move_new_slot(struct ugm_move *m);

/* flash.c: the namespace, its slots and the kernel lane */
struct ugm_ioc_attach;
int ugm_flash_attach(struct ugm_device *dev, const struct ugm_ioc_attach *arg);
int ugm_flash_detach(struct ugm_device *dev);
u32 ugm_flash_slot_alloc(struct ugm_device *dev);
void ugm_flash_slot_free(struct ugm_device *dev, u32 slot);
void ugm_flash_slot_bad(struct ugm_device *dev, u32 slot);
void ugm_flash_slot_written(struct ugm_device *dev, u32 slot);
u64 ugm_flash_slot_offset(struct ugm_device *dev, u32 slot);
void ugm_flash_submit(struct ugm_move *m);

/* lease.c: the planner lane */
struct ugm_file_space;
struct ugm_ioc_lane;
int ugm_lane_create(struct ugm_file_space *fs, struct ugm_ioc_lane *arg);
bool ugm_lane_ready(struct ugm_file_space *fs);
void ugm_lane_queue(struct ugm_move *m);
void ugm_lane_void(struct ugm_move *m);
void ugm_lane_shutdown(struct ugm_file_space *fs);
u32 ugm_lane_pid(struct ugm_file_space *fs);

#endif /* UGM_MOVE_H */
