// SPDX-License-Identifier: MIT
/**
 * DOC: managed memory
 *
 * Allocations and the calls on them by pointer. The kernel speaks of a range's
 * tag and an offset in it; the handle keeps its own ranges in a search tree by
 * address, so that a pointer anywhere inside one finds both.
 */

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

/**
 * struct managed - an allocation of this handle
 * @start: unified address
 * @len: bytes, whole blocks
 * @tag: its name
 */
struct managed {
	uint64_t start;
	uint64_t len;
	uint64_t tag;
};

/* Ranges never overlap, so "overlaps" is an order's equality. */
static int by_address(const void *a, const void *b)
{
	const struct managed *x = a, *y = b;

	if (x->start + x->len <= y->start)
		return -1;
	return y->start + y->len <= x->start;
}

static bool managed_find(struct ugm *space, uint64_t address, struct managed *out)
{
	struct managed key = { .start = address, .len = 1 };
	struct managed **found;

	pthread_mutex_lock(&space->lock);
	found = tfind(&key, &space->ranges, by_address);
	if (found)
		*out = **found;
	pthread_mutex_unlock(&space->lock);
	return found;
}

/**
 * ugm_managed_release() - forget the ranges of a handle that is being closed
 * @space: handle
 */
void ugm_managed_release(struct ugm *space)
{
	tdestroy(space->ranges, free);
	space->ranges = NULL;
}

int ugm_malloc_tagged(struct ugm *space, void **ptr, size_t len, uint64_t model_len, uint64_t tag,
		      uint32_t flags)
{
	struct ugm_ioc_alloc a = {
		.len = len,
		.model_len = model_len,
		.tag = tag,
		.flags = flags,
	};
	struct ugm_ioc_free undo;
	struct managed *m;
	void *node;
	int ret;

	m = malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	ret = ugm_ioctl(space->fd, UGM_IOC_ALLOC, &a);
	if (ret)
		goto out;
	m->start = a.offset;
	m->len = (len + space->block_size - 1) / space->block_size * space->block_size;
	m->tag = tag;
	if (m->start + m->len > UGM_SPAN) {
		ret = -ENOSPC;
		goto undo;
	}
	pthread_mutex_lock(&space->lock);
	node = tsearch(m, &space->ranges, by_address);
	pthread_mutex_unlock(&space->lock);
	if (!node) {
		ret = -ENOMEM;
		goto undo;
	}
	*ptr = space->host + a.offset;
	return 0;

undo:
	undo.offset = a.offset;
	ugm_ioctl(space->fd, UGM_IOC_FREE, &undo);
out:
	free(m);
	return ret;
}

int ugm_malloc(struct ugm *space, void **ptr, size_t len)
{
	uint64_t tag;

	pthread_mutex_lock(&space->lock);
	tag = space->next_tag++;
	pthread_mutex_unlock(&space->lock);
	return ugm_malloc_tagged(space, ptr, len, 0, tag, 0);
}

int ugm_free(struct ugm *space, void *ptr)
{
	struct managed key = { .len = 1 }, **found, *m = NULL;
	struct ugm_ioc_free f;
	int ret;

	if (!ptr)
		return 0;
	if (ugm_address(space, ptr, &key.start))
		return -ENOENT;
	f.offset = key.start;

	/* Gone from the tree before the kernel can give the address away anew. */
	pthread_mutex_lock(&space->lock);
	found = tfind(&key, &space->ranges, by_address);
	if (found && (*found)->start == f.offset) {
		m = *found;
		tdelete(m, &space->ranges, by_address);
	}
	pthread_mutex_unlock(&space->lock);
	if (!m)
		return -ENOENT;

	ret = ugm_ioctl(space->fd, UGM_IOC_FREE, &f);
	if (!ret) {
		free(m);
		return 0;
	}
	pthread_mutex_lock(&space->lock);
	if (!tsearch(m, &space->ranges, by_address))
		free(m);
	pthread_mutex_unlock(&space->lock);
	return ret;
}

int ugm_address(const struct ugm *space, const void *ptr, uint64_t *address)
{
	const char *bases[] = { space->host, space->gpu };
	size_t i;

	for (i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		uintptr_t d = (uintptr_t)ptr - (uintptr_t)bases[i];

		if (d < UGM_SPAN) {
			*address = d;
			return 0;
		}
	}
	return -EFAULT;
}

void *ugm_gpu_ptr(const struct ugm *space, const void *ptr)
{
	uint64_t address;

	return ugm_address(space, ptr, &address) ? NULL : space->gpu + address;
}

void *ugm_host_ptr(const struct ugm *space, const void *ptr)
{
	uint64_t address;

	return ugm_address(space, ptr, &address) ? NULL : space->host + address;
}

/* A hint that acts at once, on memory given by pointer. */
static int hint_now(struct ugm *space, uint32_t op, const void *ptr, size_t len, uint32_t tier)
{
	struct ugm_hint_desc h = {
		.op = op,
		.tier = tier,
		.len = len,
		.at = UGM_HINT_NOW,
		.need = UGM_HINT_NO_NEED,
	};
	struct managed m;
	uint64_t address;
	int ret;

	/* To the kernel, length 0 means "to the end". */
	if (!len)
		return 0;
	ret = ugm_address(space, ptr, &address);
	if (ret)
		return ret;
	if (!managed_find(space, address, &m) || len > m.start + m.len - address)
		return -EFAULT;
	h.tag = m.tag;
	h.offset = address - m.start;
	ret = ugm_hint(space, 0, &h, 1);
	return ret ? ret : h.result;
}

int ugm_mem_prefetch(struct ugm *space, const void *ptr, size_t len, uint32_t tier)
{
	return hint_now(space, UGM_HINT_PREFETCH, ptr, len, tier);
}

int ugm_mem_evict(struct ugm *space, const void *ptr, size_t len, uint32_t tier)
{
	return hint_now(space, UGM_HINT_EVICT, ptr, len, tier);
}

int ugm_mem_discard(struct ugm *space, const void *ptr, size_t len)
{
	return hint_now(space, UGM_HINT_DISCARD, ptr, len, 0);
}

int ugm_mem_advise(struct ugm *space, const void *ptr, size_t len, uint32_t advice, uint32_t tier)
{
	struct ugm_ioc_advise a = { .len = len, .advice = advice, .tier = tier };
	uint64_t address;
	int ret = ugm_address(space, ptr, &address);

	if (ret)
		return ret;
	a.offset = address;
	return ugm_ioctl(space->fd, UGM_IOC_ADVISE, &a);
}

int ugm_residency(struct ugm *space, const void *ptr, uint32_t *states, uint32_t nr)
{
	uint64_t address;
	int ret = ugm_address(space, ptr, &address);

	return ret ? ret : ugm_residency_at(space, 0, address, states, nr);
}

int ugm_launch(struct ugm *space, const struct ugm_operand_ref *operands, uint32_t nr,
	       uint64_t duration_ns, struct ugm_times *times)
{
	struct ugm_operand_desc *descs = calloc(nr ? nr : 1, sizeof(*descs));
	int ret = descs ? 0 : -ENOMEM;
	uint64_t address = 0;
	uint32_t i;

	for (i = 0; !ret && i < nr; i++) {
		ret = ugm_address(space, operands[i].ptr, &address);
		descs[i].offset = address;
		descs[i].len = operands[i].len;
		descs[i].access = operands[i].access;
	}
	if (!ret)
		ret = ugm_launch_at(space, descs, nr, duration_ns, times);
	free(descs);
	return ret;
}
