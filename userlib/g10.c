// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "array.h"
#include "g10.h"
#include "g10_published.h"
#include "heap.h"

/* A period is worth a round trip that takes so many one-way times, in halves. */
#define ROUND_TRIP_HALVES 5
/* The peak that is good enough, of the memory there is. */
#define TARGET 0.99

enum timeline { FLASH_OUT, FLASH_IN, GPU_OUT, GPU_IN, NR_TIMELINES };

/**
 * struct candidate - an inactive period that may be used
 * @node: in the heap, the most useful first
 * @period: the period
 * @flash: it is long enough for flash
 */
struct candidate {
	struct ugm_heap_node node;
	struct ugm_period period;
	bool flash;
};

/**
 * struct scheduler - the scheduler at work
 * @t: trace
 * @v: its vitality
 * @opt: options
 * @n: kernels
 * @gpu: estimate of GPU memory in use, by kernel
 * @host: likewise of host memory
 * @left: bytes that can still be moved during a kernel, by timeline
 * @over_ns: time before each kernel during which GPU memory is overfull
 * @peak: largest of @gpu
 */
struct scheduler {
	const struct ugm_trace *t;
	const struct ugm_vitality *v;
	const struct ugm_g10_options *opt;
	u32 n;
	u64 *gpu;
	u64 *host;
	u64 *left[NR_TIMELINES];
	u64 *over_ns;
	u64 peak;
};

/* More than any trace has, of bytes or ns; sums of some still fit. */
#define LOTS 0x1p62

static u64 at_most_lots(double v)
{
	return (u64)(v < LOTS ? v : LOTS);
}

static u64 bytes_in(u64 bytes_per_s, u64 ns)
{
	return at_most_lots((double)bytes_per_s * (double)ns / 1e9);
}

static u64 ns_for(u64 bytes, u64 bytes_per_s)
{
	return at_most_lots((double)bytes * 1e9 / (double)bytes_per_s);
}

static u64 min(u64 a, u64 b)
{
	return a < b ? a : b;
}

static u64 size_of(const struct scheduler *s, const struct ugm_period *p)
{
	return s->t->tensors[p->tensor].bytes;
}

static bool wraps(const struct scheduler *s, const struct ugm_period *p)
{
	return p->to >= s->n;
}

static u64 one_way_ns(const struct scheduler *s, u64 bytes, enum ugm_tier tier)
{
	const struct ugm_g10_options *o = s->opt;

	if (tier == UGM_TIER_HOST)
		return o->host_latency_ns + ns_for(bytes, o->gpu_bytes_per_s);
	return o->flash_latency_ns +
	       ns_for(bytes, min(o->flash_read_bytes_per_s,
				 o->flash_write_bytes_per_s));
}

static bool long_enough(const struct scheduler *s, const struct ugm_period *p,
			enum ugm_tier tier)
{
	return ugm_period_ns(s->v, p) * 2 >=
	       one_way_ns(s, size_of(s, p), tier) * ROUND_TRIP_HALVES;
}

/* How overfull memory is changed. */
static void survey(struct scheduler *s)
{
	u64 sum = 0;
	u32 k;

	s->peak = 0;
	for (k = 0; k < s->n; k++) {
		s->over_ns[k] = sum;
		if (s->gpu[k] > s->opt->capacity_bytes)
			sum += s->t->kernels[k].duration_ns;
		if (s->gpu[k] > s->peak)
			s->peak = s->gpu[k];
	}
	s->over_ns[s->n] = sum;
}

/* Time before @ns of kernel @k during which memory is overfull. */
static u64 over_before(const struct scheduler *s, u32 k, u64 ns)
{
	return s->over_ns[k] +
	       (s->gpu[k] > s->opt->capacity_bytes ? ns : 0);
}

/* The part of a kernel's time in which @bytes of the @free ones can move. */
static u64 part_of(u64 ns, u64 bytes, u64 free)
{
	return free ? (u64)((double)ns * (double)bytes / (double)free) : 0;
}

