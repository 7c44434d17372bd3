// SPDX-License-Identifier: MIT
/**
 * DOC: bench
 *
 * The module's moves and faults against what they can at best be: the kernel's
 * memcpy, a bare liburing loop and fio on the same namespace, anonymous memory.
 * Rounds of both sides alternate within one run, and ratios are of medians, so
 * that what else the machine does meets both alike.
 *
 * The slots of the flash tier are given out in ascending order and discarded once
 * they are free, so moves to flash write to blocks that were discarded a while
 * ago, or never written. The baselines do the same: each takes the next piece of
 * the half of the namespace that is set aside for them, and discards it when it
 * was read. How fast a device (or the file behind it) takes new blocks is not the
 * module's doing, and can be ten times slower than overwriting.
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
#include "measure.h"
#include "options.h"
#include "progress.h"

#define DEPTH 32
#define PIECE (2u << 20)
#define DEFAULT_SIZE (256u << 20)
#define FAULT_PAGE 4096u
/* What is worth moving through the module: a part of what can at best be. */
#define MOVE_TARGET 0.8
/* A fault should cost no more than one of anonymous memory. */
#define FAULT_TARGET 1.0

/**
 * struct bench_options - options of the verb
 * @rounds: how often each figure is measured
 * @size: bytes a round moves; 0: the usual
 * @json: as JSON
 */
struct bench_options {
	u64 rounds;
	u64 size;
	bool json;
};

#define BENCH(field) offsetof(struct bench_options, field)

static const struct option_spec options[] = {
	{ "rounds", "N", option_rounds, BENCH(rounds), false, "rounds of each measurement (7)" },
	{ "size", "SIZE", option_length, BENCH(size), false,
	  "bytes a round moves (at most half of the GPU tier; 256M, or that)" },
	{ "json", NULL, NULL, BENCH(json), false, "print JSON" },
	{}
};

/**
 * struct bench - a benchmark under way
 * @o: options
 * @m: the device
 * @size: bytes a round moves
 * @answer: what was measured
 */
struct bench {
	const struct bench_options *o;
	struct measure m;
	u64 size;
	struct json_object *answer;
};

static void add_number(struct json_object *o, const char *name, double v)
{
	char text[40];

	snprintf(text, sizeof(text), v < 100 ? "%.4f" : "%.0f", v);
	json_object_object_add(o, name, json_object_new_double_s(v, text));
}

/* A figure, what it is compared with, and their ratio: above 1 is better. */
static void answer(struct bench *b, const char *name, const char *unit, double value,
		   const char *baseline, double best, double target)
{
	bool bandwidth = !strcmp(unit, "bytes_per_s");
	struct json_object *o = json_object_new_object();
	double ratio = 0;

	if (value > 0 && best > 0)
		ratio = bandwidth ? value / best : best / value;
	json_add_text(o, "unit", unit);
	add_number(o, "value", value);
	json_add_text(o, "baseline", baseline);
	add_number(o, "baseline_value", best);
	add_number(o, "ratio", ratio);
	add_number(o, "target", target);
	json_object_object_add(o, "met", json_object_new_boolean(ratio >= target));
	json_object_object_add(b->answer, name, o);
	if (!b->o->json) {
		printf("%-18s %10.3f %s   %-20s %10.3f   ratio %.2f   %s %.2f\n", name,
		       bandwidth ? value / 1e9 : value, bandwidth ? "GB/s" : unit, baseline,
		       bandwidth ? best / 1e9 : best, ratio,
		       ratio >= target ? "met:" : "MISSED:", target);
		fflush(stdout);
	}
}

/* The kernel's memcpy of as much as a round moves; false: it cannot be asked. */
static bool kernel_copies(struct bench *b, u64 *bytes, u64 *ns)
{
	u64 more, took;

	for (*bytes = 0, *ns = 0; *bytes < b->size; *bytes += more, *ns += took)
		if (bench_kernel_copy(device_path(b->m.device), &more, &took))
			return false;
	return true;
}

