// SPDX-License-Identifier: MIT
/**
 * DOC: replay
 *
 * A trace under a schedule on a device: the same layout, hints and launches
 * that simulate hands to its engine go to the module's, and real memory is read
 * and written between the launches. Every figure of the result is the module's
 * own answer.
 *
 * Set-up writes the global tensors through the GPU view, which works without a
 * host tier too, and evicts them to flash piece by piece; then clock, launch
 * numbers and counters are reset. What a launch used is resident when it
 * returns, and time stands still until the next one, so that verification
 * costs no virtual time.
 */

#include <inttypes.h>
#include <stdlib.h>

#include "device.h"
#include "launch_log.h"
#include "replay.h"
#include "server.h"

/* Rounds of eviction that set-up tries before it gives up. */
#define SETUP_ROUNDS 3

/**
 * struct replay - a replay under way
 * @layout: the trace on its machine
 * @schedule: what is replayed
 * @space: the space
 * @contents: what the memory should hold
 * @addresses: by tensor: unified address, of those with a range of their own
 * @hints: a batch under way
 * @room: how many hints there is room for
 * @operands: of the launch under way
 */
struct replay {
	const struct ugm_layout *layout;
	const struct ugm_schedule *schedule;
	struct ugm *space;
	struct ugm_contents contents;
	u64 *addresses;
	struct ugm_hint_desc *hints;
	size_t room;
	struct ugm_operand_desc *operands;
};

static const struct ugm_trace *trace_of(const struct replay *r)
{
	return r->layout->trace;
}

/*
 * A host tier that holds all there is behaves like any larger one, and the
 * module reserves it under the virtual clock: ask for no more.
 */
static u64 host_blocks(const struct replay *r)
{
	const struct ugm_layout *l = r->layout;

	return l->host_blocks < l->nr_blocks ? l->host_blocks : l->nr_blocks;
}

/* Is the device large enough? Says which scale would fit. */
static int check_device(const struct replay *r, struct ugm_error *err)
{
	const struct ugm_layout *l = r->layout;
	struct ugm_ioc_info info;
	u64 unit = l->config.block_size, slots, fits;
	int ret = ugm_info(r->space, &info);

	if (ret)
		return ugm_fail(err, ret, "device: %s", strerror(-ret));
	if (info.block_size != unit)
		return ugm_fail(err, -EINVAL,
				"block size %" PRIu64 ": the device's is %u (module parameter block_size=)",
				unit, info.block_size);
	if (!(info.flags & UGM_INFO_ATTACHED))
		return ugm_fail(err, -ENODEV, "no namespace is attached: ugm attach NAMESPACE");
	fits = l->config.gpu_mem_bytes / unit / (info.gpu_frames + 1) + 1;
	if (l->gpu_blocks > info.gpu_frames)
		return ugm_fail(err, -ENOSPC,
				"GPU memory of %" PRIu64 " bytes at scale %" PRIu64
				" needs %" PRIu64 " frames, the device has %llu: scale %" PRIu64 " fits",
				l->config.gpu_mem_bytes, l->config.scale, l->gpu_blocks,
				(unsigned long long)info.gpu_frames, fits);
	fits = host_blocks(r) * l->config.scale / (info.host_limit + 1) + 1;
	if (host_blocks(r) > info.host_limit)
		return ugm_fail(err, -ENOSPC,
				"host memory of %" PRIu64 " bytes at scale %" PRIu64
				" needs %" PRIu64 " blocks, the device may hold %llu (host_mem=): scale %" PRIu64
				" fits",
				l->config.host_mem_bytes, l->config.scale, host_blocks(r),
				(unsigned long long)info.host_limit, fits);
	slots = info.flash_slots - info.flash_used;
	if (l->nr_blocks > slots)
		return ugm_fail(err, -ENOSPC,
				"the tensors take %" PRIu64 " blocks, namespace %s has %" PRIu64
				" free: a namespace of %" PRIu64 " bytes fits",
				l->nr_blocks, info.namespace_path, slots, l->nr_blocks * unit);
	return 0;
}

static bool same_machine(const struct ugm_ioc_machine *a, const struct ugm_ioc_machine *b)
{
	struct ugm_ioc_machine x = *a, y = *b;

	x.set = y.set = 0;
	return !memcmp(&x, &y, sizeof(x));
}

