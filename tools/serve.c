// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "command.h"
#include "device.h"
#include "units.h"

/**
 * struct serve - options of the verb
 * @space: space to serve; 0: the only one
 * @depth: requests in flight
 * @lease_ms: how long a lease may last
 */
struct serve {
	u64 space;
	u64 depth;
	u64 lease_ms;
};

static int option_depth(const char *what, const char *text, void *target, struct ugm_error *err)
{
	return ugm_parse_u64(what, text, 1, 4096, target, err);
}

static int option_lease(const char *what, const char *text, void *target, struct ugm_error *err)
{
	return ugm_parse_u64(what, text, 1, 60000, target, err);
}

static const struct option_spec options[] = {
	{ "depth", "N", option_depth, offsetof(struct serve, depth), false,
	  "requests in flight at most, 1 to 4096 (64)" },
	{ "lease-ms", "MS", option_lease, offsetof(struct serve, lease_ms), false,
	  "how long a lease may last before the kernel takes it back (1000)" },
	{}
};

static volatile int stop;

static void on_signal(int sig)
{
	stop = 1;
}

/**
 * cmd_serve() - ugm serve
 * @argc: words
 * @argv: words
 *
 * Return: exit status.
 */
int cmd_serve(int argc, char **argv)
{
	struct serve s = { .depth = 64, .lease_ms = 1000 };
	const struct option_group groups[] = { { space_option, &s.space }, { options, &s }, {} };
	const struct usage usage = {
		.synopsis = "[DEVICE]",
		.summary = "Move the flash data of a space with io_uring (the planner lane), until the space ends or a signal comes.",
		.groups = groups,
		.max_operands = 1,
	};
	struct sigaction sa = { .sa_handler = on_signal };
	struct ugm_serve_totals t = { 0 };
	struct ugm_ioc_info info = {};
	struct ugm_lane_file *lane;
	const char *device;
	struct ugm *space;
	int ret;

	ret = options_parse_one(&usage, argc, argv, &device);
	if (ret != OPTIONS_GO_ON)
		return ret;
	ret = device_open(device, &space);
	if (ret)
		return ret;
	ret = device_other_space(space, device, &s.space);
	if (ret) {
		ugm_close(space);
		return ret;
	}
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	ret = ugm_lane_open(space, s.space, (uint32_t)s.lease_ms, &lane);
	if (ret == -ENOTBLK)
		ugm_info(space, &info);
	/* Our own space was only a way to ask; the lane file is enough. */
	ugm_close(space);
	if (ret == -EBUSY)
		return complain(EXIT_FAILED, "%s: space %" PRIu64 " has a flash server (ugm stat)",
				device_path(device), s.space);
	if (ret == -ENOENT)
		return complain(EXIT_USAGE, "%s: --space %" PRIu64 ": no such space (ugm stat)",
				device_path(device), s.space);
	if (ret == -ENOTBLK)
		return complain(EXIT_FAILED,
				"%s: %.64s: not the namespace that is attached, whose name it has",
				device_path(device), info.namespace_path);
	if (ret)
		return device_failed(device, "lane", ret);
	ret = ugm_serve(lane, (unsigned int)s.depth, &stop, &t);
	ugm_lane_close(lane);
	fprintf(stderr,
		"served %" PRIu64 " leases, %" PRIu64 " segments: %" PRIu64 " bytes read, %" PRIu64
		" written; %" PRIu64 " continued, %" PRIu64 " retried, %" PRIu64 " failed, %" PRIu64
		" stale\n",
		t.leases, t.segments, t.read_bytes, t.written_bytes, t.continued, t.retried,
		t.failed, t.stale);
	return ret ? device_failed(device, "serve", ret) : EXIT_DONE;
}
