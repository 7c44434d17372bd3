/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
#ifndef _UAPI_LINUX_UGM_H
#define _UAPI_LINUX_UGM_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * DOC: uapi
 *
 * The contract of /dev/ugm0 and its kin. Opening a device makes a unified
 * address space; mmap offsets choose the view of it. All structures have fixed
 * types, explicit padding that must be zero, and may grow at their end: a
 * kernel takes a shorter one as if the rest were zero, and refuses a longer one
 * whose unknown tail is not zero with -E2BIG. Unknown ioctls get -ENOTTY, known
 * ones that are unavailable -EOPNOTSUPP, bad flags, padding and alignment
 * -EINVAL. Times are u64 ns; pointers travel as u64. Every addition has a bit in
 * &ugm_ioc_info.features.
 */

/* mmap offsets of the views; a unified address is added to them. */
#define UGM_VIEW_GPU 0ULL
#define UGM_VIEW_HOST (1ULL << 44)
#define UGM_VIEW_SIZE (1ULL << 44)
/* the transfer window: offset 0 of a lane file */

/* Tiers: where a block can be. */
#define UGM_TIER_ID_NONE 0
#define UGM_TIER_ID_GPU 1
#define UGM_TIER_ID_HOST 2
#define UGM_TIER_ID_FLASH 3

#define UGM_FEATURE_LAUNCH (1ULL << 0)
#define UGM_FEATURE_HINTS (1ULL << 1)
#define UGM_FEATURE_LANE (1ULL << 2)
#define UGM_FEATURE_MACHINE (1ULL << 3)
#define UGM_FEATURE_EVENTS (1ULL << 4)

/* &ugm_ioc_info.flags */
#define UGM_INFO_RESERVED_DRAM (1U << 0) /* the GPU pool lies on gpu_phys= */
#define UGM_INFO_ATTACHED (1U << 1) /* a namespace is attached */
#define UGM_INFO_BROKEN (1U << 2) /* an invariant broke: no new work */

/**
 * struct ugm_ioc_info - UGM_IOC_INFO: what this device and space are
 * @features: UGM_FEATURE_*
 * @flags: UGM_INFO_*
 * @block_size: bytes of a block
 * @gpu_frames: frames of the GPU tier, spare ones not counted
 * @gpu_free: of these, free
 * @host_limit: blocks the host tier may hold
 * @host_used: blocks it holds
 * @flash_slots: slots of the attached namespace
 * @flash_used: slots in use
 * @gpu_phys: physical address of reserved DRAM, or 0
 * @space_id: id of this space
 * @space_blocks: populated blocks of this space
 * @metadata_bytes: memory the module uses for ranges, blocks, slots, transfers
 * @lane_pid: pid of the lane file's owner (0: none)
 * @version: module version, 0xMMmmpp
 * @namespace_path: device node of the namespace, whatever path it was attached by
 */
struct ugm_ioc_info {
	__u64 features;
	__u32 flags;
	__u32 block_size;
	__u64 gpu_frames;
	__u64 gpu_free;
	__u64 host_limit;
	__u64 host_used;
	__u64 flash_slots;
	__u64 flash_used;
	__u64 gpu_phys;
	__u64 space_id;
	__u64 space_blocks;
	__u64 metadata_bytes;
	__u32 lane_pid;
	__u32 version;
	char namespace_path[64];
};

/* &ugm_ioc_alloc.flags */
#define UGM_ALLOC_ARENA (1U << 0) /* in the GPU tier from the start, and pinned */

/**
 * struct ugm_ioc_alloc - UGM_IOC_ALLOC: make a range
 * @len: bytes, not zero; rounded up to blocks
 * @model_len: full-size bytes it stands for; 0: @len
 * @tag: the user's name for it, unique in the space
 * @flags: UGM_ALLOC_*
 * @pad: zero
 * @offset: out: its unified address
 *
 * Errors: -EEXIST (tag), -ENOSPC (address space, or no frames for an arena),
 * -ENOMEM.
 */
struct ugm_ioc_alloc {
	__u64 len;
	__u64 model_len;
	__u64 tag;
	__u32 flags;
	__u32 pad;
	__u64 offset;
};

/**
 * struct ugm_ioc_free - UGM_IOC_FREE: end a range, and its data
 * @offset: its unified address
 *
 * Mappings of it give SIGBUS from then on. Errors: -ENOENT, -EBUSY (a running
 * launch uses it, or I/O holds its pages).
 */
