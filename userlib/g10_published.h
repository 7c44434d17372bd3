/* SPDX-License-Identifier: MIT */
#ifndef UGM_G10_PUBLISHED_H
#define UGM_G10_PUBLISHED_H

#include "layout.h"
#include "schedule.h"

/**
 * DOC: G10's scheduler as published
 *
 * The program that was published with G10 departs from the text, and the preset
 * g10-artifact follows the program:
 *
 * - Bandwidths are in units of 2^30; a move to or from flash has a latency of
 *   65 us, one to or from the host of 45 us.
 * - The first tensor counts twice and is never freed. First touches and frees
 *   are hints too, given in order of tensors until the estimate fits.
 * - A benefit is in whole kernels, and counts those in which the estimate is
 *   over the GPU memory, not over the target. That a period reaches into the
 *   next iteration costs it a whole iteration of benefit where memory is
 *   overfull from the start.
 * - Periods are sorted anew in each round. When none is of use any more the one
 *   that happens to come first is taken all the same, until that is one that
 *   was tried before.
 * - Flash counts as busy when it is so in all kernels of the eviction's ideal
 *   time but the last; also when there is but one.
 * - A move to the host must fit beside what the host holds at its fullest, also
 *   at another time. A short one is charged even where it is given up.
 * - Periods that reach into the next iteration reserve nothing, and their
 *   prefetch starts one and a half one-way times before its end.
 * - Prefetches are pulled earlier without regard to their own size.
 * - Where paging does not help out, the target is 1.060606 times as high, and
 *   periods at the kernel that was fullest before all evictions go to flash,
 * the largest and longest first, until that kernel is at 90 % of the target;
 * they come back on demand.
 */

int ugm_g10_published(const struct ugm_layout *layout, bool paging, struct ugm_schedule *s);

#endif /* UGM_G10_PUBLISHED_H */
