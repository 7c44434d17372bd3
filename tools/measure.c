// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "command.h"
#include "device.h"
#include "measure.h"
#include "progress.h"

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

static int check_size(struct measure *m, u64 bytes)
{
	u64 most = m->info.gpu_frames / 2;

	if (most > m->info.host_limit)
		most = m->info.host_limit;
	if (most > m->info.flash_slots - m->info.flash_used)
		most = m->info.flash_slots - m->info.flash_used;
	if (!most)
		return complain(EXIT_FAILED, "%s: a tier has no room (ugm info)",
				device_path(m->device));
	m->blocks = bytes ? bytes / m->unit : most;
	if (!m->blocks || m->blocks > most || bytes % m->unit)
		return complain(EXIT_USAGE,
				"--size %" PRIu64 ": allowed are multiples of %" PRIu64
				", a block, up to %" PRIu64
				", which half of the GPU tier and the others have room for",
				bytes, m->unit, most * m->unit);
	return EXIT_DONE;
}

static int prepare(struct measure *m, u64 bytes)
{
	void *p;
	int ret = ugm_info(m->space, &m->info);

	if (ret)
		return device_failed(m->device, "info", ret);
	m->unit = m->info.block_size;
	if (!(m->info.flags & UGM_INFO_ATTACHED))
		return complain(EXIT_FAILED, "%s: no namespace is attached: ugm attach NAMESPACE",
				device_path(m->device));
	ret = check_size(m, bytes);
	if (ret)
		return ret;
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
