// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>

#include "page_model.h"
#include "page_tick.h"

/**
 * DOC: the published page simulator
 *
 * A second opinion on schedules, with the assumptions of the simulator that was
 * published with G10 instead of the engine's. Transfers advance in ticks, in
 * which the GPU link moves 50 pages of 4 KiB each way, of which flash has its
 * share; first touches have a limit too. Queues are first in, first out; a
 * demand waits where its page is queued. A page that enters a full GPU evicts
 * the page that arrived first, in the same tick, whoever needs it. Data that
 * dies while it waits in a queue is not freed.
 *
 * A kernel starts with a check of whole tensors, and ends when all pages are
 * there, but not before its duration and the handling of its faults are over.
 * These take what a profile of the kernel on a real GPU says, where the trace
 * has one; but the times of the profile count in whole seconds, so that most
 * faults are handled at the rate of the link.
 */

/* Pages that the link moves in a tick; a tick is that long, in cycles. */
#define PAGES_PER_TICK	       50
#define CYCLES_PER_S	       1.2e9
#define CYCLES_PER_FIRST_TOUCH 4
/* Handling of a fault, and of one that flash must serve, in us. */
#define HOST_FAULT_US	       45.0
#define FLASH_FAULT_US	       65.0

enum { READ, WRITTEN, NR_SIDES };

/**
 * struct faults - pages of a kernel's inputs, or of its outputs
 * @total: all of them
 * @faulted: that are not in the GPU, nor on their way
 * @flash: of those, in flash
 */
struct faults {
	u64 total;
	u64 faulted;
	u64 flash;
};

static double lesser(double a, double b)
{
	return a < b ? a : b;
}

static double greater(double a, double b)
{
	return a > b ? a : b;
}

/* Bytes per second at which a profile handled the faults of one side. */
static double measured(const struct faults *f, u64 longer_ns, u64 shorter_ns)
{
	u64 s = longer_ns / 1000000000 - shorter_ns / 1000000000;

	return s ? (double)(f->total * UGM_PAGE_BYTES) / (double)s : INFINITY;
}

static double ns_for(u64 pages, double bytes_per_s)
{
	return pages ? (double)(pages * UGM_PAGE_BYTES) * 1e9 / bytes_per_s : 0;
}

/* How long faults are handled: those that flash serves beside all others. */
static double handling_ns(const struct ugm_page_model *m, u32 kernel, const struct faults *faults)
{
	const struct ugm_fault_times *t = m->profile ? &m->profile[kernel] : NULL;
	double host[NR_SIDES] = { INFINITY, INFINITY }, flash[NR_SIDES];
	double link, host_ns = 0, flash_ns = 0;
	int i;

	if (t) {
		host[READ] = measured(&faults[READ], t->all_ns, t->outputs_ns);
		host[WRITTEN] = measured(&faults[WRITTEN], t->outputs_ns, t->resident_ns);
	}
	link = m->bytes_per_s[0];
	for (i = 0; i < NR_SIDES; i++) {
		flash[i] = lesser(host[i] * HOST_FAULT_US / FLASH_FAULT_US, m->bytes_per_s[1]);
		if (faults[i].flash)
			link = lesser(link, m->bytes_per_s[0] - flash[i]);
	}
	for (i = 0; i < NR_SIDES; i++) {
		host_ns += ns_for(faults[i].faulted - faults[i].flash, lesser(host[i], link));
		flash_ns += ns_for(faults[i].flash, flash[i]);
	}
	/* Where flash leaves nothing of the link the program loses the time. */
	return isinf(host_ns) ? 0 : greater(host_ns, flash_ns);
}

/*
 * Ask for what a kernel lacks, last operand first. The result is the time that
 * its faults cost.
 */
static double demand(struct ugm_page_model *m, u32 kernel)
{
	const struct ugm_use *use = ugm_kernel_uses(m->trace, kernel);
	struct faults faults[NR_SIDES] = {};
	u32 i;
	u8 t;

	for (i = m->trace->kernels[kernel].nr_uses; i-- > 0;) {
		struct ugm_pages *x = &m->tensors[use[i].tensor];
		struct faults *f = &faults[use[i].mode & UGM_OPERAND_READ ? READ : WRITTEN];

		x->wanted = true;
		x->dead = false;
		f->total += x->total;
		for (t = 0; t < UGM_NR_TIERS; t++) {
			if (t == UGM_TIER_GPU)
				continue;
			f->faulted += x->at[t] - x->queued[t];
			if (t == UGM_TIER_FLASH)
				f->flash += x->at[t] - x->queued[t];
			ugm_page_queue_in(m, UGM_PAGE_DEMAND, use[i].tensor, t);
		}
	}
	return handling_ns(m, kernel, faults);
}

