// SPDX-License-Identifier: GPL-2.0
#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/list_sort.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat.h"
#include "lane.h"
#include "trace.h"

/**
 * DOC: leases
 *
 * A lease is a batch of moves that the flash server does: each has a place in
 * the transfer window, where the server finds the page, and a slot. Moves whose
 * slots lie side by side get places side by side, and are one segment.
 *
 * A lease ends in one of two ways. The server commits it, with a result for
 * each segment: the pages are taken from the window, their references are
 * waited for (a completion can be seen before the kernel drops them), and each
 * block that the result covers is done. Or it is broken: it took too long, or
 * the lane file was closed, which is also what SIGKILL does. Then the pages are
 * taken from the window as well.
 *
 * Whatever was not done is done again by the kernel lane; its data is still at
 * the source. If the server's I/O may still be under way (the page has
 * references) a read gets another page, and a write another slot, and the old
 * ones stay out of use until nothing can hit them. Neither the model nor the
 * user of the data notices.
 *
 * A move that the model gave up while it is leased leaves the window at once.
 * The segment it is part of may fail for that reason: its other moves then go
 * to the server once more.
 */

/* How long a commit waits for references that completed I/O still has. */
#define SETTLE_MS 20
/* Most bytes of a segment, unless a block is larger. */
#define SEGMENT_BYTES SZ_2M

static bool joins(const struct ugm_move *a, const struct ugm_move *b)
{
	return a->dst_slot ? a->dst_slot + 1 == b->dst_slot : a->src_slot + 1 == b->src_slot;
}

static int by_slot(void *unused, const struct list_head *a, const struct list_head *b)
{
	const struct ugm_move *x = list_entry(a, struct ugm_move, todo);
	const struct ugm_move *y = list_entry(b, struct ugm_move, todo);

	if (x->dst_slot != y->dst_slot)
		return x->dst_slot > y->dst_slot ? 1 : -1;
	return x->src_slot > y->src_slot;
}

static u32 segment_blocks(const struct ugm_device *dev)
{
	return max_t(u32, SEGMENT_BYTES >> dev->block_shift, 1);
}

/* Blocks from @m on that make one segment. */
static u32 run_length(struct ugm_move *m, struct list_head *moves, u32 max)
{
	struct ugm_move *next;
	u32 n = 1;

	while (n < max && !list_is_last(&m->todo, moves)) {
		next = list_next_entry(m, todo);
		if (!joins(m, next))
			break;
		m = next;
		n++;
	}
	return n;
}

/*
 * Take moves off the queue in its order, until they make up @room segments. They
 * are sorted by slot to find neighbours, which leaves room for more.
 */
static void gather(struct ugm_lane_file *lane, u32 room, struct list_head *moves)
{
	u32 max = max_t(u32, lane->nr_places / 16, 1), blocks = 0, nr = 0, n;
	struct ugm_move *m;

	while (nr < room && blocks < max && !list_empty(&lane->queue)) {
		for (n = min(room - nr, max - blocks); n && !list_empty(&lane->queue); n--) {
			list_move_tail(lane->queue.next, moves);
			blocks++;
		}
		list_sort(NULL, moves, by_slot);
		nr = 0;
		for (m = list_first_entry(moves, struct ugm_move, todo);
		     !list_entry_is_head(m, moves, todo); nr++)
			for (n = run_length(m, moves, segment_blocks(lane->dev)); n; n--)
				m = list_next_entry(m, todo);
	}
}

/* Free places in a row, or nr_places. */
static u32 find_places(struct ugm_lane_file *lane, u32 n)
{
	u32 at = bitmap_find_next_zero_area(lane->taken, lane->nr_places, lane->cursor, n, 0);

	if (at >= lane->nr_places)
		at = bitmap_find_next_zero_area(lane->taken, lane->nr_places, 0, n, 0);
	return min(at, lane->nr_places);
}

/* Make the next @n of @moves a segment at @place. */
static void add_segment(struct ugm_lane_file *lane, struct ugm_lease *lease,
			struct list_head *moves, u32 n, u32 place)
{
	struct ugm_move *m = list_first_entry(moves, struct ugm_move, todo);
	unsigned int shift = lane->dev->block_shift;

