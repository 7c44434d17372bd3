// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "state.h"

#define COPY(t) (1u << ((t) + UGM_S_COPIES_SHIFT))

/**
 * ugm_tier_name() - a tier's name in messages, statistics and schedules
 * @tier: any tier
 *
 * Context: any.
 * Return: a constant string.
 */
const char *ugm_tier_name(enum ugm_tier tier)
{
	static const char *const names[UGM_NR_TIERS] = {
		[UGM_TIER_NONE] = "none",
		[UGM_TIER_GPU] = "gpu",
		[UGM_TIER_HOST] = "host",
		[UGM_TIER_FLASH] = "flash",
	};

	return (unsigned int)tier < UGM_NR_TIERS ? names[tier] : "?";
}

/**
 * ugm_state_valid() - does a state word keep the rules of "block states"?
 * @s: state word
 *
 * Context: any.
 */
bool ugm_state_valid(u32 s)
{
	enum ugm_tier home = ugm_state_home(s);
	u32 copies = ugm_state_copies(s);

	if (home >= UGM_NR_TIERS || copies >> UGM_NR_TIERS)
		return false;
	if (copies & (1u << home))
		return false;
	if (home == UGM_TIER_NONE)
		return !copies && !(s & (UGM_S_DIRTY | UGM_S_BUSY));
	if (s & UGM_S_DIRTY)
		return !copies && ugm_tier_is_memory(home);
	return true;
}

/**
 * ugm_state_apply() - the table of legal moves
 * @state: state word, changed only if the move is legal
 * @ev: what happens
 * @tier: the tier it concerns, where the event names one
 *
 * Context: any; the caller serialises changes of one block.
 * Return: 0, or -EINVAL where the event cannot happen in this state.
 */
int ugm_state_apply(u32 *state, enum ugm_event ev, enum ugm_tier tier)
{
	u32 s = *state;
	enum ugm_tier home = ugm_state_home(s);
	bool busy = s & UGM_S_BUSY;

	if ((unsigned int)tier >= UGM_NR_TIERS)
		return -EINVAL;

	switch (ev) {
	case UGM_EV_ALLOC:
		if (home != UGM_TIER_NONE || !ugm_tier_is_memory(tier))
			return -EINVAL;
		s = (s & ~(UGM_S_HOME | UGM_S_DEAD)) | tier |
		    COPY(UGM_TIER_NONE);
		break;
	case UGM_EV_BOOK:
		if (home == UGM_TIER_NONE || busy)
			return -EINVAL;
		s |= UGM_S_BUSY;
		break;
	case UGM_EV_CANCEL:
		if (!busy)
			return -EINVAL;
		s &= ~UGM_S_BUSY;
		break;
	case UGM_EV_MOVED:
	case UGM_EV_MOVED_KEEP:
		if (!busy || tier == home || tier == UGM_TIER_NONE)
			return -EINVAL;
		s &= ~(UGM_S_HOME | UGM_S_BUSY | UGM_S_DIRTY | COPY(tier));
		s |= tier;
		if (ev == UGM_EV_MOVED_KEEP)
			s |= COPY(home);
		break;
	case UGM_EV_COPIED:
		if (!ugm_tier_is_memory(home) || tier == home || busy ||
		    tier == UGM_TIER_NONE)
			return -EINVAL;
		s = (s & ~UGM_S_DIRTY) | COPY(tier);
		break;
	case UGM_EV_WRITE:
		if (!ugm_tier_is_memory(home))
			return -EINVAL;
		s = (s & ~(UGM_S_COPIES | UGM_S_DEAD)) | UGM_S_DIRTY;
		break;
	case UGM_EV_DROP:
		if (!ugm_tier_is_memory(home) || !(s & COPY(tier)))
			return -EINVAL;
		s = (s & ~(UGM_S_HOME | UGM_S_BUSY | COPY(tier))) | tier;
		if (tier == UGM_TIER_NONE)
			s &= ~UGM_S_COPIES;
		break;
	case UGM_EV_FORGET:
		if (!(s & COPY(tier)))
			return -EINVAL;
		s &= ~COPY(tier);
		break;
	case UGM_EV_DISCARD:
		s &= ~(UGM_S_HOME | UGM_S_COPIES | UGM_S_DIRTY | UGM_S_BUSY |
		       UGM_S_POISON | UGM_S_DEAD);
		break;
	case UGM_EV_POISON:
		if (home == UGM_TIER_NONE)
			return -EINVAL;
		s |= UGM_S_POISON;
		break;
	case UGM_EV_PIN:
		if (ugm_state_pins(s) == UGM_S_PINS >> UGM_S_PINS_SHIFT)
			return -EINVAL;
		s += UGM_S_PINS_ONE;
		break;
	case UGM_EV_UNPIN:
		if (!ugm_state_pins(s))
			return -EINVAL;
		s -= UGM_S_PINS_ONE;
		if (!ugm_state_pins(s))
			s &= ~UGM_S_WRITTEN;
		break;
	default:
		return -EINVAL;
	}
	WRITE_ONCE(*state, s);
	return 0;
}
