/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UGM_MOVE_H
#define UGM_MOVE_H

#include <linux/kref.h>
#include <linux/mm_types.h>
#include "engine.h"

struct ugm_device;
struct ugm_lane_file;
struct ugm_lease;

/**
 * DOC: moves
 *
 * A move is the real shadow of a transfer of the model. ops->start (engine
 * mutex held) takes the destination's frame or slot, chooses the lane and puts
 * the move on the device's list of moves to do; ugm_transfer_perform(), called
 * without the engine mutex, does them: it copies between memory tiers, submits
 * bios (kernel lane), or hands them to the flash server (planner lane). Whoever
 * finishes one calls ugm_move_done(), or ends many
 * with ugm_move_end(), from any context.
 *
 * A move outlives its transfer where the model gives up (cancel) while I/O is
 * under way: the transfer's reference is dropped, the I/O's keeps frame and
 * slot away from re-use until nothing can hit them any more.
 */

/* &ugm_move.flags, bit numbers */
enum {
	UGM_MOVE_DONE, /* the real move has finished, see error */
	UGM_MOVE_VOID, /* the model gave it up: release what it took when it ends */
	UGM_MOVE_QUEUED, /* it waits for the flash server (the lane's lock) */
	UGM_MOVE_REVOKED, /* it was given up while the flash server read its source */
};

/**
 * struct ugm_move - a transfer and where its data really is
 * @t: the model's part
 * @dev: device
 * @ref: one of the transfer, one of the I/O under way
 * @all: membership in &ugm_device.moves
 * @todo: membership in the device's list of moves to do, or in a lane's queue
 * @flags: UGM_MOVE_*
 * @error: 0 or a negative errno, valid with UGM_MOVE_DONE
 * @src_page: head page of the source, where it is memory
 * @dst_page: head page of the destination, where it is memory
 * @src_slot: flash slot + 1 of the source, where it is flash
 * @dst_slot: flash slot + 1 of the destination, where it is flash
 * @dst_frame: index + 1 of the GPU frame behind @dst_page, or 0
 * @lane: the planner lane it was given to, or NULL; a reference, which
 *        ugm_lane_put() gives back when the move is freed
 * @lease: the lease it is part of, or NULL (the lane's lock)
 * @window: its place in the transfer window (the lane's lock)
 * @generation: of @dst_slot when the write of it began
 * @tries: writes that failed, each in another slot
 */
struct ugm_move {
	struct ugm_transfer t;
	struct ugm_device *dev;
	struct kref ref;
	struct list_head all;
	struct list_head todo;
	unsigned long flags;
	int error;
	struct page *src_page;
	struct page *dst_page;
	u32 src_slot;
	u32 dst_slot;
	u32 dst_frame;
	struct ugm_lane_file *lane;
	struct ugm_lease *lease;
	u32 window;
	u16 generation;
	u8 tries;
};

static inline struct ugm_move *ugm_move_of(struct ugm_transfer *t)
{
	return container_of(t, struct ugm_move, t);
}

/*
 * transfer.c: performs moves. ugm_move_new_frame() and ugm_move_new_slot() take
 * another destination and give the old one back (where there is one; frames
 * that somebody holds go through quarantine). -EAGAIN: there is none just now.
 */
void ugm_move_get(struct ugm_move *m);
void ugm_move_put(struct ugm_move *m);
void ugm_move_end(struct ugm_move *m, int error);
void ugm_move_done(struct ugm_move *m, int error);
int ugm_move_new_frame(struct ugm_move *m);
int ugm_move_new_slot(struct ugm_move *m);

/* Slots are named by their number + 1, so that 0 is none. */

/* flash.c: the namespace and the kernel lane */
struct ugm_ioc_attach;
struct ugm_ioc_info;
int ugm_flash_attach(struct ugm_device *dev, const struct ugm_ioc_attach *arg);
int ugm_flash_detach(struct ugm_device *dev);
void ugm_flash_release(struct ugm_device *dev);
void ugm_flash_info(struct ugm_device *dev, struct ugm_ioc_info *info);
void ugm_flash_submit(struct ugm_move *m);
void ugm_flash_again(struct ugm_move *m);

/* slot.c: the slots of the namespace */

/**
 * struct ugm_slot_facts - the slots by state
 * @slots: how many there are
 * @used: of these, owned by a block, a move or the quarantine
 * @quarantined: of these, held back because old I/O may still hit them
 * @bad: given up after a write error
 * @writes: slot writes since the namespace was attached
 * @max_writes: of these, the most that one slot got
 * @discarded: slots discarded
 */
struct ugm_slot_facts {
	u64 slots;
	u64 used;
	u64 quarantined;
	u64 bad;
	u64 writes;
	u64 max_writes;
	u64 discarded;
};

int ugm_slot_alloc(struct ugm_device *dev, u32 *slot);
void ugm_slot_free(struct ugm_device *dev, u32 slot);
bool ugm_slot_readable(struct ugm_device *dev, u32 slot);
void ugm_slot_facts(struct ugm_device *dev, struct ugm_slot_facts *facts);
u64 ugm_slot_check(struct ugm_device *dev);

/* lane.c: the planner lane's file; lease.c: its leases */

/**
 * struct ugm_lane_facts - a planner lane now and since it was opened
 * @pid: process that owns the lane file, or 0: there is none
 * @serving: it asked for work and has not let a move wait too long
 * @queued: moves that wait for it
 * @outstanding: leases it holds
 * @leased: moves in these
 */
struct ugm_lane_facts {
	u32 pid;
	bool serving;
	u32 queued;
	u32 outstanding;
	u32 leased;
};

struct ugm_file_space;
struct ugm_ioc_lane;
int ugm_lane_create(struct ugm_file_space *fs, struct ugm_ioc_lane *arg);
bool ugm_lane_assign(struct ugm_file_space *fs, struct ugm_move *m);
void ugm_lane_put(struct ugm_lane_file *lane);
void ugm_lane_queue(struct ugm_move *m);
void ugm_lane_void(struct ugm_move *m);
void ugm_lanes_wake(struct ugm_device *dev);
void ugm_lane_shutdown(struct ugm_file_space *fs);
void ugm_lane_facts(struct ugm_file_space *fs, struct ugm_lane_facts *facts);

#endif /* UGM_MOVE_H */
