// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>

#include "array.h"
#include "first_fit.h"
#include "tensor_model.h"
#include "units.h"
#include "vitality.h"

/**
 * DOC: the published tensor simulator
 *
 * The other simulator published with G10 judges policies for machines that
 * cannot page. Tensors move whole, in size / bandwidth with bandwidths in units
 * of 2^30, first in first out on each link and direction; flash and host have
 * links of their own that share the GPU link's bandwidth. Memory is contiguous,
 * first fit: tensors that leave from the right end, the others from the left.
 * A kernel asks for its operands one after the other, last first, waits for
 * each, and starts when all are there. One iteration is run, with the global
 * tensors in GPU memory.
 *
 * A schedule without demand is FlashNeuron's: tensors that nobody reads share
 * one reserved piece of memory, the backward pass begins when all has been
 * written, and after each of its kernels what has left is fetched in order of
 * use, as far as the largest hole less the largest kernel allows. One with
 * demand is G10's for such machines, which was judged with four times the
 * memory; a fetch on demand comes from flash, also of what is in the host.
 */

#define ROOM_WITH_DEMAND 4

enum { IN, OUT, NR_WAYS };

/**
 * struct whole - a tensor
 * @here: it has memory
 * @leaves: at some time it is written elsewhere
 * @fetching: its data are not there yet
 * @waiting: its fetch waits for memory
 * @in_host: its data are, or are going to be, in the host
 * @silent: nobody reads it
 * @birth: its first kernel
 * @death: the one after its last
 */
struct whole {
	bool here;
	bool leaves;
	bool fetching;
	bool waiting;
	bool in_host;
	bool silent;
	u32 birth;
	u32 death;
};

/**
 * struct lane - a direction of a link
 * @tensors: what it moves, first in first out
 * @head: first that counts
 * @end: end
 * @room: how many @tensors has room for
 * @bytes_per_ns: how fast
 * @end_ns: when the first is over
 * @moved: bytes
 */
struct lane {
	u32 *tensors;
	u64 head;
	u64 end;
	u64 room;
	double bytes_per_ns;
	double end_ns;
	u64 moved;
};

/**
 * struct model - the simulator
 * @t: trace
 * @s: schedule
 * @tensors: by tensor index
 * @memory: GPU memory
 * @lanes: by direction and the tier at the far end
 * @waits: fetches that wait for memory
 * @now_ns: the time
 * @loss: kernel that begins the backward pass
 * @largest: bytes of the largest kernel, global tensors not counted
 * @no_memory: an array could not grow
 */
struct model {
	const struct ugm_trace *t;
	const struct ugm_schedule *s;
	struct whole *tensors;
	struct ugm_first_fit memory;
	struct lane lanes[NR_WAYS][UGM_NR_TIERS];
	struct lane waits;
	double now_ns;
	u64 loss;
	u64 largest;
	bool no_memory;
};

static u64 bytes_of(const struct model *m, u32 tensor)
{
	return m->t->tensors[tensor].bytes;
}

static bool empty(const struct lane *l)
{
	return l->head == l->end;
}

static void push(struct model *m, struct lane *l, u32 tensor)
{
	u32 *p = ugm_array_room(l->tensors, &l->room, l->end + 1, sizeof(*p));

	if (!p) {
		m->no_memory = true;
		return;
	}
	l->tensors = p;
	p[l->end++] = tensor;
}

static void begin_next(struct model *m, struct lane *l)
{
	if (!empty(l))
		l->end_ns = m->now_ns + (double)bytes_of(m, l->tensors[l->head]) / l->bytes_per_ns;
}

static void move(struct model *m, int way, u8 tier, u32 tensor)
{
	struct lane *l = &m->lanes[way][tier];
	bool idle = empty(l);

	push(m, l, tensor);
	l->moved += bytes_of(m, tensor);
	if (idle)
		begin_next(m, l);
}

static int take(struct model *m, u32 tensor, bool right)
{
	int ret = ugm_first_fit_take(&m->memory, tensor, bytes_of(m, tensor), right);

	m->tensors[tensor].here |= !ret;
	m->no_memory |= ret == -ENOMEM;
	return ret;
}

static void give(struct model *m, u32 tensor)
{
	ugm_first_fit_give(&m->memory, tensor);
	m->tensors[tensor].here = false;
}

