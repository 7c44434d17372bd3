// SPDX-License-Identifier: GPL-2.0
/*
 * The engine under random hints and launches, with a host that keeps data.
 *
 * The host notes in which tier each block has a place and which version of the
 * data is there. After every launch all counts of the engine are recounted from
 * the blocks, and what a launch reads must be the version written last. Real
 * moves that finish late must change nothing.
 */
#include "unit.h"

#include "engine.h"

#define NR_RANGES 24
#define MAX_BLOCKS 12
#define LAUNCHES 300
#define MAX_OPERANDS 6
#define UNSPECIFIED U64_MAX

/* A block and the data in its places. */
struct test_block {
	struct ugm_block b;
	bool place[UGM_NR_TIERS];
	u64 version[UGM_NR_TIERS];
	u64 written; /* version written last; 0: zeros; or UNSPECIFIED */
	bool doomed; /* the next launch discards it */
};

struct test_range {
	struct ugm_range r;
	struct test_block blocks[MAX_BLOCKS];
};

struct host {
	struct ugm_engine e;
	struct ugm_space s;
	struct test_range ranges[NR_RANGES];
	u64 seed; /* of what happens */
	u64 delay_seed; /* of when real moves finish; 0: at once */
	bool rough; /* pages held, written unannounced, touched; hints at any time */
	u64 transfers;
	u64 hints;
	u64 versions;
	u64 trail; /* of every begin and end, and of every digest */
};

static struct host *host_of(struct ugm_engine *e)
{
	return container_of(e, struct host, e);
}

static struct test_block *test_block(struct ugm_block *b)
{
	return container_of(b, struct test_block, b);
}

static u64 pick(struct host *h, u64 n)
{
	return next_random(&h->seed) % n;
}

/* New data in a block that lives in memory. */
static void write_data(struct host *h, struct test_block *b)
{
	u64 version = ++h->versions;

	b->version[ugm_state_home(b->b.state)] = version;
	b->written = b->doomed ? UNSPECIFIED : version;
}

static struct ugm_block *op_block(struct ugm_engine *e, struct ugm_range *r,
				  u32 index)
{
	assert_true(index < r->nr_blocks);
	return &container_of(r, struct test_range, r)->blocks[index].b;
}

static struct ugm_block *op_next_block(struct ugm_engine *e,
				       struct ugm_range *r, u32 index)
{
	return index < r->nr_blocks ? op_block(e, r, index) : NULL;
}

static struct ugm_transfer *op_transfer_alloc(struct ugm_engine *e)
{
	host_of(e)->transfers++;
	return calloc(1, sizeof(struct ugm_transfer));
}

static void op_transfer_free(struct ugm_engine *e, struct ugm_transfer *t)
{
	host_of(e)->transfers--;
	free(t);
}

static void op_revoke(struct ugm_engine *e, struct ugm_block **blocks,
		      unsigned int nr)
{
	struct host *h = host_of(e);
	unsigned int i;

	for (i = 0; h->rough && i < nr; i++) {
		switch (pick(h, 16)) {
		case 0: /* somebody holds it */
			blocks[i] = NULL;
			break;
		case 1: /* the CPU wrote it through a mapping */
			ugm_engine_found_dirty(e, blocks[i]);
			write_data(h, test_block(blocks[i]));
			/* What is dead stays dead. */
			if (blocks[i]->state & UGM_S_DEAD)
				test_block(blocks[i])->written = UNSPECIFIED;
			break;
		}
	}
}

static void take(struct test_block *b, unsigned int tier)
{
	assert_false(b->place[tier]);
	b->place[tier] = true;
	b->version[tier] = UNSPECIFIED;
}

static void give(struct test_block *b, unsigned int tier)
{
	assert_true(b->place[tier]);
	b->place[tier] = false;
}

static int op_start(struct ugm_engine *e, struct ugm_transfer *t)
{
	struct test_block *b = test_block(t->block);

	assert_ptr_equal(t->block->transfer, t);
	assert_true(b->place[t->src]);
	take(b, t->dst);
	return 0;
}

static bool op_moved(struct ugm_engine *e, struct ugm_transfer *t)
{
	struct host *h = host_of(e);

	return !h->delay_seed || next_random(&h->delay_seed) % 4 == 0;
}

static void op_commit(struct ugm_engine *e, struct ugm_transfer *t)
{
	struct test_block *b = test_block(t->block);

	assert_true(b->place[t->src] && b->place[t->dst]);
	b->version[t->dst] = b->version[t->src];
	if (!t->copy && !t->keep)
		give(b, t->src);
}

