// SPDX-License-Identifier: MIT
/**
 * DOC: device calls
 *
 * One function an ioctl, and the two views. A view is mapped once for a handle,
 * UGM_SPAN of unified addresses wide: a pointer is the view's base plus a
 * unified address, and a hundred thousand ranges need two mappings. A mapping
 * of nothing costs nothing.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"

/* The UAPI's limits on one call. */
#define HINTS_MAX 65536u

/**
 * ugm_ioctl() - an ioctl that is repeated when a signal came in between
 * @fd: file
 * @request: UGM_IOC_*
 * @arg: its structure, or NULL
 *
 * Return: what the ioctl returns, or a negative errno.
 */
int ugm_ioctl(int fd, unsigned long request, void *arg)
{
	int ret;

	do {
		ret = ioctl(fd, request, arg);
	} while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : ret;
}

static void *view(int fd, uint64_t offset)
{
	void *p = mmap(NULL, UGM_SPAN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
		       (off_t)offset);

	return p == MAP_FAILED ? NULL : p;
}

int ugm_open(const char *path, struct ugm **space)
{
	struct ugm_ioc_info info = { 0 };
	struct ugm *s;
	int ret;

	if (!path)
		path = getenv("UGM_DEVICE");
	if (!path)
		path = "/dev/ugm0";

	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->next_tag = UGM_OWN_TAGS;
	pthread_mutex_init(&s->lock, NULL);
	s->fd = open(path, O_RDWR | O_CLOEXEC);
	if (s->fd < 0) {
		ret = -errno;
		goto fail;
	}
	ret = ugm_ioctl(s->fd, UGM_IOC_INFO, &info);
	if (ret)
		goto fail;
	s->block_size = info.block_size;
	s->gpu = view(s->fd, UGM_VIEW_GPU);
	if (s->gpu)
		s->host = view(s->fd, UGM_VIEW_HOST);
	if (!s->host) {
		ret = -errno;
		goto fail;
	}
	*space = s;
	return 0;

fail:
	ugm_close(s);
	return ret;
}

void ugm_close(struct ugm *space)
{
	if (!space)
		return;
	if (space->host)
		munmap(space->host, UGM_SPAN);
	if (space->gpu)
		munmap(space->gpu, UGM_SPAN);
	if (space->fd >= 0)
		close(space->fd);
	ugm_managed_release(space);
	pthread_mutex_destroy(&space->lock);
	free(space);
}

int ugm_fd(const struct ugm *space)
{
	return space->fd;
}

size_t ugm_block_size(const struct ugm *space)
{
	return space->block_size;
}

int ugm_info(struct ugm *space, struct ugm_ioc_info *info)
{
	memset(info, 0, sizeof(*info));
	return ugm_ioctl(space->fd, UGM_IOC_INFO, info);
}

int ugm_launch_at(struct ugm *space, const struct ugm_operand_desc *operands, uint32_t nr,
		  uint64_t duration_ns, struct ugm_times *times)
{
	struct ugm_ioc_launch l = {
		.operands = (uintptr_t)operands,
		.nr_operands = nr,
		.duration_ns = duration_ns,
	};
	/* Not repeated: a launch that was interrupted may have begun. */
	int ret = ioctl(space->fd, UGM_IOC_LAUNCH, &l);

	if (ret < 0)
		return -errno;
	if (times)
		*times = (struct ugm_times){
			.number = l.number,
			.begin_ns = l.begin_ns,
			.arrived_ns = l.arrived_ns,
			.end_ns = l.end_ns,
			.batches = l.batches,
			.fault_bytes = l.fault_bytes,
		};
	return 0;
}

int ugm_synchronize(struct ugm *space, uint64_t *now_ns)
{
	struct ugm_ioc_wait w = { 0 };
	int ret = ugm_ioctl(space->fd, UGM_IOC_WAIT, &w);

	if (!ret && now_ns)
		*now_ns = w.now_ns;
	return ret;
}

int ugm_hint(struct ugm *space, uint64_t id, struct ugm_hint_desc *hints, size_t nr)
{
	while (nr) {
		struct ugm_ioc_hint h = {
			.hints = (uintptr_t)hints,
			.space = id,
			.nr = nr < HINTS_MAX ? (uint32_t)nr : HINTS_MAX,
		};
		int ret = ugm_ioctl(space->fd, UGM_IOC_HINT, &h);

		if (ret)
			return ret;
		/* A batch that stops without an error would loop for ever. */
		if (!h.done || h.done > h.nr)
			return -EIO;
		hints += h.done;
		nr -= h.done;
	}
	return 0;
}

int ugm_options_set(struct ugm *space, const struct ugm_ioc_options *options)
{
	struct ugm_ioc_options o = *options;

	o.set = 1;
	return ugm_ioctl(space->fd, UGM_IOC_OPTIONS, &o);
}

int ugm_options_get(struct ugm *space, struct ugm_ioc_options *options)
{
	memset(options, 0, sizeof(*options));
	return ugm_ioctl(space->fd, UGM_IOC_OPTIONS, options);
}

int ugm_machine_set(struct ugm *space, const struct ugm_ioc_machine *machine)
{
	struct ugm_ioc_machine m = *machine;

	m.set = 1;
	return ugm_ioctl(space->fd, UGM_IOC_MACHINE, &m);
}