static void fetch(struct model *m, u32 tensor, u8 tier)
{
	m->tensors[tensor].fetching = true;
	move(m, IN, tier, tensor);
}

/* The first of the fetches that wait for memory, if there is some now. */
static void fetch_waiting(struct model *m)
{
	struct whole *x;
	u32 tensor;

	if (empty(&m->waits))
		return;
	tensor = m->waits.tensors[m->waits.head];
	if (ugm_first_fit_largest(&m->memory) < bytes_of(m, tensor))
		return;
	x = &m->tensors[tensor];
	if (x->here)
		ugm_first_fit_lose(&m->memory, tensor);
	if (take(m, tensor, true))
		return;
	fetch(m, tensor, x->in_host ? UGM_TIER_HOST : UGM_TIER_FLASH);
	x->waiting = false;
	m->waits.head++;
}

/* The next transfer that ends before @until; false: there is none. */
static bool next_event(struct model *m, double until)
{
	struct lane *l, *first = NULL;
	struct whole *x;
	int way, tier, first_way = 0, first_tier = 0;
	u32 tensor;

	for (way = 0; way < NR_WAYS; way++) {
		for (tier = UGM_TIER_HOST; tier <= UGM_TIER_FLASH; tier++) {
			l = &m->lanes[way][tier];
			if (empty(l) || l->end_ns >= until || (first && first->end_ns <= l->end_ns))
				continue;
			first = l;
			first_way = way;
			first_tier = tier;
		}
	}
	if (!first)
		return false;
	m->now_ns = first->end_ns;
	tensor = first->tensors[first->head++];
	x = &m->tensors[tensor];
	if (first_way == OUT)
		give(m, tensor);
	else
		x->fetching = false;
	if (first_tier == UGM_TIER_HOST)
		x->in_host = first_way == OUT;
	begin_next(m, first);
	return true;
}

static bool wait_for_event(struct model *m)
{
	return !m->no_memory && next_event(m, INFINITY);
}

/* Memory for a tensor, as soon as there is some. */
static int take_or_wait(struct model *m, u32 tensor)
{
	int ret;

	while ((ret = take(m, tensor, m->tensors[tensor].leaves)) == -ENOSPC)
		if (!wait_for_event(m))
			break;
	fetch_waiting(m);
	return ret;
}

static int await(struct model *m, u32 tensor)
{
	while (m->tensors[tensor].fetching) {
		if (!wait_for_event(m))
			return -ENOMEM;
		fetch_waiting(m);
	}
	return 0;
}

static int enter(struct model *m, u32 tensor, u32 kernel)
{
	struct whole *x = &m->tensors[tensor];
	bool global = m->t->tensors[tensor].global;
	int ret;

	if (!m->s->opt.demand && (global || x->silent))
		return 0;
	if (x->here)
		return await(m, tensor);
	if (x->waiting) {
		/* The kernel does not wait for its data. */
		for (fetch_waiting(m); !x->here; fetch_waiting(m))
			if (!wait_for_event(m))
				return -ENOSPC;
		return 0;
	}
	ret = take_or_wait(m, tensor);
	if (ret || !x->leaves || x->birth == kernel || global)
		return ret;
	fetch(m, tensor, UGM_TIER_FLASH);
	return await(m, tensor);
}

static void give_hint(struct model *m, const struct ugm_schedule_hint *h)
{
	struct whole *x = &m->tensors[h->tensor];

	if (h->op == UGM_OP_EVICT) {
		move(m, OUT, h->tier, h->tensor);
		x->in_host |= h->tier == UGM_TIER_HOST;
	} else if (h->op == UGM_OP_PREFETCH && !(x->here && m->t->tensors[h->tensor].global)) {
		push(m, &m->waits, h->tensor);
		x->waiting = true;
		fetch_waiting(m);
	}
}

/* After a kernel of the backward pass: what has left, in order of use. */
static void fetch_ahead(struct model *m, u32 kernel)
{
	u64 largest = ugm_first_fit_largest(&m->memory), rest;
	u32 k, i, tensor;

	rest = largest > m->largest ? largest - m->largest : 0;
	for (k = kernel + 1; k < m->t->nr_kernels; k++) {
		const struct ugm_use *use = ugm_kernel_uses(m->t, k);

		for (i = m->t->kernels[k].nr_uses; i-- > 0;) {
			tensor = use[i].tensor;
			if (!m->tensors[tensor].leaves || m->tensors[tensor].here)
				continue;
			if (rest <= bytes_of(m, tensor) || take(m, tensor, true))
				return;
			fetch(m, tensor, UGM_TIER_FLASH);
			rest -= bytes_of(m, tensor);
		}
	}
}

