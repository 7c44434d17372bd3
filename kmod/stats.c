// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "ioctl.h"
#include "ugm.h"

/**
 * DOC: statistics
 *
 * A statistic is a name and a number; the unit is the last part of the name.
 * What users get is all there is, so that a new one needs no new interface.
 * Bytes are full-size ones, as the engine counts.
 */

static const char *const lane_names[UGM_NR_LANES] = { "kernel", "planner" };
static const char *const cause_names[UGM_NR_CAUSES] = { "demand", "planned", "eviction", "touch" };

static const char *const op_names[UGM_NR_OPS] = {
	[UGM_OP_PREFETCH] = "prefetch",
	[UGM_OP_EVICT] = "evict",
	[UGM_OP_DISCARD] = "discard",
	[UGM_OP_PIN] = "pin",
	[UGM_OP_UNPIN] = "unpin",
	[UGM_OP_PROTECT] = "protect",
	[UGM_OP_UNPROTECT] = "unprotect",
	[UGM_OP_WRITEBACK] = "writeback",
};

static const char *const refusal_names[UGM_NR_REFUSALS] = {
	[UGM_REFUSED_RESIDENT] = "resident",
	[UGM_REFUSED_ABSENT] = "absent",
	[UGM_REFUSED_IN_USE] = "in_use",
	[UGM_REFUSED_BUSY] = "busy",
	[UGM_REFUSED_FULL] = "full",
	[UGM_REFUSED_HELD] = "held",
	[UGM_REFUSED_CANCELLED] = "cancelled",
	[UGM_REFUSED_STALE] = "stale",
	[UGM_REFUSED_MEMORY] = "memory",
	[UGM_REFUSED_REDIRECTED] = "redirected",
	[UGM_REFUSED_POISON] = "poison",
	[UGM_REFUSED_IO] = "io",
};

#define UGM_COUNTER_STRING(name, string) [UGM_C_##name] = string,
static const char *const counter_names[UGM_NR_COUNTERS] = { UGM_COUNTERS(UGM_COUNTER_STRING) };

/* Collects statistics; counts those there is no room for. */
struct collector {
	struct ugm_stat_desc *stats;
	u32 room;
	u32 nr;
};

static __printf(3, 4) void add(struct collector *c, u64 value, const char *format, ...)
{
	struct ugm_stat_desc *s = &c->stats[c->nr];
	va_list args;

	if (c->nr++ >= c->room)
		return;
	s->value = value;
	va_start(args, format);
	WARN_ON_ONCE(vsnprintf(s->name, sizeof(s->name), format, args) >= sizeof(s->name));
	va_end(args);
}

static void add_transfers(struct collector *c, const struct ugm_engine_stats *s)
{
	unsigned int src, dst, lane, cause;

	for (src = UGM_TIER_GPU; src < UGM_NR_TIERS; src++)
		for (dst = UGM_TIER_GPU; dst < UGM_NR_TIERS; dst++)
			for (lane = 0; lane < UGM_NR_LANES; lane++)
				for (cause = 0; src != dst && cause < UGM_NR_CAUSES; cause++) {
					add(c, s->bytes[src][dst][lane][cause],
					    "transfer.%s.%s.%s.%s.bytes", ugm_tier_name(src),
					    ugm_tier_name(dst), lane_names[lane],
					    cause_names[cause]);
					add(c, s->blocks[src][dst][lane][cause],
					    "transfer.%s.%s.%s.%s.blocks", ugm_tier_name(src),
					    ugm_tier_name(dst), lane_names[lane],
					    cause_names[cause]);
				}
}

