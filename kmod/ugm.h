/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UGM_KMOD_H
#define UGM_KMOD_H

#include <linux/atomic.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/maple_tree.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/platform_device.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "engine.h"
#include "inject.h"
#include "move.h"

/*
 * The UAPI header is included as the users see it; its UGM_TIER_ID_* and
 * UGM_HINT_* are the numbers of the engine, which ioctl.c checks at build time.
 */
#include <linux/ugm.h>

#undef pr_fmt
#define pr_fmt(fmt) "ugm: " fmt

/**
 * DOC: locks
 *
 * Outermost first:
 *
 *	&ugm_file_space.event_read	a reader of events
 *	mmap_lock
 *	&ugm_file_space.ranges_sem	ranges, tags, advice; the life of blocks
 *	&ugm_device.spaces_lock		the list of spaces
 *	&ugm_device.engine_lock		engine, states, places of blocks
 *	page lock			a block is being mapped
 *	i_mmap, page-table locks	(the kernel's)
 *	&ugm_pool.lock, &ugm_host.lock, &ugm_device.moves_lock, the flash and lane spinlocks
 *	&ugm_file_space.event_lock
 *
 * A fault on a resident block takes the page lock alone: blocks and ranges are
 * freed by RCU, and a block that is on the move is marked busy before its page
 * lock is taken and its mappings are revoked. No copy to or from user space
 * happens under ranges_sem or anything after it; no I/O, no wait for
 * references and none for user space under engine_lock or anything after it.
 * What end_io and timers touch is behind spinlocks taken with interrupts off.
 */

#define UGM_VERSION 0x000100u

/*
 * Counters beside the engine's, device-wide: X(name, statistic). A counter is
 * bumped with ugm_count(dev, NAME) from any context, and read by adding up all
 * CPUs.
 */
#define UGM_COUNTERS(X)                                      \
	X(FAULT_GPU_FAST, "fault.gpu.resident.count")        \
	X(FAULT_GPU_SLOW, "fault.gpu.missing.count")         \
	X(FAULT_HOST_FAST, "fault.host.resident.count")      \
	X(FAULT_HOST_SLOW, "fault.host.missing.count")       \
	X(FAULT_SIGBUS, "fault.sigbus.count")                \
	X(MAPPED_4K, "mapping.4k.count")                     \
	X(MAPPED_HUGE, "mapping.2m.count")                   \
	X(REVOKES, "mapping.revokes.count")                  \
	X(REVOKED_BLOCKS, "mapping.revoked.blocks")          \
	X(HELD, "page.held.count")                           \
	X(QUARANTINED, "frame.quarantined.count")            \
	X(HOST_ALLOC_FAILED, "host.alloc_failed.count")      \
	X(WAITS, "wait.count")                               \
	X(WAIT_NS, "wait.ns")                                \
	X(EVENTS_LOST, "event.lost.count")                   \
	X(FLASH_READ_ERRORS, "flash.read_errors.count")      \
	X(FLASH_WRITE_ERRORS, "flash.write_errors.count")    \
	X(LEASES, "lease.taken.count")                       \
	X(LEASES_COMMITTED, "lease.committed.count")         \
	X(LEASES_EXPIRED, "lease.expired.count")             \
	X(LEASES_RELEASED, "lease.released.count")           \
	X(LEASE_SHORT_IO, "lease.short_io.count")            \
	X(LANE_FALLBACK, "lease.kernel_lane.blocks")         \
	X(LEASE_SEGMENTS, "lease.segments.count")            \
	X(LEASE_READ_BYTES, "lease.read.bytes")              \
	X(LEASE_WRITTEN_BYTES, "lease.written.bytes")        \
	X(LEASE_REVOKED, "lease.revoked.blocks")

#define UGM_COUNTER_ENUM(name, string) UGM_C_##name,
enum ugm_counter { UGM_COUNTERS(UGM_COUNTER_ENUM) UGM_NR_COUNTERS };

/**
 * struct ugm_counts - the counters of one CPU: threads that fault share nothing
 * @n: enum ugm_counter
 */
