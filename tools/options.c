// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "options.h"
#include "policy.h"
#include "units.h"
#include "utf8.h"

/* More different ones than any verb has. */
#define MAX_GIVEN 64
/* Columns of an option and its argument in --help. */
#define HELP_WIDTH 24

static const char *verb = "ugm";
static const char *given[MAX_GIVEN];
static unsigned int nr_given;
static bool complained;

/**
 * complain() - one line on standard error
 * @status: exit status to return
 * @format: printf format of what is wrong
 *
 * What it quotes may be any bytes: control characters are shown as '?'.
 *
 * Return: @status.
 */
int complain(int status, const char *format, ...)
{
	char line[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	ugm_utf8_hide_controls(line, strlen(line), "");
	complained = true;
	if (strcmp(verb, "ugm"))
		fprintf(stderr, "ugm %s: %s\n", verb, line);
	else
		fprintf(stderr, "ugm: %s\n", line);
	return status;
}

/**
 * has_complained() - is it said already that something is wrong?
 */
bool has_complained(void)
{
	return complained;
}

/**
 * option_string() - parser of an option that takes any text, not empty
 * @what: the option
 * @text: its argument; must stay
 * @target: const char *
 * @err: why not
 *
 * Return: 0 or -EINVAL.
 */
int option_string(const char *what, const char *text, void *target,
		  struct ugm_error *err)
{
	if (!*text)
		return ugm_fail(err, -EINVAL, "%s: '' is empty", what);
	*(const char **)target = text;
	return 0;
}

/**
 * option_u64() - parser of an option that takes a whole number
 * @what: the option
 * @text: its argument
 * @target: u64
 * @err: why not
 *
 * Return: 0 or a negative errno.
 */
int option_u64(const char *what, const char *text, void *target,
	       struct ugm_error *err)
{
	return ugm_parse_u64(what, text, 0, U64_MAX, target, err);
}

/**
 * option_count() - parser of an option that takes a whole number, not zero
 * @what: the option
 * @text: its argument
 * @target: u64
 * @err: why not
 *
 * Return: 0 or a negative errno.
 */
int option_count(const char *what, const char *text, void *target,
		 struct ugm_error *err)
{
	return ugm_parse_u64(what, text, 1, U32_MAX, target, err);
}

/**
 * option_size() - parser of an option that takes bytes
 * @what: the option
 * @text: its argument
 * @target: u64
 * @err: why not
 *
 * Return: 0 or a negative errno.
 */
int option_size(const char *what, const char *text, void *target,
		struct ugm_error *err)
{
	return ugm_parse_size(what, text, 0, 1ULL << 60, target, err);
}

/**
 * option_length() - parser of an option that takes bytes, not zero
 * @what: the option
 * @text: its argument
 * @target: u64
 * @err: why not
 *
 * Return: 0 or a negative errno.
 */
int option_length(const char *what, const char *text, void *target,
		  struct ugm_error *err)
{
	return ugm_parse_size(what, text, 1, 1ULL << 60, target, err);
}

const struct option_spec json_option[] = {
	{ "json", NULL, NULL, 0, false, "print JSON" },
	{}
};

static void dashed(char *name, size_t len, const struct option_spec *o)
{
	snprintf(name, len, "%s%s", o->name[1] ? "--" : "-", o->name);
}

static void help(const struct usage *u)
{
	const struct option_group *g;
	const struct option_spec *o;
	bool policies = false;
	unsigned int i;

	printf("usage: ugm %s %s\n\n%s\n\noptions:\n", verb, u->synopsis,
	       u->summary);
	for (g = u->groups; g->specs; g++) {
		for (o = g->specs; o->name; o++) {
			char name[64], all[96];

			dashed(name, sizeof(name), o);
			policies |= !strcmp(o->name, "policy") ||
				    !strcmp(o->name, "policies");
			snprintf(all, sizeof(all), "%s%s%s", name,
				 o->argument ? " " : "",
				 o->argument ? o->argument : "");
			/* A long name has a line of its own. */
			if (strlen(all) > HELP_WIDTH)
				printf("  %s\n  %*s %s\n", all, HELP_WIDTH, "", o->help);
			else
				printf("  %-*s %s\n", HELP_WIDTH, all, o->help);
		}
	}
	printf("  %-*s %s\n", HELP_WIDTH, "--help", "this text");
	if (!policies)
		return;
	printf("\npolicies:\n");
	for (i = 0; i < ugm_nr_policies; i++)
		printf("  %-*s %s\n", HELP_WIDTH, ugm_policies[i]->name,
		       ugm_policies[i]->summary);
}

/* The option that @arg names, "--name", "--name=value" or "-n". */
static const struct option_spec *find(const struct usage *u, const char *arg,
				      const struct option_group **group,
				      const char **value)
{
	const char *name = arg + (arg[1] == '-' ? 2 : 1);
	size_t len = arg[1] == '-' ? strcspn(name, "=") : strlen(name);
	const struct option_spec *o;

	*value = name[len] ? name + len + 1 : NULL;
	for (*group = u->groups; (*group)->specs; ++*group)
		for (o = (*group)->specs; o->name; o++)
			if (strlen(o->name) == len &&
			    !strncmp(o->name, name, len) &&
			    (len == 1) == (arg[1] != '-'))
				return o;
	return NULL;
}

/**
 * option_given() - was an option on the command line?
 * @name: its name, without dashes
 */
bool option_given(const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_given; i++)
		if (!strcmp(given[i], name))
			return true;
	return false;
}

