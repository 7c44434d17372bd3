/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UGM_LANE_H
#define UGM_LANE_H

#include "flash.h"

/* Most segments of a lease; more room than this is of no use. */
#define UGM_LEASE_SEGMENTS 1024U

/**
 * struct ugm_lane_file - a planner lane: the file of a flash server
 * @ref: one of the file, one of each move that was assigned to it
 * @dev: device
 * @fs: space; a reference of the file
 * @inode: the inode the window hangs on, so that it can be revoked alone
 * @mm: the server's address space, to compare with; a reference to its struct
 * @pid: the server's, in the initial namespace
 * @timeout: how long a lease may last, and a move wait for one, in ns
 * @lock: protects the rest
 * @serving: the server asked for work, and has let no move wait too long since
 * @dead: no more work comes
 * @seq: bumped when there is new work, or room in the window
 * @wait: where servers wait for that
 * @queue: moves that wait to be leased
 * @nr_queued: how many
 * @since: since when the head of @queue waits for the server
 * @leases: outstanding leases, oldest first
 * @nr_leases: how many
 * @nr_leased: moves in them
 * @next_id: id of the next lease
 * @nr_places: block-sized places of the window
 * @cursor: where the search for free places begins
 * @taken: places that a lease has, or has just lost
 * @place: by place, the move whose page may be mapped there
 * @expiry: breaks late leases, takes the queue from a server that is stuck
 */
struct ugm_lane_file {
	struct kref ref;
	struct ugm_device *dev;
	struct ugm_file_space *fs;
	struct inode *inode;
	struct mm_struct *mm;
	pid_t pid;
	u64 timeout;

	spinlock_t lock;
	bool serving;
	bool dead;
	u32 seq;
	wait_queue_head_t wait;
	struct list_head queue;
	u32 nr_queued;
	u64 since;
	struct list_head leases;
	u32 nr_leases;
	u32 nr_leased;
	u64 next_id;
	u32 nr_places;
	u32 cursor;
	unsigned long *taken;
	struct ugm_move **place;
	struct delayed_work expiry;
};

/**
 * struct ugm_lease - a batch of moves in the hands of the server
 * @node: membership in &ugm_lane_file.leases
 * @id: its number
 * @until: when it expires
 * @moves: its moves, in the order of their places, segment by segment
 * @nr: segments
 * @segments: as they were handed out
 */
struct ugm_lease {
	struct list_head node;
	u64 id;
	u64 until;
	struct list_head moves;
	u32 nr;
	struct ugm_segment segments[];
};

/* Why a lease was broken: &ugm_event_desc.b of UGM_EVENT_LEASE_BROKEN. */
#define UGM_LEASE_EXPIRED 1
#define UGM_LEASE_RELEASED 2

static inline struct page *ugm_move_memory(const struct ugm_move *m)
{
	return m->dst_slot ? m->src_page : m->dst_page;
}

/* lane.c */
void ugm_lane_fall_back(struct ugm_lane_file *lane, struct list_head *moves);

/* window.c */
void ugm_window_wait_for_fault(struct page *page);
void ugm_window_unmap(struct ugm_lane_file *lane, u32 place, u32 nr);
int ugm_window_mmap(struct file *file, struct vm_area_struct *vma);

/* lease.c */
int ugm_lease_take(struct ugm_lane_file *lane, u32 room, struct ugm_segment *segments, u64 *id);
int ugm_lease_commit(struct ugm_lane_file *lane, u64 id, const struct ugm_segment *results,
		     u32 nr);
void ugm_lease_detach(struct ugm_lane_file *lane, bool late, struct list_head *leases);
void ugm_lease_drop(struct ugm_lane_file *lane, u64 id);
void ugm_lease_break(struct ugm_lane_file *lane, struct list_head *leases, u32 reason);

#endif /* UGM_LANE_H */