static int bench_moves(struct bench *b)
{
	struct samples out = {}, in = {}, copy = {};
	const char *copier = "kernel memcpy";
	u64 out_ns, in_ns, bytes, ns, i;
	int ret;

	for (i = 0; i <= b->o->rounds; i++) {
		if (!kernel_copies(b, &bytes, &ns)) {
			copier = "memcpy (user space)";
			bytes = b->size;
			ns = bench_copy_ns(bytes);
		}
		ret = measure_round_trip(&b->m, 0, b->m.blocks, UGM_TIER_ID_HOST, &out_ns, &in_ns);
		if (ret)
			return measure_failed(&b->m, UGM_TIER_ID_HOST, ret);
		/* The first round warms up. */
		if (!i)
			continue;
		samples_add(&copy, measure_rate(bytes, ns));
		samples_add(&out, measure_rate(b->size, out_ns));
		samples_add(&in, measure_rate(b->size, in_ns));
	}
	answer(b, "gpu_to_host", "bytes_per_s", samples_median(&out), copier, samples_median(&copy),
	       MOVE_TARGET);
	answer(b, "host_to_gpu", "bytes_per_s", samples_median(&in), copier, samples_median(&copy),
	       MOVE_TARGET);
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

static int io_one(const struct bench_region *r, unsigned int i, bool write, struct samples *samples)
{
	u64 ns, bw;
	int ret;

	if (ios[i].fio) {
		ret = bench_io_fio(r, write, ios[i].block, DEPTH, &bw);
		/* Without fio the bare loop has to do. */
		if (ret == -ENOENT)
			return 0;
	} else {
		ret = bench_io_loop(r, write, ios[i].block, DEPTH, &ns);
		bw = measure_rate(r->len, ns);
	}
	if (ret)
		return complain(EXIT_FAILED, "%s of %s: %s", ios[i].name, r->path, strerror(-ret));
	if (samples)
		samples_add(&samples[i], bw);
	return 0;
}

/* Each way to write, and then to read, the next piece of the spare area. */
static int io_round(struct bench *b, const struct bench_region *spare, u64 *next,
		    struct samples *writes, struct samples *reads)
{
	struct bench_region r = { .path = spare->path, .len = b->size };
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(ios); i++) {
		r.offset = spare->offset + *next;
		*next += b->size;
		if (*next + b->size > spare->len)
			*next = 0;
		ret = io_one(&r, i, true, writes);
		if (!ret)
			ret = io_one(&r, i, false, reads);
		if (ret)
			return ret;
		ret = bench_io_discard(&r);
		if (ret)
			return complain(EXIT_FAILED, "discard of %s: %s", r.path, strerror(-ret));
	}
	return 0;
}

static void flash_answer(struct bench *b, const char *name, struct samples *ours,
			 struct samples *theirs)
{
	unsigned int i, best = 0;

	for (i = 0; i < ARRAY_SIZE(ios); i++)
		if (samples_median(&theirs[i]) > samples_median(&theirs[best]))
			best = i;
	answer(b, name, "bytes_per_s", samples_median(ours), ios[best].name, samples_median(&theirs[best]),
	       MOVE_TARGET);
}

