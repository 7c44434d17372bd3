// SPDX-License-Identifier: MIT
/**
 * DOC: bench
 *
 * The module's moves and faults against what they can at best be: memcpy, a
 * bare liburing loop and fio on the same namespace, anonymous memory. Rounds of
 * both sides alternate within one run, and ratios are of medians, so that what
 * else the machine does meets both alike.
 *
 * memcpy is that of user space (2 MiB pieces, huge pages): the module's copy is
 * the kernel's, and both are bound by memory.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"
#include "command.h"
#include "device.h"
#include "engine.h"
#include "options.h"
#include "progress.h"
#include "server.h"

#define MAX_ROUNDS 99
#define DEPTH 32
#define FAULT_PAGE 4096u

/**
 * struct bench_options - options of the verb
 * @rounds: how often each figure is measured
 * @size: bytes a round moves
 * @json: as JSON
 */
struct bench_options {
	u64 rounds;
	u64 size;
	bool json;
};

#define BENCH(field) offsetof(struct bench_options, field)

static const struct option_spec options[] = {
	{ "rounds", "N", option_count, BENCH(rounds), false, "rounds of each measurement (7)" },
	{ "size", "SIZE", option_size, BENCH(size), false,
	  "bytes a round moves (128M, at most half of the GPU tier)" },
	{ "json", NULL, NULL, BENCH(json), false, "print JSON" },
	{}
};

/**
 * struct samples - what was measured of one thing
 * @v: values
 * @nr: how many
 */
struct samples {
	double v[MAX_ROUNDS];
	unsigned int nr;
};

/**
 * struct bench - a benchmark under way
 * @o: options
 * @device: device node, or NULL
 * @space: our space
 * @info: of the device
 * @unit: bytes of a block
 * @host: memory that is moved, host view
 * @gpu: likewise, GPU view
 * @server: flash server
 * @answer: what was measured
 */
struct bench {
	const struct bench_options *o;
	const char *device;
	struct ugm *space;
	struct ugm_ioc_info info;
	u64 unit;
	char *host;
	char *gpu;
	struct ugm_server server;
	struct json_object *answer;
};