static void op_cancel(struct ugm_engine *e, struct ugm_transfer *t)
{
	give(test_block(t->block), t->dst);
}

static int op_alloc(struct ugm_engine *e, struct ugm_block *b,
		    enum ugm_tier tier)
{
	take(test_block(b), tier);
	test_block(b)->version[tier] = 0;
	return 0;
}

static void op_release(struct ugm_engine *e, struct ugm_block *b,
		       enum ugm_tier tier)
{
	give(test_block(b), tier);
}

static void op_hint_free(struct ugm_engine *e, struct ugm_hint *h, u64 refused,
			 u32 why)
{
	assert_true(refused <= h->nr);
	assert_true(why < UGM_NR_REFUSALS);
	host_of(e)->hints--;
	free(h);
}

static const struct ugm_engine_ops ops = {
	.block = op_block,
	.next_block = op_next_block,
	.transfer_alloc = op_transfer_alloc,
	.transfer_free = op_transfer_free,
	.revoke = op_revoke,
	.start = op_start,
	.moved = op_moved,
	.commit = op_commit,
	.cancel = op_cancel,
	.alloc = op_alloc,
	.release = op_release,
	.hint_free = op_hint_free,
};

static unsigned int list_length(const struct list_head *l)
{
	const struct list_head *p;
	unsigned int n = 0;

	for (p = l->next; p != l; p = p->next) {
		assert_ptr_equal(p->next->prev, p);
		n++;
	}
	return n;
}

static bool in_list(const struct list_head *n, const struct list_head *l)
{
	const struct list_head *p;

	for (p = l->next; p != l; p = p->next)
		if (p == n)
			return true;
	return false;
}

/* What the engine counts, counted again. */
struct recount {
	u64 homes[UGM_NR_TIERS];
	u64 used[UGM_NR_TIERS];
	u64 copies[UGM_NR_TIERS];
	u64 spare[UGM_NR_TIERS];
	u64 wanted[UGM_NR_TIERS];
	u64 leaving[UGM_NR_TIERS];
	u64 freeing[UGM_NR_TIERS];
	u64 moving;
	u64 queued;
};

static void recount_transfer(struct host *h, const struct ugm_transfer *x,
			     struct recount *n)
{
	if (x->phase == UGM_PHASE_QUEUED) {
		n->queued++;
		n->wanted[x->dst] += x->demand && !x->evict;
	} else {
		n->moving++;
		assert_true(in_list(&x->list, &h->e.moving));
	}
	if (x->booked && ugm_tier_is_memory(x->src))
		n->leaving[x->src]++;
	n->freeing[x->src] += x->frees;
	if (x->frees)
		assert_true(x->booked);
}

static void recount_block(struct host *h, struct test_block *tb,
			  struct recount *n)
{
	const struct ugm_transfer *x = tb->b.transfer;
	u32 state = tb->b.state;
	unsigned int home = ugm_state_home(state), t;

	assert_true(ugm_state_valid(state));
	assert_int_equal(ugm_state_pins(state), 0);
	assert_int_equal(state & (UGM_S_WRITTEN | UGM_S_FAULT), 0);
	n->homes[home]++;
	for (t = UGM_TIER_GPU; t < UGM_NR_TIERS; t++) {
		bool copy = ugm_state_has_copy(state, t);
		bool coming = x && x->dst == t && x->phase != UGM_PHASE_QUEUED;

		n->copies[t] += copy;
		n->spare[t] += copy && ugm_tier_is_memory(t) &&
			       ugm_tier_is_memory(home);
		n->used[t] += tb->place[t];
		assert_int_equal(tb->place[t], home == t || copy || coming);
		if (copy)
			assert_int_equal(tb->version[t], tb->version[home]);
	}
	/* A copy nowhere is of zeros. */
	if (ugm_state_has_copy(state, UGM_TIER_NONE))
		assert_int_equal(tb->version[home], 0);
	if (ugm_tier_is_memory(home))
		assert_true(in_list(&tb->b.order, &h->e.order[home]));
	else
		assert_true(list_empty(&tb->b.order));
	/* Busy: exactly one transfer owns it, and not a copying one. */
	if (state & UGM_S_BUSY)
		assert_true(x && !x->copy && x->booked);
	if (!x)
		return;
	assert_ptr_equal(x->block, &tb->b);
	assert_int_equal(x->src, home);
	recount_transfer(h, x, n);
}

