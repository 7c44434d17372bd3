/* SPDX-License-Identifier: MIT */
#ifndef UGM_ERROR_H
#define UGM_ERROR_H

/**
 * DOC: errors
 *
 * Functions that can fail for a reason worth a sentence take a
 * &struct ugm_error, and return a negative errno. The sentence names the thing,
 * its value and what is allowed, without a newline or a program name: the
 * command prints it as it is.
 */

/**
 * struct ugm_error - why something failed
 * @text: one line
 */
struct ugm_error {
	char text[512];
};

int ugm_fail(struct ugm_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* UGM_ERROR_H */
