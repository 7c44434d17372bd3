// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

/**
 * DOC: text of others
 *
 * Names of files, tensors and kernels may be any bytes. JSON, CSV and pages are
 * UTF-8: what is not is replaced there, as by most who read text. A terminal and
 * messages get no control characters. Files of our own formats keep names as
 * they are.
 */

/* What is well-formed is narrower in the second byte than in those that follow. */
static int second_fits(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xe0: return second >= 0xa0 && second <= 0xbf;
	case 0xed: return second >= 0x80 && second <= 0x9f;
	case 0xf0: return second >= 0x90 && second <= 0xbf;
	case 0xf4: return second >= 0x80 && second <= 0x8f;
	}
	return second >= 0x80 && second <= 0xbf;
}

/**
 * ugm_utf8_length() - bytes of the character a text begins with
 * @text: text, not empty
 *
 * Context: any.
 * Return: 1 to 4; 0: it begins with a byte that belongs to no character.
 */
size_t ugm_utf8_length(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t len, i;

	if (*p < 0x80)
		return 1;
	if (*p < 0xc2 || *p > 0xf4)
		return 0;
	len = *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
	if (!second_fits(p[0], p[1]))
		return 0;
	for (i = 2; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

/**
 * ugm_utf8() - a text as UTF-8
 * @text: any bytes up to a NUL
 *
 * Each byte that belongs to no character becomes U+FFFD.
 *
 * Context: may sleep.
 * Return: the caller's to free, or NULL without memory.
 */
char *ugm_utf8(const char *text)
{
	char *copy = malloc(strlen(text) * strlen(UGM_UTF8_REPLACEMENT) + 1), *to = copy;

	while (copy && *text) {
		size_t len = ugm_utf8_length(text);

		if (len) {
			memcpy(to, text, len);
			to += len;
			text += len;
		} else {
			to = stpcpy(to, UGM_UTF8_REPLACEMENT);
			text++;
		}
	}
	if (copy)
		*to = '\0';
	return copy;
}

/**
 * ugm_utf8_hide_controls() - make a text safe to show
 * @text: any bytes, changed in place: each byte of a control character
 *        becomes '?'
 * @len: how many
 * @keep: those that may stay
 *
 * Also those of two bytes, which some terminals obey like ESC and a letter.
 *
 * Context: any.
 */
void ugm_utf8_hide_controls(char *text, size_t len, const char *keep)
{
	unsigned char c, before = 0;
	size_t i;

	for (i = 0; i < len; i++, before = c) {
		c = (unsigned char)text[i];
		if (before == 0xc2 && c >= 0x80 && c <= 0x9f)
			text[i - 1] = text[i] = '?';
		else if (iscntrl(c) && (!c || !strchr(keep, c)))
			text[i] = '?';
	}
}
