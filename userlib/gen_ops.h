/* SPDX-License-Identifier: MIT */
#ifndef UGM_GEN_OPS_H
#define UGM_GEN_OPS_H

#include "gen_tape.h"

value_t tape_embedding(struct tape *t, const char *name, value_t ids,
		       value_t table, u64 rows, u64 width);
value_t tape_linear(struct tape *t, const char *name, value_t x, value_t weight,
		    value_t bias, u64 rows, u64 in, u64 out);
value_t tape_matmul(struct tape *t, const char *name, value_t a, value_t b,
		    u64 batch, u64 m, u64 k, u64 n);
value_t tape_attention(struct tape *t, const char *name, const value_t qkv[3],
		       value_t mask, u64 rows, u128 flops);
value_t tape_add(struct tape *t, const char *name, value_t a, value_t b);
value_t tape_add_to_each(struct tape *t, const char *name, value_t a, value_t b);
value_t tape_multiply(struct tape *t, const char *name, value_t a, value_t b);
value_t tape_scale_mask(struct tape *t, const char *name, value_t x,
			value_t mask);
value_t tape_rotate(struct tape *t, const char *name, value_t x, value_t angles);
value_t tape_softmax(struct tape *t, const char *name, value_t x);
value_t tape_dropout(struct tape *t, const char *name, value_t x);
value_t tape_gelu(struct tape *t, const char *name, value_t x);
value_t tape_silu(struct tape *t, const char *name, value_t x);
value_t tape_sigmoid(struct tape *t, const char *name, value_t x);
value_t tape_tanh(struct tape *t, const char *name, value_t x);
value_t tape_permute(struct tape *t, const char *name, value_t x);
value_t tape_one_token(struct tape *t, const char *name, value_t x, u64 seq);
value_t tape_prepend(struct tape *t, const char *name, value_t x, value_t token,
		     u64 rows);
value_t tape_norm(struct tape *t, const char *name, value_t x, value_t weight,
		  value_t bias, u64 rows);
void tape_split(struct tape *t, const char *name, value_t x, const u64 *bytes,
		value_t parts[3]);
void tape_append(struct tape *t, const char *name, value_t x, value_t cache);
value_t tape_cross_entropy(struct tape *t, const char *name, value_t logits,
			   value_t labels, u64 rows);
value_t tape_sample(struct tape *t, const char *name, value_t logits, u64 rows);

#endif /* UGM_GEN_OPS_H */