	lockdep_assert_held(&lane->lock);
	lease->segments[lease->nr++] = (struct ugm_segment){
		.flash_offset = ugm_slot_offset(lane->dev->flash, m->dst_slot ?: m->src_slot),
		.window_offset = (u64)place << shift,
		.len = n << shift,
		.dir = m->dst_slot ? UGM_LANE_WRITE : UGM_LANE_READ,
	};
	bitmap_set(lane->taken, place, n);
	lane->cursor = place + n < lane->nr_places ? place + n : 0;
	lane->nr_queued -= n;
	lane->nr_leased += n;
	for (; n; n--, place++) {
		m = list_first_entry(moves, struct ugm_move, todo);
		list_move_tail(&m->todo, &lease->moves);
		clear_bit(UGM_MOVE_QUEUED, &m->flags);
		m->lease = lease;
		m->window = place;
		lane->place[place] = m;
		if (m->dst_slot)
			ugm_slot_write_begin(m);
	}
}

/**
 * ugm_lease_take() - lease queued moves to the server
 * @lane: lane
 * @room: most segments, from 1 to UGM_LEASE_SEGMENTS
 * @segments: out: the segments
 * @id: out: the lease
 *
 * Context: process context, may sleep for memory.
 * Return: how many segments; 0: there is nothing to do, or no place in the
 * window; or -ENOMEM.
 */
int ugm_lease_take(struct ugm_lane_file *lane, u32 room, struct ugm_segment *segments, u64 *id)
{
	struct ugm_lease *lease;
	LIST_HEAD(moves);
	u32 n, place;
	int nr;

	if (list_empty_careful(&lane->queue))
		return 0;
	lease = kvmalloc(struct_size(lease, segments, room), GFP_KERNEL);
	if (!lease)
		return -ENOMEM;
	lease->nr = 0;
	INIT_LIST_HEAD(&lease->moves);

	spin_lock(&lane->lock);
	gather(lane, room, &moves);
	while (!list_empty(&moves) && lease->nr < room) {
		n = run_length(list_first_entry(&moves, struct ugm_move, todo), &moves,
			       segment_blocks(lane->dev));
		while ((place = find_places(lane, n)) == lane->nr_places && n > 1)
			n /= 2;
		if (place == lane->nr_places)
			break;
		add_segment(lane, lease, &moves, n, place);
	}
	list_splice(&moves, &lane->queue);
	nr = lease->nr;
	if (nr) {
		lease->id = lane->next_id++;
		lane->since = ktime_get_ns();
		lease->until = lane->since + lane->timeout;
		list_add_tail(&lease->node, &lane->leases);
		lane->nr_leases++;
		memcpy(segments, lease->segments, nr * sizeof(*segments));
		*id = lease->id;
		queue_delayed_work(ugm_unbound_wq, &lane->expiry,
				   ugm_jiffies_until(lease->until));
	}
	spin_unlock(&lane->lock);
	if (!nr) {
		kvfree(lease);
		return 0;
	}
	ugm_count(lane->dev, LEASES);
	ugm_count_n(lane->dev, UGM_C_LEASE_SEGMENTS, nr);
	trace_ugm_lease(lane->fs->id, *id, 0, nr);
	return nr;
}

static struct ugm_lease *find_lease(struct ugm_lane_file *lane, u64 id)
{
	struct ugm_lease *lease;

	list_for_each_entry(lease, &lane->leases, node)
		if (lease->id == id)
			return lease;
	return NULL;
}

/* From now on nobody else can find the lease, and no page of it be mapped. */
static void detach_lease(struct ugm_lane_file *lane, struct ugm_lease *lease)
{
	struct ugm_move *m;

	lockdep_assert_held(&lane->lock);
	list_del(&lease->node);
	lane->nr_leases--;
	list_for_each_entry(m, &lease->moves, todo) {
		lane->place[m->window] = NULL;
		m->lease = NULL;
	}
}

static void unmap_lease(struct ugm_lane_file *lane, struct ugm_lease *lease)
{
	unsigned int shift = lane->dev->block_shift;
	struct ugm_segment *s;
	u64 first = 0, end = 0;
	struct ugm_move *m;

	list_for_each_entry(m, &lease->moves, todo)
		ugm_window_wait_for_fault(ugm_move_memory(m));
	/* One call, and one flush, for segments side by side, as most are. */
	for (s = lease->segments; s < lease->segments + lease->nr; s++) {
		if (s->window_offset != end) {
			if (end > first)
				ugm_window_unmap(lane, first >> shift, (end - first) >> shift);
			first = s->window_offset;
		}
		end = s->window_offset + s->len;
	}
	ugm_window_unmap(lane, first >> shift, (end - first) >> shift);
}

