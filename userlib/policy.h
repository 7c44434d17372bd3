/* SPDX-License-Identifier: MIT */
#ifndef UGM_POLICY_H
#define UGM_POLICY_H

#include "layout.h"
#include "schedule.h"

/**
 * DOC: policies
 *
 * A policy turns a trace on a machine into a schedule; engine and module never
 * learn its name. Each lives in its own policy_NAME.c, which defines one
 * &struct ugm_policy; the table is in policy.c. A computed row has no schedule:
 * it is a number that comparisons show beside the others.
 */

/**
 * struct ugm_policy - a policy
 * @name: its name on the command line
 * @summary: one line for help
 * @plan: fill an initialised schedule; hints may be added in any order
 * @compute: a computed row: the iteration time
 * @restrict_machine: takes away what the policy cannot use, or NULL
 * @whole_tensors: it cannot page: the preset g10-artifact judges it by the
 *                 published tensor simulator
 * @target: it plans for a share of the memory, the machine's target factor
 *
 * One of @plan and @compute is set.
 */
struct ugm_policy {
	const char *name;
	const char *summary;
	int (*plan)(const struct ugm_layout *layout, struct ugm_schedule *s,
		    struct ugm_error *err);
	int (*compute)(const struct ugm_trace *trace,
		       const struct ugm_config *config, u64 *iteration_ns,
		       struct ugm_error *err);
	void (*restrict_machine)(struct ugm_config *config);
	bool whole_tensors;
	bool target;
};

extern const struct ugm_policy ugm_policy_ideal;
extern const struct ugm_policy ugm_policy_bound;
extern const struct ugm_policy ugm_policy_uvm;
extern const struct ugm_policy ugm_policy_deepum;
extern const struct ugm_policy ugm_policy_flashneuron;
extern const struct ugm_policy ugm_policy_g10_gds;
extern const struct ugm_policy ugm_policy_g10_host;
extern const struct ugm_policy ugm_policy_ugm;
extern const struct ugm_policy ugm_policy_g10;

extern const struct ugm_policy *const ugm_policies[];
extern const unsigned int ugm_nr_policies;

const struct ugm_policy *ugm_policy_find(const char *name,
					 struct ugm_error *err);
int ugm_policy_plan(const struct ugm_policy *policy,
		    const struct ugm_layout *layout, struct ugm_schedule *s,
		    struct ugm_error *err);

#endif /* UGM_POLICY_H */