static int set_machine(const struct replay *r, u32 clock, struct ugm_error *err)
{
	struct ugm_ioc_machine m = { .clock = clock }, now;
	struct ugm_machine from;
	unsigned int i;
	int ret;

	ugm_config_machine(&r->layout->config, &from);
	m.block_bytes = from.block_bytes;
	m.gpu_bytes = from.capacity[UGM_TIER_GPU];
	m.host_bytes = host_blocks(r) * from.block_bytes;
	for (i = 0; i < UGM_NR_LINKS; i++)
		m.bandwidth[i] = from.bandwidth[i];
	m.gpu_latency_ns = from.gpu_latency_ns;
	m.flash_latency_ns = from.flash_latency_ns;
	m.fault_ns = from.fault_ns;
	m.fault_batch_bytes = from.fault_batch_bytes;
	ret = ugm_machine_set(r->space, &m);
	/* Without the right to set it, it may be what is wanted already. */
	if (ret == -EPERM && !ugm_machine_get(r->space, &now) && same_machine(&m, &now))
		ret = 0;
	if (ret == -EBUSY)
		return ugm_fail(err, ret,
				"the device is in use: another space holds memory (ugm stat)");
	if (ret == -EPERM)
		return ugm_fail(err, ret,
				"the device models another machine: setting it needs CAP_SYS_ADMIN");
	if (ret)
		return ugm_fail(err, ret, "the device cannot model this machine: %s",
				strerror(-ret));
	return 0;
}

static int set_options(const struct replay *r, struct ugm_error *err)
{
	const struct ugm_options *o = &r->schedule->opt;
	struct ugm_ioc_options set = {
		.victim = o->victim,
		.clean = o->clean,
		.dead = o->dead,
		.promote = o->promote,
		.prefetch_evicts = o->prefetch_evicts,
		.overlap = o->overlap,
		.demand = o->demand,
	};
	int ret = ugm_options_set(r->space, &set);

	return ret ? ugm_fail(err, ret, "options: %s", strerror(-ret)) : 0;
}

/* Ranges in the layout's order: the arena, then the tensors. */
static int allocate(struct replay *r, struct ugm_error *err)
{
	const struct ugm_layout *l = r->layout;
	const struct ugm_trace *t = trace_of(r);
	char *arena = NULL;
	void *p;
	int ret;
	u32 i;

	if (l->arena_len) {
		ret = ugm_malloc_tagged(r->space, &p, l->arena_len,
					l->arena_blocks * l->block_bytes, l->arena_tag,
					UGM_ALLOC_ARENA);
		if (ret)
			return ugm_fail(err, ret, "arena of %" PRIu64 " bytes: %s", l->arena_len,
					strerror(-ret));
		arena = ugm_gpu_ptr(r->space, p);
	}
	for (i = 0; i < t->nr_tensors; i++) {
		if (ugm_layout_in_arena(l, i)) {
			r->contents.tensors[i].base = arena + l->tensors[i].arena_offset;
			continue;
		}
		ret = ugm_malloc_tagged(r->space, &p, l->tensors[i].len, t->tensors[i].bytes,
					t->tensors[i].id, 0);
		if (ret)
			return ugm_fail(err, ret, "tensor %" PRIu64 " (%s) of %" PRIu64 " bytes: %s",
					t->tensors[i].id, t->tensors[i].name, l->tensors[i].len,
					strerror(-ret));
		r->contents.tensors[i].base = ugm_gpu_ptr(r->space, p);
		ugm_address(r->space, p, &r->addresses[i]);
	}
	return 0;
}

static struct ugm_hint_desc *hint_room(struct replay *r, size_t nr)
{
	struct ugm_hint_desc *more;

	if (nr >= r->room) {
		more = realloc(r->hints, (r->room * 2 + 64) * sizeof(*more));
		if (!more)
			return NULL;
		r->hints = more;
		r->room = r->room * 2 + 64;
	}
	memset(&r->hints[nr], 0, sizeof(*r->hints));
	return &r->hints[nr];
}

static int evict_batch(struct replay *r, size_t nr)
{
	int ret = ugm_hint(r->space, 0, r->hints, nr);

	return ret ? ret : ugm_synchronize(r->space, NULL);
}

/*
 * Write the global tensors, or with @fill false only evict them once more, in
 * pieces that leave the GPU tier room.
 */
