/* SPDX-License-Identifier: MIT */
#ifndef UGM_DRIVE_H
#define UGM_DRIVE_H

#include "error.h"
#include "pure.h"

/**
 * struct ugm_drive - what a drive can take
 * @name: its name
 * @capacity_bytes: capacity
 * @endurance_bytes: what may be written before it is worn out
 */
struct ugm_drive {
	const char *name;
	double capacity_bytes;
	double endurance_bytes;
};

/**
 * struct ugm_drive_wear - what an iteration after another does to a drive
 * @bytes: written in an iteration
 * @drive_writes_per_day: capacities written in a day
 * @lifetime_years: until it is worn out; HUGE_VAL: nothing is written
 */
struct ugm_drive_wear {
	u64 bytes;
	double drive_writes_per_day;
	double lifetime_years;
};

int ugm_drive_find(const char *text, struct ugm_drive *drive,
		   struct ugm_error *err);
void ugm_drive_wear(const struct ugm_drive *drive, u64 bytes, u64 iteration_ns,
	      struct ugm_drive_wear *wear);

#endif /* UGM_DRIVE_H */
