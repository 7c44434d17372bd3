/* SPDX-License-Identifier: MIT */
#ifndef UGM_TOOLS_DEVICE_H
#define UGM_TOOLS_DEVICE_H

#include "json.h"
#include "options.h"
#include "ugm.h"

/* What verbs that talk to a device share. */

#define DEFAULT_DEVICE "/dev/ugm0"

/* Base: const char *, the device node. */
extern const struct option_spec device_option[];
/* Base: u64, the id of a space; 0: the only one. */
extern const struct option_spec space_option[];

const char *device_path(const char *path);
int device_begin(const struct usage *usage, int argc, char **argv,
		 const char **path, struct ugm **space);
int device_open(const char *path, struct ugm **space);
int device_failed(const char *path, const char *what, int error);
int device_other_space(struct ugm *space, const char *path, uint64_t *id);
int json_print(struct json_object *root);

#endif /* UGM_TOOLS_DEVICE_H */
