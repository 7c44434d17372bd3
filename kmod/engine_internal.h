/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef UGM_ENGINE_INTERNAL_H
#define UGM_ENGINE_INTERNAL_H

#include "engine.h"

/* What the parts of the engine call of each other. */

/* Stages of a demand. */
enum { UGM_DEMAND_NEW, UGM_DEMAND_WAITING, UGM_DEMAND_RUNNING, UGM_DEMAND_ENDED };

/* engine_link.c: transfers, queues and links */
struct ugm_transfer *ugm_transfer_new(struct ugm_engine *e, struct ugm_block *b,
				      enum ugm_tier dst, enum ugm_cause cause);
void ugm_transfer_queue(struct ugm_engine *e, struct ugm_transfer *t);
void ugm_transfer_promote(struct ugm_engine *e, struct ugm_transfer *t);
void ugm_transfer_rekey(struct ugm_engine *e, struct ugm_transfer *t, u64 need);
void ugm_transfer_cancel(struct ugm_engine *e, struct ugm_transfer *t);
void ugm_transfer_refuse(struct ugm_engine *e, struct ugm_transfer *t,
			 enum ugm_refusal why);
void ugm_transfer_frees(struct ugm_engine *e, struct ugm_transfer *t);
void ugm_transfer_commit(struct ugm_engine *e, struct ugm_transfer *t);
bool ugm_transfer_ending(const struct ugm_engine *e,
			 const struct ugm_transfer *t);
void ugm_transfer_event(struct ugm_engine *e, struct ugm_transfer *t);
void ugm_link_init(struct ugm_engine *e);
void ugm_link_dispatch(struct ugm_engine *e);

/* engine_room.c: frames and victims */
u64 ugm_room_free(const struct ugm_engine *e, enum ugm_tier tier);
void ugm_room_make(struct ugm_engine *e);
bool ugm_room_reclaim(struct ugm_engine *e, enum ugm_tier tier);
bool ugm_room_replace(struct ugm_engine *e, const struct ugm_transfer *t);
void ugm_room_copied(struct ugm_engine *e, struct ugm_block *b,
		     enum ugm_tier tier);
void ugm_room_forget(struct ugm_engine *e, struct ugm_block *b,
		     enum ugm_tier tier);
void ugm_room_rescan(struct ugm_engine *e);
void ugm_room_enter(struct ugm_engine *e, struct ugm_block *b);
void ugm_room_leave(struct ugm_engine *e, struct ugm_block *b);
void ugm_room_touch(struct ugm_engine *e, struct ugm_block *b);
void ugm_room_write(struct ugm_engine *e, struct ugm_block *b);
unsigned int ugm_room_book(struct ugm_engine *e, struct ugm_block **blocks,
			   unsigned int nr);
bool ugm_room_drop(struct ugm_engine *e, struct ugm_block *b,
		   enum ugm_tier prefer);

/* engine_demand.c: launches and touches */
int ugm_demand_enter(struct ugm_engine *e, struct ugm_demand *d);
void ugm_demand_arrived(struct ugm_engine *e, struct ugm_block *b);
bool ugm_demand_unblock(struct ugm_engine *e, struct ugm_demand *d);
void ugm_demand_alarm(struct ugm_engine *e, struct ugm_demand *d);
void ugm_demand_end(struct ugm_engine *e, struct ugm_demand *d, int error);

/* engine_hint.c */
void ugm_hint_release(struct ugm_engine *e, struct ugm_space *s);
u64 ugm_hint_need(const struct ugm_block *b);

static inline void ugm_block_apply(struct ugm_block *b, enum ugm_event ev,
				   enum ugm_tier tier)
{
	WARN_ON_ONCE(ugm_state_apply(&b->state, ev, tier));
}

static inline void ugm_block_flag(struct ugm_block *b, u32 flag, bool on)
{
	WRITE_ONCE(b->state, on ? b->state | flag : b->state & ~flag);
}

#endif /* UGM_ENGINE_INTERNAL_H */
