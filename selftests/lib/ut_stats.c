// SPDX-License-Identifier: GPL-2.0
#include "ugm_test.h"

/* All statistics: those of the device, then those of the space. */
static int read_stats(struct ut *d, struct ugm_stat_desc **stats, uint32_t *nr)
{
	struct ugm_ioc_stats arg;
	struct ugm_stat_desc *all = NULL, *more;
	uint32_t scope, room;
	int err = 0;

	*nr = 0;
	for (scope = UGM_STATS_SPACE; scope <= UGM_STATS_DEVICE && !err; scope++) {
		arg = (struct ugm_ioc_stats){ .scope = scope };
		err = ut_ioctl(d->fd, UGM_IOC_STATS, &arg);
		if (err)
			break;
		room = arg.nr;
		more = realloc(all, (*nr + room) * sizeof(*all));
		if (!more) {
			err = -ENOMEM;
			break;
		}
		all = more;
		arg.stats = (uintptr_t)(all + *nr);
		err = ut_ioctl(d->fd, UGM_IOC_STATS, &arg);
		*nr += room;
	}
	if (err)
		free(all);
	else
		*stats = all;
	return err;
}

/**
 * ut_stat() - a statistic of the device or the space
 * @d: device
 * @name: its name
 *
 * Return: its value, or UT_NO_STAT if there is none of this name.
 */
uint64_t ut_stat(struct ut *d, const char *name)
{
	struct ugm_stat_desc *stats;
	uint64_t value = UT_NO_STAT;
	uint32_t nr, i;

	if (read_stats(d, &stats, &nr))
		return UT_NO_STAT;
	for (i = 0; i < nr; i++)
		if (!strcmp(stats[i].name, name))
			value = stats[i].value;
	free(stats);
	if (value == UT_NO_STAT)
		fprintf(stderr, "# no statistic is called %s\n", name);
	return value;
}

static bool ends_with(const char *name, const char *suffix)
{
	size_t n = strlen(name), s = strlen(suffix);

	return n >= s && !strcmp(name + n - s, suffix);
}

/**
 * ut_stats_like() - sum of the statistics with such names
 * @d: device
 * @prefix: how they begin
 * @suffix: how they end
 *
 * Return: the sum, or UT_NO_STAT if there is none of this kind.
 */
uint64_t ut_stats_like(struct ut *d, const char *prefix, const char *suffix)
{
	struct ugm_stat_desc *stats;
	uint32_t nr, i, found = 0;
	uint64_t sum = 0;

	if (read_stats(d, &stats, &nr))
		return UT_NO_STAT;
	for (i = 0; i < nr; i++) {
		if (strncmp(stats[i].name, prefix, strlen(prefix)) ||
		    !ends_with(stats[i].name, suffix))
			continue;
		sum += stats[i].value;
		found++;
	}
	free(stats);
	if (!found) {
		fprintf(stderr, "# no statistic is called %s*%s\n", prefix, suffix);
		return UT_NO_STAT;
	}
	return sum;
}

/**
 * ut_moved() - blocks moved between two tiers so far, by any lane for any cause
 * @d: device
 * @from: name of the tier
 * @to: name of the tier
 */
uint64_t ut_moved(struct ut *d, const char *from, const char *to)
{
	char prefix[64];

	snprintf(prefix, sizeof(prefix), "transfer.%s.%s.", from, to);
	return ut_stats_like(d, prefix, ".blocks");
}