/**
 * options_obey() - is each option that was given of use?
 * @rules: when it is not
 *
 * Return: OPTIONS_GO_ON, or an exit status.
 */
int options_obey(const struct option_rule *rules)
{
	for (; rules->options; rules++) {
		const char *at = rules->options;

		while (rules->applies && *at) {
			size_t len = strcspn(at, " ");
			char name[64];

			snprintf(name, sizeof(name), "%.*s", (int)len, at);
			if (option_given(name))
				return complain(EXIT_USAGE, "--%s %s", name,
						rules->why);
			at += len + strspn(at + len, " ");
		}
	}
	return OPTIONS_GO_ON;
}

/* Streams and devices may be written by several; of them "-" has rules of its own. */
static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	if (!a || !b || !strcmp(a, "-") || !strcmp(b, "-"))
		return false;
	if (stat(a, &x) || stat(b, &y))
		return !strcmp(a, b);
	return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/**
 * written_apart() - no file is written twice, or over one that is read
 * @written: what is written
 * @nr_written: how many
 * @read: what is read
 * @nr_read: how many
 *
 * Return: EXIT_DONE or, after a complaint, EXIT_USAGE.
 */
int written_apart(const struct named_path *written, unsigned int nr_written,
		  const struct named_path *read, unsigned int nr_read)
{
	unsigned int i, k;

	for (i = 0; i < nr_written; i++) {
		for (k = 0; k < i + nr_read; k++) {
			const struct named_path *other = k < i ? &written[k] : &read[k - i];

			if (same_file(written[i].path, other->path))
				return complain(EXIT_USAGE, "%s %s: the same file as %s",
						written[i].name, written[i].path, other->name);
		}
	}
	return EXIT_DONE;
}

/* One pass over the arguments: only options that come first, or the others. */
static int pass(const struct usage *u, int argc, char **argv, bool first,
		char **operands, int *nr)
{
	const struct option_group *g;
	const struct option_spec *o;
	struct ugm_error err;
	const char *value;
	char name[64];
	int i;

	*nr = 0;
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--")) {
			while (++i < argc)
				operands[(*nr)++] = argv[i];
			break;
		}
		if (argv[i][0] != '-' || !argv[i][1]) {
			operands[(*nr)++] = argv[i];
			continue;
		}
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			help(u);
			return EXIT_DONE;
		}
		o = find(u, argv[i], &g, &value);
		if (!o)
			return complain(EXIT_USAGE,
					"unknown option '%s' (--help lists them)",
					argv[i]);
		dashed(name, sizeof(name), o);
		if (!o->argument && value)
			return complain(EXIT_USAGE, "%s takes no argument: '%s'",
					name, value);
		if (o->argument && !value) {
			if (i + 1 == argc)
				return complain(EXIT_USAGE,
						"%s needs an argument: %s",
						name, o->argument);
			value = argv[++i];
		}
		if (o->first != first)
			continue;
		if (!option_given(o->name) && nr_given < MAX_GIVEN)
			given[nr_given++] = o->name;
		if (!o->argument)
			*(bool *)((char *)g->base + o->offset) = true;
		else if (o->parse(name, value, (char *)g->base + o->offset,
				  &err))
			return complain(EXIT_USAGE, "%s", err.text);
	}
	return OPTIONS_GO_ON;
}

/**
 * options_parse() - read a verb's command line
 * @usage: what it may be
 * @argc: of the verb
 * @argv: of the verb; argv[0] is its name
 * @operands: what is no option; free() it
 * @nr_operands: how many
 *
 * Return: OPTIONS_GO_ON, or the exit status (help was shown, or a complaint);
 * then there is nothing to free.
 */
int options_parse(const struct usage *usage, int argc, char **argv,
		  char ***operands, int *nr_operands)
{
	char **list = calloc((size_t)argc + 1, sizeof(*list));
	int status, i;

	verb = argv[0];
	if (!list)
		return complain(EXIT_FAILED, "no memory");
	status = pass(usage, argc, argv, true, list, nr_operands);
	if (status == OPTIONS_GO_ON)
		status = pass(usage, argc, argv, false, list, nr_operands);
	if (status == OPTIONS_GO_ON && *nr_operands < usage->min_operands)
		status = complain(EXIT_USAGE, "too few operands: ugm %s %s",
				  verb, usage->synopsis);
	if (status == OPTIONS_GO_ON && *nr_operands > usage->max_operands)
		status = complain(EXIT_USAGE, "operand '%s' is too much: ugm %s %s",
				  list[usage->max_operands], verb,
				  usage->synopsis);
	for (i = 0; status == OPTIONS_GO_ON && i < *nr_operands; i++)
		if (!*list[i])
			status = complain(EXIT_USAGE, "operand '' is empty: ugm %s %s", verb,
					  usage->synopsis);
	if (status == OPTIONS_GO_ON)
		*operands = list;
	else
		free(list);
	return status;
}

/**
 * options_parse_one() - likewise of a verb that takes one operand at most
 * @usage: what it may be
 * @argc: of the verb
 * @argv: of the verb
 * @operand: the operand, or NULL
 *
 * Return: OPTIONS_GO_ON, or the exit status.
 */
int options_parse_one(const struct usage *usage, int argc, char **argv,
		      const char **operand)
{
	char **operands;
	int nr, status;

	status = options_parse(usage, argc, argv, &operands, &nr);
	if (status != OPTIONS_GO_ON)
		return status;
	*operand = nr ? operands[0] : NULL;
	free(operands);
	return OPTIONS_GO_ON;
}
