// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "array.h"
#include "g10_links.h"
#include "g10_published.h"
#include "introsort.h"
#include "units.h"
#include "vitality.h"

/* The peak that is good enough, of the memory there is. */
#define TARGET		  0.99
/* Without paging it is so much higher, and the fullest kernel gets so far down.
 */
#define LOOSE		  1.060606
#define RELIEF		  0.9
/* A period is long enough if it takes so many one-way times; see the DOC. */
#define ROUND_TRIP	  2.5
#define HEAD_START	  1.5
#define FLASH_LATENCY_NS  65000.0
#define HOST_LATENCY_NS	  45000.0
/* A first touch. */
#define TOUCH_NS_PER_BYTE 8.14e-4

#define OUT UGM_G10_OUT
#define IN  UGM_G10_IN

/**
 * struct period - an inactive period
 * @tensor: tensor index
 * @start: first kernel in it
 * @end: first kernel after it; of the next iteration if not after @start
 * @ns: how long
 * @area: size times @ns
 * @benefit: of an eviction, as things are
 * @tried: an eviction was tried
 * @moved: and planned
 */
struct period {
	u32 tensor;
	u32 start;
	u32 end;
	double ns;
	double area;
	double benefit;
	bool tried;
	bool moved;
};

/**
 * struct hint - a hint before it is written down
 * @at: kernel; of the next iteration if not less than their number
 * @need: kernel that needs it
 * @tensor: tensor index
 * @op: enum ugm_op
 * @tier: enum ugm_tier
 */
struct hint {
	u64 at;
	u64 need;
	u32 tensor;
	u8 op;
	u8 tier;
};

/**
 * struct move - a tensor leaves in a period and comes back before its end
 * @period: the period
 * @out: kernel in which it has left
 * @in: kernel at whose begin the prefetch must start at the latest
 */
struct move {
	struct period *period;
	u32 out;
	u32 in;
};

/**
 * struct scheduler - the scheduler at work
 * @t: trace
 * @v: its vitality
 * @n: kernels
 * @paging: so it is a machine that can page
 * @capacity: GPU memory
 * @target: the peak that is good enough
 * @host_capacity: host memory
 * @flash_bytes_per_ns: flash
 * @gpu_bytes_per_ns: GPU link
 * @gpu: estimate of GPU memory in use, by kernel
 * @host: likewise of host memory
 * @host_peak: largest of @host
 * @links: bandwidth that is left
 * @over_ns: time before each kernel during which GPU memory is overfull
 * @wrapped_ns: likewise, of the next iteration, as it is counted there
 * @fullest: kernel of the largest estimate before evictions
 * @periods: all periods
 * @order: the same, in the order of the last sort
 * @nr_periods: how many
 * @hints: what was decided
 * @nr_hints: how many
 * @hints_room: how many there is room for
 * @moves: moves within the iteration
 * @nr_moves: how many
 * @moves_room: how many there is room for
 */
struct scheduler {
	const struct ugm_trace *t;
	const struct ugm_vitality *v;
	u32 n;
	bool paging;
	s64 capacity;
	s64 target;
	s64 host_capacity;
	double flash_bytes_per_ns;
	double gpu_bytes_per_ns;
	s64 *gpu;
	s64 *host;
	s64 host_peak;
	struct ugm_g10_links links;
	double *over_ns;
	double *wrapped_ns;
	u32 fullest;
	struct period *periods;
	struct period **order;
	u64 nr_periods;
	struct hint *hints;
	u64 nr_hints;
	u64 hints_room;
	struct move *moves;
	u64 nr_moves;
	u64 moves_room;
};

static s64 size_of(const struct scheduler *s, const struct period *p)
{
	return (s64)s->t->tensors[p->tensor].bytes;
}

static bool wraps(const struct period *p)
{
	return p->end <= p->start;
}

/* When a kernel starts; one of the next iteration is @n or more. */
static double at(const struct scheduler *s, u64 kernel)
{
	return (double)ugm_vitality_at(s->v, kernel);
}

