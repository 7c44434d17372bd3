/* SPDX-License-Identifier: MIT */
#ifndef UGM_TOOLS_OPTIONS_H
#define UGM_TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"
#include "machine.h"

/**
 * DOC: command line options
 *
 * A verb lists its options in tables, one a group, each with a parser and the
 * offset of what it sets in a structure of the verb's. --help is made from the
 * same tables, so that it cannot miss one. "--name value" and "--name=value"
 * mean the same; "--" ends the options; all else are operands.
 *
 * An option that would change nothing is refused: a verb offers only what it
 * uses, and says in rules what is of use only together with something else.
 */

/* Of machine files; what would be read otherwise needs another. */
#define MACHINE_VERSION 1

/**
 * struct option_spec - an option
 * @name: its name, without the dashes
 * @argument: what its argument is called in the help; NULL: it has none, and
 *            sets a bool
 * @parse: reads the argument; @what is the option as errors should name it
 * @offset: of what it sets
 * @first: is read before the others, wherever it stands
 * @help: one line
 *
 * A table ends with a NULL name.
 */
struct option_spec {
	const char *name;
	const char *argument;
	int (*parse)(const char *what, const char *text, void *target,
		     struct ugm_error *err);
	size_t offset;
	bool first;
	const char *help;
};

/**
 * struct option_group - options that fill one structure
 * @specs: the table
 * @base: the structure
 */
struct option_group {
	const struct option_spec *specs;
	void *base;
};

/**
 * struct usage - a verb's command line
 * @synopsis: operands as the help shows them, "TRACE --policy P"
 * @summary: a paragraph, without newline at its end
 * @groups: options, ends with NULL specs
 * @min_operands: operands needed
 * @max_operands: operands allowed
 */
struct usage {
	const char *synopsis;
	const char *summary;
	const struct option_group *groups;
	int min_operands;
	int max_operands;
};

/**
 * struct option_rule - when options are of no use
 * @applies: is it so here?
 * @options: their names, without dashes, separated by blanks
 * @why: what to say after the first of them that was given
 *
 * A table ends with NULL options.
 */
struct option_rule {
	bool applies;
	const char *options;
	const char *why;
};

/* Not an exit status: go on. */
#define OPTIONS_GO_ON (-1)

int options_parse(const struct usage *usage, int argc, char **argv,
		  char ***operands, int *nr_operands);
int options_parse_one(const struct usage *usage, int argc, char **argv,
		      const char **operand);
bool option_given(const char *name);
int options_obey(const struct option_rule *rules);

/**
 * struct named_path - a file of the command line
 * @name: how it was given: an option or what the operand is
 * @path: its path, or NULL
 */
struct named_path {
	const char *name;
	const char *path;
};

int written_apart(const struct named_path *written, unsigned int nr_written,
		  const struct named_path *read, unsigned int nr_read);

int option_string(const char *what, const char *text, void *target,
		  struct ugm_error *err);
int option_u64(const char *what, const char *text, void *target,
	       struct ugm_error *err);
int option_count(const char *what, const char *text, void *target,
		 struct ugm_error *err);
int option_size(const char *what, const char *text, void *target,
		struct ugm_error *err);
int option_length(const char *what, const char *text, void *target,
		  struct ugm_error *err);

/* Of every verb that can answer in JSON; base: bool. */
extern const struct option_spec json_option[];

/* Of every verb that looks at a trace on a machine; base: struct ugm_config. */
extern const struct option_spec machine_options[];
/* Of those that plan on it, or replay; base: struct ugm_config. */
extern const struct option_spec model_options[];
/* Of those that replay; base: struct ugm_config. */
extern const struct option_spec iteration_options[];

/* Of every verb that tells what a replay costs; base: struct ugm_config. */
extern const struct option_spec wear_options[];
/* Of predictions only; base: struct ugm_config. */
extern const struct option_spec noise_options[];

int complain(int status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool has_complained(void);

#endif /* UGM_TOOLS_OPTIONS_H */