static void leave(struct model *m, u32 tensor, u32 kernel)
{
	const struct whole *x = &m->tensors[tensor];

	if (!m->t->tensors[tensor].global && x->death == kernel + 1 &&
	    (m->s->opt.demand || !x->silent))
		give(m, tensor);
}

static int launch(struct model *m, u32 kernel, u32 *lacks)
{
	const struct ugm_use *use = ugm_kernel_uses(m->t, kernel);
	u32 nr = m->t->kernels[kernel].nr_uses, i;
	double end;
	int ret;

	for (i = nr; i-- > 0;) {
		*lacks = use[i].tensor;
		ret = enter(m, use[i].tensor, kernel);
		if (ret || m->no_memory)
			return m->no_memory ? -ENOMEM : ret;
	}
	end = m->now_ns + (double)m->t->kernels[kernel].duration_ns;
	while (next_event(m, end))
		fetch_waiting(m);
	m->now_ns = end;
	for (i = 0; i < nr; i++)
		leave(m, use[i].tensor, kernel);
	fetch_waiting(m);
	if (!m->s->opt.demand && kernel >= m->loss)
		fetch_ahead(m, kernel);
	return 0;
}

static int run(struct model *m, struct ugm_error *err)
{
	const struct ugm_schedule_hint *h = m->s->hints;
	const struct ugm_schedule_hint *end = h + m->s->nr_hints;
	u32 k, lacks = 0;
	int ret;

	for (k = 0; k < m->t->nr_kernels; k++) {
		for (; h < end && h->at == k; h++)
			if (m->s->opt.demand || k < m->loss)
				give_hint(m, h);
		while (!m->s->opt.demand && k >= m->loss && !empty(&m->lanes[OUT][UGM_TIER_FLASH]))
			wait_for_event(m);
		ret = launch(m, k, &lacks);
		if (ret == -ENOSPC)
			return ugm_fail(
				err, ret,
				"%s: tensor %llu of %llu bytes finds no hole for kernel %u; the largest has %llu",
				m->t->name, (unsigned long long)m->t->tensors[lacks].id,
				(unsigned long long)bytes_of(m, lacks), k,
				(unsigned long long)ugm_first_fit_largest(&m->memory));
		if (ret)
			return ugm_fail(err, ret, "%s: no memory", m->t->name);
	}
	return 0;
}

/* What each tensor is, from the schedule and from who uses it. */
static int know_tensors(struct model *m)
{
	struct ugm_vitality v;
	const struct ugm_use *use;
	const u32 *kernels;
	u64 nr, i, bytes;
	u32 x, k;

	if (ugm_vitality_analyse(m->t, &v))
		return -ENOMEM;
	for (x = 0; x < m->t->nr_tensors; x++) {
		kernels = ugm_vitality_uses(&v, x, &nr);
		if (!nr)
			continue;
		m->tensors[x].silent = true;
		m->tensors[x].birth = kernels[0];
		m->tensors[x].death = kernels[nr - 1] + 1;
	}
	ugm_vitality_free(&v);
	for (k = 0; k < m->t->nr_kernels; k++) {
		use = ugm_kernel_uses(m->t, k);
		bytes = 0;
		for (i = 0; i < m->t->kernels[k].nr_uses; i++) {
			if (use[i].mode & UGM_OPERAND_READ)
				m->tensors[use[i].tensor].silent = false;
			if (!m->t->tensors[use[i].tensor].global)
				bytes += bytes_of(m, use[i].tensor);
		}
		if (bytes > m->largest)
			m->largest = bytes;
	}
	m->loss = m->t->nr_kernels;
	for (i = 0; i < m->s->nr_hints; i++) {
		if (m->s->hints[i].op != UGM_OP_EVICT)
			continue;
		m->tensors[m->s->hints[i].tensor].leaves = true;
		if (m->s->hints[i].need < m->t->nr_kernels)
			m->loss = m->s->hints[i].need;
	}
	return 0;
}

