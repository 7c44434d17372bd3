// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "array.h"
#include "text.h"
#include "units.h"

#define BLANKS " \t\r\f\v"
#define CHUNK (1U << 16)

static int read_all(struct ugm_text *t, gzFile file, struct ugm_error *err)
{
	u64 room = 0;
	int n, code;

	do {
		/* One byte more, for the NUL after the last line. */
		char *p = ugm_array_room(t->data, &room, t->len + CHUNK + 1, 1);

		if (!p)
			return ugm_fail(err, -ENOMEM, "%s: no memory", t->path);
		t->data = p;
		n = gzread(file, t->data + t->len, CHUNK);
		if (n < 0) {
			const char *why = gzerror(file, &code), *reason = strstr(why, ": ");

			if (code == Z_ERRNO)
				return ugm_fail(err, -errno, "%s: %s", t->path,
						strerror(errno));
			/* zlib knows no path and puts a number there. */
			return ugm_fail(err, -EINVAL, "%s: damaged compressed data%s", t->path,
					reason ? reason : "");
		}
		t->len += (size_t)n;
		if (t->len > UGM_TEXT_MAX_BYTES)
			return ugm_fail(err, -EFBIG,
					"%s: larger than %llu MiB", t->path,
					UGM_TEXT_MAX_BYTES >> 20);
	} while (n > 0);
	t->data[t->len] = '\0';
	return 0;
}

/**
 * ugm_text_open() - read a text file into memory
 * @t: filled; ugm_text_close() it whatever is returned
 * @path: file, plain or gzip, or "-" for the standard input; must stay
 * @format: what the comment with its version calls the format; must stay. NULL: it
 *          has no versions
 * @version: the newest version that is known
 * @err: why not
 *
 * Context: may sleep.
 * Return: 0, or a negative errno.
 */
int ugm_text_open(struct ugm_text *t, const char *path, const char *format, u64 version,
		  struct ugm_error *err)
{
	bool standard = !strcmp(path, "-");
	gzFile file;
	int fd, ret;

	memset(t, 0, sizeof(*t));
	t->path = standard ? "(standard input)" : path;
	t->format = format;
	t->version = version;
	fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return ugm_fail(err, -errno, "%s: %s", t->path,
				strerror(errno));
	file = gzdopen(fd, "rb");
	if (!file) {
		close(fd);
		return ugm_fail(err, -ENOMEM, "%s: no memory", t->path);
	}
	ret = read_all(t, file, err);
	if (gzclose_r(file) == Z_BUF_ERROR && !ret)
		ret = ugm_fail(err, -EINVAL, "%s: ends in the middle of its compressed data",
			       t->path);
	return ret;
}

static int add_word(struct ugm_text *t, char *word)
{
	char **p = ugm_array_room(t->words, &t->room, t->nr_words + 1,
				  sizeof(*p));

	if (!p)
		return -ENOMEM;
	t->words = p;
	t->words[t->nr_words++] = word;
	return 0;
}

/*
 * A version, where the line is a comment that tells one. Other comments may well
 * begin with the name of the format: a version begins with a digit.
 */
static int check_version(struct ugm_text *t, const char *line, struct ugm_error *err)
{
	const char *p = line + strspn(line, BLANKS);
	char version[32];
	size_t n;
	u64 v;

	if (!t->format || *p++ != '#')
		return 0;
	p += strspn(p, BLANKS);
	n = strcspn(p, BLANKS);
	if (n != strlen(t->format) || strncmp(p, t->format, n))
		return 0;
	p += n + strspn(p + n, BLANKS);
	if (*p < '0' || *p > '9')
		return 0;
	snprintf(version, sizeof(version), "%.*s", (int)strcspn(p, BLANKS), p);
	if (ugm_decimal(version, &v) && v && v <= t->version)
		return 0;
	return ugm_text_fail(t, err, "%s of version %s: known are 1 to %llu", t->format, version,
			     (unsigned long long)t->version);
}

/* Cut the line into words, where it lies. */
static int split(struct ugm_text *t, char *p)
{
	for (;;) {
		p += strspn(p, BLANKS);
		if (!*p || *p == '#')
			return 0;
		if (add_word(t, p))
			return -ENOMEM;
		p += strcspn(p, BLANKS);
		if (!*p)
			return 0;
		*p++ = '\0';
	}
}

/**
 * ugm_text_next() - the next line that has words
 * @t: file
 * @err: why not
 *
 * Context: any.
 * Return: 1: @t->words holds it; 0: there is none; or a negative errno.
 */
int ugm_text_next(struct ugm_text *t, struct ugm_error *err)
{
	do {
		char *line = t->data + t->next;
		char *end;

		if (t->next >= t->len)
			return 0;
		t->line++;
		t->nr_words = 0;
		end = memchr(line, '\n', t->len - t->next);
		if (!end)
			end = t->data + t->len;
		*end = '\0';
		if (strlen(line) != (size_t)(end - line))
			return ugm_text_fail(t, err, "a NUL byte: not a text file");
		t->next = (size_t)(end - t->data) + 1;
		if (!t->begun && check_version(t, line, err))
			return -EINVAL;
		if (split(t, line))
			return ugm_fail(err, -ENOMEM, "%s: no memory", t->path);
	} while (!t->nr_words);
	t->begun = true;
	return 1;
}

/**
 * ugm_text_close() - forget a text file
 * @t: file
 *
 * Context: any.
 */
void ugm_text_close(struct ugm_text *t)
{
	free(t->data);
	free(t->words);
	memset(t, 0, sizeof(*t));
}

/**
 * ugm_text_fail() - say what is wrong with the current line, and fail
 * @t: file
 * @err: where to
 * @format: printf format of what is wrong
 *
 * Context: any.
 * Return: -EINVAL.
 */
int ugm_text_fail(const struct ugm_text *t, struct ugm_error *err,
		  const char *format, ...)
{
	struct ugm_error what;
	va_list args;

	va_start(args, format);
	vsnprintf(what.text, sizeof(what.text), format, args);
	va_end(args);
	return ugm_fail(err, -EINVAL, "%.200s:%llu: %.280s", t->path,
			(unsigned long long)t->line, what.text);
}