static int move_to_flash(struct replay *r, bool fill, struct ugm_progress *progress,
			 struct ugm_error *err)
{
	const struct ugm_layout *l = r->layout;
	const struct ugm_trace *t = trace_of(r);
	u64 unit = l->config.block_size;
	u64 budget = (l->gpu_blocks - l->arena_blocks) / 4, used = 0;
	struct ugm_hint_desc *h;
	size_t nr = 0;
	int ret = 0;
	u32 i;

	if (!budget)
		budget = 1;
	for (i = 0; i < t->nr_tensors && !ret; i++) {
		u64 first = 0, blocks = l->tensors[i].nr_blocks, part;

		if (!t->tensors[i].global)
			continue;
		if (!blocks && fill)
			ret = ugm_contents_fill(&r->contents, i, 0, l->tensors[i].len, err);
		for (; first < blocks && !ret; first += part) {
			u64 offset = first * unit, len;

			part = blocks - first < budget - used ? blocks - first : budget - used;
			len = first + part < blocks ? part * unit : l->tensors[i].len - offset;
			if (fill)
				ret = ugm_contents_fill(&r->contents, i, offset, len, err);
			h = ret ? NULL : hint_room(r, nr);
			if (!h)
				return ret ? ret : ugm_fail(err, -ENOMEM, "out of memory");
			*h = (struct ugm_hint_desc){
				.tag = t->tensors[i].id,
				.offset = offset,
				.len = len,
				.at = UGM_HINT_NOW,
				.need = UGM_HINT_NO_NEED,
				.op = UGM_HINT_EVICT,
				.tier = UGM_TIER_ID_FLASH,
			};
			nr++;
			used += part;
			if (used < budget)
				continue;
			ret = evict_batch(r, nr);
			if (ret)
				return ugm_fail(err, ret, "set-up: eviction: %s", strerror(-ret));
			nr = 0;
			used = 0;
		}
		ugm_progress_update(progress, i);
	}
	if (!ret && nr) {
		ret = evict_batch(r, nr);
		if (ret)
			ugm_fail(err, ret, "set-up: eviction: %s", strerror(-ret));
	}
	return ret;
}

/* The arena in the GPU tier, the global tensors in flash, all else nowhere. */
static int set_up(struct replay *r, struct ugm_error *err)
{
	struct ugm_progress progress;
	u64 digest, blocks[8];
	unsigned int round;
	int ret;

	ret = allocate(r, err);
	if (ret)
		return ret;
	ugm_progress_begin(&progress, "set-up", trace_of(r)->nr_tensors);
	for (round = 0; round < SETUP_ROUNDS; round++) {
		ret = move_to_flash(r, !round, &progress, err);
		if (ret)
			break;
		ret = ugm_residency_digest(r->space, &digest, blocks);
		if (ret) {
			ugm_fail(err, ret, "residency: %s", strerror(-ret));
			break;
		}
		if (blocks[UGM_TIER_ID_GPU] == r->layout->arena_blocks &&
		    !blocks[UGM_TIER_ID_HOST])
			break;
	}
	ugm_progress_end(&progress);
	if (ret)
		return ret;
	if (round == SETUP_ROUNDS)
		return ugm_fail(err, -EBUSY,
				"set-up: %llu blocks stayed in the GPU tier and %llu in the host tier",
				(unsigned long long)blocks[UGM_TIER_ID_GPU],
				(unsigned long long)blocks[UGM_TIER_ID_HOST]);
	ret = set_options(r, err);
	if (ret)
		return ret;
	/* Somebody else's hints may be under way: only a quiet device is reset. */
	for (round = 0; round < SETUP_ROUNDS; round++) {
		ret = ugm_reset(r->space);
		if (ret != -EBUSY || ugm_synchronize(r->space, NULL))
			break;
	}
	return ret ? ugm_fail(err, ret, "reset: %s", strerror(-ret)) : 0;
}

/* Hand over the hints of one launch, from @next on. */
static int give_hints(struct replay *r, u64 *next, u64 kernel, u64 shift)
{
	const struct ugm_schedule *s = r->schedule;
	const struct ugm_layout *l = r->layout;
	struct ugm_hint_desc *h;
	size_t nr = 0;

	for (; *next < s->nr_hints && s->hints[*next].at == kernel; ++*next) {
		const struct ugm_schedule_hint *from = &s->hints[*next];
		struct ugm_span span = ugm_layout_hint(l, from);

		if (!span.nr)
			continue;
		if (from->op == UGM_OP_DISCARD)
			ugm_contents_discard(&r->contents, from->tensor);
		h = hint_room(r, nr);
		if (!h)
			return -ENOMEM;
		nr++;
		h->tag = trace_of(r)->tensors[from->tensor].id;
		h->offset = span.first * l->config.block_size;
		/* The last block may hold less than a whole one. */
		h->len = span.first + span.nr < l->tensors[from->tensor].nr_blocks ?
				 span.nr * l->config.block_size :
				 l->tensors[from->tensor].len - h->offset;
		h->at = from->at + shift;
		h->need = from->need == UGM_NEED_NONE ? UGM_HINT_NO_NEED : from->need + shift;
		h->op = from->op;
		h->tier = from->tier;
	}
	return nr ? ugm_hint(r->space, 0, r->hints, nr) : 0;
}

