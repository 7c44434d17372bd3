/* SPDX-License-Identifier: MIT */
#ifndef UGM_TOOLS_DEVICE_H
#define UGM_TOOLS_DEVICE_H

#include "json.h"
#include "ugm.h"

/* What verbs that talk to a device share. */

#define DEFAULT_DEVICE "/dev/ugm0"

const char *device_path(const char *path);
int device_open(const char *path, struct ugm **space);
int device_failed(const char *path, const char *what, int error);
int device_other_space(struct ugm *space, const char *path, uint64_t *id);
int json_print(struct json_object *root);

#endif /* UGM_TOOLS_DEVICE_H */
