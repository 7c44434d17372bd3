/* SPDX-License-Identifier: MIT */
#ifndef UGM_PROGRESS_H
#define UGM_PROGRESS_H

#include "pure.h"

/**
 * DOC: progress
 *
 * One line on standard error while something long goes on, only where that is
 * a terminal, and wiped at the end.
 */

/**
 * struct ugm_progress - a progress line
 * @what: what goes on
 * @total: of how many
 * @shown_ns: when it was last shown
 * @on: standard error is a terminal
 * @visible: a line is on the screen
 */
struct ugm_progress {
	const char *what;
	u64 total;
	u64 shown_ns;
	bool on;
	bool visible;
};

void ugm_progress_begin(struct ugm_progress *p, const char *what, u64 total);
void ugm_progress_update(struct ugm_progress *p, u64 done);
void ugm_progress_end(struct ugm_progress *p);
u64 ugm_wall_ns(void);

#endif /* UGM_PROGRESS_H */