/* Pages that wait in a queue stay, and go on waiting. */
static void die(struct ugm_page_model *m, u32 tensor)
{
	struct ugm_pages *x = &m->tensors[tensor];
	unsigned int t;
	u64 nr;

	for (t = UGM_TIER_NONE + 1; t < UGM_NR_TIERS; t++) {
		nr = x->at[t] - x->queued[t];
		m->used[t] -= nr;
		x->at[t] -= nr;
		x->at[UGM_TIER_NONE] += nr;
		if (t == UGM_TIER_GPU)
			x->gone += nr;
	}
}

static void give_hint(struct ugm_page_model *m, const struct ugm_schedule_hint *h)
{
	struct ugm_pages *x = &m->tensors[h->tensor];
	u8 t;

	switch (h->op) {
	case UGM_OP_PROTECT:
		x->spared = true;
		break;
	case UGM_OP_UNPROTECT:
		x->spared = false;
		break;
	case UGM_OP_DISCARD:
		if (m->schedule->opt.dead == UGM_DEAD_DROP)
			die(m, h->tensor);
		else
			x->dead = m->schedule->opt.dead == UGM_DEAD_LAZY;
		break;
	case UGM_OP_EVICT:
		ugm_page_queue_out(m, h->tensor, h->tier);
		break;
	case UGM_OP_PREFETCH:
		for (t = 0; t < UGM_NR_TIERS; t++)
			if (t != UGM_TIER_GPU)
				ugm_page_queue_in(m, UGM_PAGE_PLANNED, h->tensor, t);
		break;
	default:
		break;
	}
}

/* Are all operands of a kernel there, and none of them about to leave? */
static bool ready(const struct ugm_page_model *m, u32 kernel)
{
	const struct ugm_use *use = ugm_kernel_uses(m->trace, kernel);
	u32 i;

	if (m->demanded)
		return false;
	for (i = 0; i < m->trace->kernels[kernel].nr_uses; i++) {
		const struct ugm_pages *x = &m->tensors[use[i].tensor];

		if (x->at[UGM_TIER_GPU] < x->total || x->queued[UGM_TIER_GPU])
			return false;
	}
	return true;
}

/* Run a kernel that begins at @now; returns when it ends, or a negative errno. */
static double launch(struct ugm_page_model *m, u32 kernel, double now)
{
	const struct ugm_use *use = ugm_kernel_uses(m->trace, kernel);
	double end = now + (double)m->trace->kernels[kernel].duration_ns;
	u32 i;

	ugm_page_rewind(m);
	end += demand(m, kernel);
	if (!ready(m, kernel)) {
		do {
			if (!ugm_page_tick(m, true) && !ready(m, kernel))
				return -ENOSPC;
			if (m->no_memory)
				return -ENOMEM;
		} while (!ready(m, kernel));
		end = greater(end, (double)(m->ticks - 1) * m->tick_ns);
		ugm_page_rewind(m);
	}
	while ((double)m->ticks * m->tick_ns < end) {
		if (!m->queued) {
			m->ticks = (u64)ceil(end / m->tick_ns);
			break;
		}
		ugm_page_tick(m, false);
	}
	for (i = 0; i < m->trace->kernels[kernel].nr_uses; i++)
		m->tensors[use[i].tensor].wanted = false;
	return end;
}

static int set_up_ticks(struct ugm_page_model *m, const struct ugm_config *c, struct ugm_error *err)
{
	const u64 flash[2] = { c->flash_read_bytes_per_s, c->flash_write_bytes_per_s };
	u64 cycles =
		(u64)(PAGES_PER_TICK * UGM_PAGE_BYTES * CYCLES_PER_S / (double)c->pcie_bytes_per_s);
	unsigned int i;

	m->tick_ns = (double)cycles * 1e9 / CYCLES_PER_S;
	m->per_tick.arrivals = cycles / CYCLES_PER_FIRST_TOUCH;
	for (i = 0; i < 2; i++) {
		m->per_tick.link[i] = PAGES_PER_TICK;
		m->per_tick.flash[i] =
			(u64)(PAGES_PER_TICK * (double)flash[i] / (double)c->pcie_bytes_per_s);
		if (!m->per_tick.flash[i])
			return ugm_fail(
				err, -EINVAL,
				"%s: flash of %llu bytes/s: the published simulator knows none slower than 1/%d of the GPU link's %llu",
				m->trace->name, (unsigned long long)flash[i], PAGES_PER_TICK,
				(unsigned long long)c->pcie_bytes_per_s);
	}
	if (!m->per_tick.arrivals)
		return ugm_fail(
			err, -EINVAL,
			"%s: GPU link of %llu bytes/s: the published simulator knows none that moves %d pages in %d cycles",
			m->trace->name, (unsigned long long)c->pcie_bytes_per_s, PAGES_PER_TICK,
			CYCLES_PER_FIRST_TOUCH);
	m->bytes_per_s[0] = (double)c->pcie_bytes_per_s;
	m->bytes_per_s[1] = (double)(flash[0] < flash[1] ? flash[0] : flash[1]);
	return 0;
}