struct ugm_ioc_free {
	__u64 offset;
};

#define UGM_ADVICE_PREFER 0 /* preferred location: @tier (none: no preference) */
#define UGM_ADVICE_ACCESSED_BY_CPU 1 /* host view maps GPU-resident blocks in place */
#define UGM_ADVICE_UNSET_ACCESSED_BY_CPU 2
#define UGM_ADVICE_PIN 3 /* keep where it is */
#define UGM_ADVICE_UNPIN 4

/**
 * struct ugm_ioc_advise - UGM_IOC_ADVISE: advice on (part of) a range
 * @offset: unified address, block aligned
 * @len: bytes
 * @advice: UGM_ADVICE_*
 * @tier: UGM_TIER_ID_*, for UGM_ADVICE_PREFER
 *
 * PREFER and ACCESSED_BY are kept for whole ranges and need their offset and
 * length. A GPU-view touch of a range that prefers the GPU, or has no
 * preference, migrates; a host-view touch migrates to host unless the range is
 * accessed by the CPU in place or prefers the GPU.
 */
struct ugm_ioc_advise {
	__u64 offset;
	__u64 len;
	__u32 advice;
	__u32 tier;
};

#define UGM_HINT_PREFETCH 0
#define UGM_HINT_EVICT 1
#define UGM_HINT_DISCARD 2
#define UGM_HINT_PIN 3
#define UGM_HINT_UNPIN 4
#define UGM_HINT_PROTECT 5
#define UGM_HINT_UNPROTECT 6
#define UGM_HINT_WRITEBACK 7

#define UGM_HINT_NOW (~0ULL)
#define UGM_HINT_NO_NEED (~0ULL)

/**
 * struct ugm_hint_desc - one hint
 * @tag: range
 * @offset: bytes from the range's start
 * @len: bytes; 0: to its end
 * @at: launch number at whose begin it acts (the next launch of a new space is
 *      number 0); UGM_HINT_NOW, or the number of a past one: at once
 * @need: launch number that needs it (order of planned moves), or
 *        UGM_HINT_NO_NEED
 * @cookie: given back in events
 * @op: UGM_HINT_*
 * @tier: destination of PREFETCH (gpu, host), EVICT and WRITEBACK (host, flash)
 * @result: out: 0 held or queued, or a negative errno
 * @pad: zero
 *
 * PREFETCH, PIN, PROTECT and their opposites round outward to blocks, EVICT,
 * DISCARD and WRITEBACK inward.
 */
struct ugm_hint_desc {
	__u64 tag;
	__u64 offset;
	__u64 len;
	__u64 at;
	__u64 need;
	__u64 cookie;
	__u32 op;
	__u32 tier;
	__s32 result;
	__u32 pad;
};

/**
 * struct ugm_ioc_hint - UGM_IOC_HINT: a batch of hints
 * @hints: user pointer to struct ugm_hint_desc
 * @nr: how many, at most 65536
 * @space: id of the space they are for; 0: this one. Another space needs the
 *         same user, or CAP_SYS_ADMIN.
 * @done: out: how many were looked at; each has its result
 * @pad: zero
 */
struct ugm_ioc_hint {
	__u64 hints;
	__u64 space;
	__u32 nr;
	__u32 done;
	__u64 pad;
};

#define UGM_ACCESS_READ 1
#define UGM_ACCESS_WRITE 2

/**
 * struct ugm_operand_desc - an operand of a launch
 * @offset: unified address
 * @len: bytes, within one range
 * @access: UGM_ACCESS_*, not zero
 * @pad: zero
 */
struct ugm_operand_desc {
	__u64 offset;
	__u64 len;
	__u32 access;
	__u32 pad;
};

/**
 * struct ugm_ioc_launch - UGM_IOC_LAUNCH: an emulated GPU kernel
 * @operands: user pointer to struct ugm_operand_desc
 * @nr_operands: how many, at most 4096
 * @flags: zero
 * @duration_ns: how long it runs
 * @number: out: its number in this space, from 0
 * @begin_ns: out: begin
 * @arrived_ns: out: when its last operand was there
 * @end_ns: out: end
 * @batches: out: fault batches
 * @fault_bytes: out: full-size bytes that were missing at begin
 *
 * Returns when it has ended. Errors: -ENOSPC (operands do not fit), -ENODATA
 * (an operand is missing and demand is off), -EIO (an operand is poisoned),
 * -EINTR (killed).
 */