struct ugm_counts {
	u64 n[UGM_NR_COUNTERS];
};

/**
 * struct ugm_pool - the frames of the GPU tier
 * @lock: protects the lists; taken with interrupts off
 * @frames: every frame, by number - 1: its first page frame number, and the
 *          number of the next one in the list it is in
 * @nr: frames, spare ones included
 * @nr_spare: of these, spare ones: beyond what the engine counts on, so that
 *            frames in quarantine do not hold it up
 * @nr_free: on the free list
 * @nr_quarantined: given back, but somebody still holds a reference
 * @free: number of the first free frame, or 0
 * @quarantine: likewise
 * @order: page order of a frame
 * @pagemap: struct pages of reserved DRAM, or NULL
 * @phys: physical address of reserved DRAM, or 0
 */
struct ugm_pool {
	spinlock_t lock;
	struct {
		u32 pfn;
		u32 next;
	} *frames;
	u32 nr;
	u32 nr_spare;
	u32 nr_free;
	u32 nr_quarantined;
	u32 free;
	u32 quarantine;
	unsigned int order;
	struct dev_pagemap *pagemap;
	phys_addr_t phys;
};

/**
 * struct ugm_host - the pages of the host tier that no block uses
 * @lock: protects the rest; taken with interrupts off
 * @free: these pages; the last to come is the first to go
 * @nr_free: how many
 * @fewest: the fewest there were since they were last trimmed
 * @set_aside: how many are there for good, for the virtual clock (written under
 *             engine_lock as well)
 * @wanted_by: the space whose move found none, or NULL; a reference
 * @wanted: how many to allocate for it
 * @filling: somebody allocates pages: nobody else is to do so meanwhile
 * @nr_pages: pages taken from the allocator, those that blocks use included
 * @trim: gives back to the allocator what is not needed
 */
struct ugm_host {
	spinlock_t lock;
	struct list_head free;
	u64 nr_free;
	u64 fewest;
	u64 set_aside;
	struct ugm_file_space *wanted_by;
	u64 wanted;
	bool filling;
	atomic64_t nr_pages;
	struct delayed_work trim;
};

/**
 * struct ugm_device - one emulated GPU
 * @ref: one of the binding, one of each space
 * @free_work: frees the device when the last reference is gone
 * @id: number, as in /dev/ugm0
 * @misc: the character device
 * @pdev: the platform device it is bound to
 * @name: "ugm0"
 * @block_size: bytes of a block
 * @block_shift: its logarithm
 * @block_order: its page order
 * @gone: unplugged: no new work, everything ends with -ENODEV
 * @broken: an invariant broke: no new work
 * @pool: frames of the GPU tier
 * @host_limit: blocks the host tier may hold
 * @host: pages of the host tier
 * @engine_lock: serialises the engine, states and places of all blocks
 * @engine: the model
 * @placed: blocks that found a place so far (under engine_lock)
 * @driver: the real clock's work item
 * @moves_lock: protects @moves, @todo and @failed; taken with interrupts off
 * @moves: all live moves
 * @todo: moves the engine started and nobody has performed yet
 * @failed: moves that ended with an error the engine has not been told of
 * @failures: moves that failed for good with their data safe at the source
 * @progress: bumped when a move ends, a demand ends or room was made
 * @progress_wait: those who wait for that
 * @driving: queue of @driver
 * @spaces_lock: protects @spaces
 * @spaces: all spaces
 * @next_space: id of the next one
 * @waiters_lock: protects @waiters
 * @waiters: who sleeps in the module, and why
 * @metadata: bytes used for ranges, blocks, slots, transfers
 * @counters: enum ugm_counter, by CPU
 * @flash: the attached namespace, or NULL (flash.c's; set under engine_lock)
 * @nr_revoked: moves with UGM_MOVE_REVOKED: their I/O may hold the source
 * @inject: failure injection
 * @debugfs: its folder there
 */