static int bench_flash(struct bench *b, const struct bench_region *spare)
{
	struct samples out = {}, in = {}, reads[ARRAY_SIZE(ios)] = {}, writes[ARRAY_SIZE(ios)] = {};
	u64 out_ns, in_ns, next = 0, i;
	int ret;

	for (i = 0; i <= b->o->rounds; i++) {
		/* The first round warms up. */
		ret = io_round(b, spare, &next, i ? writes : NULL, i ? reads : NULL);
		if (ret)
			return ret;
		ret = measure_round_trip(&b->m, 0, b->m.blocks, UGM_TIER_ID_FLASH, &out_ns, &in_ns);
		if (ret)
			return measure_failed(&b->m, UGM_TIER_ID_FLASH, ret);
		if (!i)
			continue;
		samples_add(&out, measure_rate(b->size, out_ns));
		samples_add(&in, measure_rate(b->size, in_ns));
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
	char *room = mmap(NULL, len + 2 * b->m.unit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at;

	if (room == MAP_FAILED || ugm_address(b->m.space, b->m.gpu, &address))
		return NULL;
	at = room + -(uintptr_t)room % b->m.unit + (b->m.unit > FAULT_PAGE ? FAULT_PAGE : 0);
	at = mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, ugm_fd(b->m.space),
		  (off_t)(UGM_VIEW_GPU + address));
	return at == MAP_FAILED ? NULL : at;
}

static int bench_faults(struct bench *b)
{
	u64 len = b->size / 2 / FAULT_PAGE * FAULT_PAGE, i, ns;
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
				samples_add(&theirs, ns);
			ns = bench_fault_ns(small, len, FAULT_PAGE, threads);
			if (!ns)
				return complain(EXIT_FAILED, "faults: the view cannot be unmapped");
			if (i)
				samples_add(&ours, ns);
		}
		snprintf(name, sizeof(name), "fault_4k_%u_thread%s", threads,
			 threads > 1 ? "s" : "");
		answer(b, name, "ns", samples_median(&ours), "anonymous memory", samples_median(&theirs),
		       FAULT_TARGET);
	}
	munmap(anonymous, len);
	munmap(small, len);
	return 0;
}

static int measure_all(struct bench *b, const struct bench_region *spare)
{
	int ret;

	json_add_text(b->answer, "schema", "ugm.bench/1");
	json_add_text(b->answer, "device", device_path(b->m.device));
	json_add_u64(b->answer, "block_size_bytes", b->m.unit);
	json_add_u64(b->answer, "round_bytes", b->size);
	json_add_u64(b->answer, "rounds", b->o->rounds);
	ret = bench_moves(b);
	if (!ret)
		ret = bench_faults(b);
	return ret ? ret : bench_flash(b, spare);
}

/* Attach a part of a namespace, or all of it, in place of what is attached. */
static int attach_part(const char *device, const char *path, u64 len)
{
	struct ugm *space;
	int ret = device_open(device, &space);

	if (ret)
		return ret;
	ret = ugm_detach(space);
	if (!ret)
		ret = ugm_attach(space, path, 0, len);
	if (ret)
		ret = device_failed(device, "attach", ret);
	ugm_close(space);
	return ret;
}

/*
 * Half of the namespace is set aside meanwhile: what the baselines write must not
 * hit a slot.
 */
static int bench(struct bench *b, const char *device)
{
	struct bench_region spare;
	struct ugm_ioc_info info;
	struct ugm *space;
	int ret, back;

	ret = device_open(device, &space);
	if (ret)
		return ret;
	ret = measure_info(space, device, &info);
	ugm_close(space);
	if (ret)
		return ret;
	info.flash_slots /= 2;
	b->size = b->o->size;
	ret = measure_size(device, &info, PIECE, DEFAULT_SIZE, &b->size);
	if (ret)
		return ret;
	spare.path = info.namespace_path;
	spare.len = info.flash_slots * info.block_size;
	spare.offset = spare.len;
	ret = attach_part(device, spare.path, spare.len);
	if (ret)
		return ret;
	ret = measure_begin(&b->m, device, b->size);
	if (!ret) {
		ret = measure_all(b, &spare);
		measure_end(&b->m);
	}
	back = attach_part(device, spare.path, 0);
	return back ? back : ret;
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
	struct bench_options o = { .rounds = 7 };
	const struct option_group groups[] = { { options, &o }, {} };
	const struct usage usage = {
		.synopsis = "[DEVICE]",
		.summary = "Measure DEVICE (" DEFAULT_DEVICE
			   ") under the real clock against the kernel's memcpy, fio, liburing and anonymous memory. Overwrites its namespace.",
		.groups = groups,
		.max_operands = 1,
	};
	struct bench b = { .o = &o };
	const char *device;
	int ret;

	ret = options_parse_one(&usage, argc, argv, &device);
	if (ret != OPTIONS_GO_ON)
		return ret;
	b.answer = json_object_new_object();
	ret = bench(&b, device);
	if (!ret && o.json)
		return json_print(b.answer);
	json_object_put(b.answer);
	return ret;
}
