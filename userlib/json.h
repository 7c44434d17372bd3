/* SPDX-License-Identifier: MIT */
#ifndef UGM_JSON_H
#define UGM_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

#include "error.h"
#include "pure.h"

/* How JSON is put together and written, everywhere. */

struct json_object *ugm_json_text(const char *text);
void ugm_json_print_text(FILE *out, const char *text);
int ugm_json_write(struct json_object *root, const char *path, struct ugm_error *err);

static inline void json_add_u64(struct json_object *o, const char *key, u64 value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

static inline void json_add_double(struct json_object *o, const char *key, double value)
{
	json_object_object_add(o, key, json_object_new_double(value));
}

static inline void json_add_bool(struct json_object *o, const char *key, bool value)
{
	json_object_object_add(o, key, json_object_new_boolean(value));
}

static inline void json_add_text(struct json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, ugm_json_text(value));
}

#endif /* UGM_JSON_H */
