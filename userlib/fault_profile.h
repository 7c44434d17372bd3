/* SPDX-License-Identifier: MIT */
#ifndef UGM_FAULT_PROFILE_H
#define UGM_FAULT_PROFILE_H

#include "trace.h"

/**
 * DOC: fault profiles
 *
 * How long each kernel of a trace took on a real GPU while its data faulted.
 * The file is text, beside the trace, with the trace's base name and the ending
 * .pf; it may have comments ('#'), and a line for each kernel in order::
 *
 *     <index> <resident_ns> <outputs_fault_ns> <all_fault_ns>
 */

/**
 * struct ugm_fault_times - a kernel's times
 * @resident_ns: all of its data in GPU memory
 * @outputs_ns: its outputs fault, not shorter
 * @all_ns: inputs and outputs fault, not shorter
 */
struct ugm_fault_times {
	u64 resident_ns;
	u64 outputs_ns;
	u64 all_ns;
};

int ugm_fault_profile_read(const struct ugm_trace *trace, struct ugm_fault_times **times,
			   struct ugm_error *err);

#endif /* UGM_FAULT_PROFILE_H */
