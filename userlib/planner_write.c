// SPDX-License-Identifier: MIT
#include "planner.h"

/**
 * DOC: from moves to hints
 *
 * What the planner did during a launch becomes a hint at its begin; neighbours
 * of one tensor become one hint. The end of an intermediate's life is told
 * whether it moved or not.
 */

/* Does @m go on where the hint @h ends? */
static bool continues(const struct ugm_planner *p,
		      const struct ugm_plan_move *m,
		      const struct ugm_schedule_hint *h)
{
	const struct ugm_plan_chunk *c = &p->chunks[m->chunk];

	return h->tensor == c->tensor && h->op == m->op && h->tier == m->tier &&
	       h->offset + h->len == c->first * p->layout->block_bytes;
}

static int write_move(const struct ugm_planner *p,
		      const struct ugm_plan_move *m, struct ugm_schedule *s)
{
	const struct ugm_plan_chunk *c = &p->chunks[m->chunk];
	u64 base = m->launch / p->n * p->n;
	struct ugm_schedule_hint h = {
		.at = m->launch - base,
		.need = m->need == UGM_NEED_NONE ? m->need : m->need - base,
		.tensor = c->tensor,
		.op = m->op,
		.tier = m->tier,
		.offset = c->first * p->layout->block_bytes,
		.len = c->bytes,
	};
	struct ugm_schedule_hint *last;

	/* A copy may be of use for longer than a schedule can say. */
	if (h.need != UGM_NEED_NONE && h.need >= 2 * (u64)p->n)
		h.need = 2 * (u64)p->n - 1;
	if (s->nr_hints) {
		last = &s->hints[s->nr_hints - 1];
		if (last->at == h.at && last->need == h.need &&
		    continues(p, m, last)) {
			last->len += h.len;
			return 0;
		}
	}
	return ugm_schedule_add(s, &h);
}

/* After its last use the data of an intermediate tensor is of no use. */
static int write_deaths(const struct ugm_planner *p, struct ugm_schedule *s)
{
	const struct ugm_trace *trace = p->layout->trace;
	int ret = 0;
	u32 i;

	for (i = 0; i < trace->nr_tensors && !ret; i++) {
		const struct ugm_plan_tensor *t = &p->tensors[i];

		if (trace->tensors[i].global || !t->nr_chunks || !t->nr_uses)
			continue;
		ret = ugm_schedule_add(
			s, &(struct ugm_schedule_hint){
				   .at = (p->uses[t->first_use + t->nr_uses - 1]
						  .kernel +
					  1u) %
					 p->n,
				   .need = UGM_NEED_NONE,
				   .tensor = i,
				   .op = UGM_OP_DISCARD,
				   .len = trace->tensors[i].bytes,
			   });
	}
	return ret;
}

/**
 * ugm_planner_write() - what was written down, as a schedule
 * @p: planner that has played
 * @s: initialised schedule
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_planner_write(const struct ugm_planner *p, struct ugm_schedule *s)
{
	int ret = write_deaths(p, s);
	u64 i;

	for (i = 0; i < p->nr_moves && !ret; i++)
		ret = write_move(p, &p->moves[i], s);
	return ret;
}