/* Blocks are in order of arrival, and no copy is before where the search begins. */
static void check_search(struct ugm_engine *e, enum ugm_tier tier)
{
	enum ugm_tier other = tier == UGM_TIER_GPU ? UGM_TIER_HOST :
						     UGM_TIER_GPU;
	bool begun = !e->spare[tier];
	struct ugm_block *b;
	u64 last = 0;

	list_for_each_entry(b, &e->order[other], order) {
		assert_true(b->arrival > last);
		last = b->arrival;
		begun |= e->spare[tier] == &b->order;
		assert_true(begun || !ugm_state_has_copy(b->state, tier));
	}
	assert_true(begun || e->spare[tier] == &e->order[other]);
}

static void check(struct host *h)
{
	struct ugm_engine *e = &h->e;
	struct recount n = {};
	u64 in_queues = 0;
	unsigned int r, i, t;

	for (r = 0; r < NR_RANGES; r++)
		for (i = 0; i < h->ranges[r].r.nr_blocks; i++)
			recount_block(h, &h->ranges[r].blocks[i], &n);
	for (t = UGM_TIER_GPU; t < UGM_NR_TIERS; t++) {
		assert_int_equal(e->used[t], n.used[t]);
		assert_int_equal(e->copies[t], n.copies[t]);
		assert_int_equal(e->spares[t], n.spare[t]);
		if (ugm_tier_is_memory(t))
			check_search(e, t);
		assert_int_equal(e->leaving[t], n.leaving[t]);
		assert_int_equal(e->freeing[t], n.freeing[t]);
		assert_int_equal(e->wanted[t], n.wanted[t]);
		assert_true(e->used[t] <= e->capacity[t]);
		if (ugm_tier_is_memory(t))
			assert_int_equal(list_length(&e->order[t]), n.homes[t]);
		for (i = 0; i < UGM_NR_TIERS; i++)
			in_queues += e->queue[i][t].nr;
	}
	assert_int_equal(in_queues, n.queued);
	assert_int_equal(e->nr_moving, n.moving);
	assert_int_equal(list_length(&e->moving), n.moving);
	assert_int_equal(h->transfers, n.moving + n.queued);
	assert_true(list_empty(&e->demands));
	assert_null(e->alarms.root);
	assert_int_equal(ugm_pure_warnings, 0);
}

/* @running: a launch or a touch is under way. */
static void give_hint(struct host *h, bool running)
{
	static const u8 down[] = { UGM_TIER_HOST, UGM_TIER_FLASH };
	struct test_range *r = &h->ranges[pick(h, NR_RANGES)];
	struct ugm_hint *hint = calloc(1, sizeof(*hint));
	u32 i;

	hint->range = &r->r;
	hint->first = (u32)pick(h, r->r.nr_blocks);
	hint->nr = 1 + (u32)pick(h, r->r.nr_blocks - hint->first);
	hint->at = pick(h, 4) ? h->s.launches + pick(h, 3) : UGM_AT_NOW;
	hint->need = pick(h, 4) ? h->s.launches + pick(h, 20) : UGM_NEED_NONE;
	hint->op = (u8)pick(h, UGM_NR_OPS);
	if (running && hint->op == UGM_OP_DISCARD)
		hint->op = UGM_OP_PREFETCH;
	/* Pins alone could fill the tier: most are undone. */
	if (hint->op == UGM_OP_PIN && pick(h, 4))
		hint->op = UGM_OP_UNPIN;
	hint->tier = hint->op == UGM_OP_PREFETCH ?
			     (pick(h, 4) ? UGM_TIER_GPU : UGM_TIER_HOST) :
			     down[pick(h, 2)];
	if (hint->op == UGM_OP_DISCARD) {
		/* Discards act before the next launch here, so that what they
		 * concern is known.
		 */
		hint->at = h->s.launches;
		for (i = 0; i < hint->nr; i++) {
			r->blocks[hint->first + i].written = UNSPECIFIED;
			r->blocks[hint->first + i].doomed = true;
		}
	}
	h->hints++;
	ugm_engine_hint(&h->e, &h->s, hint);
}

/* Call until the demand has ended, however late the real moves are. */
static int run(struct host *h, struct ugm_demand *d)
{
	int ret;

	ugm_engine_begin(&h->e, d);
	while ((ret = ugm_engine_run(&h->e, d)) == UGM_RUN_WAIT) {
		assert_non_null((void *)h->delay_seed);
		if (h->rough && !pick(h, 4))
			give_hint(h, true);
	}
	if (ret == UGM_RUN_STUCK)
		ugm_engine_abort(&h->e, d);
	return ret;
}