/* The last kernel of @from .. @to - 1 that starts at @ns or before. */
static u64 kernel_at(const struct scheduler *s, u64 from, u64 to, double ns)
{
	u64 low = from, high = to, mid;

	while (high - low > 1) {
		mid = (low + high) / 2;
		if (at(s, mid) <= ns)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static int hint(struct scheduler *s, u8 op, u32 tensor, u8 tier, u64 kernel, u64 need)
{
	struct hint *h = ugm_array_room(s->hints, &s->hints_room, s->nr_hints + 1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	s->hints = h;
	h[s->nr_hints++] = (struct hint){ kernel, need, tensor, op, tier };
	return 0;
}

/* How overfull memory is changed. */
static void survey(struct scheduler *s)
{
	double over = 0, wrapped = 0;
	u32 k;

	for (k = 0; k <= s->n; k++) {
		s->over_ns[k] = over;
		s->wrapped_ns[k] = wrapped;
		if (k == s->n || s->gpu[k] <= s->capacity)
			continue;
		over += (double)s->t->kernels[k].duration_ns;
		wrapped += k ? (double)s->t->kernels[k - 1].duration_ns : -(double)s->t->ideal_ns;
	}
}

/* Does the estimate fit during kernels @from .. @to - 1? */
static bool fits(const struct scheduler *s, u64 from, u64 to)
{
	u64 k;

	for (k = from; k < to; k++)
		if (s->gpu[k % s->n] > s->target)
			return false;
	return true;
}

static double benefit(const struct scheduler *s, const struct period *p)
{
	u32 from, to;
	double ns;

	if (p->tried)
		return 0;
	if (wraps(p)) {
		ns = s->over_ns[s->n] - s->over_ns[p->start] + s->wrapped_ns[p->end];
	} else {
		from = ugm_g10_links_reach(&s->links, s->links.flash[OUT], size_of(s, p) / 2,
					   p->start, false);
		to = ugm_g10_links_reach(&s->links, s->links.flash[IN], size_of(s, p) / 2,
					 p->end - 1, true);
		ns = to > from ? s->over_ns[to] - s->over_ns[from] : 0;
	}
	return ns * (double)size_of(s, p);
}

static double one_way_ns(const struct scheduler *s, s64 bytes, u8 tier)
{
	return tier == UGM_TIER_HOST ? HOST_LATENCY_NS + (double)bytes / s->gpu_bytes_per_ns :
				       FLASH_LATENCY_NS + (double)bytes / s->flash_bytes_per_ns;
}

static bool host_has_room(const struct scheduler *s, s64 bytes)
{
	return s->host_peak + bytes <= s->host_capacity;
}

static void charge_host(struct scheduler *s, const struct period *p)
{
	u64 end = wraps(p) ? p->end + s->n : p->end, k;

	for (k = p->start; k < end; k++) {
		s->host[k % s->n] += size_of(s, p);
		if (s->host[k % s->n] > s->host_peak)
			s->host_peak = s->host[k % s->n];
	}
}

static bool flash_is_busy(const struct scheduler *s, const struct period *p)
{
	double gone = at(s, p->start) + one_way_ns(s, size_of(s, p), UGM_TIER_FLASH);
	u64 k, last = kernel_at(s, p->start, p->end, gone);

	for (k = p->start; k < last; k++)
		if (!s->links.flash[OUT][k].full)
			return false;
	return true;
}

static int move_wrapping(struct scheduler *s, struct period *p, u8 tier)
{
	double one_way = one_way_ns(s, size_of(s, p), tier);
	u64 end = p->end + s->n, out, in, k;
	int ret;

	out = kernel_at(s, p->start, end, at(s, p->start) + one_way);
	in = kernel_at(s, p->start, end, at(s, end) - HEAD_START * one_way);
	for (k = out + 1; k < in; k++)
		s->gpu[k % s->n] -= size_of(s, p);
	if (tier == UGM_TIER_HOST)
		charge_host(s, p);
	if (in == p->start)
		return 0;
	p->moved = true;
	ret = hint(s, UGM_OP_EVICT, p->tensor, tier, p->start, UGM_NEED_NONE);
	if (ret)
		return ret;
	return hint(s, UGM_OP_PREFETCH, p->tensor, UGM_TIER_GPU, in, in < s->n ? end : p->end);
}

static int move_within(struct scheduler *s, struct period *p, u8 tier)
{
	struct ugm_g10_links *l = &s->links;
	struct ugm_g10_slot **slots = tier == UGM_TIER_HOST ? l->gpu : l->flash;
	s64 size = size_of(s, p);
	u32 in = ugm_g10_links_reach(l, slots[IN], size, p->end - 1, true);
	u32 out = ugm_g10_links_reach(l, slots[OUT], size, p->start, false), k;
	struct move *m;

	if (in <= out)
		return 0;
	m = ugm_array_room(s->moves, &s->moves_room, s->nr_moves + 1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	s->moves = m;
	m[s->nr_moves++] = (struct move){ p, out, in };
	p->moved = true;
	ugm_g10_links_reserve(l, tier == UGM_TIER_HOST, IN, size, in);
	ugm_g10_links_reserve(l, tier == UGM_TIER_HOST, OUT, size, p->start);
	for (k = out + 1; k < in; k++)
		s->gpu[k] -= size;
	return hint(s, UGM_OP_EVICT, p->tensor, tier, p->start, UGM_NEED_NONE);
}

/* Evict in a period if it is long enough, and there is room and bandwidth. */
static int evict(struct scheduler *s, struct period *p)
{
	u64 end = wraps(p) ? p->end + s->n : p->end;
	s64 size = size_of(s, p);
	bool slow = p->ns > ROUND_TRIP * one_way_ns(s, size, UGM_TIER_FLASH);
	int ret;

	if (end - p->start < 2 || fits(s, p->start, end))
		return 0;
	if (slow && wraps(p))
		return move_wrapping(s, p, UGM_TIER_FLASH);
	if (slow && !(flash_is_busy(s, p) && host_has_room(s, size)))
		return move_within(s, p, UGM_TIER_FLASH);
	if (p->ns <= ROUND_TRIP * one_way_ns(s, size, UGM_TIER_HOST) || !host_has_room(s, size))
		return 0;
	if (wraps(p))
		return move_wrapping(s, p, UGM_TIER_HOST);
	ret = move_within(s, p, UGM_TIER_HOST);
	if (p->moved || !slow)
		charge_host(s, p);
	return ret;
}

static bool larger(const void *a, const void *b)
{
	const struct period *x = a, *y = b;

	return x->area > y->area;
}

static bool more_useful(const void *a, const void *b)
{
	const struct period *x = a, *y = b;

	if (x->benefit != y->benefit || x->benefit == 0)
		return x->benefit > y->benefit;
	return x->area > y->area;
}

/*
 * Round after round the most useful period. At the end nothing is of use: what
 * then comes first is taken all the same, until it is one that was taken before.
 */
static int evict_all(struct scheduler *s)
{
	int ret = 0;
	u64 i, k;

	for (i = 0; i < s->nr_periods && !ret && !fits(s, 0, s->n); i++) {
		survey(s);
		for (k = 0; k < s->nr_periods; k++)
			s->periods[k].benefit = benefit(s, &s->periods[k]);
		ugm_introsort((void **)s->order, s->nr_periods, more_useful);
		if (s->order[0]->tried)
			break;
		s->order[0]->tried = true;
		ret = evict(s, s->order[0]);
	}
	return ret;
}

static bool earlier(const void *a, const void *b)
{
	const struct move *x = a, *y = b;

	return x->in < y->in;
}

static bool sooner(const void *a, const void *b)
{
	const struct hint *x = a, *y = b;

	return x->at < y->at;
}

/* Pointers to the members of an array, in order. */
static void *sorted(void *array, u64 nr, size_t size, ugm_before_t before)
{
	void **p = calloc(nr + 1, sizeof(*p));
	u64 i;

	for (i = 0; p && i < nr; i++)
		p[i] = (char *)array + i * size;
	if (p)
		ugm_introsort(p, nr, before);
	return p;
}

/* Fetch earlier than at the last moment where memory allows it. */
static int fetch_all(struct scheduler *s)
{
	struct move **moves = sorted(s->moves, s->nr_moves, sizeof(**moves), earlier), *m;
	int ret = moves ? 0 : -ENOMEM;
	u64 i;
	u32 k;

	for (i = 0; i < s->nr_moves && !ret; i++) {
		m = moves[i];
		for (k = m->in; k > m->out + 1 && s->gpu[k - 1] < s->target; k--)
			s->gpu[k - 1] += size_of(s, m->period);
		ret = hint(s, UGM_OP_PREFETCH, m->period->tensor, UGM_TIER_GPU, k, m->period->end);
	}
	free(moves);
	return ret;
}

/* Where paging does not help out: what is inactive at the peak leaves. */
static int relieve(struct scheduler *s)
{
	s64 peak = s->gpu[s->fullest];
	struct period *p;
	int ret = 0;
	u64 i;

	ugm_introsort((void **)s->order, s->nr_periods, larger);
	for (i = 0; i < s->nr_periods && !ret; i++) {
		p = s->order[i];
		if ((double)peak < (double)s->target * RELIEF)
			break;
		if (p->moved || wraps(p) || p->start > s->fullest || p->end <= s->fullest)
			continue;
		p->moved = true;
		peak -= size_of(s, p);
		ret = hint(s, UGM_OP_EVICT, p->tensor, UGM_TIER_FLASH, p->start, UGM_NEED_NONE);
	}
	return ret;
}

/* First touches and frees, which lower the estimate, until it fits. */
static int live_and_die(struct scheduler *s)
{
	s64 all = (s64)s->t->tensors[0].bytes, size;
	u32 x, k, birth, death, touch, over = 0;
	const u32 *kernels;
	double begin;
	int ret = 0;
	u64 nr;

	for (x = 0; x < s->t->nr_tensors; x++)
		all += (s64)s->t->tensors[x].bytes;
	for (k = 0; k < s->n; k++)
		s->gpu[k] = all;
	for (x = 1; x < s->t->nr_tensors && !ret; x++) {
		/* It only falls: kernels before @over fit. */
		while (over < s->n && s->gpu[over] <= s->target)
			over++;
		if (over == s->n)
			break;
		kernels = ugm_vitality_uses(s->v, x, &nr);
		if (s->t->tensors[x].global || !nr)
			continue;
		size = (s64)s->t->tensors[x].bytes;
		birth = kernels[0];
		death = kernels[nr - 1] + 1;
		begin = at(s, birth) - (double)size * TOUCH_NS_PER_BYTE;
		touch = begin > 0 && birth ? (u32)kernel_at(s, 0, birth, begin) : 0;
		for (k = 0; k < touch; k++)
			s->gpu[k] -= size;
		for (k = death; k < s->n; k++)
			s->gpu[k] -= size;
		if (!s->paging)
			continue;
		ret = hint(s, UGM_OP_PREFETCH, x, UGM_TIER_GPU, touch, birth);
		if (!ret)
			ret = hint(s, UGM_OP_DISCARD, x, UGM_TIER_NONE, death, UGM_NEED_NONE);
	}
	for (k = 0; k < s->n; k++)
		if (s->gpu[k] > s->gpu[s->fullest])
			s->fullest = k;
	return ret;
}

/* Hints of the next iteration's first kernel act before those of this one's. */
static int write_down(struct scheduler *s, struct ugm_schedule *schedule)
{
	struct hint **hints = sorted(s->hints, s->nr_hints, sizeof(**hints), sooner), *h;
	int ret = hints ? 0 : -ENOMEM, early;
	u64 i;

	for (early = 1; early >= 0; early--) {
		for (i = 0; i < s->nr_hints && !ret; i++) {
			h = hints[i];
			if (early != (h->at >= s->n))
				continue;
			ret = ugm_schedule_add(schedule,
					       &(struct ugm_schedule_hint){
						       .at = h->at % s->n,
						       .need = h->need,
						       .tensor = h->tensor,
						       .op = h->op,
						       .tier = h->tier,
						       .len = s->t->tensors[h->tensor].bytes,
					       });
		}
	}
	free(hints);
	return ret;
}

static int find_periods(struct scheduler *s)
{
	struct ugm_period *found;
	struct period *p;
	u64 i;

	if (ugm_vitality_periods(s->v, &found, &s->nr_periods))
		return -ENOMEM;
	s->periods = calloc(s->nr_periods + 1, sizeof(*s->periods));
	s->order = calloc(s->nr_periods + 1, sizeof(*s->order));
	for (i = 0; s->periods && s->order && i < s->nr_periods; i++) {
		p = s->order[i] = &s->periods[i];
		p->tensor = found[i].tensor;
		p->start = (found[i].from + 1) % s->n;
		p->end = found[i].to % s->n;
		p->ns = (double)ugm_period_ns(s->v, &found[i]);
		p->area = p->ns * (double)size_of(s, p);
	}
	free(found);
	return s->periods && s->order ? 0 : -ENOMEM;
}

static int set_up(struct scheduler *s, const struct ugm_config *c)
{
	u64 flash = c->flash_read_bytes_per_s < c->flash_write_bytes_per_s ?
			    c->flash_read_bytes_per_s :
			    c->flash_write_bytes_per_s;
	double factor = ugm_config_target_factor(c, s->paging ? 1 : LOOSE);

	s->capacity = (s64)c->gpu_mem_bytes;
	s->target = (s64)(factor * (double)(s64)((double)c->gpu_mem_bytes * TARGET));
	s->host_capacity = (s64)c->host_mem_bytes;
	s->flash_bytes_per_ns = (double)flash * UGM_BINARY_UNITS / 1e9;
	s->gpu_bytes_per_ns = (double)c->pcie_bytes_per_s * UGM_BINARY_UNITS / 1e9;
	s->gpu = calloc(s->n, sizeof(*s->gpu));
	s->host = calloc(s->n, sizeof(*s->host));
	s->over_ns = calloc((size_t)s->n + 1, sizeof(*s->over_ns));
	s->wrapped_ns = calloc((size_t)s->n + 1, sizeof(*s->wrapped_ns));
	if (!s->gpu || !s->host || !s->over_ns || !s->wrapped_ns)
		return -ENOMEM;
	if (ugm_g10_links_make(&s->links, s->t, s->flash_bytes_per_ns, s->gpu_bytes_per_ns))
		return -ENOMEM;
	return find_periods(s);
}

static void tear_down(struct scheduler *s)
{
	ugm_g10_links_free(&s->links);
	free(s->gpu);
	free(s->host);
	free(s->over_ns);
	free(s->wrapped_ns);
	free(s->periods);
	free(s->order);
	free(s->hints);
	free(s->moves);
}

/**
 * ugm_g10_published() - a schedule by G10's scheduler as published
 * @layout: the trace on its machine
 * @paging: the machine can page
 * @s: initialised; hints and run-time rules are filled in
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_g10_published(const struct ugm_layout *layout, bool paging, struct ugm_schedule *s)
{
	struct scheduler p = { .t = layout->trace,
			       .paging = paging,
			       .n = layout->trace->nr_kernels };
	struct ugm_vitality v;
	int ret;

	s->opt.victim = UGM_VICTIM_FIFO;
	s->opt.clean = UGM_CLEAN_WRITE;
	s->opt.dead = UGM_DEAD_DROP;
	s->opt.prefetch_evicts = UGM_PREFETCH_EVICTS_ANY;
	s->opt.demand = true;
	ret = ugm_vitality_analyse(p.t, &v);
	if (ret)
		return ret;
	p.v = &v;
	ret = set_up(&p, &layout->config);
	if (!ret)
		ret = live_and_die(&p);
	if (!ret)
		ret = evict_all(&p);
	if (!ret)
		ret = fetch_all(&p);
	if (!ret && !paging)
		ret = relieve(&p);
	if (!ret)
		ret = write_down(&p, s);
	tear_down(&p);
	ugm_vitality_free(&v);
	return ret;
}
