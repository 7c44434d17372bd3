// SPDX-License-Identifier: MIT
#include "introsort.h"

/*
 * Introspective sort (Musser 1997): quicksort with the median of three as pivot
 * down to runs of 16 or less, heap sort where that goes too deep, and one pass
 * of insertion at the end. It is not stable, and what it does to equal items
 * decides what G10's published planner takes next: that one sorts so with each
 * round. Where the order of items contradicts itself it still ends, and stays
 * within the array.
 */

#define SHORT 16

static void swap(void **a, void **b)
{
	void *t = *a;

	*a = *b;
	*b = t;
}

/* Of three places, the one of the middle item. */
static void **median(void **a, void **b, void **c, ugm_before_t before)
{
	if (before(*a, *b))
		return before(*b, *c) ? b : before(*a, *c) ? c : a;
	return before(*a, *c) ? a : before(*b, *c) ? c : b;
}

/* The pivot comes first; returns where the items that are not before it begin. */
static u64 partition(void **items, u64 nr, ugm_before_t before)
{
	u64 low = 1, high = nr;

	swap(items, median(items + 1, items + nr / 2, items + nr - 1, before));
	for (;; low++) {
		while (low < nr && before(items[low], items[0]))
			low++;
		do
			high--;
		while (high && before(items[0], items[high]));
		if (low >= high)
			return low;
		swap(items + low, items + high);
	}
}

static void sink(void **items, u64 nr, u64 at, ugm_before_t before)
{
	u64 child;

	while ((child = 2 * at + 1) < nr) {
		if (child + 1 < nr && before(items[child], items[child + 1]))
			child++;
		if (!before(items[at], items[child]))
			return;
		swap(items + at, items + child);
		at = child;
	}
}

static void heap_sort(void **items, u64 nr, ugm_before_t before)
{
	u64 i;

	for (i = nr / 2; i-- > 0;)
		sink(items, nr, i, before);
	for (i = nr; i-- > 1;) {
		swap(items, items + i);
		sink(items, i, 0, before);
	}
}

static void quicksort(void **items, u64 nr, unsigned int depth, ugm_before_t before)
{
	u64 cut;

	while (nr > SHORT) {
		if (!depth--) {
			heap_sort(items, nr, before);
			return;
		}
		cut = partition(items, nr, before);
		quicksort(items + cut, nr - cut, depth, before);
		nr = cut;
	}
}

/**
 * ugm_introsort() - sort pointers
 * @items: pointers
 * @nr: how many
 * @before: their order
 *
 * Context: any.
 */
void ugm_introsort(void **items, u64 nr, ugm_before_t before)
{
	unsigned int depth = 0;
	u64 i, k;
	void *item;

	for (i = nr; i > 1; i /= 2)
		depth += 2;
	quicksort(items, nr, depth, before);
	for (i = 1; i < nr; i++) {
		item = items[i];
		for (k = i; k && before(item, items[k - 1]); k--)
			items[k] = items[k - 1];
		items[k] = item;
	}
}