static void mix(struct host *h, u64 v)
{
	h->trail = (h->trail ^ v) * 0x100000001b3ULL;
}

/* A block that was asked for is there, with the data written last. */
static void check_data(struct ugm_block *b, enum ugm_tier tier)
{
	struct test_block *tb = test_block(b);

	assert_int_equal(ugm_state_home(b->state), tier);
	if (tb->written != UNSPECIFIED)
		assert_int_equal(tb->version[tier], tb->written);
}

static void launch(struct host *h)
{
	struct ugm_operand operands[MAX_OPERANDS];
	struct ugm_demand d = {
		.space = &h->s,
		.operands = operands,
		.nr_operands = 1 + (u32)pick(h, MAX_OPERANDS),
		.duration_ns = pick(h, 3000000),
		.launch = true,
		.cause = UGM_CAUSE_DEMAND,
		.tier = UGM_TIER_GPU,
	};
	u32 i, j;
	int ret;

	for (i = 0; i < d.nr_operands; i++) {
		/* Ranges may be named twice, and in overlapping parts. */
		struct test_range *r = &h->ranges[pick(h, NR_RANGES)];

		operands[i].range = &r->r;
		operands[i].first = (u32)pick(h, r->r.nr_blocks);
		operands[i].nr = 1 + (u32)pick(h, r->r.nr_blocks -
						     operands[i].first);
		operands[i].mode = 1 + (u32)pick(h, 3);
	}
	ret = run(h, &d);
	for (i = 0; i < NR_RANGES; i++)
		for (j = 0; j < h->ranges[i].r.nr_blocks; j++)
			h->ranges[i].blocks[j].doomed = false;
	mix(h, d.begin_ns);
	mix(h, d.end_ns);
	if (ret) {
		/* Pinned blocks fill the tier: that must be said, not hang. */
		assert_true(ret == UGM_RUN_STUCK);
		return;
	}
	assert_true(d.done && !d.missing);
	assert_true(d.end_ns >= d.begin_ns + d.duration_ns);
	assert_true(d.end_ns >= d.arrived_ns && d.arrived_ns >= d.begin_ns);
	for (i = 0; i < d.nr_operands; i++)
		for (j = 0; j < operands[i].nr; j++)
			check_data(op_block(&h->e, operands[i].range,
					    operands[i].first + j),
				   UGM_TIER_GPU);
	for (i = 0; i < d.nr_operands; i++)
		for (j = 0; j < operands[i].nr; j++) {
			struct ugm_block *b = op_block(&h->e, operands[i].range,
						       operands[i].first + j);

			if (!(operands[i].mode & UGM_OPERAND_WRITE))
				continue;
			assert_true(b->state & UGM_S_DIRTY);
			write_data(h, test_block(b));
		}
}

/* The CPU touches a block through the host view, and perhaps writes it. */
static void touch(struct host *h)
{
	struct test_range *r = &h->ranges[pick(h, NR_RANGES)];
	struct ugm_operand operand = {
		.range = &r->r,
		.first = (u32)pick(h, r->r.nr_blocks),
		.nr = 1,
		.mode = 1 + (u32)pick(h, 3),
	};
	struct ugm_demand d = {
		.space = &h->s,
		.operands = &operand,
		.nr_operands = 1,
		.cause = UGM_CAUSE_TOUCH,
		.tier = UGM_TIER_HOST,
	};
	struct test_block *b = &r->blocks[operand.first];

	if (!h->e.capacity[UGM_TIER_HOST] || run(h, &d))
		return;
	check_data(&b->b, UGM_TIER_HOST);
	if (operand.mode & UGM_OPERAND_WRITE)
		write_data(h, b);
}

static void make_ranges(struct host *h)
{
	unsigned int r, i;

	for (r = 0; r < NR_RANGES; r++) {
		u32 nr = 1 + (u32)pick(h, MAX_BLOCKS);

		ugm_range_init(&h->ranges[r].r, &h->s, r, nr,
			       1 + pick(h, h->e.m.block_bytes));
		for (i = 0; i < nr; i++)
			ugm_block_init(&h->ranges[r].blocks[i].b,
				       &h->ranges[r].r, i);
	}
}

