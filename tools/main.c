// SPDX-License-Identifier: MIT
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "output.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
#define UGM_COMMAND(verb, text) { #verb, cmd_##verb, text },
	UGM_VERBS(UGM_COMMAND)
};

static void list_verbs(FILE *out)
{
	size_t i;

	fputs("usage: ugm VERB [OPTIONS] ...\n\nverbs:\n", out);
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].run)
			fprintf(out, "  %-10s %s\n", commands[i].name,
				commands[i].summary);
	fputs("\n'ugm VERB --help' tells of one, 'ugm --version' which this is.\n",
	      out);
}

static int run(int argc, char **argv)
{
	size_t i;

	if (argc < 2) {
		list_verbs(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		list_verbs(stdout);
		return EXIT_DONE;
	}
	if (!strcmp(argv[1], "--version")) {
		puts("ugm " UGM_VERSION);
		return EXIT_DONE;
	}
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(argv[1], commands[i].name) && commands[i].run)
			return commands[i].run(argc - 1, argv + 1);
	}
	return complain(EXIT_USAGE, "unknown verb '%s' ('ugm --help' lists them)",
			argv[1]);
}

int main(int argc, char **argv)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGTERM };
	struct ugm_output out;
	struct ugm_error err;
	int status, ret;
	size_t i;

	ugm_output_standard();
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		ugm_output_catch(ends[i]);
	/* A file size limit is an error of write() like a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	status = run(argc, argv);
	ret = ugm_output_open(&out, "-", &err);
	if (!ret)
		ret = ugm_output_commit(&out, &err);
	/* A verb that found something wrong may have said so on the standard output. */
	return ret && (status == EXIT_DONE || !has_complained()) ?
		       complain(EXIT_FAILED, "%s", err.text) :
		       status;
}