static int launch(struct replay *r, u32 kernel, struct ugm_times *times)
{
	const struct ugm_kernel *k = &trace_of(r)->kernels[kernel];
	const struct ugm_use *use = ugm_kernel_uses(trace_of(r), kernel);
	u32 i, nr = 0;

	for (i = 0; i < k->nr_uses; i++) {
		u32 tensor = use[i].tensor;

		if (ugm_layout_in_arena(r->layout, tensor))
			continue;
		r->operands[nr++] = (struct ugm_operand_desc){
			.offset = r->addresses[tensor],
			.len = r->layout->tensors[tensor].len,
			.access = use[i].mode,
		};
	}
	return ugm_launch_at(r->space, r->operands, nr, k->duration_ns, times);
}

static int one_kernel(struct replay *r, u32 kernel, u64 *next, u64 shift,
		      struct ugm_output *launches, struct ugm_times *times, struct ugm_error *err)
{
	u64 digest = 0;
	int ret;

	ret = give_hints(r, next, kernel, shift);
	if (!ret)
		ret = launch(r, kernel, times);
	if (!ret && launches && ugm_launch_log_digests(times->number))
		ret = ugm_residency_digest(r->space, &digest, NULL);
	if (ret)
		return ugm_launch_fail(trace_of(r), kernel, shift / trace_of(r)->nr_kernels, ret,
				       err);
	if (launches)
		ugm_launch_log_line(launches, times->number, times->begin_ns, times->end_ns,
				    digest);
	return 0;
}

static int verify_kernel(struct replay *r, u32 kernel, u64 shift, struct ugm_error *err)
{
	struct ugm_error what;
	int ret = ugm_contents_kernel(&r->contents, kernel, &what);

	if (!ret)
		return 0;
	return ugm_fail(err, ret, "%s: kernel %u (%s) of iteration %" PRIu64 ": %.400s",
			trace_of(r)->name, kernel, trace_of(r)->kernels[kernel].name,
			shift / trace_of(r)->nr_kernels + 1, what.text);
}

static void count_traffic(struct ugm_result *result, const struct ugm_traffic *before,
			  const struct ugm_traffic *after)
{
	unsigned int src, dst, lane, cause;

	for (src = 0; src < UGM_NR_TIERS; src++)
		for (dst = 0; dst < UGM_NR_TIERS; dst++) {
			u64 sum = 0;

			for (lane = 0; lane < UGM_NR_LANES; lane++)
				for (cause = 0; cause < UGM_NR_CAUSES; cause++)
					sum += after->bytes[src][dst][lane][cause] -
					       before->bytes[src][dst][lane][cause];
			result->traffic_bytes[src][dst] = sum;
		}
}

static int read_traffic(struct replay *r, struct ugm_traffic *t, struct ugm_error *err)
{
	int ret = ugm_traffic_read(r->space, t);

	return ret ? ugm_fail(err, ret, "statistics: %s", strerror(-ret)) : 0;
}

static int iterate(struct replay *r, u64 iteration, u64 *now_ns, struct ugm_output *launches,
		   struct ugm_progress *progress, struct ugm_result *result,
		   struct ugm_error *err)
{
	u64 shift = iteration * trace_of(r)->nr_kernels, next = 0;
	bool counts = iteration == ugm_result_iteration(result->iterations);
	struct ugm_traffic before, after;
	struct ugm_times times = { .end_ns = *now_ns };
	int ret;
	u32 k;

	ret = counts ? read_traffic(r, &before, err) : 0;
	for (k = 0; k < trace_of(r)->nr_kernels && !ret; k++) {
		ret = one_kernel(r, k, &next, shift, launches, &times, err);
		if (!ret)
			ret = verify_kernel(r, k, shift, err);
		if (progress)
			ugm_progress_update(progress, shift + k + 1);
	}
	if (ret)
		return ret;
	result->iterations_ns[iteration] = times.end_ns - *now_ns;
	*now_ns = times.end_ns;
	if (counts) {
		ret = read_traffic(r, &after, err);
		if (!ret)
			count_traffic(result, &before, &after);
	}
	return ret;
}