/* Global tensors are there; what nobody reads shares the room of the largest. */
static int fill_memory(struct model *m, u64 bytes, struct ugm_error *err)
{
	u32 x, silent = 0;
	int ret = 0;

	m->memory.size = bytes * (m->s->opt.demand ? ROOM_WITH_DEMAND : 1);
	for (x = 0; x < m->t->nr_tensors && !ret; x++) {
		if (m->t->tensors[x].global)
			ret = take(m, x, m->s->opt.demand && m->tensors[x].leaves);
		else if (m->tensors[x].silent &&
			 (!m->tensors[silent].silent || bytes_of(m, x) > bytes_of(m, silent)))
			silent = x;
	}
	if (!ret && !m->s->opt.demand && m->tensors[silent].silent && !m->t->tensors[silent].global)
		ret = take(m, silent, false);
	if (ret)
		return ugm_fail(err, ret,
				"%s: the global tensors do not fit into %llu bytes of GPU memory",
				m->t->name, (unsigned long long)m->memory.size);
	return 0;
}

static bool to_host(const struct ugm_schedule *s)
{
	u64 i;

	for (i = 0; i < s->nr_hints; i++)
		if (s->hints[i].op == UGM_OP_EVICT && s->hints[i].tier == UGM_TIER_HOST)
			return true;
	return false;
}

static int set_up(struct model *m, const struct ugm_config *c, struct ugm_error *err)
{
	u64 flash[2] = { c->flash_read_bytes_per_s, c->flash_write_bytes_per_s };
	int i;

	for (i = 0; i < NR_WAYS; i++) {
		if (c->pcie_bytes_per_s <= flash[i] && to_host(m->s))
			return ugm_fail(
				err, -EINVAL,
				"%s: the host has what flash leaves of the GPU link: %llu bytes/s of flash leave nothing of %llu",
				m->t->name, (unsigned long long)flash[i],
				(unsigned long long)c->pcie_bytes_per_s);
		if (flash[i] > c->pcie_bytes_per_s)
			flash[i] = c->pcie_bytes_per_s;
		m->lanes[i][UGM_TIER_FLASH].bytes_per_ns =
			(double)flash[i] / 1e9 * UGM_BINARY_UNITS;
		m->lanes[i][UGM_TIER_HOST].bytes_per_ns =
			(double)(c->pcie_bytes_per_s - flash[i]) / 1e9 * UGM_BINARY_UNITS;
	}
	m->tensors = calloc((size_t)m->t->nr_tensors + 1, sizeof(*m->tensors));
	if (!m->tensors || know_tensors(m))
		return ugm_fail(err, -ENOMEM, "%s: no memory", m->t->name);
	return fill_memory(m, c->gpu_mem_bytes, err);
}

static void tear_down(struct model *m)
{
	int way, tier;

	for (way = 0; way < NR_WAYS; way++)
		for (tier = 0; tier < UGM_NR_TIERS; tier++)
			free(m->lanes[way][tier].tensors);
	free(m->waits.tensors);
	free(m->tensors);
	ugm_first_fit_free(&m->memory);
}

/**
 * ugm_tensor_model() - what a schedule costs in the published tensor simulator
 * @layout: the trace on its machine
 * @s: schedule; hints are about whole tensors, and where there is no demand an
 *     eviction's need is the kernel that begins the backward pass
 * @result: initialised; filled
 * @err: why not
 *
 * Context: any.
 * Return: 0; -ENOMEM; -ENOSPC: a tensor finds no memory; -EINVAL where flash
 * would leave the host nothing of the GPU link.
 */
int ugm_tensor_model(const struct ugm_layout *layout, const struct ugm_schedule *s,
		     struct ugm_result *result, struct ugm_error *err)
{
	struct model m = { .t = layout->trace, .s = s };
	unsigned int x;
	u64 n;
	int ret;

	ret = set_up(&m, &layout->config, err);
	if (!ret)
		ret = run(&m, err);
	for (n = 0; n < result->iterations && !ret; n++)
		result->iterations_ns[n] = (u64)m.now_ns;
	for (x = UGM_TIER_HOST; x <= UGM_TIER_FLASH && !ret; x++) {
		result->traffic_bytes[x][UGM_TIER_GPU] = m.lanes[IN][x].moved;
		result->traffic_bytes[UGM_TIER_GPU][x] = m.lanes[OUT][x].moved;
	}
	if (!ret)
		ugm_result_finish(result);
	tear_down(&m);
	return ret;
}