static bool quiet(const struct ugm_move *m)
{
	u8 tier = m->dst_slot ? m->t.src : m->t.dst;

	return ugm_page_quiet(m->dev, ugm_move_memory(m), tier == UGM_TIER_HOST);
}

static void settle(struct ugm_lease *lease)
{
	u64 until = ktime_get_ns() + SETTLE_MS * NSEC_PER_MSEC;
	struct ugm_move *m;

	list_for_each_entry(m, &lease->moves, todo)
		while (!quiet(m)) {
			if (ktime_get_ns() > until || fatal_signal_pending(current))
				return;
			usleep_range(10, 50);
		}
}

static void move_ended_well(struct ugm_move *m)
{
	if (m->dst_slot) {
		ugm_slot_write_end(m);
		ugm_count_n(m->dev, UGM_C_LEASE_WRITTEN_BYTES, m->dev->block_size);
	} else {
		/* Set by the server's read; the block was not written to. */
		folio_clear_dirty(page_folio(m->dst_page));
		ugm_count_n(m->dev, UGM_C_LEASE_READ_BYTES, m->dev->block_size);
	}
	ugm_move_end(m, 0);
}

/*
 * @covered: the server says it is done. @retry: it may do it once more, if it is
 * not. What the kernel lane has to do goes to @again.
 */
static void end_move(struct ugm_lane_file *lane, struct ugm_move *m, bool covered, bool retry,
		     struct list_head *again)
{
	bool is_quiet = quiet(m), revoked = test_and_clear_bit(UGM_MOVE_REVOKED, &m->flags);

	list_del_init(&m->todo);
	if (m->dst_slot && !is_quiet && !(covered && !revoked)) {
		ugm_slot_quarantine(m->dev->flash, m->dst_slot, m->src_page,
				    m->t.src == UGM_TIER_HOST, revoked);
		m->dst_slot = 0;
		covered = false;
	} else if (revoked) {
		atomic_dec(&m->dev->nr_revoked);
	}
	if (covered && (m->dst_slot || is_quiet)) {
		move_ended_well(m);
		return;
	}
	if (test_bit(UGM_MOVE_VOID, &m->flags))
		ugm_move_end(m, -ECANCELED);
	else if (retry && is_quiet)
		ugm_lane_queue(m);
	else
		list_add_tail(&m->todo, again);
}

/* Blocks of the next @n of @moves that the model gave up. */
static bool any_void(struct list_head *moves, u32 n)
{
	struct ugm_move *m;

	list_for_each_entry(m, moves, todo) {
		if (!n--)
			break;
		if (test_bit(UGM_MOVE_VOID, &m->flags))
			return true;
	}
	return false;
}

/* End every move of a lease that is detached and unmapped. */
static void finish(struct ugm_lane_file *lane, struct ugm_lease *lease, bool served)
{
	unsigned int shift = lane->dev->block_shift;
	struct ugm_segment *s;
	LIST_HEAD(again);
	bool retry;
	u32 i, n;

	spin_lock(&lane->lock);
	for (s = lease->segments; s < lease->segments + lease->nr; s++) {
		bitmap_clear(lane->taken, s->window_offset >> shift, s->len >> shift);
		lane->nr_leased -= s->len >> shift;
	}
	lane->seq++;
	spin_unlock(&lane->lock);
	wake_up(&lane->wait);

	for (s = lease->segments; s < lease->segments + lease->nr; s++) {
		n = s->len >> shift;
		retry = served && any_void(&lease->moves, n);
		for (i = 1; i <= n; i++)
			end_move(lane, list_first_entry(&lease->moves, struct ugm_move, todo),
				 s->result >= 0 && (u64)i << shift <= s->result, retry, &again);
	}
	ugm_progress(lane->dev);
	ugm_lane_fall_back(lane, &again);
	kvfree(lease);
}

