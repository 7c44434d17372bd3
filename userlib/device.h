/* SPDX-License-Identifier: MIT */
#ifndef UGM_DEVICE_H
#define UGM_DEVICE_H

#include <pthread.h>
#include <stdbool.h>

#include "ugm.h"

/* Unified addresses a handle maps in each view. */
#define UGM_SPAN (4ULL << 40)

/* The first tag of allocations that were given none. */
#define UGM_OWN_TAGS (1ULL << 63)

/**
 * struct ugm - an open space
 * @fd: its file
 * @block_size: bytes of a block
 * @gpu: GPU view, UGM_SPAN bytes
 * @host: host view, UGM_SPAN bytes
 * @lock: of the two below
 * @ranges: allocations of this handle by address (managed.c)
 * @next_tag: for allocations without a name
 */
struct ugm {
	int fd;
	size_t block_size;
	char *gpu;
	char *host;
	pthread_mutex_t lock;
	void *ranges;
	uint64_t next_tag;
};

int ugm_ioctl(int fd, unsigned long request, void *arg);
void ugm_managed_release(struct ugm *space);

#endif /* UGM_DEVICE_H */
