/* SPDX-License-Identifier: MIT */
#ifndef UGM_TEXT_H
#define UGM_TEXT_H

#include "error.h"
#include "pure.h"

/**
 * DOC: text files
 *
 * Traces, schedules and machines are lines of words. A word that begins with '#'
 * begins a comment; blank lines do not count. A file may be compressed with gzip.
 *
 * A comment above the first line that says something may tell the version of the
 * format, as in "# ugm-schedule 1"; who writes by hand may leave it out. A version
 * that the reader does not know is refused: its lines may mean something else.
 */

/* A trace of this size has more kernels than a launch number needs. */
#define UGM_TEXT_MAX_BYTES (256ULL << 20)

/**
 * struct ugm_text - a text file being read
 * @path: its path
 * @format: what the comment with the version calls its format, or NULL: it has none
 * @version: newest version of it that is known
 * @data: all of it
 * @len: bytes of it
 * @next: where the next line begins
 * @line: number of the current line, from 1
 * @words: words of the current line
 * @nr_words: how many
 * @begun: a line with words was seen
 * @room: how many @words has room for
 */
struct ugm_text {
	const char *path;
	const char *format;
	u64 version;
	char *data;
	size_t len;
	size_t next;
	u64 line;
	char **words;
	u64 nr_words;
	bool begun;
	u64 room;
};

int ugm_text_open(struct ugm_text *t, const char *path, const char *format, u64 version,
		  struct ugm_error *err);
int ugm_text_next(struct ugm_text *t, struct ugm_error *err);
void ugm_text_close(struct ugm_text *t);
int ugm_text_fail(const struct ugm_text *t, struct ugm_error *err,
		  const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* UGM_TEXT_H */