struct ugm_device {
	struct kref ref;
	struct work_struct free_work;
	int id;
	struct miscdevice misc;
	struct platform_device *pdev;
	char name[16];
	u32 block_size;
	unsigned int block_shift;
	unsigned int block_order;
	bool gone;
	bool broken;

	struct ugm_pool pool;
	u64 host_limit;
	struct ugm_host host;

	struct mutex engine_lock;
	struct ugm_engine engine;
	u64 placed;
	struct delayed_work driver;

	spinlock_t moves_lock;
	struct list_head moves;
	struct list_head todo;
	struct list_head failed;
	atomic_t failures;
	atomic_t progress;
	wait_queue_head_t progress_wait;

	struct mutex spaces_lock;
	struct list_head spaces;
	u64 next_space;

	spinlock_t waiters_lock;
	struct list_head waiters;

	atomic_long_t metadata;
	struct ugm_counts __percpu *counters;

	struct ugm_flash *flash;
	atomic_t nr_revoked;
	struct ugm_inject inject;
	struct dentry *debugfs;
};

#define UGM_EVENT_RING 256

/**
 * struct ugm_file_space - a unified address space: one open file
 * @s: the engine's part
 * @ref: one of the file, one of the lane file, of each look-up under way
 * @dev: device
 * @node: membership in &ugm_device.spaces
 * @id: its id, from 1
 * @closed: its file is gone: the lane ends
 * @inode: the inode all its mappings hang on, so that they can be revoked
 * @mm: address space of the opener, to compare with; no reference
 * @memcg: the opener's, which host pages are charged to, or NULL
 * @host_full_until: in jiffies: no attempt to allocate host pages for it before
 *                   that, for the last one failed
 * @cred: the opener's
 * @pid: the opener's, in the initial namespace
 * @ranges_sem: protects @ranges, @tags and advice
 * @ranges: ranges by unified address, in blocks
 * @tags: ranges by tag
 * @nr_ranges: how many
 * @blocks: the page table: blocks by unified address, in blocks
 * @nr_blocks: populated blocks
 * @touch_errors: what a fault that had dropped its lock has to tell, by block
 * @event_read: one reader at a time; user space is written under it
 * @event_lock: protects the ring
 * @events: ring of events
 * @event_head: written so far
 * @event_tail: read so far
 * @events_lost: lost since the last one read
 * @event_wait: readers
 * @lane: its flash server's file, or NULL (lease.c's)
 */
struct ugm_file_space {
	struct ugm_space s;
	struct kref ref;
	struct ugm_device *dev;
	struct list_head node;
	u64 id;
	bool closed;
	struct inode *inode;
	struct mm_struct *mm;
	struct mem_cgroup *memcg;
	u64 host_full_until;
	const struct cred *cred;
	pid_t pid;

	struct rw_semaphore ranges_sem;
	struct maple_tree ranges;
	struct xarray tags;
	u32 nr_ranges;
	struct xarray blocks;
	atomic_long_t nr_blocks;
	struct xarray touch_errors;

	struct mutex event_read;
	spinlock_t event_lock;
	struct ugm_event_desc *events;
	u32 event_head;
	u32 event_tail;
	u32 events_lost;
	wait_queue_head_t event_wait;

	struct ugm_lane_file *lane;
};

/**
 * struct ugm_file_range - an allocation
 * @r: the engine's part
 * @first: unified address of its first block, in blocks
 * @len: bytes asked for
 * @model_len: full-size bytes it stands for
 * @prefer: enum ugm_tier it prefers, or none
 * @cpu_in_place: the host view maps GPU-resident blocks where they are
 * @dead: being freed: no new touches
 * @users: launches and touches under way
 * @rcu: faults look at it without a lock
 */
struct ugm_file_range {
	struct ugm_range r;
	u64 first;
	u64 len;
	u64 model_len;
	u8 prefer;
	bool cpu_in_place;
	bool dead;
	atomic_t users;
	struct rcu_head rcu;
};

static inline struct ugm_file_space *ugm_file_space_of(struct ugm_space *s)
{
	return container_of(s, struct ugm_file_space, s);
}

