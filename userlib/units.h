/* SPDX-License-Identifier: MIT */
#ifndef UGM_UNITS_H
#define UGM_UNITS_H

#include "error.h"
#include "pure.h"

/**
 * DOC: units
 *
 * Numbers that people type. Sizes have suffixes K, M, G, T in powers of 1024 and
 * are never rounded; bandwidths are bytes per second, may be written 3.2e9, and are
 * rounded to whole ones. @what names the thing in errors.
 */

/* Of a bandwidth in units of 2^30 bytes, what it is in units of 1e9. */
#define UGM_BINARY_UNITS 1.073741824

bool ugm_decimal(const char *text, u64 *value);
bool ugm_real(const char *text, size_t len, double *value);
int ugm_parse_u64(const char *what, const char *text, u64 min, u64 max,
		  u64 *value, struct ugm_error *err);
int ugm_parse_size(const char *what, const char *text, u64 min, u64 max,
		   u64 *value, struct ugm_error *err);
int ugm_parse_bandwidth(const char *what, const char *text, u64 *value,
			struct ugm_error *err);
int ugm_parse_choice(const char *what, const char *text,
		     const char *const *names, unsigned int nr, u32 *value,
		     struct ugm_error *err);

#endif /* UGM_UNITS_H */
