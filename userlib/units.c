// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>

#include "units.h"

#define DIGITS "0123456789"

/* The number that @len digits are; false: too large. */
static bool whole(const char *digits, size_t len, u64 *value)
{
	u64 v = 0;

	for (; len; digits++, len--)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (u64)(*digits - '0'), &v))
			return false;
	*value = v;
	return true;
}

/**
 * ugm_decimal() - a decimal number and nothing else
 * @text: digits
 * @value: the number
 *
 * Context: any.
 * Return: false where @text is something else or too large.
 */
bool ugm_decimal(const char *text, u64 *value)
{
	size_t len = strspn(text, DIGITS);

	return len && !text[len] && whole(text, len, value);
}

/**
 * ugm_real() - a decimal number that need not be whole, and nothing else
 * @text: digits, perhaps with a point and an exponent
 * @len: bytes of it
 * @value: the number, as near as a double comes to it; infinite if too large
 *
 * Context: any.
 * Return: false where @text is something else.
 */
bool ugm_real(const char *text, size_t len, double *value)
{
	char *end;

	/* strtod() also reads blanks, signs, "nan" and hexadecimal digits. */
	if (!len || !strchr(DIGITS ".", *text) || strspn(text, DIGITS ".eE+-") < len)
		return false;
	*value = strtod(text, &end);
	return end == text + len;
}

static int out_of_range(const char *what, const char *text, u64 min, u64 max,
			struct ugm_error *err)
{
	return ugm_fail(err, -ERANGE, "%s: %s: allowed are %llu to %llu", what,
			text, (unsigned long long)min, (unsigned long long)max);
}

/**
 * ugm_parse_u64() - a whole number
 * @what: its name in errors
 * @text: what was typed
 * @min: smallest allowed
 * @max: largest allowed
 * @value: the number
 * @err: why not
 *
 * Context: any.
 * Return: 0, -EINVAL or -ERANGE.
 */
int ugm_parse_u64(const char *what, const char *text, u64 min, u64 max,
		  u64 *value, struct ugm_error *err)
{
	u64 v;

	if (!*text || text[strspn(text, DIGITS)])
		return ugm_fail(err, -EINVAL,
				"%s: '%s' is not a whole number (%llu to %llu)",
				what, text, (unsigned long long)min,
				(unsigned long long)max);
	if (!ugm_decimal(text, &v) || v < min || v > max)
		return out_of_range(what, text, min, max, err);
	*value = v;
	return 0;
}

#define SUFFIXES "KMGT"
/* Doublings that the largest suffix stands for. */
#define MAX_SHIFT 40

/* Double a decimal fraction. Return: what has come before the point. */
static unsigned int twice(char *digits, size_t len)
{
	unsigned int carry = 0, d;

	while (len--) {
		d = 2 * (unsigned int)(digits[len] - '0') + carry;
		carry = d >= 10;
		digits[len] = (char)('0' + d % 10);
	}
	return carry;
}

/**
 * ugm_parse_size() - bytes, with a suffix K, M, G or T in powers of 1024
 * @what: its name in errors
 * @text: what was typed; a fraction is allowed where it gives whole bytes
 * @min: smallest allowed, bytes
 * @max: largest allowed, bytes
 * @value: bytes, exactly
 * @err: why not
 *
 * Context: any.
 * Return: 0, -EINVAL or -ERANGE.
 */
int ugm_parse_size(const char *what, const char *text, u64 min, u64 max,
		   u64 *value, struct ugm_error *err)
{
	size_t len = strspn(text, DIGITS), nr = 0;
	const char *end = text + len, *suffix;
	char fraction[MAX_SHIFT + 1];
	unsigned int shift = 0;
	bool fits;
	u64 v = 0;

	if (*end == '.') {
		nr = strspn(++end, DIGITS);
		end += nr;
	}
	if (*end) {
		suffix = strchr(SUFFIXES, *end);
		if (!suffix || end[1])
			goto bad;
		shift = 10 * (unsigned int)(suffix - SUFFIXES + 1);
	}
	if (!len)
		goto bad;
	while (nr && text[len + nr] == '0')
		nr--;
	/* The last digit is not 0: each doubling makes one digit less of them. */
	if (nr > shift)
		goto broken;
	memcpy(fraction, text + len + 1, nr);
	fraction[nr] = '\0';
	fits = whole(text, len, &v);
	for (; shift; shift--)
		fits = fits && !__builtin_mul_overflow(v, 2, &v) &&
		       !__builtin_add_overflow(v, twice(fraction, nr), &v);
	if (!fits || v < min || v > max)
		return out_of_range(what, text, min, max, err);
	if (strspn(fraction, "0") < nr)
		goto broken;
	*value = v;
	return 0;
broken:
	return ugm_fail(err, -EINVAL, "%s: %s is not a number of bytes", what, text);
bad:
	return ugm_fail(err, -EINVAL,
			"%s: '%s' is not a size: bytes, or a number and K, M, G or T (powers of 1024)",
			what, text);
}

/* Slower, and a transfer of one block would take longer than a run. */
#define MIN_BANDWIDTH 1000000ULL
#define MAX_BANDWIDTH 1000000000000000ULL

/**
 * ugm_parse_bandwidth() - bytes per second
 * @what: its name in errors
 * @text: what was typed: 3200000000, 3.2e9
 * @value: bytes per second
 * @err: why not
 *
 * Context: any.
 * Return: 0, -EINVAL or -ERANGE.
 */
int ugm_parse_bandwidth(const char *what, const char *text, u64 *value,
			struct ugm_error *err)
{
	double v;

	if (!ugm_real(text, strlen(text), &v))
		return ugm_fail(err, -EINVAL,
				"%s: '%s' is not a bandwidth: bytes per second, such as 3.2e9",
				what, text);
	if (!(v >= MIN_BANDWIDTH && v <= MAX_BANDWIDTH))
		return out_of_range(what, text, MIN_BANDWIDTH, MAX_BANDWIDTH,
				    err);
	*value = (u64)llround(v);
	return 0;
}

/**
 * ugm_parse_choice() - one of several words
 * @what: its name in errors
 * @text: what was typed
 * @names: the words
 * @nr: how many
 * @value: which
 * @err: why not
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int ugm_parse_choice(const char *what, const char *text,
		     const char *const *names, unsigned int nr, u32 *value,
		     struct ugm_error *err)
{
	char list[256] = "";
	unsigned int i;
	size_t n = 0;

	for (i = 0; i < nr; i++) {
		if (!strcmp(text, names[i])) {
			*value = i;
			return 0;
		}
	}
	for (i = 0; i < nr && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s",
				      i ? ", " : "", names[i]);
	return ugm_fail(err, -EINVAL, "%s: '%s' is not one of: %s", what, text,
			list);
}