struct ugm_ioc_launch {
	__u64 operands;
	__u32 nr_operands;
	__u32 flags;
	__u64 duration_ns;
	__u64 number;
	__u64 begin_ns;
	__u64 arrived_ns;
	__u64 end_ns;
	__u64 batches;
	__u64 fault_bytes;
};

/**
 * struct ugm_ioc_wait - UGM_IOC_WAIT: until no planned move is queued or under way
 * @now_ns: out: the engine's time
 * @flags: zero
 *
 * Queued moves that cannot start (no room) do not hold it up.
 */
struct ugm_ioc_wait {
	__u64 now_ns;
	__u64 flags;
};

#define UGM_RESIDENCY_DIRTY (1U << 8)
#define UGM_RESIDENCY_BUSY (1U << 9)
#define UGM_RESIDENCY_POISON (1U << 10)
#define UGM_RESIDENCY_PINNED (1U << 11)
#define UGM_RESIDENCY_PROTECTED (1U << 12)
#define UGM_RESIDENCY_DEAD (1U << 13)
#define UGM_RESIDENCY_COPY_SHIFT 16 /* one bit a tier */

/**
 * struct ugm_ioc_residency - UGM_IOC_RESIDENCY: where blocks are
 * @offset: unified address, block aligned
 * @nr: blocks
 * @pad: zero
 * @states: user pointer to __u32[nr]: tier in bits 0..7, UGM_RESIDENCY_*
 * @digest: out: with @nr 0: a digest of the residency of the whole space
 * @blocks: out: by tier, blocks of the space whose home it is
 * @space: id of the space; 0: this one (another: same user or CAP_SYS_ADMIN)
 */
struct ugm_ioc_residency {
	__u64 offset;
	__u32 nr;
	__u32 pad;
	__u64 states;
	__u64 digest;
	__u64 blocks[8];
	__u64 space;
};

/**
 * struct ugm_stat_desc - one statistic: what it is called and what it says
 * @name: dotted name, its unit last: transfer.gpu.host.kernel.demand.bytes
 * @value: its value
 */
struct ugm_stat_desc {
	char name[56];
	__u64 value;
};

#define UGM_STATS_SPACE 0 /* of this space */
#define UGM_STATS_DEVICE 1 /* of the device */

/**
 * struct ugm_ioc_stats - UGM_IOC_STATS: every statistic, with its name
 * @stats: user pointer to struct ugm_stat_desc
 * @nr: in: room; out: how many there are (ask with 0 first)
 * @scope: UGM_STATS_*
 */
struct ugm_ioc_stats {
	__u64 stats;
	__u32 nr;
	__u32 scope;
};

/**
 * struct ugm_ioc_options - UGM_IOC_OPTIONS: run-time rules of the space
 * @set: 1: set, 0: get
 * @victim: 0 fifo, 1 lru, 2 need
 * @clean: 0 write, 1 drop
 * @dead: 0 keep, 1 lazy, 2 drop
 * @promote: 0 off, 1 on
 * @prefetch_evicts: 0 none, 1 unprotected, 2 any
 * @overlap: 0 full, 1 none
 * @demand: 0 off, 1 on
 */
struct ugm_ioc_options {
	__u32 set;
	__u32 victim;
	__u32 clean;
	__u32 dead;
	__u32 promote;
	__u32 prefetch_evicts;
	__u32 overlap;
	__u32 demand;
};

/**
 * struct ugm_ioc_machine - UGM_IOC_MACHINE: the modelled machine (device wide)
 * @set: 1: set (CAP_SYS_ADMIN, no blocks in use on the device), 0: get
 * @clock: 0 virtual, 1 real, 2 paced
 * @block_bytes: full-size bytes a block stands for (0: the block size)
 * @gpu_bytes: full-size capacity of the GPU tier (0: all frames)
 * @host_bytes: full-size capacity of the host tier
 * @bandwidth: bytes/s: GPU in, GPU out, flash read, flash write
 * @gpu_latency_ns: per GPU-host move
 * @flash_latency_ns: per flash move
 * @fault_ns: per fault batch
 * @fault_batch_bytes: full-size bytes of a batch
 *
 * Errors: -ENOSPC (capacity over the device's frames), -ENOMEM (host tier could
 * not be reserved for the virtual clock), -EBUSY.
 */
