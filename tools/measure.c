// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "command.h"
#include "device.h"
#include "measure.h"
#include "progress.h"
#include "units.h"

/* The real clock and all the memory there is. */
static int set_machine(struct measure *m)
{
	struct ugm_ioc_machine now;
	int ret = ugm_machine_get(m->space, &m->was);

	if (ret)
		return ret;
	now = m->was;
	now.clock = UGM_CLOCK_REAL;
	now.block_bytes = 0;
	now.gpu_bytes = 0;
	now.host_bytes = m->info.host_limit * m->unit;
	now.gpu_latency_ns = 0;
	now.flash_latency_ns = 0;
	now.fault_ns = 0;
	ret = ugm_machine_set(m->space, &now);
	m->real = !ret;
	return ret;
}

/**
 * measure_info() - what a device is, which must have a namespace
 * @space: of the device, open
 * @device: device node, or NULL
 * @info: out
 *
 * Return: an exit status.
 */
int measure_info(struct ugm *space, const char *device, struct ugm_ioc_info *info)
{
	int ret = ugm_info(space, info);

	if (ret)
		return device_failed(device, "info", ret);
	if (!(info->flags & UGM_INFO_ATTACHED))
		return complain(EXIT_FAILED, "%s: no namespace is attached: ugm attach NAMESPACE",
				device_path(device));
	return EXIT_DONE;
}

/**
 * measure_size() - is there room for what is to be moved?
 * @device: device node, or NULL
 * @info: of the device
 * @unit: bytes come in multiples of this, which is one of a block, or a block
 *        one of it
 * @usual: bytes where none are asked for, or less if there is no room for them
 * @bytes: in: what is asked for, or 0; out: what is moved
 *
 * Return: an exit status.
 */
int measure_size(const char *device, const struct ugm_ioc_info *info, u64 unit, u64 usual,
		 u64 *bytes)
{
	u64 flash = info->flash_slots > info->flash_used ? info->flash_slots - info->flash_used : 0;
	u64 most = info->gpu_frames / 2;

	if (most > info->host_limit)
		most = info->host_limit;
	if (most > flash)
		most = flash;
	if (unit < info->block_size)
		unit = info->block_size;
	most = most * info->block_size / unit * unit;
	if (!most)
		return complain(EXIT_FAILED, "%s: a tier has no room for %" PRIu64
				" bytes (ugm info)", device_path(device), unit);
	if (!*bytes)
		*bytes = usual < most ? usual : most;
	if (*bytes > most || *bytes % unit)
		return complain(EXIT_USAGE,
				"--size %" PRIu64 ": allowed are multiples of %" PRIu64
				" up to %" PRIu64
				", which half of the GPU tier and the others have room for",
				*bytes, unit, most);
	return EXIT_DONE;
}

static int prepare(struct measure *m, u64 bytes)
{
	void *p;
	int ret = measure_info(m->space, m->device, &m->info);

	if (!ret)
		ret = measure_size(m->device, &m->info, m->info.block_size, U64_MAX, &bytes);
	if (ret)
		return ret;
	m->unit = m->info.block_size;
	m->blocks = bytes / m->unit;
	ret = set_machine(m);
	if (ret == -EBUSY)
		return complain(EXIT_FAILED, "%s: in use: another space holds memory (ugm stat)",
				device_path(m->device));
	if (ret)
		return device_failed(m->device, "real clock", ret);
	ret = ugm_malloc(m->space, &p, m->blocks * m->unit);
	if (ret)
		return device_failed(m->device, "allocation", ret);
	m->host = p;
	m->gpu = ugm_gpu_ptr(m->space, p);
	ret = ugm_server_start(&m->server, m->info.space_id);
	return ret ? device_failed(m->device, "flash server", ret) : EXIT_DONE;
}

/**
 * measure_begin() - open a device to be measured
 * @m: filled; measure_end() it if that succeeds
 * @device: device node, or NULL
 * @bytes: memory that is moved; 0: what fits
 *
 * Return: an exit status.
 */
int measure_begin(struct measure *m, const char *device, u64 bytes)
{
	struct ugm_error err;
	int ret;

	*m = (struct measure){ .device = device };
	if (ugm_server_fork(&m->server, device, &err))
		return complain(EXIT_FAILED, "%s", err.text);
	ret = device_open(device, &m->space);
	if (!ret)
		ret = prepare(m, bytes);
	if (ret)
		measure_end(m);
	return ret;
}

/**
 * measure_end() - leave a device as it was
 * @m: measured
 */
