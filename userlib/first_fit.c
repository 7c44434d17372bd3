// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "array.h"
#include "first_fit.h"

static u64 hole_before(const struct ugm_first_fit *f, u64 i)
{
	u64 start = i ? f->pieces[i - 1].end : 0;
	u64 end = i < f->nr ? f->pieces[i].start : f->size;

	return end - start;
}

/**
 * ugm_first_fit_take() - take memory
 * @f: memory
 * @owner: whose it is to be
 * @bytes: how much
 * @right: search from the right end
 *
 * Context: any.
 * Return: 0; -ENOSPC: no hole is large enough; -ENOMEM.
 */
int ugm_first_fit_take(struct ugm_first_fit *f, u32 owner, u64 bytes, bool right)
{
	struct ugm_piece *p;
	u64 n, i = 0;

	if (!bytes)
		return 0;
	for (n = 0; n <= f->nr; n++) {
		i = right ? f->nr - n : n;
		if (hole_before(f, i) >= bytes)
			break;
	}
	if (n > f->nr)
		return -ENOSPC;
	p = ugm_array_room(f->pieces, &f->room, f->nr + 1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	f->pieces = p;
	p += i;
	memmove(p + 1, p, (f->nr - i) * sizeof(*p));
	f->nr++;
	p->owner = owner;
	if (right)
		p->end = i + 1 < f->nr ? p[1].start : f->size;
	else
		p->end = (i ? p[-1].end : 0) + bytes;
	p->start = p->end - bytes;
	return 0;
}

static struct ugm_piece *piece_of(const struct ugm_first_fit *f, u32 owner)
{
	u64 i;

	for (i = 0; i < f->nr; i++)
		if (f->pieces[i].owner == owner)
			return &f->pieces[i];
	return NULL;
}

/**
 * ugm_first_fit_give() - give memory back
 * @f: memory
 * @owner: whose; nothing happens if it has none
 *
 * Context: any.
 */
void ugm_first_fit_give(struct ugm_first_fit *f, u32 owner)
{
	struct ugm_piece *p = piece_of(f, owner);

	if (!p)
		return;
	f->nr--;
	memmove(p, p + 1, (size_t)(f->pieces + f->nr - p) * sizeof(*p));
}

/**
 * ugm_first_fit_lose() - forget who owns memory, which is never given back
 * @f: memory
 * @owner: whose; nothing happens if it has none
 *
 * Context: any.
 */
void ugm_first_fit_lose(struct ugm_first_fit *f, u32 owner)
{
	struct ugm_piece *p = piece_of(f, owner);

	if (p)
		p->owner = UGM_FIRST_FIT_LOST;
}

/**
 * ugm_first_fit_largest() - the largest hole
 * @f: memory
 *
 * Context: any.
 * Return: its bytes.
 */
u64 ugm_first_fit_largest(const struct ugm_first_fit *f)
{
	u64 i, best = 0;

	for (i = 0; i <= f->nr; i++)
		if (hole_before(f, i) > best)
			best = hole_before(f, i);
	return best;
}

/**
 * ugm_first_fit_free() - forget it
 * @f: memory
 *
 * Context: any.
 */
void ugm_first_fit_free(struct ugm_first_fit *f)
{
	free(f->pieces);
	memset(f, 0, sizeof(*f));
}