/* Overfull time before the moment at which half a tensor has left. */
static u64 over_before_out(const struct scheduler *s, const struct ugm_period *p)
{
	u64 need = size_of(s, p) / 2, free;
	u32 k;

	for (k = p->from + 1; k < p->to; k++) {
		free = s->left[FLASH_OUT][k];
		if (free >= need)
			return over_before(s, k, part_of(
				s->t->kernels[k].duration_ns, need, free));
		need -= free;
	}
	return U64_MAX;
}

/* Likewise before half of it has to be on its way back. */
static u64 over_before_in(const struct scheduler *s, const struct ugm_period *p)
{
	u64 need = size_of(s, p) / 2, free, ns;
	u32 k;

	for (k = p->to; k-- > p->from + 1;) {
		free = s->left[FLASH_IN][k];
		if (free >= need) {
			ns = s->t->kernels[k].duration_ns;
			return over_before(s, k, ns - part_of(ns, need, free));
		}
		need -= free;
	}
	return 0;
}

/* Overfull time that an eviction relieves, times its size. */
static double benefit(const struct scheduler *s, const struct ugm_period *p)
{
	u64 from, to;

	if (wraps(s, p)) {
		from = s->over_ns[p->from + 1];
		to = s->over_ns[s->n] + s->over_ns[p->to - s->n];
	} else {
		from = over_before_out(s, p);
		to = over_before_in(s, p);
	}
	return to > from ? (double)(to - from) * (double)size_of(s, p) : 0;
}

/* The bits of a positive number are ordered as the number is: largest first. */
static u64 key_of(double benefit)
{
	u64 bits;

	memcpy(&bits, &benefit, sizeof(bits));
	return ~bits;
}

/* Bytes that a move towards or from @tier can still have during a kernel. */
static u64 left(const struct scheduler *s, enum ugm_tier tier, bool in, u32 k)
{
	u64 gpu = s->left[in ? GPU_IN : GPU_OUT][k];

	return tier == UGM_TIER_HOST ?
		       gpu : min(gpu, s->left[in ? FLASH_IN : FLASH_OUT][k]);
}

/*
 * The kernel during which the tensor has left, going forward from the period's
 * start, or must be fetched, going backward from its end. False: there is not
 * enough bandwidth in the whole period. With @take it is reserved.
 */
static bool move_within(struct scheduler *s, const struct ugm_period *p,
			enum ugm_tier tier, bool in, bool take, u32 *kernel)
{
	u64 need = size_of(s, p), part;
	u32 i, k, len = p->to - p->from - 1;

	for (i = 0; i < len; i++) {
		k = in ? p->to - 1 - i : p->from + 1 + i;
		part = min(need, left(s, tier, in, k));
		if (take) {
			s->left[in ? GPU_IN : GPU_OUT][k] -= part;
			if (tier == UGM_TIER_FLASH)
				s->left[in ? FLASH_IN : FLASH_OUT][k] -= part;
		}
		need -= part;
		*kernel = k;
		if (!need)
			return true;
	}
	return false;
}

static bool host_has_room(const struct scheduler *s, const struct ugm_period *p)
{
	u32 k;

	for (k = p->from + 1; k < p->to; k++)
		if (s->host[k] + size_of(s, p) > s->opt->host_bytes)
			return false;
	return true;
}

static bool flash_is_full(const struct scheduler *s, const struct ugm_period *p)
{
	return !left(s, UGM_TIER_FLASH, false, p->from + 1);
}

static int add_move(struct ugm_g10_plan *plan, const struct ugm_period *p,
		    enum ugm_tier tier, u64 prefetch)
{
	struct ugm_g10_move *m;

	m = ugm_array_room(plan->moves, &plan->room, plan->nr_moves + 1,
			   sizeof(*m));
	if (!m)
		return -ENOMEM;
	plan->moves = m;
	m[plan->nr_moves++] = (struct ugm_g10_move){ *p, tier, prefetch };
	return 0;
}

/*
 * Around the end of the iteration the published scheduler reserves nothing: the
 * tensor goes to flash and starts back one and a half one-way times before it is
 * needed.
 */
