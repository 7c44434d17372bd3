/* SPDX-License-Identifier: MIT */
#ifndef UGM_INTROSORT_H
#define UGM_INTROSORT_H

#include "pure.h"

/**
 * typedef ugm_before_t - does one item belong before another?
 * @a: item
 * @b: item
 */
typedef bool (*ugm_before_t)(const void *a, const void *b);

void ugm_introsort(void **items, u64 nr, ugm_before_t before);

#endif /* UGM_INTROSORT_H */
