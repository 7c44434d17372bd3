// SPDX-License-Identifier: GPL-2.0
/* The heap against a sorted list: any order of pushes and removals. */
#include "unit.h"
#include "heap.h"

#define NODES 200

struct item {
	struct ugm_heap_node node;
	bool in;
};

/* Links are consistent and no child comes before its parent. */
static unsigned int count(const struct ugm_heap_node *n)
{
	const struct ugm_heap_node *c, *prev = n;
	unsigned int sum = 1;

	for (c = n->child; c; prev = c, c = c->next) {
		assert_ptr_equal(c->prev, prev);
		assert_false(ugm_heap_before(c, n));
		sum += count(c);
	}
	return sum;
}

static void check(const struct ugm_heap *h, const struct item *items)
{
	const struct ugm_heap_node *first = NULL;
	unsigned int nr = 0, i;

	for (i = 0; i < NODES; i++) {
		if (!items[i].in)
			continue;
		nr++;
		if (!first || ugm_heap_before(&items[i].node, first))
			first = &items[i].node;
	}
	assert_int_equal(h->nr, nr);
	assert_ptr_equal(h->root, first);
	if (h->root) {
		assert_null(h->root->prev);
		assert_null(h->root->next);
		assert_int_equal(count(h->root), nr);
	}
}

static void random_order(void **unused)
{
	static struct item items[NODES];
	struct ugm_heap h = {};
	u64 seed = 1, seq = 0;
	unsigned int step;

	for (step = 0; step < 20000; step++) {
		struct item *item = &items[next_random(&seed) % NODES];

		if (item->in)
			ugm_heap_remove(&h, &item->node);
		else
			ugm_heap_push(&h, &item->node,
				      next_random(&seed) % 16, ++seq);
		item->in = !item->in;
		check(&h, items);
	}
}

static void equal_keys_leave_in_order(void **unused)
{
	static struct item items[NODES];
	struct ugm_heap h = {};
	unsigned int i;

	for (i = 0; i < NODES; i++)
		ugm_heap_push(&h, &items[i].node, i % 3, i);
	for (i = 0; i < NODES; i++) {
		struct ugm_heap_node *n = h.root;

		ugm_heap_remove(&h, n);
		if (h.root)
			assert_true(n->key < h.root->key ||
				    (n->key == h.root->key &&
				     n->seq < h.root->seq));
	}
	assert_null(h.root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_order),
		cmocka_unit_test(equal_keys_leave_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
