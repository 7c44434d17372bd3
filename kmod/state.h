/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef UGM_STATE_H
#define UGM_STATE_H

#include "pure.h"

/**
 * DOC: block states
 *
 * A block is the unit of residency, migration and accounting. Its state is one
 * word: where its home is, which other places hold a valid copy, whether it was
 * written since it was last copied, whether a transfer owns it, and who keeps
 * it from leaving. All legal moves are in ugm_state_apply(); nothing else
 * writes home, copies, dirty, busy or poison.
 *
 * "Nowhere" is a place too: a block with home none reads as zeros, so a frame
 * that was only zero-filled has a valid copy nowhere and may be dropped.
 *
 * Faults read the state without a lock, and map a page unless it is busy. So a
 * block that was taken from its mappings stays busy until it is back or gone: it
 * is found dirty, dropped and discarded while busy, and no step in between shows
 * it as free.
 *
 * What always holds:
 *  - the home is not among the copies;
 *  - a dirty block has no copies, and its home is memory;
 *  - a block with home none is neither dirty nor busy and has no copies.
 */

/* The tier table. Flash is the last; everything between none and it is memory. */
enum ugm_tier {
	UGM_TIER_NONE,
	UGM_TIER_GPU,
	UGM_TIER_HOST,
	UGM_TIER_FLASH,
	UGM_NR_TIERS
};

#define UGM_S_HOME 0x00000007u /* enum ugm_tier */
#define UGM_S_COPIES 0x000007f8u /* one bit a tier */
#define UGM_S_COPIES_SHIFT 3
#define UGM_S_DIRTY 0x00000800u /* written since the last copy was made */
#define UGM_S_BUSY 0x00001000u /* a move owns it: its mappings are revoked */
#define UGM_S_POISON 0x00002000u /* its data was lost by a read error */
#define UGM_S_PIN 0x00004000u /* PIN hint or advice: not a victim */
#define UGM_S_PROTECT 0x00008000u /* PROTECT hint: not a prefetch's victim */
#define UGM_S_DEAD 0x00010000u /* discarded: dropped when room is needed */
#define UGM_S_WRITTEN 0x00020000u /* a running launch writes it */
#define UGM_S_FAULT 0x00040000u /* a demand will fetch it with a later batch */
#define UGM_S_PINS 0xff000000u /* running launches that use it */
#define UGM_S_PINS_SHIFT 24
#define UGM_S_PINS_ONE 0x01000000u

/* What can happen to a block; the tier argument is named in brackets. */
enum ugm_event {
	UGM_EV_ALLOC, /* a zeroed frame became its home [tier] */
	UGM_EV_BOOK, /* a move was booked, its mappings are revoked */
	UGM_EV_CANCEL, /* the booked move will not be */
	UGM_EV_MOVED, /* the booked move is done: new home, the old given up [tier] */
	UGM_EV_MOVED_KEEP, /* likewise, the old place stays a valid copy [tier] */
	UGM_EV_COPIED, /* a write-back is done [tier] */
	UGM_EV_WRITE, /* it was, or is going to be, written */
	UGM_EV_DROP, /* the home is given up for a valid copy [tier] */
	UGM_EV_FORGET, /* a copy is given up [tier] */
	UGM_EV_DISCARD, /* the data is of no use any more */
	UGM_EV_POISON, /* the data could not be read */
	UGM_EV_PIN, /* a launch uses it */
	UGM_EV_UNPIN, /* and has ended */
	UGM_NR_EVENTS
};

static inline enum ugm_tier ugm_state_home(u32 s)
{
	return (enum ugm_tier)(s & UGM_S_HOME);
}

static inline u32 ugm_state_copies(u32 s)
{
	return (s & UGM_S_COPIES) >> UGM_S_COPIES_SHIFT;
}

static inline bool ugm_state_has_copy(u32 s, enum ugm_tier t)
{
	return ugm_state_copies(s) & (1u << t);
}

static inline u32 ugm_state_pins(u32 s)
{
	return s >> UGM_S_PINS_SHIFT;
}

static inline bool ugm_tier_is_memory(enum ugm_tier t)
{
	return t > UGM_TIER_NONE && t < UGM_TIER_FLASH;
}

int ugm_state_apply(u32 *state, enum ugm_event ev, enum ugm_tier tier);
bool ugm_state_valid(u32 state);
const char *ugm_tier_name(enum ugm_tier tier);

#endif /* UGM_STATE_H */
