// SPDX-License-Identifier: GPL-2.0
#include "ugm_test.h"

/**
 * ut_alloc() - make a range
 * @d: device
 * @tag: its name
 * @len: bytes
 * @flags: UGM_ALLOC_*
 *
 * Return: its unified address or a negative errno.
 */
int64_t ut_alloc(struct ut *d, uint64_t tag, uint64_t len, uint32_t flags)
{
	struct ugm_ioc_alloc arg = { .len = len, .tag = tag, .flags = flags };
	int err = ut_ioctl(d->fd, UGM_IOC_ALLOC, &arg);

	return err ? err : (int64_t)arg.offset;
}

/**
 * ut_alloc_blocks() - make a range of whole blocks
 * @d: device
 * @tag: its name
 * @nr: blocks
 *
 * Return: its unified address or a negative errno.
 */
int64_t ut_alloc_blocks(struct ut *d, uint64_t tag, uint64_t nr)
{
	return ut_alloc(d, tag, nr * d->block, 0);
}

/**
 * ut_free() - end a range
 * @d: device
 * @offset: its unified address
 */
int ut_free(struct ut *d, uint64_t offset)
{
	struct ugm_ioc_free arg = { .offset = offset };

	return ut_ioctl(d->fd, UGM_IOC_FREE, &arg);
}

/**
 * ut_advise() - advice on a range
 * @d: device
 * @offset: unified address
 * @len: bytes
 * @advice: UGM_ADVICE_*
 * @tier: UGM_TIER_ID_*
 */
int ut_advise(struct ut *d, uint64_t offset, uint64_t len, uint32_t advice, uint32_t tier)
{
	struct ugm_ioc_advise arg = { offset, len, advice, tier };

	return ut_ioctl(d->fd, UGM_IOC_ADVISE, &arg);
}

/**
 * ut_state() - residency of one block
 * @d: device
 * @offset: unified address in it
 *
 * Return: the word of UGM_IOC_RESIDENCY, or ~0 on an error.
 */
uint32_t ut_state(struct ut *d, uint64_t offset)
{
	uint32_t state = ~0u;
	struct ugm_ioc_residency arg = {
		.offset = offset & ~((uint64_t)d->block - 1),
		.nr = 1,
		.states = (uintptr_t)&state,
	};

	if (ut_ioctl(d->fd, UGM_IOC_RESIDENCY, &arg))
		return ~0u;
	return state;
}

/**
 * ut_tier() - where a block is
 * @d: device
 * @offset: unified address in it
 *
 * Return: UGM_TIER_ID_*.
 */
int ut_tier(struct ut *d, uint64_t offset)
{
	return ut_state(d, offset) & 0xff;
}

/**
 * ut_has_copy() - is there a valid copy of a block beside its home?
 * @d: device
 * @offset: unified address in it
 * @tier: UGM_TIER_ID_*
 */
bool ut_has_copy(struct ut *d, uint64_t offset, uint32_t tier)
{
	return ut_state(d, offset) >> UGM_RESIDENCY_COPY_SHIFT & 1u << tier;
}

/**
 * ut_hint() - give one hint
 * @d: device
 * @op: UGM_HINT_*
 * @tag: range
 * @offset: bytes from its start
 * @len: bytes
 * @tier: UGM_TIER_ID_*
 * @at: launch number
 * @need: launch number
 *
 * Return: the batch's error, or else the hint's result.
 */
int ut_hint(struct ut *d, uint32_t op, uint64_t tag, uint64_t offset, uint64_t len, uint32_t tier,
	    uint64_t at, uint64_t need)
{
	struct ugm_hint_desc h = {
		.tag = tag,
		.offset = offset,
		.len = len,
		.at = at,
		.need = need,
		.op = op,
		.tier = tier,
	};
	struct ugm_ioc_hint arg = { .hints = (uintptr_t)&h, .nr = 1 };
	int err = ut_ioctl(d->fd, UGM_IOC_HINT, &arg);

	return err ? err : h.result;
}

/**
 * ut_hint_now() - a hint on whole blocks that acts at once
 * @d: device
 * @op: UGM_HINT_*
 * @tag: range
 * @first: first block
 * @nr: blocks
 * @tier: UGM_TIER_ID_*
 */
int ut_hint_now(struct ut *d, uint32_t op, uint64_t tag, uint64_t first, uint64_t nr,
		uint32_t tier)
{
	return ut_hint(d, op, tag, first * d->block, nr * d->block, tier, UGM_HINT_NOW,
		       UGM_HINT_NO_NEED);
}

/**
 * ut_wait() - until no planned move is under way
 * @d: device
 * @now: out, or NULL: the engine's time
 */
int ut_wait(struct ut *d, uint64_t *now)
{
	struct ugm_ioc_wait arg = { 0 };
	int err = ut_ioctl(d->fd, UGM_IOC_WAIT, &arg);

	if (now)
		*now = arg.now_ns;
	return err;
}

/**
 * ut_move() - a hint that acts at once, and wait for it
 * @d: device
 * @op: UGM_HINT_*
 * @tag: range
 * @first: first block
 * @nr: blocks
 * @tier: UGM_TIER_ID_*
 */
int ut_move(struct ut *d, uint32_t op, uint64_t tag, uint64_t first, uint64_t nr, uint32_t tier)
{
	return ut_hint_now(d, op, tag, first, nr, tier) ?: ut_wait(d, NULL);
}

/**
 * ut_launch() - a launch with one operand
 * @d: device
 * @offset: unified address of the operand
 * @len: bytes
 * @access: UGM_ACCESS_*
 * @duration_ns: how long it runs
 * @result: out, or NULL
 */
int ut_launch(struct ut *d, uint64_t offset, uint64_t len, uint32_t access, uint64_t duration_ns,
	      struct ugm_ioc_launch *result)
{
	struct ugm_operand_desc o = { .offset = offset, .len = len, .access = access };
	struct ugm_ioc_launch arg = {
		.operands = (uintptr_t)&o,
		.nr_operands = 1,
		.duration_ns = duration_ns,
	};
	int err = ut_ioctl(d->fd, UGM_IOC_LAUNCH, &arg);

	if (result)
		*result = arg;
	return err;
}

/**
 * ut_options() - set the rules of the space
 * @d: device
 * @changes: all of them
 */
int ut_options(struct ut *d, const struct ugm_ioc_options *changes)
{
	struct ugm_ioc_options arg = *changes;

	arg.set = 1;
	return ut_ioctl(d->fd, UGM_IOC_OPTIONS, &arg);
}

/**
 * ut_virtual() - the virtual clock, on a machine that is easy to reckon with
 * @d: device, no block in use
 * @fault_ns: per fault batch
 *
 * A byte takes a nanosecond on any link, there is no latency, and all frames and
 * host blocks count.
 */
int ut_virtual(struct ut *d, uint64_t fault_ns)
{
	struct ugm_ioc_info info = { 0 };
	struct ugm_ioc_machine arg = {
		.set = 1,
		.clock = 0,
		.bandwidth = { UT_NSEC, UT_NSEC, UT_NSEC, UT_NSEC },
		.fault_ns = fault_ns,
		.fault_batch_bytes = 1 << 20,
	};
	int err = ut_ioctl(d->fd, UGM_IOC_INFO, &info);

	if (err)
		return err;
	arg.host_bytes = info.host_limit * d->block;
	return ut_ioctl(d->fd, UGM_IOC_MACHINE, &arg);
}
