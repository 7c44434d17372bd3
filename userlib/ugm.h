/* SPDX-License-Identifier: MIT */
#ifndef UGM_H
#define UGM_H

#include <stddef.h>
#include <stdint.h>

#include <linux/ugm.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: libugm
 *
 * Unified GPU memory for programs. ugm_open() makes an address space on a
 * device; ugm_malloc() gives memory in it that lives in the GPU tier, in host
 * RAM or on flash, wherever it was last moved. The pointer it returns is the
 * host's view; ugm_gpu_ptr() is what an emulated GPU kernel uses. Both show the
 * same bytes.
 *
 * Every call that can fail returns 0 (or a count) or a negative errno. Handles
 * are opaque. A handle may be used by several threads; ugm_close() by one, when
 * the others have finished. A child of fork() has neither views nor handle.
 */

struct ugm;
struct ugm_lane_file;

/* A space */

/**
 * ugm_open() - open a device and make an address space on it
 * @path: device node, or NULL: $UGM_DEVICE if set, else /dev/ugm0
 * @space: out: the handle
 *
 * Maps both views once, so allocations cost no mapping each.
 *
 * Return: 0, -ENOENT or -ENXIO (no such device), -ENOTTY (not a ugm device),
 * -EACCES, -ENOMEM.
 */
int ugm_open(const char *path, struct ugm **space);

/**
 * ugm_close() - end a space: its memory, mappings and handle
 * @space: handle, or NULL
 */
void ugm_close(struct ugm *space);

/**
 * ugm_fd() - the file of a space, for poll() and for reading events
 * @space: handle
 *
 * Return: a file descriptor that belongs to the handle.
 */
int ugm_fd(const struct ugm *space);

/**
 * ugm_info() - what the device and the space are
 * @space: handle
 * @info: out
 *
 * Return: 0 or a negative errno.
 */
int ugm_info(struct ugm *space, struct ugm_ioc_info *info);

/**
 * ugm_block_size() - the unit of residency
 * @space: handle
 *
 * Return: bytes of a block.
 */
size_t ugm_block_size(const struct ugm *space);

/* Memory */

/**
 * ugm_malloc() - allocate unified memory
 * @space: handle
 * @ptr: out: host-view pointer, aligned to a block; reads as zeros
 * @len: bytes
 *
 * Return: 0, -EINVAL (@len is 0), -ENOSPC, -ENOMEM.
 */
int ugm_malloc(struct ugm *space, void **ptr, size_t len);

/**
 * ugm_malloc_tagged() - allocate unified memory with a name
 * @space: handle
 * @ptr: out: host-view pointer
 * @len: bytes
 * @model_len: full-size bytes it stands for; 0: @len
 * @tag: name of the range, which hints use; below 2^63, unique in the space
 * @flags: UGM_ALLOC_*
 *
 * Return: 0, -EEXIST (@tag), or as ugm_malloc().
 */
int ugm_malloc_tagged(struct ugm *space, void **ptr, size_t len, uint64_t model_len, uint64_t tag,
		      uint32_t flags);

/**
 * ugm_free() - end an allocation and its data
 * @space: handle
 * @ptr: either view's pointer, as returned; or NULL
 *
 * Return: 0, -ENOENT (no allocation starts there), -EBUSY (in use).
 */
int ugm_free(struct ugm *space, void *ptr);

/**
 * ugm_gpu_ptr() - the GPU view of an address
 * @space: handle
 * @ptr: pointer into either view
 *
 * Return: the pointer, or NULL if @ptr is in neither view.
 */
void *ugm_gpu_ptr(const struct ugm *space, const void *ptr);

/**
 * ugm_host_ptr() - the host view of an address
 * @space: handle
 * @ptr: pointer into either view
 *
 * Return: the pointer, or NULL if @ptr is in neither view.
 */
void *ugm_host_ptr(const struct ugm *space, const void *ptr);

