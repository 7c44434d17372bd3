/* SPDX-License-Identifier: MIT */
#ifndef UGM_OUTPUT_H
#define UGM_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "error.h"

/**
 * DOC: output files
 *
 * A regular file is written whole or not at all: into a temporary file beside
 * it, which is renamed when all of it is on the disk. Until then it has no name,
 * and so nothing is left of it when the process ends, however that comes; where
 * the filesystem knows no such files, it has one, and is removed on a failure or
 * a signal that can be caught. "-" is the standard output; pipes, terminals
 * and devices are written directly, terminals without control characters. A
 * symbolic link is followed, also one to a file that is not there yet. A write
 * that fails shows when the file is committed, with its reason.
 */

/**
 * struct ugm_output - a file being written
 * @file: write here
 * @path: where it will be
 * @temporary: name of the temporary file, or NULL where it is written directly
 * @named: the temporary file has that name by now
 * @proc: what names it before
 * @fd: behind @file, or -1
 * @error: errno of the first write that failed, or 0
 * @next: the next file whose temporary one has a name
 */
struct ugm_output {
	FILE *file;
	char *path;
	char *temporary;
	bool named;
	char proc[32];
	int fd;
	int error;
	struct ugm_output *volatile next;
};

void ugm_output_standard(void);
void ugm_output_catch(int sig);
int ugm_output_open(struct ugm_output *o, const char *path,
		    struct ugm_error *err);
int ugm_output_commit(struct ugm_output *o, struct ugm_error *err);
void ugm_output_discard(struct ugm_output *o);

#endif /* UGM_OUTPUT_H */
