// SPDX-License-Identifier: GPL-2.0
/* Every valid block state times every event, against rules written anew. */
#include "unit.h"
#include "state.h"

/* The state in plain words. */
struct plain {
	unsigned int home;
	bool copy[UGM_NR_TIERS];
	bool dirty, busy, poison, dead, written;
	unsigned int pins;
};

static struct plain decode(u32 s)
{
	struct plain p = {
		.home = s & UGM_S_HOME,
		.dirty = s & UGM_S_DIRTY,
		.busy = s & UGM_S_BUSY,
		.poison = s & UGM_S_POISON,
		.dead = s & UGM_S_DEAD,
		.written = s & UGM_S_WRITTEN,
		.pins = s >> UGM_S_PINS_SHIFT,
	};
	unsigned int t;

	for (t = 0; t < UGM_NR_TIERS; t++)
		p.copy[t] = s & 1u << (UGM_S_COPIES_SHIFT + t);
	return p;
}

static u32 encode(const struct plain *p, u32 other)
{
	u32 s = other | p->home | p->pins << UGM_S_PINS_SHIFT;
	unsigned int t;

	s |= p->dirty ? UGM_S_DIRTY : 0;
	s |= p->busy ? UGM_S_BUSY : 0;
	s |= p->poison ? UGM_S_POISON : 0;
	s |= p->dead ? UGM_S_DEAD : 0;
	s |= p->written ? UGM_S_WRITTEN : 0;
	for (t = 0; t < UGM_NR_TIERS; t++)
		s |= p->copy[t] ? 1u << (UGM_S_COPIES_SHIFT + t) : 0;
	return s;
}

static bool any_copy(const struct plain *p)
{
	unsigned int t;

	for (t = 0; t < UGM_NR_TIERS; t++)
		if (p->copy[t])
			return true;
	return false;
}

static bool in_memory(const struct plain *p)
{
	return p->home == UGM_TIER_GPU || p->home == UGM_TIER_HOST;
}

/* What "block states" says always holds. */
static bool holds(const struct plain *p)
{
	if (p->home > UGM_TIER_FLASH || p->copy[p->home])
		return false;
	if (p->dirty && (any_copy(p) || !in_memory(p)))
		return false;
	return p->home != UGM_TIER_NONE ||
	       !(p->dirty || p->busy || any_copy(p));
}

static void no_copies(struct plain *p)
{
	memset(p->copy, 0, sizeof(p->copy));
}

/* The rules, an event a paragraph. Returns whether it may happen. */
static bool happens(struct plain *p, enum ugm_event ev, unsigned int tier)
{
	unsigned int old = p->home;

	switch (ev) {
	case UGM_EV_ALLOC:
		if (p->home != UGM_TIER_NONE ||
		    (tier != UGM_TIER_GPU && tier != UGM_TIER_HOST))
			return false;
		p->home = tier;
		p->copy[UGM_TIER_NONE] = true; /* zeros can be had anywhere */
		p->dead = false;
		return true;
	case UGM_EV_BOOK:
		if (p->home == UGM_TIER_NONE || p->busy)
			return false;
		p->busy = true;
		return true;
	case UGM_EV_CANCEL:
		if (!p->busy)
			return false;
		p->busy = false;
		return true;
	case UGM_EV_MOVED:
	case UGM_EV_MOVED_KEEP:
		if (!p->busy || tier == old || tier == UGM_TIER_NONE)
			return false;
		p->home = tier;
		p->copy[tier] = false;
		if (ev == UGM_EV_MOVED_KEEP)
			p->copy[old] = true;
		p->dirty = false;
		p->busy = false;
		return true;
	case UGM_EV_COPIED:
		if (!in_memory(p) || p->busy || tier == old ||
		    tier == UGM_TIER_NONE)
			return false;
		p->copy[tier] = true;
		p->dirty = false;
		return true;
	case UGM_EV_WRITE:
		if (!in_memory(p))
			return false;
		no_copies(p);
		p->dirty = true;
		p->dead = false;
		return true;
	case UGM_EV_DROP:
		if (!in_memory(p) || !p->copy[tier])
			return false;
		p->home = tier;
		p->busy = false;
		p->copy[tier] = false;
		if (tier == UGM_TIER_NONE)
			no_copies(p);
		return true;
	case UGM_EV_FORGET:
		if (!p->copy[tier])
			return false;
		p->copy[tier] = false;
		return true;
	case UGM_EV_DISCARD:
		p->home = UGM_TIER_NONE;
		no_copies(p);
		p->busy = p->dirty = p->poison = p->dead = false;
		return true;
	case UGM_EV_POISON:
		if (p->home == UGM_TIER_NONE)
			return false;
		p->poison = true;
		return true;
	case UGM_EV_PIN:
		if (p->pins == 255)
			return false;
		p->pins++;
		return true;
	case UGM_EV_UNPIN:
		if (!p->pins)
			return false;
		if (!--p->pins)
			p->written = false;
		return true;
	default:
		return false;
	}
}