/* Do the results belong to the lease? They come in its order. */
static bool results_match(const struct ugm_lease *lease, const struct ugm_segment *results, u32 nr)
{
	const struct ugm_segment *s = lease->segments, *r = results;

	if (nr > lease->nr)
		return false;
	for (; r < results + nr; r++, s++)
		if (r->flash_offset != s->flash_offset || r->window_offset != s->window_offset ||
		    r->len != s->len || r->dir != s->dir || r->pad ||
		    (r->result > 0 && (u32)r->result > r->len))
			return false;
	return true;
}

/**
 * ugm_lease_commit() - the server gives a lease back
 * @lane: lane
 * @id: the lease
 * @results: its segments with their results, in the order they were handed out;
 *           those that are left out at the end were not done
 * @nr: how many
 *
 * Context: process context, may sleep; waits for references, with a bound.
 * Return: 0, -EINVAL (never a lease, or not its segments; it goes on), -ESTALE
 * (it was broken).
 */
int ugm_lease_commit(struct ugm_lane_file *lane, u64 id, const struct ugm_segment *results, u32 nr)
{
	struct ugm_lease *lease;
	int err = 0;
	u32 i;

	spin_lock(&lane->lock);
	lease = find_lease(lane, id);
	if (!lease)
		err = id && id < lane->next_id ? -ESTALE : -EINVAL;
	else if (!results_match(lease, results, nr))
		err = -EINVAL;
	else
		detach_lease(lane, lease);
	spin_unlock(&lane->lock);
	if (err)
		return err;

	for (i = 0; i < lease->nr; i++) {
		struct ugm_segment *s = lease->segments + i;

		s->result = i < nr ? results[i].result : -ECANCELED;
		if (s->result > 0 && ugm_inject_short(lane->dev))
			s->result /= 2;
		if (s->result >= 0 && s->result < s->len)
			ugm_count(lane->dev, LEASE_SHORT_IO);
	}
	ugm_count(lane->dev, LEASES_COMMITTED);
	trace_ugm_lease(lane->fs->id, id, 1, lease->nr);
	unmap_lease(lane, lease);
	settle(lease);
	finish(lane, lease, true);
	return 0;
}

/**
 * ugm_lease_break() - end leases without the server
 * @lane: lane
 * @leases: some of its leases, taken off &ugm_lane_file.leases by the caller
 *          with ugm_lease_detach()
 * @reason: UGM_LEASE_EXPIRED or UGM_LEASE_RELEASED
 *
 * Context: process context, may sleep.
 */
void ugm_lease_break(struct ugm_lane_file *lane, struct list_head *leases, u32 reason)
{
	struct ugm_lease *lease, *next;
	u32 i;

	list_for_each_entry_safe(lease, next, leases, node) {
		for (i = 0; i < lease->nr; i++)
			lease->segments[i].result = -ECANCELED;
		ugm_count_n(lane->dev, reason == UGM_LEASE_EXPIRED ? UGM_C_LEASES_EXPIRED :
								     UGM_C_LEASES_RELEASED, 1);
		ugm_event(lane->fs, UGM_EVENT_LEASE_BROKEN, lease->id, reason);
		trace_ugm_lease(lane->fs->id, lease->id, 1 + reason, lease->nr);
		unmap_lease(lane, lease);
		finish(lane, lease, false);
	}
}

/**
 * ugm_lease_detach() - take leases from the server
 * @lane: lane
 * @late: only those that have expired
 * @leases: out: the leases, for ugm_lease_break()
 *
 * Context: under &ugm_lane_file.lock.
 */
void ugm_lease_detach(struct ugm_lane_file *lane, bool late, struct list_head *leases)
{
	struct ugm_lease *lease, *next;

	list_for_each_entry_safe(lease, next, &lane->leases, node) {
		if (late && ktime_get_ns() < lease->until)
			break;
		detach_lease(lane, lease);
		list_add_tail(&lease->node, leases);
	}
}

/**
 * ugm_lease_drop() - end a lease that the server was not told of
 * @lane: lane
 * @id: the lease, if it still exists
 *
 * Context: process context, may sleep.
 */
void ugm_lease_drop(struct ugm_lane_file *lane, u64 id)
{
	struct ugm_lease *lease;
	LIST_HEAD(leases);

	spin_lock(&lane->lock);
	lease = find_lease(lane, id);
	if (lease) {
		detach_lease(lane, lease);
		list_add(&lease->node, &leases);
	}
	spin_unlock(&lane->lock);
	ugm_lease_break(lane, &leases, UGM_LEASE_RELEASED);
}