static int evict_wrapping(struct scheduler *s, const struct ugm_period *p,
			  struct ugm_g10_plan *plan)
{
	u64 trip = one_way_ns(s, size_of(s, p), UGM_TIER_FLASH) * 3 / 2;
	u64 end = ugm_vitality_at(s->v, p->to), k = p->to;

	while (k > p->from + 2 && ugm_vitality_at(s->v, k) + trip > end)
		k--;
	for (u64 j = p->from + 1; j < k; j++)
		s->gpu[j % s->n] -= size_of(s, p);
	return add_move(plan, p, UGM_TIER_FLASH, k);
}

/* Evict in a period if there is room and bandwidth for it. */
static int evict(struct scheduler *s, const struct candidate *c,
		 struct ugm_g10_plan *plan, bool *done)
{
	const struct ugm_period *p = &c->period;
	enum ugm_tier tier = UGM_TIER_FLASH;
	u32 out, in, k;

	*done = true;
	if (wraps(s, p))
		return evict_wrapping(s, p, plan);
	if (!c->flash || (flash_is_full(s, p) && host_has_room(s, p)))
		tier = UGM_TIER_HOST;
	*done = (tier != UGM_TIER_HOST || host_has_room(s, p)) &&
		move_within(s, p, tier, false, false, &out) &&
		move_within(s, p, tier, true, false, &in) && in > out;
	if (!*done)
		return 0;
	move_within(s, p, tier, false, true, &out);
	move_within(s, p, tier, true, true, &in);
	for (k = out + 1; k < in; k++)
		s->gpu[k] -= size_of(s, p);
	if (tier == UGM_TIER_HOST)
		for (k = p->from + 1; k < p->to; k++)
			s->host[k] += size_of(s, p);
	return add_move(plan, p, tier, in);
}

static int evict_all(struct scheduler *s, struct candidate *c, u64 nr,
		     struct ugm_g10_plan *plan)
{
	struct ugm_heap heap = {};
	struct candidate *top;
	u64 i, key;
	bool done;
	int ret = 0;

	for (i = 0; i < nr; i++)
		ugm_heap_push(&heap, &c[i].node, key_of(benefit(s, &c[i].period)),
			      i);
	while (!ret && s->peak > s->opt->target_bytes && heap.root) {
		top = container_of(heap.root, struct candidate, node);
		ugm_heap_remove(&heap, &top->node);
		key = key_of(benefit(s, &top->period));
		if (key == key_of(0))
			continue;
		if (key != top->node.key) {
			ugm_heap_push(&heap, &top->node, key, top->node.seq);
			continue;
		}
		ret = evict(s, top, plan, &done);
		if (done)
			survey(s);
	}
	return ret;
}

static int by_start(const void *a, const void *b)
{
	const struct ugm_g10_move *x = a, *y = b;

	if (x->prefetch != y->prefetch)
		return x->prefetch < y->prefetch ? -1 : 1;
	if (x->period.to != y->period.to)
		return x->period.to < y->period.to ? -1 : 1;
	return x->period.tensor < y->period.tensor ? -1 : 1;
}

/* Fetch earlier than at the last moment where memory allows it. */
static void pull(struct scheduler *s, struct ugm_g10_plan *plan)
{
	struct ugm_g10_move *m;
	u64 size, k;

	if (plan->nr_moves)
		qsort(plan->moves, plan->nr_moves, sizeof(*m), by_start);
	for (m = plan->moves; m < plan->moves + plan->nr_moves; m++) {
		if (wraps(s, &m->period))
			continue;
		size = size_of(s, &m->period);
		for (k = m->prefetch; k > m->period.from + 2; k--) {
			if (s->gpu[k - 1] + size >= s->opt->target_bytes)
				break;
			s->gpu[k - 1] += size;
		}
		m->prefetch = k;
	}
}