static void try_event(u32 s, u32 other, enum ugm_event ev, unsigned int tier)
{
	struct plain p = decode(s);
	u32 got = s, want = s;
	bool may;
	int ret;

	may = tier < UGM_NR_TIERS && happens(&p, ev, tier);
	if (may)
		want = encode(&p, other);
	ret = ugm_state_apply(&got, ev, (enum ugm_tier)tier);
	if (ret != (may ? 0 : -EINVAL) || got != want ||
	    !ugm_state_valid(got))
		fail_msg("state %08x event %d tier %u: %d, %08x, expected %08x",
			 s, ev, tier, ret, got, want);
}

/* What no event looks at must survive every event. */
static const u32 others[] = {
	0,
	UGM_S_PIN,
	UGM_S_PROTECT | UGM_S_FAULT,
	UGM_S_PIN | UGM_S_PROTECT | UGM_S_FAULT,
};

static void try_state(u32 s, u32 other)
{
	unsigned int ev, tier;

	for (ev = 0; ev <= UGM_NR_EVENTS; ev++)
		for (tier = 0; tier <= UGM_NR_TIERS; tier++)
			try_event(s | other, other, (enum ugm_event)ev, tier);
}

/* What an event may look at, but for home, copies and pins. */
static const u32 flags[] = { UGM_S_DIRTY, UGM_S_BUSY, UGM_S_POISON, UGM_S_DEAD,
			     UGM_S_WRITTEN };

static void every_state_and_event(void **unused)
{
	static const u32 pins[] = { 0, 1, 2, 254, 255 };
	u32 places = UGM_S_HOME | UGM_S_COPIES, bits, s;
	unsigned long states = 0;
	struct plain plain;
	unsigned int i, p;

	for (bits = 0; bits < (places + 1) << ARRAY_SIZE(flags); bits++) {
		s = bits & places;
		for (i = 0; i < ARRAY_SIZE(flags); i++)
			if (bits & (places + 1) << i)
				s |= flags[i];
		if (ugm_state_home(s) >= UGM_NR_TIERS ||
		    ugm_state_copies(s) >> UGM_NR_TIERS) {
			assert_false(ugm_state_valid(s));
			continue;
		}
		plain = decode(s);
		if (ugm_state_valid(s) != holds(&plain))
			fail_msg("state %08x: valid?", s);
		if (!holds(&plain))
			continue;
		for (p = 0; p < ARRAY_SIZE(pins); p++)
			try_state(s | pins[p] << UGM_S_PINS_SHIFT,
				  others[states++ % ARRAY_SIZE(others)]);
	}
	/*
	 * None: poison, dead, written, pins. Each of the other homes has 8 sets
	 * of copies when clean, and one when dirty in memory; busy or not.
	 */
	assert_int_equal(states, (8 + (3 * 8 + 2) * 2 * 8) *
				 ARRAY_SIZE(pins));
}

static void names(void **unused)
{
	assert_string_equal(ugm_tier_name(UGM_TIER_NONE), "none");
	assert_string_equal(ugm_tier_name(UGM_TIER_GPU), "gpu");
	assert_string_equal(ugm_tier_name(UGM_TIER_HOST), "host");
	assert_string_equal(ugm_tier_name(UGM_TIER_FLASH), "flash");
	assert_string_equal(ugm_tier_name(UGM_NR_TIERS), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state_and_event),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
