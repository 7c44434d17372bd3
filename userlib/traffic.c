// SPDX-License-Identifier: MIT
#include "traffic.h"

#define NAME_MAX_LEN 16

static const char *const lanes[UGM_NR_LANES] = {
	[UGM_LANE_KERNEL] = "kernel",
	[UGM_LANE_PLANNER] = "planner",
};

static const char *const causes[UGM_NR_CAUSES] = {
	[UGM_CAUSE_DEMAND] = "demand",
	[UGM_CAUSE_PLANNED] = "planned",
	[UGM_CAUSE_EVICTION] = "eviction",
	[UGM_CAUSE_TOUCH] = "touch",
};

static int index_of(const char *const *names, int nr, const char *name)
{
	int i;

	for (i = 0; i < nr && strcmp(names[i], name); i++)
		;
	return i;
}

static int tier_of(const char *name)
{
	int t;

	for (t = 0; t < UGM_NR_TIERS && strcmp(ugm_tier_name(t), name); t++)
		;
	return t;
}

/* transfer.SOURCE.DESTINATION.LANE.CAUSE.UNIT */
static int collect(const char *name, uint64_t value, void *arg)
{
	char from[NAME_MAX_LEN], to[NAME_MAX_LEN], by[NAME_MAX_LEN], why[NAME_MAX_LEN];
	char unit[NAME_MAX_LEN];
	struct ugm_traffic *t = arg;
	int src, dst, lane, cause;

	if (sscanf(name, "transfer.%15[^.].%15[^.].%15[^.].%15[^.].%15s", from, to, by, why,
		   unit) != 5)
		return 0;
	src = tier_of(from);
	dst = tier_of(to);
	lane = index_of(lanes, UGM_NR_LANES, by);
	cause = index_of(causes, UGM_NR_CAUSES, why);
	if (src == UGM_NR_TIERS || dst == UGM_NR_TIERS || lane == UGM_NR_LANES ||
	    cause == UGM_NR_CAUSES)
		return 0;
	if (!strcmp(unit, "bytes"))
		t->bytes[src][dst][lane][cause] = value;
	else if (!strcmp(unit, "blocks"))
		t->blocks[src][dst][lane][cause] = value;
	return 0;
}

/**
 * ugm_traffic_read() - read what a device has moved
 * @space: handle
 * @t: filled
 *
 * Return: 0 or a negative errno.
 */
int ugm_traffic_read(struct ugm *space, struct ugm_traffic *t)
{
	memset(t, 0, sizeof(*t));
	return ugm_stats(space, UGM_STATS_DEVICE, collect, t);
}
