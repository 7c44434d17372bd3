/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UGM_UNIT_ENGINE_HOST_H
#define UGM_UNIT_ENGINE_HOST_H

/*
 * A host for the engine that keeps data: it notes in which tier each block has a
 * place and which version of the data is there.
 */

#include "unit.h"

#include "engine.h"

#define NR_RANGES 24
#define MAX_BLOCKS 12
#define UNSPECIFIED U64_MAX

/* A block and the data in its places. */
struct test_block {
	struct ugm_block b;
	bool place[UGM_NR_TIERS];
	u64 version[UGM_NR_TIERS];
	u64 written; /* version written last; 0: zeros; or UNSPECIFIED */
	bool doomed; /* the next launch discards it */
};

struct test_range {
	struct ugm_range r;
	struct test_block blocks[MAX_BLOCKS];
};

struct engine_host {
	struct ugm_engine e;
	struct ugm_space s;
	struct test_range ranges[NR_RANGES];
	u32 nr_ranges;
	u64 seed; /* of what happens */
	u64 delay_seed; /* of when real moves finish; 0: at once */
	u64 wall; /* time of the clocks that are not virtual */
	/*
	 * NULL, or what others do while a demand waits; then pages are also held,
	 * and written unannounced.
	 */
	void (*meanwhile)(struct engine_host *h);
	u64 transfers;
	u64 hints;
	u64 versions;
};

struct engine_host *engine_host_new(const struct ugm_machine *m);
struct ugm_range *engine_host_add_range(struct engine_host *h, u32 nr, u64 bytes);
void engine_host_free(struct engine_host *h);
u64 engine_host_pick(struct engine_host *h, u64 n);
void engine_host_write(struct engine_host *h, struct ugm_block *b);
void engine_host_hint(struct engine_host *h, const struct ugm_hint *hint);
int engine_host_run(struct engine_host *h, struct ugm_demand *d);
void engine_host_check(struct engine_host *h);
void engine_host_check_data(const struct ugm_block *b, enum ugm_tier tier);

#endif /* UGM_UNIT_ENGINE_HOST_H */
