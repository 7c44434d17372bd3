/* SPDX-License-Identifier: MIT */
#ifndef UGM_PAGE_TICK_H
#define UGM_PAGE_TICK_H

#include "fault_profile.h"
#include "layout.h"

#define UGM_PAGE_BYTES 4096ULL

/* Queues: by where a page comes from; those out of the GPU by where it goes. */
enum { UGM_PAGE_DEMAND, UGM_PAGE_PLANNED, UGM_PAGE_NR_RANKS };
enum { UGM_PAGE_IN, UGM_PAGE_OUT };

/**
 * struct ugm_page_run - pages of one tensor, one after another in a queue
 * @tensor: tensor index
 * @nr: how many
 */
struct ugm_page_run {
	u32 tensor;
	u64 nr;
};

/**
 * struct ugm_page_queue - runs, first in first out
 * @run: the runs
 * @head: first that counts
 * @end: end
 * @room: how many @run has room for
 */
struct ugm_page_queue {
	struct ugm_page_run *run;
	u64 head;
	u64 end;
	u64 room;
};

/**
 * struct ugm_pages - the pages of a tensor
 * @total: all of them
 * @at: where they are
 * @queued: of those, the ones that wait in a queue
 * @gone: of the oldest in the order of arrival, those that wait to leave or
 * have left other than as victims
 * @dead: may be dropped
 * @spared: a prefetch must not evict it
 * @wanted: the running kernel needs it
 */
struct ugm_pages {
	u64 total;
	u64 at[UGM_NR_TIERS];
	u64 queued[UGM_NR_TIERS];
	u64 gone;
	bool dead;
	bool spared;
	bool wanted;
};

/**
 * struct ugm_page_budget - pages that can still move in a tick
 * @link: over the GPU link, into the GPU and out of it
 * @flash: of those from and to flash
 * @arrivals: on demand or for the first time
 */
struct ugm_page_budget {
	u64 link[2];
	u64 flash[2];
	u64 arrivals;
};

/**
 * struct ugm_page_model - the simulator
 * @trace: trace
 * @schedule: what is replayed
 * @profile: the kernels' faults as measured, or NULL
 * @tensors: by tensor index
 * @arrived: GPU pages in order of arrival
 * @cursor: where the search of a prefetch for a victim goes on
 * @in: queues of pages into the GPU, by rank and where they are
 * @out: queues of planned evictions, by where they go
 * @queued: pages in all of these queues
 * @demanded: of those, pages that a kernel waits for
 * @per_tick: a tick's budget
 * @tick_ns: how long a tick is
 * @bytes_per_s: of the link, and of flash
 * @capacity: pages of a tier
 * @used: likewise in use
 * @ticks: since the beginning
 * @moved: pages, by source and destination
 * @no_memory: an array could not grow
 */
struct ugm_page_model {
	const struct ugm_trace *trace;
	const struct ugm_schedule *schedule;
	struct ugm_fault_times *profile;
	struct ugm_pages *tensors;
	struct ugm_page_queue arrived;
	u64 cursor;
	struct ugm_page_queue in[UGM_PAGE_NR_RANKS][UGM_NR_TIERS];
	struct ugm_page_queue out[UGM_NR_TIERS];
	u64 queued;
	u64 demanded;
	struct ugm_page_budget per_tick;
	double tick_ns;
	double bytes_per_s[2];
	u64 capacity[UGM_NR_TIERS];
	u64 used[UGM_NR_TIERS];
	u64 ticks;
	u64 moved[UGM_NR_TIERS][UGM_NR_TIERS];
	bool no_memory;
};

void ugm_page_queue_in(struct ugm_page_model *m, int rank, u32 tensor, u8 from);
void ugm_page_queue_out(struct ugm_page_model *m, u32 tensor, u8 to);
void ugm_page_rewind(struct ugm_page_model *m);
bool ugm_page_tick(struct ugm_page_model *m, bool waiting);

#endif /* UGM_PAGE_TICK_H */
