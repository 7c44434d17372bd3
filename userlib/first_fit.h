/* SPDX-License-Identifier: MIT */
#ifndef UGM_FIRST_FIT_H
#define UGM_FIRST_FIT_H

#include "pure.h"

/**
 * DOC: contiguous memory
 *
 * Policies for machines that cannot page need contiguous memory for a tensor:
 * the first hole that is large enough, seen from the left end or from the
 * right.
 */

#define UGM_FIRST_FIT_LOST U32_MAX

/**
 * struct ugm_piece - memory in use
 * @start: first byte
 * @end: the one after the last
 * @owner: whose: a tensor index, or UGM_FIRST_FIT_LOST
 */
struct ugm_piece {
	u64 start;
	u64 end;
	u32 owner;
};

/**
 * struct ugm_first_fit - memory
 * @size: bytes
 * @pieces: in use, by address
 * @nr: how many
 * @room: how many @pieces has room for
 */
struct ugm_first_fit {
	u64 size;
	struct ugm_piece *pieces;
	u64 nr;
	u64 room;
};

int ugm_first_fit_take(struct ugm_first_fit *f, u32 owner, u64 bytes, bool right);
void ugm_first_fit_give(struct ugm_first_fit *f, u32 owner);
void ugm_first_fit_lose(struct ugm_first_fit *f, u32 owner);
u64 ugm_first_fit_largest(const struct ugm_first_fit *f);
void ugm_first_fit_free(struct ugm_first_fit *f);

#endif /* UGM_FIRST_FIT_H */