static int set_up(struct ugm_page_model *m, const struct ugm_layout *layout, struct ugm_error *err)
{
	const struct ugm_config *c = &layout->config;
	int ret;
	u32 x;

	m->trace = layout->trace;
	m->capacity[UGM_TIER_GPU] = c->gpu_mem_bytes / UGM_PAGE_BYTES;
	m->capacity[UGM_TIER_HOST] = c->host_mem_bytes / UGM_PAGE_BYTES;
	ret = set_up_ticks(m, c, err);
	if (!ret)
		ret = ugm_fault_profile_read(m->trace, &m->profile, err);
	if (ret)
		return ret;
	m->tensors = calloc(m->trace->nr_tensors + 1, sizeof(*m->tensors));
	if (!m->tensors)
		return ugm_fail(err, -ENOMEM, "%s: no memory", m->trace->name);
	for (x = 0; x < m->trace->nr_tensors; x++) {
		struct ugm_pages *p = &m->tensors[x];
		u8 home = m->trace->tensors[x].global ? UGM_TIER_FLASH : UGM_TIER_NONE;

		p->total = (m->trace->tensors[x].bytes + UGM_PAGE_BYTES - 1) / UGM_PAGE_BYTES;
		p->at[home] = p->total;
		m->used[home] += p->total;
		p->dead = home == UGM_TIER_NONE && m->schedule->opt.dead == UGM_DEAD_LAZY;
	}
	return 0;
}

static void tear_down(struct ugm_page_model *m)
{
	unsigned int r, t;

	for (t = 0; t < UGM_NR_TIERS; t++) {
		for (r = 0; r < UGM_PAGE_NR_RANKS; r++)
			free(m->in[r][t].run);
		free(m->out[t].run);
	}
	free(m->arrived.run);
	free(m->profile);
	free(m->tensors);
}

static int iterate(struct ugm_page_model *m, u64 iteration, double *now,
		   struct ugm_progress *progress, struct ugm_result *r, struct ugm_error *err)
{
	const struct ugm_schedule *s = m->schedule;
	double began = *now;
	u64 next = 0;
	u32 k;

	memset(m->moved, 0, sizeof(m->moved));
	for (k = 0; k < m->trace->nr_kernels; k++) {
		for (; next < s->nr_hints && s->hints[next].at == k; next++)
			give_hint(m, &s->hints[next]);
		*now = launch(m, k, *now);
		if (*now < 0)
			return ugm_fail(err, (int)*now, "%s: kernel %u (%s) of iteration %llu: %s",
					m->trace->name, k, m->trace->kernels[k].name,
					(unsigned long long)iteration + 1, strerror((int)-*now));
		ugm_progress_update(progress, iteration * m->trace->nr_kernels + k + 1);
	}
	r->iterations_ns[iteration] = (u64)(*now - began);
	return 0;
}

/**
 * ugm_page_model() - what a schedule costs in the published page simulator
 * @layout: the trace on its machine
 * @s: schedule; hints are about whole tensors
 * @progress: counts launches, or NULL
 * @result: initialised for the number of iterations; filled
 * @err: why not
 *
 * Context: may sleep.
 * Return: 0 or a negative errno.
 */
int ugm_page_model(const struct ugm_layout *layout, const struct ugm_schedule *s,
		   struct ugm_progress *progress, struct ugm_result *result, struct ugm_error *err)
{
	struct ugm_page_model m = { .schedule = s };
	unsigned int src, dst;
	double now = 0;
	u64 i;
	int ret;

	ret = set_up(&m, layout, err);
	result->fastest = true;
	for (i = 0; i < result->iterations && !ret; i++) {
		ret = iterate(&m, i, &now, progress, result, err);
		if (ret || !ugm_result_is(result, i))
			continue;
		for (src = 0; src < UGM_NR_TIERS; src++)
			for (dst = 0; dst < UGM_NR_TIERS; dst++)
				result->traffic_bytes[src][dst] =
					m.moved[src][dst] * UGM_PAGE_BYTES;
	}
	if (!ret)
		ugm_result_finish(result);
	tear_down(&m);
	return ret;
}