static void clean_up(struct host *h)
{
	unsigned int r, i;

	ugm_engine_drop_hints(&h->e, &h->s);
	assert_int_equal(h->hints, 0);
	for (r = 0; r < NR_RANGES; r++)
		for (i = 0; i < h->ranges[r].r.nr_blocks; i++) {
			ugm_engine_discard(&h->e, &h->ranges[r].blocks[i].b);
			assert_null(h->ranges[r].blocks[i].b.transfer);
		}
	check(h);
	for (i = UGM_TIER_GPU; i < UGM_NR_TIERS; i++)
		assert_int_equal(h->e.used[i], 0);
	assert_int_equal(ugm_engine_reset(&h->e), 0);
}

static u64 stress(u64 seed, u64 delay_seed, bool rough)
{
	struct host *h = calloc(1, sizeof(*h));
	struct ugm_machine m = {
		.block_bytes = 1 << 20,
		.capacity = { [UGM_TIER_GPU] = 80 << 20 },
		.bandwidth = { 16000000000, 14000000000, 3200000000,
			       3000000000 },
		.flash_latency_ns = 20000,
		.fault_ns = 45000,
		.fault_batch_bytes = 1 << 20,
	};
	u64 trail;
	int i, n;

	h->seed = seed;
	ugm_engine_init(&h->e, &ops);
	ugm_space_init(&h->s);
	m.capacity[UGM_TIER_HOST] = pick(h, 120) << 20;
	m.block_bytes >>= pick(h, 3);
	m.gpu_latency_ns = pick(h, 2) * 3000;
	h->s.opt.victim = (u8)pick(h, 3);
	h->s.opt.clean = (u8)pick(h, 2);
	h->s.opt.dead = (u8)pick(h, 3);
	h->s.opt.promote = (u8)pick(h, 2);
	h->s.opt.prefetch_evicts = (u8)pick(h, 3);
	h->s.opt.overlap = (u8)pick(h, 2);
	assert_int_equal(ugm_engine_set_machine(&h->e, &m), 0);
	make_ranges(h);
	h->delay_seed = delay_seed;
	h->rough = rough;
	for (i = 0; i < LAUNCHES; i++) {
		for (n = (int)pick(h, 5); n; n--)
			give_hint(h, false);
		launch(h);
		check(h);
		if (rough && !pick(h, 3)) {
			touch(h);
			check(h);
		}
		if (i % 16 == 15) {
			while (ugm_engine_drain(&h->e) == UGM_RUN_WAIT)
				assert_non_null((void *)h->delay_seed);
			check(h);
		}
		if (i % 10 == 9)
			for (n = 0; n < NR_RANGES; n++)
				mix(h, ugm_engine_digest(&h->e,
							 &h->ranges[n].r));
	}
	if (!rough)
		assert_int_equal(h->e.inexact, 0);
	mix(h, h->e.now_ns);
	trail = h->trail;
	clean_up(h);
	free(h);
	return trail;
}

static u64 first_seed(void)
{
	const char *s = getenv("UGM_SEED");

	return s ? strtoull(s, NULL, 0) : 1;
}

#define SEEDS 60

static void random_launches(void **unused)
{
	u64 seed = first_seed(), end = seed + SEEDS;

	for (; seed < end; seed++) {
		u64 mixed = seed * 0x9e3779b97f4a7c15ULL;
		u64 trail = stress(mixed, 0, false);

		/* The same again, and with real moves that finish late. */
		if (stress(mixed, 0, false) != trail ||
		    stress(mixed, seed, false) != trail)
			fail_msg("UGM_SEED=%llu: times depend on real moves",
				 (unsigned long long)seed);
	}
}

/* Pages that are held, written unannounced, and touched; hints in mid-launch. */
static void rough_host(void **unused)
{
	u64 seed = first_seed(), end = seed + SEEDS;

	for (; seed < end; seed++)
		stress(seed * 0xbf58476d1ce4e5b9ULL, seed, true);
}

static void hint_now(struct host *h, u8 op, u8 tier, u32 first, u32 nr)
{
	struct ugm_hint *hint = calloc(1, sizeof(*hint));

	hint->range = &h->ranges[0].r;
	hint->first = first;
	hint->nr = nr;
	hint->at = UGM_AT_NOW;
	hint->need = UGM_NEED_NONE;
	hint->op = op;
	hint->tier = tier;
	h->hints++;
	ugm_engine_hint(&h->e, &h->s, hint);
}

/* A launch of no duration with one operand. */
static struct ugm_demand launch_on(struct host *h, const struct ugm_operand *o)
{
	return (struct ugm_demand){
		.space = &h->s,
		.operands = o,
		.nr_operands = 1,
		.launch = true,
		.cause = UGM_CAUSE_DEMAND,
		.tier = UGM_TIER_GPU,
	};
}