struct ugm_ioc_machine {
	__u32 set;
	__u32 clock;
	__u64 block_bytes;
	__u64 gpu_bytes;
	__u64 host_bytes;
	__u64 bandwidth[4];
	__u64 gpu_latency_ns;
	__u64 flash_latency_ns;
	__u64 fault_ns;
	__u64 fault_batch_bytes;
};

/**
 * struct ugm_ioc_reset - UGM_IOC_RESET: clock, launch numbers and counters to 0
 * @exact: out (before the reset): why results may be inexact, UGM_INEXACT_* bits
 * @flags: 0: reset; 1: only tell @exact
 *
 * Needs a quiet device: -EBUSY while moves are queued. Hints that are held stay,
 * for the launch that has their number then.
 */
struct ugm_ioc_reset {
	__u32 exact;
	__u32 flags;
};

/* &ugm_ioc_attach.flags: none yet */

/**
 * struct ugm_ioc_attach - UGM_IOC_ATTACH: a namespace becomes the flash tier
 * @path: NUL-terminated path of its block device
 * @offset: bytes of it to leave alone at its start, block aligned
 * @len: bytes to use, whole blocks; 0: to its end
 * @flags: zero
 *
 * CAP_SYS_ADMIN. The device is claimed exclusively: -EBUSY if it is mounted or
 * claimed; -EEXIST if one is attached. UGM_IOC_DETACH (no argument) gives it
 * back: -EBUSY while slots are in use.
 */
struct ugm_ioc_attach {
	char path[256];
	__u64 offset;
	__u64 len;
	__u64 flags;
};

/**
 * struct ugm_ioc_lane - UGM_IOC_LANE: a lane file for a space
 * @space: id of the space; 0: this one
 * @timeout_ms: how long a lease may last (0: 1000)
 * @flags: zero
 * @window_size: out: bytes of the transfer window (mmap offset 0)
 *
 * CAP_SYS_ADMIN. Returns a close-on-exec file. -EBUSY: the space has one.
 */
struct ugm_ioc_lane {
	__u64 space;
	__u32 timeout_ms;
	__u32 flags;
	__u64 window_size;
};

#define UGM_LANE_READ 0 /* namespace to window */
#define UGM_LANE_WRITE 1 /* window to namespace */

/**
 * struct ugm_segment - a contiguous piece of a lease
 * @flash_offset: bytes from the start of the block device
 * @window_offset: bytes from the start of the window
 * @len: bytes
 * @dir: UGM_LANE_READ or UGM_LANE_WRITE
 * @result: at commit: @len, or fewer bytes (an error), or a negative errno
 * @pad: zero
 */
struct ugm_segment {
	__u64 flash_offset;
	__u64 window_offset;
	__u32 len;
	__u32 dir;
	__s32 result;
	__u32 pad;
};

/**
 * struct ugm_ioc_fetch - UGM_IOC_FETCH, UGM_IOC_COMMIT_AND_FETCH (lane file)
 * @segments: user pointer to struct ugm_segment[nr]
 * @nr: in: room (at least 1); out: segments of the lease
 * @commit_nr: COMMIT_AND_FETCH: segments at @segments that carry a result
 * @lease: in: the lease committed; out: the lease taken
 * @timeout_ms: how long to wait for work: 0: for ever (killable), else -ETIME
 * @flags: UGM_FETCH_*
 *
 * -ESTALE: the committed lease had expired; nothing was taken of it. -ENODEV:
 * the space or the namespace is gone.
 */
struct ugm_ioc_fetch {
	__u64 segments;
	__u32 nr;
	__u32 commit_nr;
	__u64 lease;
	__u32 timeout_ms;
	__u32 flags;
};
#define UGM_FETCH_NOWAIT (1U << 0) /* -EAGAIN instead of waiting */
#define UGM_FETCH_COMMIT_ONLY (1U << 1) /* COMMIT_AND_FETCH: take no new lease */

#define UGM_EVENT_HINT_REFUSED 1 /* a: cookie, b: reason */
#define UGM_EVENT_HINT_DONE 2 /* a: cookie, b: blocks */
#define UGM_EVENT_POISON 3 /* a: unified address, b: errno */
#define UGM_EVENT_WRITE_ERROR 4 /* a: slot, b: errno */
#define UGM_EVENT_LEASE_BROKEN 5 /* a: lease, b: reason (1 expired, 2 released) */
#define UGM_EVENT_BROKEN 6 /* an invariant broke */

