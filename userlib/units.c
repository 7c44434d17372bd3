// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>

#include "units.h"

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
	u64 v = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		unsigned int digit = (unsigned int)*text - '0';

		if (digit > 9 || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, digit, &v))
			return false;
	}
	*value = v;
	return true;
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

	if (!ugm_decimal(text, &v))
		return ugm_fail(err, -EINVAL,
				"%s: '%s' is not a whole number (%llu to %llu)",
				what, text, (unsigned long long)min,
				(unsigned long long)max);
	if (v < min || v > max)
		return out_of_range(what, text, min, max, err);
	*value = v;
	return 0;
}

/**
 * ugm_parse_size() - bytes, with a suffix K, M, G or T in powers of 1024
 * @what: its name in errors
 * @text: what was typed; a fraction is allowed where it gives whole bytes
 * @min: smallest allowed, bytes
 * @max: largest allowed, bytes
 * @value: bytes
 * @err: why not
 *
 * Context: any.
 * Return: 0, -EINVAL or -ERANGE.
 */
int ugm_parse_size(const char *what, const char *text, u64 min, u64 max,
		   u64 *value, struct ugm_error *err)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	char *end;
	double v;

	if (strspn(text, "0123456789.") == 0 || *text == '.')
		goto bad;
	v = strtod(text, &end);
	if (end != text + strspn(text, "0123456789."))
		goto bad;
	if (*end) {
		suffix = strchr(suffixes, *end);
		if (!suffix || end[1])
			goto bad;
		v = ldexp(v, 10 * (int)(suffix - suffixes + 1));
	}
	if (v > 0x1p63)
		return out_of_range(what, text, min, max, err);
	if (v != floor(v))
		return ugm_fail(err, -EINVAL, "%s: %s is not a number of bytes",
				what, text);
	if ((u64)v < min || (u64)v > max)
		return out_of_range(what, text, min, max, err);
	*value = (u64)v;
	return 0;
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
	char *end;
	double v;

	if (strspn(text, "0123456789.eE+") != strlen(text) ||
	    *text < '0' || *text > '9')
		goto bad;
	v = strtod(text, &end);
	if (*end)
		goto bad;
	if (!(v >= MIN_BANDWIDTH && v <= MAX_BANDWIDTH))
		return out_of_range(what, text, MIN_BANDWIDTH, MAX_BANDWIDTH,
				    err);
	*value = (u64)llround(v);
	return 0;
bad:
	return ugm_fail(err, -EINVAL,
			"%s: '%s' is not a bandwidth: bytes per second, such as 3.2e9",
			what, text);
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