/**
 * ugm_address() - the unified address of a pointer
 * @space: handle
 * @ptr: pointer into either view
 * @address: out
 *
 * Return: 0, or -EFAULT if @ptr is in neither view.
 */
int ugm_address(const struct ugm *space, const void *ptr, uint64_t *address);

/**
 * ugm_mem_prefetch() - start moving memory to a tier
 * @space: handle
 * @ptr: pointer into an allocation
 * @len: bytes, within it; rounded outward to blocks
 * @tier: UGM_TIER_ID_GPU or UGM_TIER_ID_HOST
 *
 * A hint: ugm_synchronize() waits for it.
 *
 * Return: 0, -EFAULT (not allocated memory), -EINVAL.
 */
int ugm_mem_prefetch(struct ugm *space, const void *ptr, size_t len, uint32_t tier);

/**
 * ugm_mem_evict() - start moving memory away from the GPU
 * @space: handle
 * @ptr: pointer into an allocation
 * @len: bytes, within it; rounded inward to blocks
 * @tier: UGM_TIER_ID_HOST or UGM_TIER_ID_FLASH
 *
 * Return: 0, -EFAULT (not allocated memory), -EINVAL.
 */
int ugm_mem_evict(struct ugm *space, const void *ptr, size_t len, uint32_t tier);

/**
 * ugm_mem_discard() - the contents are of no use any more
 * @space: handle
 * @ptr: pointer into an allocation
 * @len: bytes, within it; rounded inward to blocks
 *
 * Return: 0, -EFAULT (not allocated memory), -EINVAL.
 */
int ugm_mem_discard(struct ugm *space, const void *ptr, size_t len);

/**
 * ugm_mem_advise() - say how memory will be used
 * @space: handle
 * @ptr: pointer into an allocation, block aligned
 * @len: bytes
 * @advice: UGM_ADVICE_*
 * @tier: for UGM_ADVICE_PREFER, else 0
 *
 * Return: 0, -EFAULT, -EINVAL.
 */
int ugm_mem_advise(struct ugm *space, const void *ptr, size_t len, uint32_t advice, uint32_t tier);

/**
 * ugm_residency() - where memory is
 * @space: handle
 * @ptr: pointer into either view, block aligned
 * @states: out: @nr words, UGM_TIER_ID_* in bits 0..7 and UGM_RESIDENCY_*
 * @nr: blocks
 *
 * Return: 0, -EFAULT, -EINVAL.
 */
int ugm_residency(struct ugm *space, const void *ptr, uint32_t *states, uint32_t nr);

/**
 * ugm_residency_at() - where memory of any space is
 * @space: handle
 * @id: the space; 0: this one. Another needs the same user, or CAP_SYS_ADMIN.
 * @address: unified address, block aligned
 * @states: out: @nr words, as of ugm_residency()
 * @nr: blocks
 *
 * Return: 0, -ENOENT (no such space), -EPERM, -EINVAL.
 */
int ugm_residency_at(struct ugm *space, uint64_t id, uint64_t address, uint32_t *states,
		     uint32_t nr);

/**
 * ugm_residency_digest() - the residency of the whole space in one word
 * @space: handle
 * @digest: out: equal where every block of two spaces is in the same state
 * @blocks: out, or NULL: blocks by UGM_TIER_ID_*
 *
 * Return: 0 or a negative errno.
 */
int ugm_residency_digest(struct ugm *space, uint64_t *digest, uint64_t blocks[8]);

/* Kernels */

/**
 * struct ugm_operand_ref - memory a launch uses
 * @ptr: pointer into either view
 * @len: bytes, within one allocation
 * @access: UGM_ACCESS_READ and/or UGM_ACCESS_WRITE
 */
struct ugm_operand_ref {
	const void *ptr;
	size_t len;
	uint32_t access;
};

/**
 * struct ugm_times - what a launch cost
 * @number: its number in this space, from 0
 * @begin_ns: when it began
 * @arrived_ns: when its last operand was there
 * @end_ns: when it ended
 * @batches: fault batches it took
 * @fault_bytes: full-size bytes that were missing at its begin
 */
