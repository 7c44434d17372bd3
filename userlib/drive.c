// SPDX-License-Identifier: MIT
#include <math.h>

#include "drive.h"
#include "units.h"

/* From the makers' data sheets; the first is the default, Z-NAND as in G10. */
static const struct ugm_drive drives[] = {
	{ "samsung-983-zet-960g", 960e9, 17.52e15 },
	{ "intel-p5800x-1600g", 1.6e12, 292e15 },
	{ "samsung-990-pro-2t", 2e12, 1.2e15 },
};

#define SECONDS_PER_DAY 86400.0
#define DAYS_PER_YEAR 365.0

/**
 * ugm_drive_find() - a drive by its name, or described
 * @text: a name, or "CAPACITY:ENDURANCE" in bytes (1.6e12:8.7e15); NULL: the
 *        default
 * @drive: filled; its name is @text or a constant
 * @err: why not, with the names that are known
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int ugm_drive_find(const char *text, struct ugm_drive *drive,
		   struct ugm_error *err)
{
	size_t len = text ? strcspn(text, ":") : 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(drives); i++) {
		if (text && strcmp(text, drives[i].name))
			continue;
		*drive = drives[i];
		return 0;
	}
	drive->name = text;
	if (text[len] && ugm_real(text, len, &drive->capacity_bytes) &&
	    ugm_real(text + len + 1, strlen(text + len + 1), &drive->endurance_bytes) &&
	    drive->capacity_bytes > 0 && drive->endurance_bytes > 0 &&
	    isfinite(drive->capacity_bytes) && isfinite(drive->endurance_bytes))
		return 0;
	return ugm_fail(err, -EINVAL,
			"drive '%s': allowed are %s, %s, %s, or CAPACITY:ENDURANCE in bytes",
			text, drives[0].name, drives[1].name, drives[2].name);
}

/**
 * ugm_drive_wear() - what training day and night does to a drive
 * @drive: drive
 * @bytes: written in an iteration
 * @iteration_ns: how long an iteration takes
 * @wear: filled
 *
 * Context: any.
 */
void ugm_drive_wear(const struct ugm_drive *drive, u64 bytes, u64 iteration_ns,
	      struct ugm_drive_wear *wear)
{
	double per_day = iteration_ns ?
		(double)bytes * 1e9 / (double)iteration_ns * SECONDS_PER_DAY : 0;

	wear->bytes = bytes;
	wear->drive_writes_per_day = per_day / drive->capacity_bytes;
	wear->lifetime_years = per_day > 0 ?
		drive->endurance_bytes / per_day / DAYS_PER_YEAR : HUGE_VAL;
}
