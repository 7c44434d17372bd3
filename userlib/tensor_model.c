// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "tensor_model.h"
#include "units.h"

/**
 * DOC: the published tensor simulator
 *
 * The other simulator published with G10 judges policies for machines that
 * cannot page. Tensors move whole, in size / bandwidth with bandwidths in units
 * of 2^30, first in first out on each link and direction; flash and host have
 * links of their own that share the GPU link's bandwidth. A kernel starts when
 * its operands are there. GPU memory is not enforced: that is the planner's
 * matter. One iteration is run, with the global tensors in GPU memory.
 */

/**
 * struct whole - a tensor
 * @tier: where it is, or is going to be
 * @ready_ns: from when on
 */
struct whole {
	u8 tier;
	double ready_ns;
};

enum { IN, OUT };

/**
 * struct model - the simulator
 * @layout: the trace on its machine
 * @tensors: by tensor index
 * @bytes_per_ns: of the links, by direction and the tier at the far end
 * @free_ns: from when on the link is free
 * @moved: bytes, likewise
 */
struct model {
	const struct ugm_layout *layout;
	struct whole *tensors;
	double bytes_per_ns[2][UGM_NR_TIERS];
	double free_ns[2][UGM_NR_TIERS];
	u64 moved[2][UGM_NR_TIERS];
};

static void move(struct model *m, u32 tensor, u8 tier, double now)
{
	struct whole *x = &m->tensors[tensor];
	unsigned int way = tier == UGM_TIER_GPU ? IN : OUT;
	u8 far = way == IN ? x->tier : tier;
	u64 bytes = m->layout->trace->tensors[tensor].bytes;
	double start = now;

	if (x->tier == tier || far == UGM_TIER_GPU)
		return;
	if (start < m->free_ns[way][far])
		start = m->free_ns[way][far];
	if (start < x->ready_ns)
		start = x->ready_ns;
	x->tier = tier;
	x->ready_ns = start + (double)bytes / m->bytes_per_ns[way][far];
	m->free_ns[way][far] = x->ready_ns;
	m->moved[way][far] += bytes;
}

static double later(double a, double b)
{
	return a > b ? a : b;
}

/* Run the iteration; @until: by kernel, when evictions it waits for are over. */
static double run(struct model *m, const struct ugm_schedule *s, double *until)
{
	const struct ugm_trace *t = m->layout->trace;
	const struct ugm_schedule_hint *h = s->hints;
	const struct ugm_schedule_hint *end = h + s->nr_hints;
	double now = 0;
	u32 k, i;

	for (k = 0; k < t->nr_kernels; k++) {
		const struct ugm_use *use = ugm_kernel_uses(t, k);

		for (; h < end && h->at == k; h++) {
			if (h->op == UGM_OP_EVICT) {
				move(m, h->tensor, h->tier, now);
				if (h->need < t->nr_kernels)
					until[h->need] = later(until[h->need],
						m->tensors[h->tensor].ready_ns);
			} else if (h->op == UGM_OP_PREFETCH) {
				move(m, h->tensor, UGM_TIER_GPU, now);
			}
		}
		for (i = 0; i < t->kernels[k].nr_uses; i++)
			move(m, use[i].tensor, UGM_TIER_GPU, now);
		for (i = 0; i < t->kernels[k].nr_uses; i++)
			now = later(now, m->tensors[use[i].tensor].ready_ns);
		now = later(now, until[k]) + (double)t->kernels[k].duration_ns;
	}
	return now;
}

/**
 * ugm_tensor_model() - what a schedule costs in the published tensor simulator
 * @layout: the trace on its machine
 * @s: schedule; hints are about whole tensors, and an eviction's need is a
 *     launch that waits for its end
 * @result: initialised; filled
 * @err: why not
 *
 * Context: any.
 * Return: 0; -ENOMEM; -EINVAL where flash would leave the host nothing of the
 * GPU link.
 */
int ugm_tensor_model(const struct ugm_layout *layout,
		     const struct ugm_schedule *s, struct ugm_result *result,
		     struct ugm_error *err)
{
	const struct ugm_config *c = &layout->config;
	u64 flash[2] = { c->flash_read_bytes_per_s, c->flash_write_bytes_per_s };
	struct model m = { .layout = layout };
	double *until, now;
	unsigned int i;
	u32 x;
	u64 n;

	for (i = 0; i < 2; i++) {
		if (c->pcie_bytes_per_s <= flash[i] && c->host_mem_bytes)
			return ugm_fail(err, -EINVAL,
					"%s: the host has what flash leaves of the GPU link: %llu bytes/s of flash leave nothing of %llu",
					layout->trace->name,
					(unsigned long long)flash[i],
					(unsigned long long)c->pcie_bytes_per_s);
		if (flash[i] > c->pcie_bytes_per_s)
			flash[i] = c->pcie_bytes_per_s;
		m.bytes_per_ns[i][UGM_TIER_FLASH] =
			(double)flash[i] / 1e9 * UGM_BINARY_UNITS;
		m.bytes_per_ns[i][UGM_TIER_HOST] =
			(double)(c->pcie_bytes_per_s - flash[i]) / 1e9 *
			UGM_BINARY_UNITS;
	}
	m.tensors = calloc((size_t)layout->trace->nr_tensors + 1,
			   sizeof(*m.tensors));
	until = calloc(layout->trace->nr_kernels, sizeof(*until));
	if (!m.tensors || !until) {
		free(m.tensors);
		free(until);
		return ugm_fail(err, -ENOMEM, "%s: no memory",
				layout->trace->name);
	}
	for (x = 0; x < layout->trace->nr_tensors; x++)
		m.tensors[x].tier = UGM_TIER_GPU;
	now = run(&m, s, until);
	for (n = 0; n < result->iterations; n++)
		result->iterations_ns[n] = (u64)now;
	for (x = UGM_TIER_HOST; x < UGM_NR_TIERS; x++) {
		result->traffic_bytes[x][UGM_TIER_GPU] = m.moved[IN][x];
		result->traffic_bytes[UGM_TIER_GPU][x] = m.moved[OUT][x];
	}
	ugm_result_finish(result);
	free(m.tensors);
	free(until);
	return 0;
}
