/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef UGM_PURE_H
#define UGM_PURE_H

/**
 * DOC: pure code
 *
 * The block state table and the timing engine are compiled twice: into the
 * module and into libugm. Such code takes no lock, does no I/O, allocates
 * nothing but through the callbacks it was given, and uses no floating point.
 * This header gives both sides the few words it is written in; in user space
 * they are implemented here.
 */

#ifdef __KERNEL__

#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>

#else

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#ifndef U64_MAX
#define U64_MAX UINT64_MAX
#define U32_MAX UINT32_MAX
#endif

#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))

#ifndef container_of
#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))
#endif

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#endif

/* A broken invariant: say it once, carry on; the tests count these. */
extern unsigned int ugm_pure_warnings;
#define WARN_ON_ONCE(cond)                                                 \
	({                                                                 \
		static bool warned_;                                       \
		bool hit_ = !!(cond);                                      \
		if (hit_) {                                                \
			ugm_pure_warnings++;                               \
			if (!warned_)                                      \
				fprintf(stderr, "WARNING: %s:%d: %s\n",    \
					__FILE__, __LINE__, #cond);        \
			warned_ = true;                                    \
		}                                                          \
		hit_;                                                      \
	})

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool list_empty(const struct list_head *l)
{
	return l->next == l;
}

static inline void list_add_tail(struct list_head *n, struct list_head *l)
{
	n->next = l;
	n->prev = l->prev;
	l->prev->next = n;
	l->prev = n;
}

static inline void list_del_init(struct list_head *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	INIT_LIST_HEAD(n);
}

static inline void list_move_tail(struct list_head *n, struct list_head *l)
{
	list_del_init(n);
	list_add_tail(n, l);
}

#define list_entry(p, type, member) container_of(p, type, member)
#define list_first_entry(l, type, member) list_entry((l)->next, type, member)
#define list_next_entry(p, member) \
	list_entry((p)->member.next, __typeof__(*(p)), member)
#define list_for_each_entry(p, l, member)                             \
	for (p = list_first_entry(l, __typeof__(*(p)), member);       \
	     &(p)->member != (l); p = list_next_entry(p, member))
#define list_for_each_entry_safe(p, n, l, member)                     \
	for (p = list_first_entry(l, __typeof__(*(p)), member),       \
	    n = list_next_entry(p, member);                           \
	     &(p)->member != (l); p = n, n = list_next_entry(n, member))

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

#endif /* __KERNEL__ */

#endif /* UGM_PURE_H */
