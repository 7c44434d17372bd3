/* SPDX-License-Identifier: MIT */
#ifndef UGM_UTF8_H
#define UGM_UTF8_H

#include <stddef.h>

/* What is shown for bytes that are no character. */
#define UGM_UTF8_REPLACEMENT "\xef\xbf\xbd"

size_t ugm_utf8_length(const char *text);
char *ugm_utf8(const char *text);
void ugm_utf8_hide_controls(char *text, size_t len, const char *keep);

#endif /* UGM_UTF8_H */
