// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "array.h"
#include "record.h"

/**
 * ugm_record_begin() - an iteration that is recorded begins
 * @r: record; what it held is forgotten
 * @nr_kernels: launches of an iteration
 * @now_ns: engine time
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_record_begin(struct ugm_record *r, u32 nr_kernels, u64 now_ns)
{
	unsigned int s, d;

	ugm_record_free(r);
	r->launches = calloc(nr_kernels, sizeof(*r->launches));
	if (!r->launches)
		return -ENOMEM;
	r->nr_launches = nr_kernels;
	r->began_ns = now_ns;
	for (s = 0; s < UGM_NR_TIERS; s++)
		for (d = 0; d < UGM_NR_TIERS; d++)
			r->last[s][d] = U64_MAX;
	return 0;
}

/**
 * ugm_record_launch() - a launch has ended
 * @r: record
 * @e: engine
 * @kernel: kernel
 * @d: the launch
 *
 * Context: any.
 */
void ugm_record_launch(struct ugm_record *r, const struct ugm_engine *e,
		       u32 kernel, const struct ugm_demand *d)
{
	struct ugm_record_launch *l = &r->launches[kernel];
	unsigned int t;

	l->begin_ns = d->begin_ns - r->began_ns;
	l->arrived_ns = d->arrived_ns - r->began_ns;
	l->end_ns = d->end_ns - r->began_ns;
	l->duration_ns = d->duration_ns;
	l->fault_bytes = d->fault_bytes;
	for (t = 0; t < UGM_NR_TIERS; t++)
		l->used_bytes[t] = e->used[t] * e->m.block_bytes;
}

/**
 * ugm_record_move() - a transfer has ended
 * @r: record
 * @tensor: tensor index
 * @t: the transfer
 * @begin_ns: engine time at which it started; perhaps before the iteration
 * @end_ns: engine time
 * @bytes: full-size bytes
 *
 * Context: any.
 */
void ugm_record_move(struct ugm_record *r, u32 tensor,
		     const struct ugm_transfer *t, u64 begin_ns, u64 end_ns,
		     u64 bytes)
{
	u64 last = r->last[t->src][t->dst];
	struct ugm_record_move *m;

	begin_ns = begin_ns > r->began_ns ? begin_ns - r->began_ns : 0;
	end_ns -= r->began_ns;
	if (last != U64_MAX) {
		m = &r->moves[last];
		if (m->tensor == tensor && m->cause == t->cause &&
		    begin_ns <= m->end_ns) {
			m->end_ns = end_ns;
			m->bytes += bytes;
			return;
		}
	}
	m = ugm_array_room(r->moves, &r->room, r->nr_moves + 1, sizeof(*m));
	if (!m) {
		r->incomplete = true;
		return;
	}
	r->moves = m;
	r->last[t->src][t->dst] = r->nr_moves;
	m[r->nr_moves++] = (struct ugm_record_move){
		.tensor = tensor, .src = t->src, .dst = t->dst,
		.cause = t->cause, .begin_ns = begin_ns, .end_ns = end_ns,
		.bytes = bytes,
	};
}

/**
 * ugm_record_free() - forget a record
 * @r: record
 *
 * Context: any.
 */
void ugm_record_free(struct ugm_record *r)
{
	free(r->launches);
	free(r->moves);
	memset(r, 0, sizeof(*r));
}
