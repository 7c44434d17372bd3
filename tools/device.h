/* SPDX-License-Identifier: MIT */
#ifndef UGM_TOOLS_DEVICE_H
#define UGM_TOOLS_DEVICE_H

#include <json-c/json.h>

#include "ugm.h"

/* What verbs that talk to a device share. */

#define DEFAULT_DEVICE "/dev/ugm0"

const char *device_path(const char *path);
int device_open(const char *path, struct ugm **space);
int device_failed(const char *path, const char *what, int error);
int device_other_space(struct ugm *space, const char *path, uint64_t *id);
int json_print(struct json_object *root);

static inline void json_add_u64(struct json_object *o, const char *name, uint64_t value)
{
	json_object_object_add(o, name, json_object_new_uint64(value));
}

static inline void json_add_text(struct json_object *o, const char *name, const char *value)
{
	json_object_object_add(o, name, json_object_new_string(value));
}

static inline void json_add_bool(struct json_object *o, const char *name, int value)
{
	json_object_object_add(o, name, json_object_new_boolean(value));
}

#endif /* UGM_TOOLS_DEVICE_H */