int ugm_machine_get(struct ugm *space, struct ugm_ioc_machine *machine)
{
	memset(machine, 0, sizeof(*machine));
	return ugm_ioctl(space->fd, UGM_IOC_MACHINE, machine);
}

int ugm_reset(struct ugm *space)
{
	struct ugm_ioc_reset r = { 0 };

	return ugm_ioctl(space->fd, UGM_IOC_RESET, &r);
}

int ugm_inexact(struct ugm *space, uint32_t *bits)
{
	struct ugm_ioc_reset r = { .flags = 1 };
	int ret = ugm_ioctl(space->fd, UGM_IOC_RESET, &r);

	if (!ret)
		*bits = r.exact;
	return ret;
}

int ugm_residency_at(struct ugm *space, uint64_t id, uint64_t address, uint32_t *states,
		     uint32_t nr)
{
	struct ugm_ioc_residency r = {
		.offset = address,
		.nr = nr,
		.states = (uintptr_t)states,
		.space = id,
	};

	/* To the kernel, 0 blocks means the digest. */
	return nr ? ugm_ioctl(space->fd, UGM_IOC_RESIDENCY, &r) : 0;
}

int ugm_residency_digest(struct ugm *space, uint64_t *digest, uint64_t blocks[8])
{
	struct ugm_ioc_residency r = { 0 };
	int ret = ugm_ioctl(space->fd, UGM_IOC_RESIDENCY, &r);

	if (ret)
		return ret;
	*digest = r.digest;
	if (blocks)
		memcpy(blocks, r.blocks, sizeof(r.blocks));
	return 0;
}

int ugm_stats(struct ugm *space, uint32_t scope,
	      int (*each)(const char *name, uint64_t value, void *arg), void *arg)
{
	struct ugm_ioc_stats s = { .scope = scope };
	struct ugm_stat_desc *stats = NULL;
	uint32_t room = 0, i;
	int ret;

	for (;;) {
		s.nr = room;
		s.stats = (uintptr_t)stats;
		ret = ugm_ioctl(space->fd, UGM_IOC_STATS, &s);
		if (ret || s.nr <= room)
			break;
		room = s.nr;
		free(stats);
		stats = calloc(room, sizeof(*stats));
		if (!stats)
			return -ENOMEM;
	}
	for (i = 0; !ret && i < s.nr; i++) {
		stats[i].name[sizeof(stats[i].name) - 1] = '\0';
		ret = each(stats[i].name, stats[i].value, arg);
	}
	free(stats);
	return ret;
}

int ugm_spaces(struct ugm *space, struct ugm_space_desc **spaces, uint32_t *nr)
{
	struct ugm_ioc_spaces s = { 0 };
	struct ugm_space_desc *list = NULL;
	uint32_t room = 0;
	int ret;

	for (;;) {
		s.nr = room;
		s.spaces = (uintptr_t)list;
		ret = ugm_ioctl(space->fd, UGM_IOC_SPACES, &s);
		if (ret || s.nr <= room)
			break;
		/* Others may come while we ask again. */
		room = s.nr + 4;
		free(list);
		list = calloc(room, sizeof(*list));
		if (!list)
			return -ENOMEM;
	}
	if (ret) {
		free(list);
		return ret;
	}
	*spaces = list;
	*nr = s.nr;
	return 0;
}

int ugm_ranges(struct ugm *space, uint64_t id, struct ugm_range_desc **ranges, size_t *nr)
{
	const uint32_t chunk = 1024;
	struct ugm_range_desc *list = NULL, *more;
	uint64_t start = 0;
	size_t n = 0;
	int ret;

	for (;;) {
		struct ugm_ioc_ranges r = { .space = id, .start = start, .nr = chunk };

		more = realloc(list, (n + chunk) * sizeof(*list));
		if (!more) {
			ret = -ENOMEM;
			break;
		}
		list = more;
		r.ranges = (uintptr_t)(list + n);
		ret = ugm_ioctl(space->fd, UGM_IOC_RANGES, &r);
		if (ret)
			break;
		n += r.nr;
		if (r.nr < chunk) {
			*ranges = list;
			*nr = n;
			return 0;
		}
		/* A length is what was asked for; the next range begins at a block. */
		start = list[n - 1].offset +
			(list[n - 1].len + space->block_size - 1) / space->block_size *
				space->block_size;
	}
	free(list);
	return ret;
}

int ugm_check(struct ugm *space, uint64_t *violations)
{
	struct ugm_ioc_check c = { 0 };
	int ret = ugm_ioctl(space->fd, UGM_IOC_CHECK, &c);

	if (!ret)
		*violations = c.violations;
	return ret;
}

int ugm_attach(struct ugm *space, const char *path, uint64_t offset, uint64_t len)
{
	struct ugm_ioc_attach a = { .offset = offset, .len = len };

	if (strlen(path) >= sizeof(a.path))
		return -ENAMETOOLONG;
	strcpy(a.path, path);
	return ugm_ioctl(space->fd, UGM_IOC_ATTACH, &a);
}

int ugm_detach(struct ugm *space)
{
	return ugm_ioctl(space->fd, UGM_IOC_DETACH, NULL);
}
