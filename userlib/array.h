/* SPDX-License-Identifier: MIT */
#ifndef UGM_ARRAY_H
#define UGM_ARRAY_H

#include <stdlib.h>

#include "pure.h"

/**
 * ugm_array_room() - make room in a growing array
 * @array: the array, reallocated where it is too small
 * @room: members it has room for
 * @nr: members it must have room for
 * @size: bytes of a member
 *
 * Context: any.
 * Return: the array, perhaps elsewhere, or NULL: no memory, nothing changed.
 */
static inline void *ugm_array_room(void *array, u64 *room, u64 nr, size_t size)
{
	u64 more = *room ? *room : 16;
	void *p;

	if (nr <= *room)
		return array;
	while (more < nr)
		more *= 2;
	p = reallocarray(array, more, size);
	if (p)
		*room = more;
	return p;
}

#endif /* UGM_ARRAY_H */