static void add_tiers(struct collector *c, struct ugm_device *dev)
{
	const struct ugm_engine *e = &dev->engine;
	struct ugm_slot_facts slots = {};
	unsigned int t;

	for (t = UGM_TIER_GPU; t < UGM_NR_TIERS; t++) {
		add(c, e->used[t], "tier.%s.used.blocks", ugm_tier_name(t));
		add(c, e->copies[t], "tier.%s.copies.blocks", ugm_tier_name(t));
		if (ugm_tier_is_memory(t))
			add(c, e->capacity[t], "tier.%s.capacity.blocks", ugm_tier_name(t));
	}
	add(c, READ_ONCE(dev->pool.nr), "frame.all.count");
	add(c, READ_ONCE(dev->pool.nr_spare), "frame.spare.count");
	add(c, READ_ONCE(dev->pool.nr_free), "frame.free.count");
	add(c, READ_ONCE(dev->pool.nr_quarantined), "frame.quarantine.count");
	add(c, atomic64_read(&dev->host.nr_pages), "host.allocated.blocks");
	add(c, READ_ONCE(dev->host.nr_free), "host.free.blocks");
	if (dev->flash)
		ugm_slot_facts(dev, &slots);
	add(c, slots.slots, "slot.all.count");
	add(c, slots.used, "slot.used.count");
	add(c, slots.quarantined, "slot.quarantine.count");
	add(c, slots.bad, "slot.bad.count");
	add(c, slots.writes, "slot.writes.count");
	add(c, slots.max_writes, "slot.most_writes.count");
	add(c, slots.discarded, "slot.discarded.count");
}

static u64 counter(const struct ugm_device *dev, unsigned int i)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(dev->counters, cpu)->n[i];
	return sum;
}

static void add_device(struct collector *c, struct ugm_device *dev)
{
	const struct ugm_engine *e = &dev->engine;
	unsigned int i;

	add(c, e->now_ns, "engine.now.ns");
	add(c, e->inexact, "engine.inexact.bits");
	add(c, e->nr_moving, "engine.moving.blocks");
	add(c, e->stats.allocated, "engine.allocated.blocks");
	add(c, e->stats.dropped, "engine.dropped.blocks");
	add(c, e->stats.discarded, "engine.discarded.blocks");
	add(c, e->stats.cancelled, "engine.cancelled.count");
	add(c, e->stats.cancelled_ns, "engine.cancelled.ns");
	add(c, e->stats.promoted, "engine.promoted.blocks");
	add(c, e->stats.late, "engine.late.count");
	add_transfers(c, &e->stats);
	add_tiers(c, dev);
	for (i = 0; i < UGM_NR_COUNTERS; i++)
		add(c, counter(dev, i), "%s", counter_names[i]);
	add(c, atomic_long_read(&dev->metadata), "metadata.bytes");
}

static void add_space(struct collector *c, struct ugm_file_space *fs)
{
	struct ugm_lane_facts lane = {};
	unsigned int i;

	add(c, fs->s.launches, "space.launches.count");
	add(c, atomic_long_read(&fs->nr_blocks), "space.populated.blocks");
	add(c, fs->nr_ranges, "space.ranges.count");
	add(c, fs->s.pending.nr, "space.pending_hints.count");
	for (i = 0; i < UGM_NR_OPS; i++)
		add(c, fs->s.followed[i], "hint.followed.%s.blocks", op_names[i]);
	for (i = 0; i < UGM_NR_REFUSALS; i++)
		add(c, fs->s.refused[i], "hint.refused.%s.blocks", refusal_names[i]);
	ugm_lane_facts(fs, &lane);
	add(c, lane.pid, "lane.process.pid");
	add(c, lane.serving, "lane.serving.bool");
	add(c, lane.queued, "lane.queued.blocks");
	add(c, lane.outstanding, "lane.outstanding.leases");
	add(c, lane.leased, "lane.leased.blocks");
}

/**
 * ugm_ioc_stats() - UGM_IOC_STATS
 * @fs: space
 * @p: struct ugm_ioc_stats
 *
 * Context: process context.
 */
int ugm_ioc_stats(struct ugm_file_space *fs, void *p)
{
	struct ugm_ioc_stats *arg = p;
	struct collector c = { .room = min_t(u32, arg->nr, 4096) };
	int err = 0;

	if (arg->scope > UGM_STATS_DEVICE)
		return -EINVAL;
	c.stats = kvcalloc(max(c.room, 1U), sizeof(*c.stats), GFP_KERNEL_ACCOUNT);
	if (!c.stats)
		return -ENOMEM;
	mutex_lock(&fs->dev->engine_lock);
	if (arg->scope == UGM_STATS_DEVICE)
		add_device(&c, fs->dev);
	else
		add_space(&c, fs);
	mutex_unlock(&fs->dev->engine_lock);
	if (copy_to_user(u64_to_user_ptr(arg->stats), c.stats,
			 min(c.nr, c.room) * sizeof(*c.stats)))
		err = -EFAULT;
	arg->nr = c.nr;
	kvfree(c.stats);
	return err;
}
