// SPDX-License-Identifier: GPL-2.0
#include "engine_host.h"

static struct engine_host *host_of(struct ugm_engine *e)
{
	return container_of(e, struct engine_host, e);
}

static struct test_block *test_block(struct ugm_block *b)
{
	return container_of(b, struct test_block, b);
}

/**
 * engine_host_pick() - a random number
 * @h: host
 * @n: how many there are to choose from
 *
 * Return: 0 to @n - 1.
 */
u64 engine_host_pick(struct engine_host *h, u64 n)
{
	return next_random(&h->seed) % n;
}

/**
 * engine_host_write() - new data in a block that lives in memory
 * @h: host
 * @b: block
 */
void engine_host_write(struct engine_host *h, struct ugm_block *b)
{
	struct test_block *tb = test_block(b);
	u64 version = ++h->versions;

	tb->version[ugm_state_home(b->state)] = version;
	tb->written = tb->doomed ? UNSPECIFIED : version;
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
	struct engine_host *h = host_of(e);
	unsigned int i;

	for (i = 0; h->meanwhile && i < nr; i++) {
		switch (engine_host_pick(h, 16)) {
		case 0: /* somebody holds it */
			blocks[i] = NULL;
			break;
		case 1: /* the CPU wrote it through a mapping */
			ugm_engine_found_dirty(e, blocks[i]);
			engine_host_write(h, blocks[i]);
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
	struct engine_host *h = host_of(e);

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

static u64 op_now(struct ugm_engine *e)
{
	return host_of(e)->wall;
}

static const struct ugm_engine_ops engine_ops = {
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
	.now = op_now,
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

static void recount_transfer(struct engine_host *h, const struct ugm_transfer *x,
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

static void recount_block(struct engine_host *h, struct test_block *tb,
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

/**
 * engine_host_check() - recount all that the engine counts, from the blocks
 * @h: host, with no demand under way
 */
void engine_host_check(struct engine_host *h)
{
	struct ugm_engine *e = &h->e;
	struct recount n = {};
	u64 in_queues = 0;
	unsigned int r, i, t;

	for (r = 0; r < h->nr_ranges; r++)
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

/**
 * engine_host_check_data() - a block is in a tier, with the data written last
 * @b: block
 * @tier: where it has to be
 */
void engine_host_check_data(const struct ugm_block *b, enum ugm_tier tier)
{
	const struct test_block *tb = container_of(b, struct test_block, b);

	assert_int_equal(ugm_state_home(b->state), tier);
	if (tb->written != UNSPECIFIED)
		assert_int_equal(tb->version[tier], tb->written);
}

/**
 * engine_host_hint() - give the engine a hint
 * @h: host
 * @hint: it, of which a copy is given
 */
void engine_host_hint(struct engine_host *h, const struct ugm_hint *hint)
{
	struct ugm_hint *copy = malloc(sizeof(*copy));

	*copy = *hint;
	h->hints++;
	ugm_engine_hint(&h->e, &h->s, copy);
}

/**
 * engine_host_run() - see a demand through, however late the real moves are
 * @h: host
 * @d: demand
 *
 * Return: what the engine says in the end; a demand that is stuck is given up.
 */
int engine_host_run(struct engine_host *h, struct ugm_demand *d)
{
	int ret;

	ugm_engine_begin(&h->e, d);
	while ((ret = ugm_engine_run(&h->e, d)) == UGM_RUN_WAIT) {
		assert_non_null((void *)h->delay_seed);
		if (h->meanwhile)
			h->meanwhile(h);
	}
	if (ret == UGM_RUN_STUCK)
		ugm_engine_abort(&h->e, d);
	return ret;
}

/**
 * engine_host_new() - a machine without ranges
 * @m: the machine
 *
 * Return: the host, for engine_host_free().
 */
struct engine_host *engine_host_new(const struct ugm_machine *m)
{
	struct engine_host *h = calloc(1, sizeof(*h));

	ugm_engine_init(&h->e, &engine_ops);
	ugm_space_init(&h->s);
	assert_int_equal(ugm_engine_set_machine(&h->e, m), 0);
	return h;
}

/**
 * engine_host_add_range() - a range of blocks that were never written
 * @h: host, with fewer than NR_RANGES of them
 * @nr: blocks
 * @bytes: of the last block
 *
 * Return: the range.
 */
struct ugm_range *engine_host_add_range(struct engine_host *h, u32 nr, u64 bytes)
{
	struct test_range *r = &h->ranges[h->nr_ranges];
	u32 i;

	ugm_range_init(&r->r, &h->s, h->nr_ranges++, nr, bytes);
	for (i = 0; i < nr; i++)
		ugm_block_init(&r->blocks[i].b, &r->r, i);
	return &r->r;
}

/**
 * engine_host_free() - the end; nothing may be left in the engine
 * @h: host
 */
void engine_host_free(struct engine_host *h)
{
	unsigned int r, i;

	ugm_engine_drop_hints(&h->e, &h->s);
	assert_int_equal(h->hints, 0);
	for (r = 0; r < h->nr_ranges; r++)
		for (i = 0; i < h->ranges[r].r.nr_blocks; i++) {
			ugm_engine_discard(&h->e, &h->ranges[r].blocks[i].b);
			assert_null(h->ranges[r].blocks[i].b.transfer);
		}
	engine_host_check(h);
	for (i = UGM_TIER_GPU; i < UGM_NR_TIERS; i++)
		assert_int_equal(h->e.used[i], 0);
	assert_int_equal(ugm_engine_reset(&h->e), 0);
	free(h);
}
