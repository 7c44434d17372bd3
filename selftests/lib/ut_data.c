// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>

#include "ugm_test.h"

static uint64_t word(uint64_t seed, uint64_t i)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15ULL + i + 1;

	x ^= x >> 31;
	x *= 0xbf58476d1ce4e5b9ULL;
	return x ^ x >> 29;
}

/**
 * ut_fill() - write a pattern
 * @p: where, aligned to 8 bytes
 * @len: bytes, a multiple of 8
 * @seed: which pattern
 */
void ut_fill(void *p, size_t len, uint64_t seed)
{
	uint64_t *w = p;
	size_t i;

	for (i = 0; i < len / sizeof(*w); i++)
		w[i] = word(seed, i);
}

/**
 * ut_compare() - look for a pattern
 * @p: where, aligned to 8 bytes
 * @len: bytes, a multiple of 8
 * @seed: which pattern
 *
 * Return: -1, or the offset of the first word that is something else.
 */
int64_t ut_compare(const void *p, size_t len, uint64_t seed)
{
	const uint64_t *w = p;
	size_t i;

	for (i = 0; i < len / sizeof(*w); i++)
		if (w[i] != word(seed, i))
			return (int64_t)(i * sizeof(*w));
	return -1;
}

/**
 * ut_zero() - is it all zeros?
 * @p: where
 * @len: bytes, not zero
 */
bool ut_zero(const void *p, size_t len)
{
	const char *c = p;

	return !*c && !memcmp(c, c + 1, len - 1);
}

static __thread sigjmp_buf touch_env;
static __thread volatile sig_atomic_t touching;

static void on_fault(int sig)
{
	if (touching)
		siglongjmp(touch_env, sig);
	signal(sig, SIG_DFL);
	raise(sig);
}

/**
 * ut_touch() - read or write one byte
 * @p: where
 * @write: write it (what it was)
 *
 * Return: 0, or the signal that this gave: SIGBUS or SIGSEGV.
 */
int ut_touch(volatile char *p, bool write)
{
	struct sigaction sa = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	volatile char c;
	int sig;

	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	sig = sigsetjmp(touch_env, 1);
	if (!sig) {
		touching = 1;
		c = *p;
		if (write)
			*p = c;
	}
	touching = 0;
	return sig;
}