static inline struct ugm_file_range *ugm_file_range_of(struct ugm_range *r)
{
	return container_of(r, struct ugm_file_range, r);
}

static inline struct ugm_file_space *ugm_space_of_block(struct ugm_block *b)
{
	return ugm_file_space_of(b->range->space);
}

static inline struct ugm_device *ugm_device_of(struct ugm_engine *e)
{
	return container_of(e, struct ugm_device, engine);
}

/* Unified address of a block, in blocks. */
static inline u64 ugm_block_index(struct ugm_block *b)
{
	return ugm_file_range_of(b->range)->first + b->index;
}

static inline void ugm_count_n(struct ugm_device *dev, enum ugm_counter c, s64 n)
{
	this_cpu_add(dev->counters->n[c], n);
}

#define ugm_count(dev, name) ugm_count_n(dev, UGM_C_##name, 1)

/* device.c */
extern struct platform_driver ugm_driver;
int ugm_devices_init(void);
void ugm_devices_exit(void);
int ugm_device_probed(struct platform_device *pdev);
void ugm_device_get(struct ugm_device *dev);
void ugm_device_put(struct ugm_device *dev);
int ugm_device_usable(struct ugm_device *dev);
void ugm_device_broken(struct ugm_device *dev, const char *what);

/**
 * struct ugm_params - the module's parameters, checked
 * @devices: how many
 * @block_size: bytes of a block
 * @gpu_mem: bytes of each GPU tier
 * @gpu_phys: where reserved DRAM begins, or 0
 * @host_mem: bytes of each host tier
 */
struct ugm_params {
	unsigned int devices;
	u64 block_size;
	u64 gpu_mem;
	u64 gpu_phys;
	u64 host_mem;
};
extern struct ugm_params ugm_params;

/* main.c */
bool ugm_init_fails(void);

/* pool.c */
int ugm_pool_init(struct ugm_device *dev);
void ugm_pool_exit(struct ugm_device *dev);
u32 ugm_frame_alloc(struct ugm_device *dev, bool zero);
void ugm_frame_free(struct ugm_device *dev, u32 frame);
struct page *ugm_frame_page(struct ugm_device *dev, u32 frame);

/* host.c */
void ugm_host_init(struct ugm_device *dev);
void ugm_host_exit(struct ugm_device *dev);
int ugm_host_alloc(struct ugm_file_space *fs, bool zero, struct page **page);
void ugm_host_refill(struct ugm_device *dev);
void ugm_host_free(struct ugm_device *dev, struct page *page);
int ugm_host_set_aside(struct ugm_device *dev, u64 blocks);

/* page.c */
void ugm_page_enter_host(struct page *page);
void ugm_page_leave_host(struct page *page);
void ugm_page_clear(struct ugm_device *dev, struct page *page);
void ugm_page_copy(struct ugm_device *dev, struct page *dst, struct page *src);
s64 ugm_page_copy_ns(struct ugm_device *dev, u64 *bytes);
void ugm_page_hold(struct page *page);
void ugm_page_drop(struct page *page);
void ugm_page_expose(struct page *page);
bool ugm_page_held(struct page *page);
bool ugm_page_quiet(struct ugm_device *dev, struct page *page, bool host);

/* space.c */
int ugm_spaces_init(void);
void ugm_spaces_exit(void);
struct ugm_file_space *ugm_space_open(struct ugm_device *dev, struct file *file);
void ugm_space_close(struct ugm_file_space *fs);
struct ugm_file_space *ugm_space_find(struct ugm_file_space *fs, u64 id);
void ugm_space_get(struct ugm_file_space *fs);
void ugm_space_put(struct ugm_file_space *fs);
void ugm_spaces_unplug(struct ugm_device *dev);

/* range.c */
struct ugm_file_range *ugm_range_find(struct ugm_file_space *fs, u64 index);
struct ugm_file_range *ugm_range_use(struct ugm_file_space *fs, u64 index);
void ugm_range_unuse(struct ugm_file_range *r);
void ugm_ranges_free(struct ugm_file_space *fs);

