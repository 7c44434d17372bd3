// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "json.h"
#include "output.h"
#include "utf8.h"

#define STYLE (JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)

/**
 * ugm_json_text() - a string
 * @text: any bytes; what is not UTF-8 is replaced
 *
 * Context: any.
 * Return: a string, the caller's; NULL, which is null in JSON, without memory.
 */
struct json_object *ugm_json_text(const char *text)
{
	char *copy = ugm_utf8(text);
	struct json_object *o = copy ? json_object_new_string(copy) : NULL;

	free(copy);
	return o;
}

/**
 * ugm_json_print_text() - write a string where JSON is written by hand
 * @out: where to
 * @text: any bytes
 *
 * Context: may sleep.
 */
void ugm_json_print_text(FILE *out, const char *text)
{
	struct json_object *o = ugm_json_text(text);

	fputs(json_object_to_json_string_ext(o, JSON_C_TO_STRING_NOSLASHESCAPE), out);
	json_object_put(o);
}

/**
 * ugm_json_write() - write JSON to a file
 * @root: object; given up
 * @path: file, or "-" for the standard output
 * @err: why not
 *
 * Context: may sleep.
 * Return: 0, or a negative errno.
 */
int ugm_json_write(struct json_object *root, const char *path, struct ugm_error *err)
{
	const char *text = json_object_to_json_string_ext(root, STYLE);
	struct ugm_output o;
	int ret;

	if (text)
		ret = ugm_output_open(&o, path, err);
	else
		ret = ugm_fail(err, -ENOMEM, "%s: no memory", path);
	if (!ret) {
		fprintf(o.file, "%s\n", text);
		ret = ugm_output_commit(&o, err);
	}
	json_object_put(root);
	return ret;
}
