/* SPDX-License-Identifier: MIT */
#ifndef UGM_VERIFY_H
#define UGM_VERIFY_H

#include "error.h"
#include "layout.h"

/* How much of each launch is verified. */
enum ugm_verify {
	UGM_VERIFY_NONE,
	UGM_VERIFY_SAMPLE,
	UGM_VERIFY_FULL,
};

/**
 * struct ugm_content - what the memory of a tensor should hold
 * @base: where it is in this process
 * @version: how often it was written; 0: it reads as zeros
 * @discarded: since then its data may have been lost
 */
struct ugm_content {
	char *base;
	u64 version;
	bool discarded;
};

/**
 * struct ugm_contents - what the memory of all tensors should hold
 * @layout: the tensors
 * @verify: how much is written and checked
 * @checked_bytes: device bytes that held what they had to, so far
 * @tensors: by tensor
 */
struct ugm_contents {
	const struct ugm_layout *layout;
	enum ugm_verify verify;
	u64 checked_bytes;
	struct ugm_content *tensors;
};

int ugm_contents_init(struct ugm_contents *c, const struct ugm_layout *layout,
		      enum ugm_verify verify);
void ugm_contents_free(struct ugm_contents *c);
int ugm_contents_fill(struct ugm_contents *c, u32 tensor, u64 offset, u64 len,
		      struct ugm_error *err);
int ugm_contents_kernel(struct ugm_contents *c, u32 kernel, struct ugm_error *err);
void ugm_contents_discard(struct ugm_contents *c, u32 tensor);

#endif /* UGM_VERIFY_H */
