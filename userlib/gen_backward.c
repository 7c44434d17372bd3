// SPDX-License-Identifier: MIT
#include "gen_tape.h"

/* The backward pass, and what is computed again for it: see gen_tape.h. */

static value_t new_grad(struct tape *t, value_t v)
{
	return tape_new_value(t, "", tape_value(t, v)->name, ".grad",
			      &(struct value){ .bytes = tape_value(t, v)->bytes });
}

/* A gradient of a value is there: it is the first, or added to the others. */
static void give_grad(struct tape *t, value_t v, value_t grad)
{
	value_t sum, before;

	if (!tape_differentiable(t, v))
		return;
	before = tape_value(t, v)->grad;
	if (before == NO_VALUE) {
		tape_value(t, v)->grad = grad;
		return;
	}
	sum = new_grad(t, v);
	if (t->no_memory)
		return;
	tape_emit(t, tape_value(t, v)->name, "accumulate_grad", &(struct step){
		.in = { before, grad },
		.out = { sum },
		.flops = tape_elements(t, v),
	});
	tape_value(t, v)->grad = sum;
}

/* Inputs are the gradients @dy and those of @d, outputs the gradients wanted. */
static void differentiate(struct tape *t, const struct op *op,
			  const struct derivative *d, const value_t *dy, u32 nr)
{
	value_t grads[ARRAY_SIZE(d->of)] = {};
	struct step s = {
		.flops = d->flops,
		.workspace = d->workspace,
		.matrix = d->matrix,
	};
	u32 i, wanted = 0;

	memcpy(s.in, dy, nr * sizeof(*dy));
	memcpy(s.in + nr, d->in, sizeof(d->in));
	for (i = 0; d->twice && i < nr; i++)
		s.more_bytes += tape_bytes(t, dy[i]);
	for (i = 0; i < ARRAY_SIZE(d->of); i++) {
		if (!tape_differentiable(t, d->of[i]))
			continue;
		grads[i] = new_grad(t, d->of[i]);
		s.out[wanted++] = grads[i];
	}
	if (!wanted || t->no_memory)
		return;
	tape_emit(t, op->name, d->pass, &s);
	for (i = 0; i < ARRAY_SIZE(d->of); i++)
		if (grads[i])
			give_grad(t, d->of[i], grads[i]);
}

static void op_backward(struct tape *t, const struct op *op)
{
	value_t dy[ARRAY_SIZE(op->forward.out)];
	const struct derivative *d;
	struct value *y;
	u32 i, nr = 0;

	for (i = 0; i < ARRAY_SIZE(op->forward.out); i++) {
		if (op->forward.out[i] == NO_VALUE)
			continue;
		y = tape_value(t, op->forward.out[i]);
		if (y->grad == NO_VALUE)
			continue;
		dy[nr++] = y->grad;
		/* What it was before it was changed in place has its own. */
		y->grad = NO_VALUE;
	}
	if (!nr && !op->loss)
		return;
	for (i = 0; i < ARRAY_SIZE(op->hands_on); i++)
		if (op->hands_on[i])
			give_grad(t, op->hands_on[i], dy[0]);
	for (d = op->backward;
	     d < op->backward + ARRAY_SIZE(op->backward) && d->pass; d++)
		differentiate(t, op, d, dy, nr);
}

static bool has_derivative(const struct tape *t, const struct derivative *d)
{
	unsigned int i;

	for (i = 0; d->pass && i < ARRAY_SIZE(d->of); i++)
		if (tape_differentiable(t, d->of[i]))
			return true;
	return false;
}

static void need(struct tape *t, const value_t *v, unsigned int nr, bool needed)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (v[i])
			tape_value(t, v[i])->needed = needed;
}

static bool is_needed(const struct tape *t, const struct op *op)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(op->forward.out); i++)
		if (op->forward.out[i] && tape_value(t, op->forward.out[i])->needed)
			return true;
	return false;
}

static void translate(const struct tape *t, value_t *v, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (v[i] && tape_value(t, v[i])->again)
			v[i] = tape_value(t, v[i])->again;
}

/* Twins of what the operator makes, which take over the gradients. */
static void make_again(struct tape *t, const struct op *op)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(op->forward.out); i++) {
		value_t v = op->forward.out[i], twin;
		struct value like;

		if (!v || tape_value(t, v)->global || tape_value(t, v)->again)
			continue;
		like = *tape_value(t, v);
		twin = tape_new_value(t, "", like.name, ".again", &like);
		if (t->no_memory)
			return;
		tape_value(t, v)->again = twin;
		tape_value(t, v)->grad = NO_VALUE;
	}
}

/*
 * Compute again what the derivatives of a segment read: operators that made it,
 * and those that made what they read. From then on all are about the twins.
 */
static void recompute(struct tape *t, const struct segment *s)
{
	unsigned int k;
	u64 i;

	/* Of what this segment made; a later one may have needed its end. */
	for (i = s->first; i < s->end; i++)
		need(t, t->ops[i].forward.out, ARRAY_SIZE(t->ops->forward.out),
		     false);
	for (i = s->end; i-- > s->first;) {
		const struct op *op = &t->ops[i];

		for (k = 0; k < ARRAY_SIZE(op->backward); k++)
			if (has_derivative(t, &op->backward[k]))
				need(t, op->backward[k].in,
				     ARRAY_SIZE(op->backward[k].in), true);
		if (is_needed(t, op))
			need(t, op->forward.in, ARRAY_SIZE(op->forward.in),
			     true);
	}
	for (i = s->first; i < s->end && !t->no_memory; i++) {
		struct op *op = &t->ops[i];
		bool again = is_needed(t, op);

		if (again)
			make_again(t, op);
		translate(t, op->forward.in, ARRAY_SIZE(op->forward.in));
		translate(t, op->forward.out, ARRAY_SIZE(op->forward.out));
		translate(t, op->hands_on, ARRAY_SIZE(op->hands_on));
		for (k = 0; k < ARRAY_SIZE(op->backward); k++) {
			translate(t, op->backward[k].of,
				  ARRAY_SIZE(op->backward[k].of));
			translate(t, op->backward[k].in,
				  ARRAY_SIZE(op->backward[k].in));
		}
		if (again && !t->no_memory)
			tape_emit(t, op->name, "recompute", &op->forward);
	}
}

/**
 * tape_backward() - play the tape backward
 * @t: tape
 *
 * Context: any.
 */
void tape_backward(struct tape *t)
{
	const struct segment *s = t->segments + t->nr_segments;
	u64 i = t->nr_ops;

	while (!t->no_memory && i--) {
		struct op op;

		if (s > t->segments && s[-1].end == i + 1)
			recompute(t, --s);
		/* A copy: derivatives make values, not operators. */
		op = t->ops[i];
		op_backward(t, &op);
	}
}