struct ugm_times {
	uint64_t number;
	uint64_t begin_ns;
	uint64_t arrived_ns;
	uint64_t end_ns;
	uint64_t batches;
	uint64_t fault_bytes;
};

/**
 * ugm_launch() - run an emulated GPU kernel and wait for its end
 * @space: handle
 * @operands: what it uses
 * @nr: how many
 * @duration_ns: how long it runs once it can
 * @times: out, or NULL
 *
 * Return: 0, -EFAULT (an operand is in neither view), -ENOSPC (they do not
 * fit), -ENODATA (one is missing and demand is off), -EIO (one is poisoned).
 */
int ugm_launch(struct ugm *space, const struct ugm_operand_ref *operands, uint32_t nr,
	       uint64_t duration_ns, struct ugm_times *times);

/**
 * ugm_launch_at() - ugm_launch() by unified addresses
 * @space: handle
 * @operands: what it uses
 * @nr: how many, at most 4096
 * @duration_ns: how long it runs once it can
 * @times: out, or NULL
 *
 * Return: as ugm_launch().
 */
int ugm_launch_at(struct ugm *space, const struct ugm_operand_desc *operands, uint32_t nr,
		  uint64_t duration_ns, struct ugm_times *times);

/**
 * ugm_synchronize() - wait until no planned move is queued or under way
 * @space: handle
 * @now_ns: out, or NULL: the engine's time
 *
 * Return: 0 or a negative errno.
 */
int ugm_synchronize(struct ugm *space, uint64_t *now_ns);

/* Hints and rules */

/**
 * ugm_hint() - submit hints
 * @space: handle
 * @id: space they are for; 0: this one
 * @hints: the hints; each gets its result
 * @nr: how many, any number
 *
 * Return: 0, or the negative errno of the batch that was refused. A hint that
 * is refused alone says so in its result.
 */
int ugm_hint(struct ugm *space, uint64_t id, struct ugm_hint_desc *hints, size_t nr);

/**
 * ugm_options_set() - set the run-time rules of the space
 * @space: handle
 * @options: all of them; the field set is ignored
 *
 * Return: 0, -EINVAL, -EBUSY.
 */
int ugm_options_set(struct ugm *space, const struct ugm_ioc_options *options);

/**
 * ugm_options_get() - the run-time rules of the space
 * @space: handle
 * @options: out
 *
 * Return: 0 or a negative errno.
 */
int ugm_options_get(struct ugm *space, struct ugm_ioc_options *options);

/**
 * ugm_machine_set() - set the modelled machine of the device
 * @space: handle
 * @machine: the machine; the field set is ignored
 *
 * Return: 0, -EPERM, -EBUSY (blocks are in use), -ENOSPC (more than the device
 * has), -ENOMEM, -EINVAL.
 */
int ugm_machine_set(struct ugm *space, const struct ugm_ioc_machine *machine);

/**
 * ugm_machine_get() - the modelled machine of the device
 * @space: handle
 * @machine: out
 *
 * Return: 0 or a negative errno.
 */
int ugm_machine_get(struct ugm *space, struct ugm_ioc_machine *machine);

/**
 * ugm_reset() - set clock, launch numbers and counters to zero
 * @space: handle
 *
 * Hints that are held stay, for the launch that has their number then.
 *
 * Return: 0, or -EBUSY while moves are queued.
 */
int ugm_reset(struct ugm *space);

/**
 * ugm_inexact() - why times may differ from the model's
 * @space: handle
 * @bits: out: 0: they do not; else UGM_INEXACT_* bits
 *
 * Return: 0 or a negative errno.
 */
int ugm_inexact(struct ugm *space, uint32_t *bits);

/* Looking around */

/**
 * ugm_stats() - go through the statistics
 * @space: handle
 * @scope: UGM_STATS_SPACE or UGM_STATS_DEVICE
 * @each: called for each; a value other than 0 ends the walk
 * @arg: handed to @each
 *
 * Return: 0, what @each returned, or a negative errno.
 */