/**
 * struct ugm_event_desc - read() on the device file gives whole ones
 * @time_ns: the engine's time
 * @type: UGM_EVENT_*
 * @lost: events lost before this one, for want of room
 * @a: see the type
 * @b: see the type
 *
 * read() gives -EAGAIN on a non-blocking file with no event; poll() works.
 */
struct ugm_event_desc {
	__u64 time_ns;
	__u32 type;
	__u32 lost;
	__u64 a;
	__u64 b;
};

/**
 * struct ugm_ioc_check - UGM_IOC_CHECK: check every invariant of the device
 * @violations: out: how many are broken (each is a line in the kernel log)
 * @flags: zero
 */
struct ugm_ioc_check {
	__u64 violations;
	__u64 flags;
};

/**
 * struct ugm_space_desc - a space of the device
 * @id: its id
 * @blocks: populated blocks
 * @launches: launches begun
 * @pid: process that opened it
 * @uid: its user
 * @lane_pid: its flash server, or 0
 * @ranges: ranges
 */
struct ugm_space_desc {
	__u64 id;
	__u64 blocks;
	__u64 launches;
	__u32 pid;
	__u32 uid;
	__u32 lane_pid;
	__u32 ranges;
};

/**
 * struct ugm_ioc_spaces - UGM_IOC_SPACES: the spaces of the device
 * @spaces: user pointer to struct ugm_space_desc
 * @nr: in: room; out: how many there are
 * @pad: zero
 */
struct ugm_ioc_spaces {
	__u64 spaces;
	__u32 nr;
	__u32 pad;
};

/**
 * struct ugm_range_desc - a range, for UGM_IOC_RANGES
 * @tag: the user's name for it
 * @offset: unified address
 * @len: bytes
 * @model_len: full-size bytes
 */
struct ugm_range_desc {
	__u64 tag;
	__u64 offset;
	__u64 len;
	__u64 model_len;
};

/**
 * struct ugm_ioc_ranges - UGM_IOC_RANGES: the ranges of a space, by address
 * @ranges: user pointer to struct ugm_range_desc
 * @space: id; 0: this one (another: same user or CAP_SYS_ADMIN)
 * @start: first unified address to tell of
 * @nr: in: room; out: how many were written
 * @pad: zero
 */
struct ugm_ioc_ranges {
	__u64 ranges;
	__u64 space;
	__u64 start;
	__u32 nr;
	__u32 pad;
};

#define UGM_IOC_INFO _IOWR('U', 0xa0, struct ugm_ioc_info)
#define UGM_IOC_ALLOC _IOWR('U', 0xa1, struct ugm_ioc_alloc)
#define UGM_IOC_FREE _IOWR('U', 0xa2, struct ugm_ioc_free)
#define UGM_IOC_ADVISE _IOWR('U', 0xa3, struct ugm_ioc_advise)
#define UGM_IOC_HINT _IOWR('U', 0xa4, struct ugm_ioc_hint)
#define UGM_IOC_LAUNCH _IOWR('U', 0xa5, struct ugm_ioc_launch)
#define UGM_IOC_WAIT _IOWR('U', 0xa6, struct ugm_ioc_wait)
#define UGM_IOC_RESIDENCY _IOWR('U', 0xa7, struct ugm_ioc_residency)
#define UGM_IOC_STATS _IOWR('U', 0xa8, struct ugm_ioc_stats)
#define UGM_IOC_OPTIONS _IOWR('U', 0xa9, struct ugm_ioc_options)
#define UGM_IOC_MACHINE _IOWR('U', 0xaa, struct ugm_ioc_machine)
#define UGM_IOC_RESET _IOWR('U', 0xab, struct ugm_ioc_reset)
#define UGM_IOC_ATTACH _IOWR('U', 0xac, struct ugm_ioc_attach)
#define UGM_IOC_DETACH _IO('U', 0xad)
#define UGM_IOC_LANE _IOWR('U', 0xae, struct ugm_ioc_lane)
#define UGM_IOC_CHECK _IOWR('U', 0xaf, struct ugm_ioc_check)
#define UGM_IOC_SPACES _IOWR('U', 0xb0, struct ugm_ioc_spaces)
#define UGM_IOC_RANGES _IOWR('U', 0xb1, struct ugm_ioc_ranges)
/* on a lane file */
#define UGM_IOC_FETCH _IOWR('U', 0xc0, struct ugm_ioc_fetch)
#define UGM_IOC_COMMIT_AND_FETCH _IOWR('U', 0xc1, struct ugm_ioc_fetch)

#endif /* _UAPI_LINUX_UGM_H */
