// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"
#include "utf8.h"

/* Links that are followed, as many as the kernel does. */
#define MAX_LINKS 40

/* What is printed on the standard output; ugm_output_standard() */
static struct ugm_output standard;

/* Files whose temporary one has a name, for a signal that ends the process. */
static struct ugm_output *volatile unfinished;

static void on_signal(int sig)
{
	struct ugm_output *o;

	for (o = unfinished; o; o = o->next)
		unlink(o->temporary);
	signal(sig, SIG_DFL);
	raise(sig);
}

/**
 * ugm_output_catch() - leave no temporary file when a signal ends the process
 * @sig: signal; one that is ignored stays so
 *
 * Context: process context.
 */
void ugm_output_catch(int sig)
{
	struct sigaction old, catch = { .sa_handler = on_signal };

	if (!sigaction(sig, NULL, &old) && old.sa_handler == SIG_DFL)
		sigaction(sig, &catch, NULL);
}

/* The handler must never see one whose name is gone. */
static void forget(struct ugm_output *o)
{
	struct ugm_output *volatile *at = &unfinished;

	while (*at && *at != o)
		at = &(*at)->next;
	if (*at)
		*at = o->next;
	free(o->temporary);
	o->temporary = NULL;
	o->named = false;
}

/* A stream forgets the reason of a failed write: it is kept here. */
static ssize_t write_all(void *cookie, const char *data, size_t len)
{
	struct ugm_output *o = cookie;
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(o->fd, data + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			if (!o->error)
				o->error = errno;
			break;
		}
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* A terminal obeys control characters, and names of others may hold any. */
static ssize_t write_terminal(void *cookie, const char *data, size_t len)
{
	char shown[BUFSIZ];
	size_t done = 0, n;

	while (done < len) {
		n = len - done < sizeof(shown) ? len - done : sizeof(shown);
		memcpy(shown, data + done, n);
		ugm_utf8_hide_controls(shown, n, "\n\t");
		if (write_all(cookie, shown, n) != (ssize_t)n)
			break;
		done += n;
	}
	return (ssize_t)done;
}

static FILE *stream_of(struct ugm_output *o)
{
	return fopencookie(o, "w", (cookie_io_functions_t){
				.write = isatty(o->fd) ? write_terminal : write_all });
}

/**
 * ugm_output_standard() - from now on, remember why printing failed
 *
 * The stdout of this process becomes a stream that does. Without it a failed
 * write is noticed as well, but not always its reason.
 *
 * Context: process context, once, before anything is printed.
 */
void ugm_output_standard(void)
{
	FILE *f;

	standard.fd = STDOUT_FILENO;
	f = stream_of(&standard);
	if (!f)
		return;
	setvbuf(f, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
	stdout = f;
}

/*
 * Where a path leads: a symbolic link stays one, what it points to is written.
 * Links to what is no file are left to the kernel: /dev/stdout leads to a pipe
 * that has no path.
 */
static int follow(const char *path, char **end, struct ugm_error *err)
{
	char *at = strdup(path), *next, target[PATH_MAX];
	unsigned int links = 0;
	const char *slash;
	struct stat st;
	ssize_t n;

	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		goto end;
	while (at && (n = readlink(at, target, sizeof(target) - 1)) >= 0) {
		if (++links > MAX_LINKS) {
			free(at);
			return ugm_fail(err, -ELOOP, "%s: cannot write: %s", path, strerror(ELOOP));
		}
		target[n] = '\0';
		slash = *target == '/' ? NULL : strrchr(at, '/');
		if (asprintf(&next, "%.*s%s", slash ? (int)(slash - at) + 1 : 0, at, target) < 0)
			next = NULL;
		free(at);
		at = next;
	}
end:
	*end = at;
	return at ? 0 : ugm_fail(err, -ENOMEM, "%s: no memory", path);
}

/* From now on a signal that ends the process removes it. */
static void remember(struct ugm_output *o)
{
	o->next = unfinished;
	unfinished = o;
}

/*
 * What has no name is gone with the process, whatever ends that. Not every
 * filesystem has it, and to give it a name takes /proc.
 */
static bool open_nameless(struct ugm_output *o)
{
	const char *slash = strrchr(o->path, '/');
	char *folder = slash ? strndup(o->path, (size_t)(slash - o->path) + 1) : strdup(".");

	if (folder)
		o->fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	free(folder);
	if (o->fd < 0)
		return false;
	snprintf(o->proc, sizeof(o->proc), "/proc/self/fd/%d", o->fd);
	/* Whether the name will do, too, is better known before the work than after. */
	if (!access(o->proc, F_OK) && access(o->temporary, F_OK) && errno == ENOENT)
		return true;
	close(o->fd);
	o->fd = -1;
	return false;
}

static bool open_named(struct ugm_output *o)
{
	o->fd = mkostemp(o->temporary, O_CLOEXEC);
	if (o->fd < 0)
		return false;
	o->named = true;
	remember(o);
	return true;
}

/* Return: 0 or an errno. */
static int give_name(struct ugm_output *o)
{
	char *random = o->temporary + strlen(o->path) + 1;
	unsigned int n;

	remember(o);
	do {
		if (getrandom(&n, sizeof(n), 0) < 0)
			return errno;
		snprintf(random, strlen(random) + 1, "%06x", n & 0xffffff);
		o->named = !linkat(AT_FDCWD, o->proc, AT_FDCWD, o->temporary, AT_SYMLINK_FOLLOW);
	} while (!o->named && errno == EEXIST);
	return o->named ? 0 : errno;
}

static int open_temporary(struct ugm_output *o, mode_t mode, struct ugm_error *err)
{
	if (asprintf(&o->temporary, "%s.XXXXXX", o->path) < 0) {
		o->temporary = NULL;
		return ugm_fail(err, -ENOMEM, "%s: no memory", o->path);
	}
	if (!open_nameless(o) && !open_named(o)) {
		int error = errno;

		free(o->temporary);
		o->temporary = NULL;
		return ugm_fail(err, -error, "%s: cannot write: %s", o->path, strerror(error));
	}
	/* It is private so far; give it what open() would have. */
	fchmod(o->fd, mode);
	return 0;
}

static int open_file(struct ugm_output *o, struct ugm_error *err)
{
	struct stat st;
	mode_t mask;

	if (stat(o->path, &st)) {
		mask = umask(0);
		umask(mask);
		return open_temporary(o, 0666 & ~mask, err);
	}
	if (S_ISREG(st.st_mode))
		return open_temporary(o, st.st_mode & 0777, err);
	o->fd = open(o->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (o->fd < 0)
		return ugm_fail(err, -errno, "%s: cannot write: %s", o->path, strerror(errno));
	return 0;
}

/**
 * ugm_output_open() - begin to write a file
 * @o: filled; ugm_output_commit() or ugm_output_discard() ends it, until when
 * it must stay where it is
 * @path: where to; "-" for the standard output
 * @err: why not
 *
 * Context: may sleep.
 * Return: 0, or a negative errno; then @o needs no end.
 */
int ugm_output_open(struct ugm_output *o, const char *path, struct ugm_error *err)
{
	int ret;

	memset(o, 0, sizeof(*o));
	o->fd = -1;
	if (!strcmp(path, "-")) {
		o->file = stdout;
		return 0;
	}
	ret = follow(path, &o->path, err);
	if (ret)
		return ret;
	ret = open_file(o, err);
	if (!ret) {
		o->file = stream_of(o);
		if (!o->file)
			ret = ugm_fail(err, -ENOMEM, "%s: no memory", path);
	}
	if (ret)
		ugm_output_discard(o);
	return ret;
}

static const char *name_of(const struct ugm_output *o)
{
	return o->path ? o->path : "(standard output)";
}

/* All that was printed so far is on its way, or why not. */
static int flush(struct ugm_output *o)
{
	bool failed = fflush(o->file) || ferror(o->file);
	int error = o->file == stdout ? standard.error : o->error;

	return error || !failed ? error : EIO;
}

/**
 * ugm_output_commit() - all is written: put the file in its place
 * @o: ended in any case
 * @err: why not
 *
 * Context: may sleep.
 * Return: 0, or a negative errno; then the file at the path is as it was.
 */
int ugm_output_commit(struct ugm_output *o, struct ugm_error *err)
{
	int error = flush(o);

	if (!error && o->temporary && fsync(o->fd))
		error = errno;
	if (!error && o->temporary && !o->named)
		error = give_name(o);
	if (o->file != stdout)
		fclose(o->file);
	o->file = NULL;
	if (o->path && close(o->fd) && !error)
		error = errno;
	o->fd = -1;
	if (!error && o->temporary && rename(o->temporary, o->path))
		error = errno;
	if (error)
		ugm_fail(err, -error, "%s: cannot write: %s", name_of(o), strerror(error));
	else
		forget(o);
	ugm_output_discard(o);
	return -error;
}

/**
 * ugm_output_discard() - give up a file that was being written
 * @o: ended; harmless on one that has ended
 *
 * Context: may sleep.
 */
void ugm_output_discard(struct ugm_output *o)
{
	if (o->file && o->file != stdout)
		fclose(o->file);
	/* One that was never opened is all zero. */
	if (o->path && o->fd >= 0)
		close(o->fd);
	if (o->named)
		unlink(o->temporary);
	forget(o);
	free(o->path);
	memset(o, 0, sizeof(*o));
}