static int rank(const void *a, const void *b, void *arg)
{
	const struct candidate *x = a, *y = b;
	const struct scheduler *s = arg;
	double vx = (double)size_of(s, &x->period) *
		    (double)ugm_period_ns(s->v, &x->period);
	double vy = (double)size_of(s, &y->period) *
		    (double)ugm_period_ns(s->v, &y->period);

	if (vx != vy)
		return vx > vy ? -1 : 1;
	if (x->period.tensor != y->period.tensor)
		return x->period.tensor < y->period.tensor ? -1 : 1;
	return x->period.from < y->period.from ? -1 : 1;
}

/* Periods long enough for a round trip, the largest and longest first. */
static int candidates(struct scheduler *s, const struct ugm_layout *layout,
		      struct candidate **list, u64 *nr)
{
	struct ugm_period *periods;
	struct candidate *c;
	u64 i, all;
	bool flash;

	if (ugm_vitality_periods(s->v, &periods, &all))
		return -ENOMEM;
	c = calloc(all + 1, sizeof(*c));
	*list = c;
	*nr = 0;
	for (i = 0; c && i < all; i++) {
		if (ugm_layout_in_arena(layout, periods[i].tensor))
			continue;
		flash = long_enough(s, &periods[i], UGM_TIER_FLASH);
		if (!flash && (wraps(s, &periods[i]) ||
			       !long_enough(s, &periods[i], UGM_TIER_HOST)))
			continue;
		c[(*nr)++] = (struct candidate){ .period = periods[i],
						 .flash = flash };
	}
	free(periods);
	if (!c)
		return -ENOMEM;
	qsort_r(c, *nr, sizeof(*c), rank, s);
	return 0;
}

static int set_up(struct scheduler *s)
{
	const u64 bandwidth[NR_TIMELINES] = {
		[FLASH_OUT] = s->opt->flash_write_bytes_per_s,
		[FLASH_IN] = s->opt->flash_read_bytes_per_s,
		[GPU_OUT] = s->opt->gpu_bytes_per_s,
		[GPU_IN] = s->opt->gpu_bytes_per_s,
	};
	unsigned int i;
	u32 k;

	s->gpu = calloc(s->n, sizeof(*s->gpu));
	s->host = calloc(s->n, sizeof(*s->host));
	s->over_ns = calloc((size_t)s->n + 1, sizeof(*s->over_ns));
	if (!s->gpu || !s->host || !s->over_ns)
		return -ENOMEM;
	for (i = 0; i < NR_TIMELINES; i++) {
		s->left[i] = calloc(s->n, sizeof(*s->left[i]));
		if (!s->left[i])
			return -ENOMEM;
		for (k = 0; k < s->n; k++)
			s->left[i][k] = bytes_in(bandwidth[i],
						 s->t->kernels[k].duration_ns);
	}
	ugm_vitality_live(s->v, s->gpu);
	survey(s);
	return 0;
}

/**
 * ugm_g10_options_default() - plan for a machine as the paper says
 * @config: machine
 * @opt: filled
 *
 * Context: any.
 */
void ugm_g10_options_default(const struct ugm_config *config,
			     struct ugm_g10_options *opt)
{
	*opt = (struct ugm_g10_options){
		.capacity_bytes = config->gpu_mem_bytes,
		.target_bytes = (u64)((double)config->gpu_mem_bytes * TARGET *
				      ugm_config_target_factor(config, 1)),
		.host_bytes = config->host_mem_bytes,
		.gpu_bytes_per_s = config->pcie_bytes_per_s,
		.flash_read_bytes_per_s = config->flash_read_bytes_per_s,
		.flash_write_bytes_per_s = config->flash_write_bytes_per_s,
		.flash_latency_ns = config->flash_latency_ns,
		.host_latency_ns = config->gpu_latency_ns,
	};
}

