// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"

static int open_temporary(struct ugm_output *o, mode_t mode,
			  struct ugm_error *err)
{
	int fd;

	if (asprintf(&o->temporary, "%s.XXXXXX", o->path) < 0) {
		o->temporary = NULL;
		return ugm_fail(err, -ENOMEM, "%s: no memory", o->path);
	}
	fd = mkostemp(o->temporary, O_CLOEXEC);
	if (fd < 0) {
		int error = errno;

		free(o->temporary);
		o->temporary = NULL;
		return ugm_fail(err, -error, "%s: cannot write: %s", o->path,
				strerror(error));
	}
	/* mkostemp() makes it private; give it what open() would have. */
	fchmod(fd, mode);
	o->file = fdopen(fd, "w");
	if (!o->file) {
		close(fd);
		return ugm_fail(err, -ENOMEM, "%s: no memory", o->path);
	}
	return 0;
}

/**
 * ugm_output_open() - begin to write a file
 * @o: filled; ugm_output_commit() or ugm_output_discard() ends it
 * @path: where to; "-" for the standard output
 * @err: why not
 *
 * Context: may sleep.
 * Return: 0, or a negative errno; then @o needs no end.
 */
int ugm_output_open(struct ugm_output *o, const char *path,
		    struct ugm_error *err)
{
	struct stat st;
	mode_t mask;
	int ret;

	memset(o, 0, sizeof(*o));
	if (!strcmp(path, "-")) {
		o->file = stdout;
		return 0;
	}
	/* A symbolic link stays one: what it points to is replaced. */
	o->path = realpath(path, NULL);
	if (!o->path)
		o->path = strdup(path);
	if (!o->path)
		return ugm_fail(err, -ENOMEM, "%s: no memory", path);
	if (!stat(path, &st)) {
		if (S_ISREG(st.st_mode)) {
			ret = open_temporary(o, st.st_mode & 0777, err);
			goto out;
		}
		o->file = fopen(path, "we");
		ret = o->file ? 0 : ugm_fail(err, -errno, "%s: cannot write: %s",
					     path, strerror(errno));
		goto out;
	}
	mask = umask(0);
	umask(mask);
	ret = open_temporary(o, 0666 & ~mask, err);
out:
	if (ret)
		ugm_output_discard(o);
	return ret;
}

static const char *name_of(const struct ugm_output *o)
{
	return o->path ? o->path : "(standard output)";
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
	int error = 0;

	/* An earlier write may have failed; the reason shows again, or is lost. */
	if (fflush(o->file))
		error = errno;
	else if (ferror(o->file))
		error = EIO;
	if (!error && o->temporary && fsync(fileno(o->file)))
		error = errno;
	if (o->file != stdout && fclose(o->file) && !error)
		error = errno;
	o->file = NULL;
	if (!error && o->temporary && rename(o->temporary, o->path))
		error = errno;
	if (error) {
		ugm_fail(err, -error, "%s: cannot write: %s", name_of(o),
			 strerror(error));
	} else {
		free(o->temporary);
		o->temporary = NULL;
	}
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
	if (o->temporary)
		unlink(o->temporary);
	free(o->temporary);
	free(o->path);
	memset(o, 0, sizeof(*o));
}