/* block.c */
int ugm_blocks_init(void);
void ugm_blocks_exit(void);
struct page *ugm_block_page(struct ugm_device *dev, struct ugm_block *b, enum ugm_tier tier);
struct ugm_block *ugm_block_get(struct ugm_engine *e, struct ugm_range *range, u32 index);
struct ugm_block *ugm_block_next(struct ugm_engine *e, struct ugm_range *range, u32 index);
void ugm_block_free(struct ugm_file_space *fs, struct ugm_block *b);

/* map.c */
int ugm_mmap(struct file *file, struct vm_area_struct *vma);
void ugm_map_revoke(struct ugm_engine *e, struct ugm_block **blocks, unsigned int nr);
void ugm_map_forget(struct ugm_device *dev, struct ugm_block *b, struct page *page);
void ugm_map_revoke_all(struct ugm_file_space *fs);

/* fault.c */
extern const struct vm_operations_struct ugm_vm_ops;

/* wait.c */

/**
 * struct ugm_waiter - somebody sleeps in the module
 * @node: membership in &ugm_device.waiters
 * @reason: why, a constant string
 * @pid: who
 * @since_ns: since when
 */
struct ugm_waiter {
	struct list_head node;
	const char *reason;
	pid_t pid;
	u64 since_ns;
};

unsigned long ugm_jiffies_until(u64 ns);
void ugm_wait_begin(struct ugm_device *dev, struct ugm_waiter *w, const char *reason);
void ugm_wait_end(struct ugm_device *dev, struct ugm_waiter *w);

/*
 * Sleep until @cond (a positive number), a fatal signal (-ERESTARTSYS) or for
 * @timeout jiffies (0), under a name that debugfs and the tracepoint ugm_wait
 * show.
 */
#define ugm_wait_killable(dev, reason, wq, cond, timeout)                                          \
	({                                                                                         \
		struct ugm_waiter waiter_;                                                         \
		long left_;                                                                        \
		ugm_wait_begin(dev, &waiter_, reason);                                             \
		left_ = wait_event_killable_timeout(wq, cond, timeout);                            \
		ugm_wait_end(dev, &waiter_);                                                       \
		left_;                                                                             \
	})

/* drive.c */
void ugm_progress(struct ugm_device *dev);
void ugm_drive_kick(struct ugm_device *dev);
void ugm_drive_work(struct work_struct *work);
int ugm_drive(struct ugm_device *dev, struct ugm_demand *d);
int ugm_drive_drain(struct ugm_device *dev);

/* transfer.c */
extern const struct ugm_engine_ops ugm_module_ops;
int ugm_transfers_init(void);
void ugm_transfers_exit(void);
bool ugm_transfer_perform(struct ugm_device *dev);
void ugm_transfer_tell_failed(struct ugm_device *dev);

/* hint.c */
int ugm_hints_init(void);
void ugm_hints_exit(void);
void ugm_hint_done(struct ugm_engine *e, struct ugm_hint *h, u64 refused, u32 why);

/* machine.c */
int ugm_machine_init(struct ugm_device *dev);
void ugm_machine_idle(struct ugm_device *dev);

/* events.c */
int ugm_events_init(struct ugm_file_space *fs);
void ugm_events_exit(struct ugm_file_space *fs);
void ugm_event(struct ugm_file_space *fs, u32 type, u64 a, u64 b);
ssize_t ugm_event_read(struct file *file, char __user *buf, size_t len, loff_t *pos);
__poll_t ugm_event_poll(struct file *file, struct poll_table_struct *wait);

/* ioctl.c */
long ugm_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/* check.c */
u64 ugm_check(struct ugm_device *dev);

/* debug.c */
int ugm_debug_init(void);
void ugm_debug_exit(void);
void ugm_debug_add(struct ugm_device *dev);
void ugm_debug_remove(struct ugm_device *dev);

#endif /* UGM_KMOD_H */