/* A machine with one range of @nr blocks that a launch has just written. */
static struct host *written_range(u32 nr, u64 host_blocks)
{
	struct host *h = calloc(1, sizeof(*h));
	struct ugm_machine m = {
		.block_bytes = 1 << 20,
		.capacity = { [UGM_TIER_GPU] = 8 << 20, [UGM_TIER_HOST] = host_blocks << 20 },
		.bandwidth = { 16000000000, 14000000000, 3200000000, 3000000000 },
		.fault_ns = 45000,
		.fault_batch_bytes = 2 << 20,
	};
	struct ugm_operand o = { .nr = nr, .mode = UGM_OPERAND_WRITE };
	struct ugm_demand d = launch_on(h, &o);
	u32 i;

	ugm_engine_init(&h->e, &ops);
	ugm_space_init(&h->s);
	assert_int_equal(ugm_engine_set_machine(&h->e, &m), 0);
	make_ranges(h);
	ugm_range_init(&h->ranges[0].r, &h->s, 0, nr, 1 << 20);
	for (i = 0; i < nr; i++)
		ugm_block_init(&h->ranges[0].blocks[i].b, &h->ranges[0].r, i);
	o.range = &h->ranges[0].r;
	assert_int_equal(run(h, &d), 0);
	return h;
}

static enum ugm_tier home_of(struct host *h, u32 block)
{
	return ugm_state_home(h->ranges[0].blocks[block].b.state);
}

/* A prefetch towards the CPU does not take from a launch what it waits for. */
static void prefetch_under_launch(void **unused)
{
	struct host *h = written_range(2, 8);
	struct ugm_operand o = {
		.range = &h->ranges[0].r,
		.nr = 2,
		.mode = UGM_OPERAND_WRITE,
	};
	struct ugm_demand again = launch_on(h, &o);

	hint_now(h, UGM_OP_EVICT, UGM_TIER_HOST, 0, 2);
	assert_int_equal(ugm_engine_drain(&h->e), 0);

	/* The first block is late, so that the second waits in its queue. */
	h->delay_seed = 1;
	ugm_engine_begin(&h->e, &again);
	assert_int_equal(ugm_engine_run(&h->e, &again), UGM_RUN_WAIT);
	assert_int_equal(h->ranges[0].blocks[1].b.transfer->phase, UGM_PHASE_QUEUED);
	hint_now(h, UGM_OP_PREFETCH, UGM_TIER_HOST, 0, 2);
	h->delay_seed = 0;
	assert_int_equal(ugm_engine_run(&h->e, &again), 0);
	check_data(&h->ranges[0].blocks[1].b, UGM_TIER_GPU);
	check(h);
	clean_up(h);
	free(h);
}

/*
 * An eviction that a hint asked for waits for what leaves the full tier, also
 * where that is asked for at the same moment; with nothing leaving it goes on to
 * the next tier.
 */
static void eviction_waits_for_room(void **unused)
{
	struct host *h = written_range(5, 2);
	const u64 *refused = h->s.refused;
	u32 i;

	hint_now(h, UGM_OP_EVICT, UGM_TIER_HOST, 0, 2);
	assert_int_equal(ugm_engine_drain(&h->e), 0);
	hint_now(h, UGM_OP_EVICT, UGM_TIER_FLASH, 0, 2);
	hint_now(h, UGM_OP_EVICT, UGM_TIER_HOST, 2, 2);
	assert_int_equal(ugm_engine_drain(&h->e), 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(home_of(h, i), i < 2 ? UGM_TIER_FLASH : UGM_TIER_HOST);
	assert_int_equal(refused[UGM_REFUSED_REDIRECTED], 0);

	hint_now(h, UGM_OP_EVICT, UGM_TIER_HOST, 4, 1);
	assert_int_equal(ugm_engine_drain(&h->e), 0);
	assert_int_equal(home_of(h, 4), UGM_TIER_FLASH);
	assert_int_equal(refused[UGM_REFUSED_REDIRECTED], 1);
	check(h);
	clean_up(h);
	free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_launches),
		cmocka_unit_test(rough_host),
		cmocka_unit_test(prefetch_under_launch),
		cmocka_unit_test(eviction_waits_for_room),
	};

	printf("# first seed %llu (UGM_SEED)\n",
	       (unsigned long long)first_seed());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
