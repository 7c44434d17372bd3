/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef UGM_HEAP_H
#define UGM_HEAP_H

#include "pure.h"

/**
 * DOC: heap
 *
 * An intrusive pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986): the
 * queues and the event list of the engine. Nodes are ordered by key, then by
 * seq, so that equal keys leave in the order in which they came and every run
 * pops the same sequence. Any node can be removed. Nothing is allocated.
 */

/**
 * struct ugm_heap_node - a member of a heap
 * @child: leftmost child
 * @next: next sibling
 * @prev: previous sibling, or the parent for a leftmost child; NULL for the root
 * @key: order, smallest first
 * @seq: order among equal keys
 */
struct ugm_heap_node {
	struct ugm_heap_node *child, *next, *prev;
	u64 key;
	u64 seq;
};

/**
 * struct ugm_heap - a heap
 * @root: the smallest node, or NULL
 * @nr: how many nodes it holds
 */
struct ugm_heap {
	struct ugm_heap_node *root;
	u64 nr;
};

static inline bool ugm_heap_before(const struct ugm_heap_node *a,
				   const struct ugm_heap_node *b)
{
	return a->key != b->key ? a->key < b->key : a->seq < b->seq;
}

static inline struct ugm_heap_node *ugm_heap_meld(struct ugm_heap_node *a,
						  struct ugm_heap_node *b)
{
	struct ugm_heap_node *t;

	if (!a)
		return b;
	if (!b)
		return a;
	if (ugm_heap_before(b, a)) {
		t = a;
		a = b;
		b = t;
	}
	b->next = a->child;
	if (b->next)
		b->next->prev = b;
	b->prev = a;
	a->child = b;
	return a;
}

/* Meld a list of siblings, pairwise from the left, then from the right. */
static inline struct ugm_heap_node *ugm_heap_pair(struct ugm_heap_node *n)
{
	struct ugm_heap_node *pairs = NULL, *a, *b, *next, *root = NULL;

	while (n) {
		a = n;
		b = a->next;
		next = b ? b->next : NULL;
		a->next = a->prev = NULL;
		if (b)
			b->next = b->prev = NULL;
		a = ugm_heap_meld(a, b);
		a->next = pairs;
		pairs = a;
		n = next;
	}
	while (pairs) {
		next = pairs->next;
		pairs->next = NULL;
		root = ugm_heap_meld(root, pairs);
		pairs = next;
	}
	if (root)
		root->prev = NULL;
	return root;
}

/**
 * ugm_heap_push() - add a node
 * @h: heap
 * @n: node in no heap
 * @key: its order
 * @seq: its order among equal keys
 */
static inline void ugm_heap_push(struct ugm_heap *h, struct ugm_heap_node *n,
				 u64 key, u64 seq)
{
	n->child = n->next = n->prev = NULL;
	n->key = key;
	n->seq = seq;
	h->root = ugm_heap_meld(h->root, n);
	h->nr++;
}

/**
 * ugm_heap_remove() - take any node out
 * @h: heap
 * @n: one of its nodes
 */
static inline void ugm_heap_remove(struct ugm_heap *h, struct ugm_heap_node *n)
{
	struct ugm_heap_node *sub = ugm_heap_pair(n->child);

	if (n == h->root) {
		h->root = sub;
	} else {
		if (n->prev->child == n)
			n->prev->child = n->next;
		else
			n->prev->next = n->next;
		if (n->next)
			n->next->prev = n->prev;
		h->root = ugm_heap_meld(h->root, sub);
	}
	n->child = n->next = n->prev = NULL;
	h->nr--;
}

#endif /* UGM_HEAP_H */
