/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UGM_UNIT_H
#define UGM_UNIT_H

/* What every unit test needs. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pure.h"

/* A temporary file with @text in it. Its path stays until the next call. */
static inline const char *text_file(const char *text, size_t len)
{
	static char path[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/ugm-unit-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	close(fd);
	return path;
}

/* A small generator whose numbers are the same everywhere (xorshift64*). */
static inline u64 next_random(u64 *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 0x2545f4914f6cdd1dULL;
}

#endif /* UGM_UNIT_H */