static void sample(struct samples *s, double v)
{
	if (s->nr < MAX_ROUNDS)
		s->v[s->nr++] = v;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(struct samples *s)
{
	if (!s->nr)
		return 0;
	qsort(s->v, s->nr, sizeof(*s->v), by_value);
	return s->v[s->nr / 2];
}

static double per_s(u64 bytes, u64 ns)
{
	return ns ? (double)bytes * 1e9 / (double)ns : 0;
}

static void add_number(struct json_object *o, const char *name, double v)
{
	char text[40];

	snprintf(text, sizeof(text), v < 100 ? "%.4f" : "%.0f", v);
	json_object_object_add(o, name, json_object_new_double_s(v, text));
}

/* A figure, what it is compared with, and their ratio: above 1 is better. */
static void answer(struct bench *b, const char *name, const char *unit, double value,
		   const char *baseline, double best, bool less_is_better)
{
	struct json_object *o = json_object_new_object();
	double ratio = 0;

	if (value > 0 && best > 0)
		ratio = less_is_better ? best / value : value / best;
	json_add_text(o, "unit", unit);
	add_number(o, "value", value);
	json_add_text(o, "baseline", baseline);
	add_number(o, "baseline_value", best);
	add_number(o, "ratio", ratio);
	json_object_object_add(b->answer, name, o);
	if (!b->o->json) {
		bool bandwidth = !strcmp(unit, "bytes_per_s");

		printf("%-28s %10.3f %s   %-22s %10.3f   ratio %.2f\n", name,
		       bandwidth ? value / 1e9 : value, bandwidth ? "GB/s" : unit, baseline,
		       bandwidth ? best / 1e9 : best, ratio);
		fflush(stdout);
	}
}

/* Make every block of the memory dirty where it is. */
static void dirty(struct bench *b, char *view)
{
	u64 i;

	for (i = 0; i < b->o->size; i += b->unit)
		*(volatile u64 *)(view + i) = i + 1;
}

static int move(struct bench *b, bool evict, u32 tier, u64 *ns)
{
	u64 began = ugm_wall_ns();
	int ret;

	ret = evict ? ugm_mem_evict(b->space, b->host, b->o->size, tier) :
		      ugm_mem_prefetch(b->space, b->host, b->o->size, tier);
	if (!ret)
		ret = ugm_synchronize(b->space, NULL);
	*ns = ugm_wall_ns() - began;
	return ret;
}

/* Did all of it arrive? A hint is advice. */
static int arrived(struct bench *b, u32 tier)
{
	u64 nr = b->o->size / b->unit, i;
	uint32_t *states = calloc(nr, sizeof(*states));
	int ret;

	if (!states)
		return -ENOMEM;
	ret = ugm_residency(b->space, b->host, states, (uint32_t)nr);
	for (i = 0; i < nr && !ret; i++)
		if ((states[i] & 0xff) != tier)
			ret = -EAGAIN;
	free(states);
	return ret;
}

/* There and back between the GPU tier and another. */
static int round_trip(struct bench *b, u32 tier, u64 *out_ns, u64 *in_ns)
{
	int ret;

	dirty(b, b->gpu);
	ret = move(b, true, tier, out_ns);
	if (!ret)
		ret = arrived(b, tier);
	if (!ret)
		ret = move(b, false, UGM_TIER_ID_GPU, in_ns);
	return ret ? ret : arrived(b, UGM_TIER_ID_GPU);
}

static int bench_moves(struct bench *b)
{
	struct samples out = {}, in = {}, copy = {};
	u64 out_ns, in_ns, ns, i;
	int ret;

	for (i = 0; i <= b->o->rounds; i++) {
		ns = bench_copy_ns(b->o->size);
		ret = round_trip(b, UGM_TIER_ID_HOST, &out_ns, &in_ns);
		if (ret)
			return device_failed(b->device, "moves between GPU and host", ret);
		/* The first round warms up. */
		if (!i)
			continue;
		sample(&copy, per_s(b->o->size, ns));
		sample(&out, per_s(b->o->size, out_ns));
		sample(&in, per_s(b->o->size, in_ns));
	}
	answer(b, "gpu_to_host", "bytes_per_s", median(&out), "memcpy (user space)", median(&copy),
	       false);
	answer(b, "host_to_gpu", "bytes_per_s", median(&in), "memcpy (user space)", median(&copy),
	       false);
	return 0;
}

/* What the flash lanes are compared with: the best of these. */
static const struct {
	const char *name;
	u64 block;
	bool fio;
} ios[] = {
	{ "liburing 128K", 128 << 10, false },
	{ "liburing 2M", 2 << 20, false },
	{ "fio 128K", 128 << 10, true },
	{ "fio 2M", 2 << 20, true },
};

static int io_round(struct bench *b, const struct bench_region *r, bool write,
		    struct samples *samples, bool warm)
{
	unsigned int i;
	u64 ns, bw;
	int ret;

	for (i = 0; i < ARRAY_SIZE(ios); i++) {
		if (write) {
			ret = bench_io_discard(r);
			if (ret)
				return complain(EXIT_FAILED, "discard of %s: %s", r->path,
						strerror(-ret));
		}
		if (ios[i].fio) {
			ret = bench_io_fio(r, write, ios[i].block, DEPTH, &bw);
			/* Without fio the bare loop has to do. */
			if (ret == -ENOENT)
				continue;
		} else {
			ret = bench_io_loop(r, write, ios[i].block, DEPTH, &ns);
			bw = (u64)per_s(r->len, ns);
		}
		if (ret)
			return complain(EXIT_FAILED, "%s of %s: %s", ios[i].name, r->path,
					strerror(-ret));
		if (warm)
			sample(&samples[i], (double)bw);
	}
	return 0;
}

static void flash_answer(struct bench *b, const char *name, struct samples *ours,
			 struct samples *theirs)
{
	unsigned int i, best = 0;

	for (i = 0; i < ARRAY_SIZE(ios); i++)
		if (median(&theirs[i]) > median(&theirs[best]))
			best = i;
	answer(b, name, "bytes_per_s", median(ours), ios[best].name, median(&theirs[best]), false);
}

static int bench_flash(struct bench *b, const struct bench_region *spare)
{
	struct samples out = {}, in = {}, reads[ARRAY_SIZE(ios)] = {}, writes[ARRAY_SIZE(ios)] = {};
	u64 out_ns, in_ns, i;
	int ret;

	for (i = 0; i <= b->o->rounds; i++) {
		ret = io_round(b, spare, true, writes, i);
		if (!ret)
			ret = io_round(b, spare, false, reads, i);
		if (ret)
			return ret;
		ret = round_trip(b, UGM_TIER_ID_FLASH, &out_ns, &in_ns);
		if (ret)
			return device_failed(b->device, "moves between GPU and flash", ret);
		if (!i)
			continue;
		sample(&out, per_s(b->o->size, out_ns));
		sample(&in, per_s(b->o->size, in_ns));
	}
	flash_answer(b, "gpu_to_flash", &out, writes);
	flash_answer(b, "flash_to_gpu", &in, reads);
	return 0;
}

/*
 * A mapping of the GPU view that takes 4 KiB entries whatever the block size:
 * at an address that is not aligned to a block.
 */
static char *map_small(struct bench *b, u64 len)
{
	uint64_t address;
	char *room = mmap(NULL, len + 2 * b->unit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at;

	if (room == MAP_FAILED || ugm_address(b->space, b->gpu, &address))
		return NULL;
	at = room + -(uintptr_t)room % b->unit + (b->unit > FAULT_PAGE ? FAULT_PAGE : 0);
	at = mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, ugm_fd(b->space),
		  (off_t)(UGM_VIEW_GPU + address));
	return at == MAP_FAILED ? NULL : at;
}

static int bench_faults(struct bench *b)
{
	u64 len = b->o->size / 2 / FAULT_PAGE * FAULT_PAGE, i, ns;
	char *anonymous, *small, name[32];
	unsigned int threads;

	anonymous = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	small = map_small(b, len);
	if (anonymous == MAP_FAILED || !small)
		return complain(EXIT_FAILED, "faults: no room to map %" PRIu64 " bytes", len);
	madvise(anonymous, len, MADV_NOHUGEPAGE);
	for (threads = 1; threads <= 2; threads++) {
		struct samples ours = {}, theirs = {};

		for (i = 0; i <= b->o->rounds; i++) {
			ns = bench_fault_ns(anonymous, len, FAULT_PAGE, threads);
			if (i)
				sample(&theirs, (double)ns);
			ns = bench_fault_ns(small, len, FAULT_PAGE, threads);
			if (!ns)
				return complain(EXIT_FAILED, "faults: the view cannot be unmapped");
			if (i)
				sample(&ours, (double)ns);
		}
		snprintf(name, sizeof(name), "fault_4k_%u_thread%s", threads,
			 threads > 1 ? "s" : "");
		answer(b, name, "ns", median(&ours), "anonymous memory", median(&theirs), true);
	}
	munmap(anonymous, len);
	munmap(small, len);
	return 0;
}

/* The real clock and all the memory there is; @was is put back afterwards. */
static int set_machine(struct bench *b, struct ugm_ioc_machine *was)
{
	struct ugm_ioc_machine m;
	int ret = ugm_machine_get(b->space, was);

	if (ret)
		return ret;
	m = *was;
	m.clock = UGM_CLOCK_REAL;
	m.block_bytes = 0;
	m.gpu_bytes = 0;
	m.host_bytes = b->info.host_limit * b->unit;
	m.gpu_latency_ns = 0;
	m.flash_latency_ns = 0;
	m.fault_ns = 0;
	return ugm_machine_set(b->space, &m);
}

static int all(struct bench *b, const struct bench_region *spare)
{
	void *p;
	int ret;

	ret = ugm_malloc(b->space, &p, b->o->size);
	if (ret)
		return device_failed(b->device, "allocation", ret);
	b->host = p;
	b->gpu = ugm_gpu_ptr(b->space, p);
	ret = ugm_server_start(&b->server, b->info.space_id);
	if (ret)
		ret = device_failed(b->device, "flash server", ret);
	if (!ret)
		ret = bench_moves(b);
	if (!ret)
		ret = bench_faults(b);
	if (!ret)
		ret = bench_flash(b, spare);
	/* Its lane must be gone before the namespace can be. */
	ugm_server_end(&b->server);
	ugm_free(b->space, p);
	return ret;
}

/*
 * Half of the namespace is set aside meanwhile: what the baselines write must not
 * hit a slot.
 */
static int with_spare(struct bench *b)
{
	u64 slots = b->info.flash_slots / 2, need = b->o->size / b->unit;
	struct bench_region spare;
	char path[sizeof(b->info.namespace_path)];
	int ret, back;

	memcpy(path, b->info.namespace_path, sizeof(path));
	spare = (struct bench_region){
		.path = path,
		.offset = slots * b->unit,
		.len = b->o->size,
	};
	if (slots < need)
		return complain(EXIT_FAILED, "%s has %" PRIu64 " bytes: twice --size is needed", path,
				2 * slots * b->unit);
	ret = ugm_detach(b->space);
	if (ret)
		return device_failed(b->device, "detach", ret);
	ret = ugm_attach(b->space, path, 0, slots * b->unit);
	if (!ret) {
		ret = all(b, &spare);
		ugm_detach(b->space);
	} else {
		ret = device_failed(b->device, "attach", ret);
	}
	back = ugm_attach(b->space, path, 0, 0);
	return back ? device_failed(b->device, "attach again", back) : ret;
}

static int bench(struct bench *b)
{
	struct ugm_ioc_machine was;
	int ret;

	ret = ugm_info(b->space, &b->info);
	if (ret)
		return device_failed(b->device, "info", ret);
	b->unit = b->info.block_size;
	if (!(b->info.flags & UGM_INFO_ATTACHED))
		return complain(EXIT_FAILED, "%s: no namespace is attached: ugm attach NAMESPACE",
				device_path(b->device));
	if (!b->o->size || b->o->size % (2 << 20) || b->o->size > b->info.gpu_frames / 2 * b->unit)
		return complain(EXIT_USAGE,
				"--size %" PRIu64 ": allowed are multiples of 2M up to %llu, half of the GPU tier",
				b->o->size, (unsigned long long)b->info.gpu_frames / 2 * b->unit);
	ret = set_machine(b, &was);
	if (ret)
		return device_failed(b->device, "real clock", ret);
	json_add_text(b->answer, "schema", "ugm.bench/1");
	json_add_text(b->answer, "device", device_path(b->device));
	json_add_u64(b->answer, "block_size_bytes", b->unit);
	json_add_u64(b->answer, "round_bytes", b->o->size);
	json_add_u64(b->answer, "rounds", b->o->rounds);
	ret = with_spare(b);
	ugm_machine_set(b->space, &was);
	return ret;
}

/**
 * cmd_bench() - ugm bench
 * @argc: words
 * @argv: words
 *
 * Return: exit status.
 */
int cmd_bench(int argc, char **argv)
{
	struct bench_options o = { .rounds = 7, .size = 128 << 20 };
	const struct option_group groups[] = { { options, &o }, {} };
	const struct usage usage = {
		.synopsis = "[DEVICE]",
		.summary = "Measure DEVICE (" DEFAULT_DEVICE
			   ") under the real clock against memcpy, fio, liburing and anonymous memory. Overwrites its namespace.",
		.groups = groups,
		.max_operands = 1,
	};
	struct bench b = { .o = &o };
	struct ugm_error err;
	char **operands;
	int nr, ret;

	ret = options_parse(&usage, argc, argv, &operands, &nr);
	if (ret != OPTIONS_GO_ON)
		return ret;
	b.device = nr ? operands[0] : NULL;
	free(operands);
	if (o.rounds > MAX_ROUNDS)
		return complain(EXIT_USAGE, "--rounds %" PRIu64 ": allowed are 1 to %d", o.rounds,
				MAX_ROUNDS);
	if (ugm_server_fork(&b.server, b.device, &err))
		return complain(EXIT_FAILED, "%s", err.text);
	ret = device_open(b.device, &b.space);
	if (!ret) {
		b.answer = json_object_new_object();
		ret = bench(&b);
	}
	ugm_server_end(&b.server);
	ugm_close(b.space);
	if (!ret && o.json)
		return json_print(b.answer);
	json_object_put(b.answer);
	return ret;
}