static int run(struct replay *r, struct ugm_output *launches, struct ugm_progress *progress,
	       struct ugm_result *result, struct ugm_replay_report *report, struct ugm_error *err)
{
	struct ugm_wear before;
	u64 now_ns = 0, i;
	int ret;

	report->wear_error = ugm_namespace_wear(report->namespace_path, &before);
	/* The clock was reset; under the wall's it has been running since. */
	ret = ugm_synchronize(r->space, &now_ns);
	if (ret)
		return ugm_fail(err, ret, "device: %s", strerror(-ret));
	for (i = 0; i < result->iterations && !ret; i++)
		ret = iterate(r, i, &now_ns, launches, progress, result, err);
	report->verified_bytes = r->contents.checked_bytes;
	if (ret)
		return ret;
	ret = ugm_inexact(r->space, &result->inexact);
	if (ret)
		return ugm_fail(err, ret, "device: %s", strerror(-ret));
	if (!report->wear_error)
		report->wear_error = ugm_namespace_wear(report->namespace_path, &report->wear);
	if (!report->wear_error) {
		report->wear.read_units -= before.read_units;
		report->wear.written_units -= before.written_units;
	}
	return read_traffic(r, &report->traffic, err);
}

static int prepare(struct replay *r, const struct ugm_replay_options *options,
		   struct ugm_server *server, struct ugm_replay_report *report,
		   struct ugm_error *err)
{
	struct ugm_ioc_info info;
	int ret;

	r->addresses = calloc(trace_of(r)->nr_tensors, sizeof(*r->addresses));
	r->operands = calloc(UGM_TRACE_MAX_OPERANDS, sizeof(*r->operands));
	ret = ugm_contents_init(&r->contents, r->layout, options->verify);
	if (!r->addresses || !r->operands || ret)
		return ugm_fail(err, -ENOMEM, "out of memory");
	ret = ugm_open(options->device, &r->space);
	if (ret)
		return ugm_fail(err, ret, "%s: %s", options->device ? options->device : "device",
				strerror(-ret));
	ret = check_device(r, err);
	if (!ret)
		ret = set_machine(r, options->clock, err);
	if (ret)
		return ret;
	ret = ugm_info(r->space, &info);
	if (ret)
		return ugm_fail(err, ret, "device: %s", strerror(-ret));
	memcpy(report->namespace_path, info.namespace_path, sizeof(report->namespace_path));
	report->block_size = info.block_size;
	/* Nothing depends on it: without a server the kernel lane moves the data. */
	report->server_error = server->pid ? ugm_server_start(server, info.space_id) : -ECANCELED;
	return set_up(r, err);
}

/**
 * ugm_replay() - replay a schedule on a device
 * @layout: the trace on its machine
 * @schedule: schedule
 * @options: how
 * @launches: log of launches, or NULL
 * @progress: counts launches, or NULL
 * @result: initialised for the number of iterations; filled
 * @report: filled
 * @err: why not
 *
 * Context: may sleep, forks: no other threads. Handles SIGBUS meanwhile.
 * Return: 0; -EILSEQ: memory held something else than was written; or another
 * negative errno.
 */
int ugm_replay(const struct ugm_layout *layout, const struct ugm_schedule *schedule,
	       const struct ugm_replay_options *options, struct ugm_output *launches,
	       struct ugm_progress *progress, struct ugm_result *result,
	       struct ugm_replay_report *report, struct ugm_error *err)
{
	struct replay r = { .layout = layout, .schedule = schedule };
	struct ugm_server server = { 0 };
	int ret = 0;

	memset(report, 0, sizeof(*report));
	if (!options->no_server)
		ret = ugm_server_fork(&server, options->device, err);
	if (!ret)
		ret = prepare(&r, options, &server, report, err);
	if (!ret)
		ret = run(&r, launches, progress, result, report, err);
	report->server_signal = ugm_server_end(&server);
	ugm_close(r.space);
	ugm_contents_free(&r.contents);
	free(r.addresses);
	free(r.hints);
	free(r.operands);
	if (!ret)
		ugm_result_finish(result);
	return ret;
}
