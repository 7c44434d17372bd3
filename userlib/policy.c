// SPDX-License-Identifier: MIT
#include "policy.h"

const struct ugm_policy *const ugm_policies[] = {
	&ugm_policy_ideal,
	&ugm_policy_uvm,
	&ugm_policy_flashneuron,
	&ugm_policy_deepum,
	&ugm_policy_g10_gds,
	&ugm_policy_g10_host,
	&ugm_policy_g10,
	&ugm_policy_ugm,
	&ugm_policy_bound,
};

const unsigned int ugm_nr_policies = ARRAY_SIZE(ugm_policies);

/**
 * ugm_policy_find() - a policy by its name
 * @name: its name
 * @err: why not, with those that are there
 *
 * Context: any.
 * Return: the policy, or NULL.
 */
const struct ugm_policy *ugm_policy_find(const char *name,
					 struct ugm_error *err)
{
	char list[256] = "";
	unsigned int i;
	size_t n = 0;

	for (i = 0; i < ugm_nr_policies; i++) {
		if (!strcmp(name, ugm_policies[i]->name))
			return ugm_policies[i];
		if (n < sizeof(list))
			n += (size_t)snprintf(list + n, sizeof(list) - n,
					      "%s%s", i ? ", " : "",
					      ugm_policies[i]->name);
	}
	ugm_fail(err, -EINVAL, "policy '%s' is not built in; available: %s",
		 name, list);
	return NULL;
}

/**
 * ugm_policy_plan() - make a policy's schedule
 * @policy: policy; a computed row is refused
 * @layout: the trace on its machine
 * @s: filled; ugm_schedule_free() it if that succeeds
 * @err: why not
 *
 * Context: may sleep.
 * Return: 0; -EINVAL: a computed row; or another negative errno.
 */
int ugm_policy_plan(const struct ugm_policy *policy,
		    const struct ugm_layout *layout, struct ugm_schedule *s,
		    struct ugm_error *err)
{
	int ret;

	if (!policy->plan)
		return ugm_fail(err, -EINVAL,
				"policy '%s' is a computed row and has no schedule",
				policy->name);
	ugm_schedule_init(s);
	s->opt.overlap = (u8)layout->config.overlap;
	ret = policy->plan(layout, s, err);
	if (!ret && ugm_schedule_sort(s))
		ret = -ENOMEM;
	if (ret == -ENOMEM)
		ugm_fail(err, ret, "policy '%s': no memory", policy->name);
	if (ret)
		ugm_schedule_free(s);
	return ret;
}