void measure_end(struct measure *m)
{
	ugm_server_end(&m->server);
	if (m->host)
		ugm_free(m->space, m->host);
	if (m->real)
		ugm_machine_set(m->space, &m->was);
	ugm_close(m->space);
}

static int arrived(struct measure *m, u64 first, u64 nr, u32 tier)
{
	uint32_t *states = calloc(nr, sizeof(*states));
	u64 i;
	int ret;

	if (!states)
		return -ENOMEM;
	ret = ugm_residency(m->space, m->host + first * m->unit, states, (uint32_t)nr);
	for (i = 0; i < nr && !ret; i++)
		if ((states[i] & 0xff) != tier)
			ret = -EAGAIN;
	free(states);
	return ret;
}

/**
 * measure_move() - move blocks to a tier, and wait until they are there
 * @m: device
 * @first: the first
 * @nr: how many
 * @tier: UGM_TIER_ID_*; what leaves the GPU tier is written there first, so that
 *        it has no valid copy
 * @ns: how long the move took
 *
 * Return: 0, or a negative errno: -EAGAIN where not all of it arrived.
 */
int measure_move(struct measure *m, u64 first, u64 nr, u32 tier, u64 *ns)
{
	char *from = m->host + first * m->unit;
	u64 began, i;
	int ret;

	for (i = first; tier != UGM_TIER_ID_GPU && i < first + nr; i++)
		*(volatile u64 *)(m->gpu + i * m->unit) = i + 1;
	began = ugm_wall_ns();
	if (tier == UGM_TIER_ID_GPU)
		ret = ugm_mem_prefetch(m->space, from, nr * m->unit, tier);
	else
		ret = ugm_mem_evict(m->space, from, nr * m->unit, tier);
	if (!ret)
		ret = ugm_synchronize(m->space, NULL);
	*ns = ugm_wall_ns() - began;
	return ret ? ret : arrived(m, first, nr, tier);
}

/**
 * measure_round_trip() - move blocks to a tier and back to that of the GPU
 * @m: device
 * @first: the first
 * @nr: how many
 * @tier: UGM_TIER_ID_*
 * @out_ns: how long the way there took
 * @in_ns: how long the way back took
 *
 * Return: as measure_move().
 */
int measure_round_trip(struct measure *m, u64 first, u64 nr, u32 tier, u64 *out_ns, u64 *in_ns)
{
	int ret = measure_move(m, first, nr, tier, out_ns);

	return ret ? ret : measure_move(m, first, nr, UGM_TIER_ID_GPU, in_ns);
}

/**
 * measure_failed() - say that a move failed
 * @m: device
 * @tier: UGM_TIER_ID_* of the tier it was to, or back from
 * @error: negative errno of measure_move()
 *
 * Return: the exit status.
 */
int measure_failed(const struct measure *m, u32 tier, int error)
{
	if (error == -EAGAIN)
		return complain(EXIT_FAILED, "%s: not all blocks went to the %s tier, or back",
				device_path(m->device), ugm_tier_name((u8)tier));
	return device_failed(m->device, ugm_tier_name((u8)tier), error);
}

/**
 * measure_touch() - read a block through the GPU view
 * @m: device
 * @block: which
 *
 * Return: how long that took, ns.
 */
u64 measure_touch(struct measure *m, u64 block)
{
	u64 began = ugm_wall_ns();

	(void)*(volatile u64 *)(m->gpu + block * m->unit);
	return ugm_wall_ns() - began;
}

/**
 * measure_rate() - bytes per second
 * @bytes: that were moved
 * @ns: how long it took
 *
 * Return: 0 where it took no time that could be measured.
 */
u64 measure_rate(u64 bytes, u64 ns)
{
	return ns ? (u64)((double)bytes * 1e9 / (double)ns) : 0;
}

/**
 * option_rounds() - parser of an option that takes a number of rounds
 * @what: the option
 * @text: its argument
 * @target: u64
 * @err: why not
 *
 * Return: 0 or a negative errno.
 */
int option_rounds(const char *what, const char *text, void *target, struct ugm_error *err)
{
	return ugm_parse_u64(what, text, 1, 99, target, err);
}

/**
 * samples_add() - note a value
 * @s: samples
 * @v: value
 */
void samples_add(struct samples *s, u64 v)
{
	if (s->nr < MEASURE_MAX)
		s->v[s->nr++] = v;
}

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

/**
 * samples_median() - the middle of them
 * @s: samples; sorted
 *
 * Return: their median, or 0 of none.
 */
u64 samples_median(struct samples *s)
{
	if (!s->nr)
		return 0;
	qsort(s->v, s->nr, sizeof(*s->v), by_value);
	return s->v[s->nr / 2];
}
