/* SPDX-License-Identifier: MIT */
#ifndef UGM_COMMAND_H
#define UGM_COMMAND_H

/**
 * DOC: verbs
 *
 * The command is a table of verbs, each in its own file. A verb gets its own
 * name as argv[0] and returns the exit status. A verb that is not linked in is
 * unknown: its symbol is weak, and the table leaves it out.
 */

#define EXIT_DONE 0
#define EXIT_FAILED 1
#define EXIT_USAGE 2

#define UGM_VERBS(verb)                                                     \
	verb(gen, "write the trace of a training iteration of a model")     \
	verb(analyze, "when tensors are alive, in use and idle")            \
	verb(plan, "write the schedule of a policy")                        \
	verb(simulate, "predict what a policy or a schedule costs")         \
	verb(run, "replay a trace on a device")                             \
	verb(compare, "several traces and policies in one table")           \
	verb(explain, "where a tensor goes, what a kernel waits for")       \
	verb(hint, "give hints to a running space")                         \
	verb(serve, "serve the flash transfers of a space")                 \
	verb(info, "what a device is and can")                              \
	verb(attach, "make a namespace the flash tier of a device")         \
	verb(detach, "give the namespace back")                             \
	verb(stat, "statistics of a device or a space")                     \
	verb(map, "where the blocks of a space are")                        \
	verb(check, "check the invariants of a device")                     \
	verb(doctor, "is everything there that a device needs?")            \
	verb(bench, "measure the module and the device")                    \
	verb(calibrate, "the links of this machine, as a machine to predict on")

#define UGM_DECLARE_VERB(name, summary) \
	int cmd_##name(int argc, char **argv) __attribute__((weak));
UGM_VERBS(UGM_DECLARE_VERB)

#endif /* UGM_COMMAND_H */