int ugm_stats(struct ugm *space, uint32_t scope,
	      int (*each)(const char *name, uint64_t value, void *arg), void *arg);

/**
 * ugm_spaces() - the spaces of the device
 * @space: handle
 * @spaces: out: an array to be freed with free()
 * @nr: out: how many
 *
 * Return: 0 or a negative errno.
 */
int ugm_spaces(struct ugm *space, struct ugm_space_desc **spaces, uint32_t *nr);

/**
 * ugm_ranges() - the ranges of a space, by address
 * @space: handle
 * @id: space; 0: this one
 * @ranges: out: an array to be freed with free()
 * @nr: out: how many
 *
 * Return: 0, -ENOENT (no such space), -EPERM, -ENOMEM.
 */
int ugm_ranges(struct ugm *space, uint64_t id, struct ugm_range_desc **ranges, size_t *nr);

/**
 * ugm_check() - check every invariant of the device
 * @space: handle
 * @violations: out: how many are broken
 *
 * Return: 0 or a negative errno.
 */
int ugm_check(struct ugm *space, uint64_t *violations);

/* Flash */

/**
 * ugm_attach() - make a namespace the flash tier
 * @space: handle
 * @path: its block device
 * @offset: bytes to leave alone at its start, block aligned
 * @len: bytes to use, whole blocks; 0: to its end
 *
 * What is on it is lost. The tool's checks (mounted, partitions, file systems)
 * are not made here.
 *
 * Return: 0, -EPERM, -EBUSY (mounted or claimed), -EEXIST (one is attached).
 */
int ugm_attach(struct ugm *space, const char *path, uint64_t offset, uint64_t len);

/**
 * ugm_detach() - give the namespace back
 * @space: handle
 *
 * Return: 0, -EPERM, -EBUSY (slots are in use), -ENODEV (none is attached).
 */
int ugm_detach(struct ugm *space);

/**
 * ugm_lane_open() - become the flash server of a space
 * @space: handle
 * @id: space to serve; 0: this one
 * @timeout_ms: how long a lease may last; 0: 1000
 * @lane: out
 *
 * Return: 0, -EPERM, -EBUSY (it has one), -ENODEV (no namespace), -ENOTBLK
 * (something else has its name in /dev).
 */
int ugm_lane_open(struct ugm *space, uint64_t id, uint32_t timeout_ms,
		  struct ugm_lane_file **lane);

/**
 * ugm_lane_close() - stop being the flash server
 * @lane: lane, or NULL
 */
void ugm_lane_close(struct ugm_lane_file *lane);

/**
 * struct ugm_serve_totals - what a flash server did
 * @leases: leases committed
 * @segments: segments of them
 * @read_bytes: bytes read from the namespace
 * @written_bytes: bytes written to it
 * @continued: short reads and writes that were continued
 * @retried: submissions repeated after -EAGAIN
 * @failed: segments reported with fewer bytes or an error
 * @stale: leases that had expired at commit
 */
struct ugm_serve_totals {
	uint64_t leases;
	uint64_t segments;
	uint64_t read_bytes;
	uint64_t written_bytes;
	uint64_t continued;
	uint64_t retried;
	uint64_t failed;
	uint64_t stale;
};

/**
 * ugm_serve() - move leased data until told to stop
 * @lane: lane
 * @depth: requests in flight, 1 to 4096; 0: 64
 * @stop: checked at least every 100 ms; a value other than 0 ends the service
 *        after the leases in hand; or NULL
 * @totals: out, or NULL
 *
 * Return: 0 when stopped or when the space or the namespace is gone, or a
 * negative errno.
 */
int ugm_serve(struct ugm_lane_file *lane, unsigned int depth, const volatile int *stop,
	      struct ugm_serve_totals *totals);

#ifdef __cplusplus
}
#endif

#endif /* UGM_H */