/**
 * ugm_g10_make() - decide what moves when
 * @layout: the trace on its machine
 * @v: vitality of the trace
 * @opt: options
 * @plan: filled; ugm_g10_free() it if that succeeds
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_g10_make(const struct ugm_layout *layout, const struct ugm_vitality *v,
		 const struct ugm_g10_options *opt, struct ugm_g10_plan *plan)
{
	struct scheduler s = { .t = layout->trace, .v = v, .opt = opt,
			       .n = layout->trace->nr_kernels };
	struct candidate *c = NULL;
	unsigned int i;
	u64 nr;
	int ret;

	memset(plan, 0, sizeof(*plan));
	ret = set_up(&s);
	if (!ret)
		ret = candidates(&s, layout, &c, &nr);
	if (!ret)
		ret = evict_all(&s, c, nr, plan);
	plan->peak_bytes = s.peak;
	if (!ret)
		pull(&s, plan);
	free(c);
	free(s.gpu);
	free(s.host);
	free(s.over_ns);
	for (i = 0; i < NR_TIMELINES; i++)
		free(s.left[i]);
	if (ret)
		ugm_g10_free(plan);
	return ret;
}

/**
 * ugm_g10_free() - forget a plan
 * @plan: plan
 *
 * Context: any.
 */
void ugm_g10_free(struct ugm_g10_plan *plan)
{
	free(plan->moves);
	memset(plan, 0, sizeof(*plan));
}

static int hint(struct ugm_schedule *s, const struct ugm_trace *t, u8 op,
		u32 tensor, u8 tier, u64 at, u64 need)
{
	u64 n = t->nr_kernels, shift = at / n * n;

	return ugm_schedule_add(s, &(struct ugm_schedule_hint){
		.at = at - shift,
		.need = need == UGM_NEED_NONE ? need : need - shift,
		.tensor = tensor,
		.op = op,
		.tier = tier,
		.len = t->tensors[tensor].bytes,
	});
}

static int emit(const struct ugm_trace *t, const struct ugm_vitality *v,
		const struct ugm_g10_plan *plan, struct ugm_schedule *s)
{
	const u32 *kernels;
	u64 i, nr;
	u32 x;
	int ret = 0;

	for (x = 0; x < t->nr_tensors && !ret; x++) {
		kernels = ugm_vitality_uses(v, x, &nr);
		if (nr && !t->tensors[x].global)
			ret = hint(s, t, UGM_OP_DISCARD, x, UGM_TIER_NONE,
				   (u64)kernels[nr - 1] + 1, UGM_NEED_NONE);
	}
	for (i = 0; i < plan->nr_moves && !ret; i++) {
		const struct ugm_g10_move *m = &plan->moves[i];

		ret = hint(s, t, UGM_OP_EVICT, m->period.tensor, m->tier,
			   (u64)m->period.from + 1, UGM_NEED_NONE);
		if (!ret)
			ret = hint(s, t, UGM_OP_PREFETCH, m->period.tensor,
				   UGM_TIER_GPU, m->prefetch, m->period.to);
	}
	return ret;
}

/**
 * ugm_g10_schedule() - a schedule by G10's scheduler
 * @layout: the trace on its machine
 * @paging: for a machine that pages; what the published scheduler plans for
 *          differs with that
 * @s: initialised; hints and run-time rules are filled in
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_g10_schedule(const struct ugm_layout *layout, bool paging,
		     struct ugm_schedule *s)
{
	struct ugm_g10_options opt;
	struct ugm_g10_plan plan;
	struct ugm_vitality v;
	int ret;

	if (layout->config.published)
		return ugm_g10_published(layout, paging, s);

	s->opt.victim = UGM_VICTIM_FIFO;
	s->opt.clean = UGM_CLEAN_WRITE;
	s->opt.dead = UGM_DEAD_DROP;
	s->opt.promote = true;
	s->opt.prefetch_evicts = UGM_PREFETCH_EVICTS_ANY;
	s->opt.demand = true;

	ret = ugm_vitality_analyse(layout->trace, &v);
	if (ret)
		return ret;
	ugm_g10_options_default(&layout->config, &opt);
	ret = ugm_g10_make(layout, &v, &opt, &plan);
	if (!ret) {
		ret = emit(layout->trace, &v, &plan, s);
		ugm_g10_free(&plan);
	}
	ugm_vitality_free(&v);
	return ret;
}
