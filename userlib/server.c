// SPDX-License-Identifier: MIT
/**
 * DOC: flash server process
 *
 * A replay's flash server is a child that is forked before the space exists:
 * it inherits neither the space's file, which would keep the space alive when
 * the parent dies, nor its mappings. It is told the space's id, opens the
 * device itself, takes the lane file, and ends with its parent or the space.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"
#include "ugm.h"

static volatile int stop;

static void on_term(int sig)
{
	stop = 1;
}

/* All of a small message, or a negative errno; the other end gone: -EPIPE. */
static int receive(int fd, void *data, size_t len)
{
	ssize_t n;

	do {
		n = read(fd, data, len);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EPIPE;
}

/* Serve until told to stop. Returns an exit status. */
static int child(const char *device, pid_t parent, int orders, int answers)
{
	struct sigaction term = { .sa_handler = on_term };
	struct ugm_lane_file *lane = NULL;
	struct ugm *space;
	u64 id;
	int ret;

	sigaction(SIGTERM, &term, NULL);
	/*
	 * Ctrl-C is the parent's to answer, and so are the files it writes; when it
	 * ends, so do we.
	 */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent || receive(orders, &id, sizeof(id)))
		return EXIT_SUCCESS;

	ret = ugm_open(device, &space);
	if (!ret) {
		ret = ugm_lane_open(space, id, 0, &lane);
		ugm_close(space);
	}
	if (write(answers, &ret, sizeof(ret)) != sizeof(ret) || ret)
		return EXIT_FAILURE;
	ret = ugm_serve(lane, 0, &stop, NULL);
	ugm_lane_close(lane);
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}

/**
 * ugm_server_fork() - make the process
 * @s: filled
 * @device: device node, or NULL
 * @err: out
 *
 * Context: before the space is opened and before threads are made.
 * Return: 0 or a negative errno.
 */
int ugm_server_fork(struct ugm_server *s, const char *device, struct ugm_error *err)
{
	int orders[2], answers[2];
	pid_t parent = getpid();
	int ret;

	*s = (struct ugm_server){ .orders = -1, .answers = -1 };
	if (pipe2(orders, O_CLOEXEC))
		return ugm_fail(err, -errno, "flash server: %s", strerror(errno));
	if (pipe2(answers, O_CLOEXEC)) {
		ret = -errno;
		goto close_orders;
	}
	s->pid = fork();
	if (s->pid < 0) {
		ret = -errno;
		goto close_answers;
	}
	if (!s->pid) {
		close(orders[1]);
		close(answers[0]);
		_exit(child(device, parent, orders[0], answers[1]));
	}
	close(orders[0]);
	close(answers[1]);
	s->orders = orders[1];
	s->answers = answers[0];
	return 0;

close_answers:
	close(answers[0]);
	close(answers[1]);
close_orders:
	close(orders[0]);
	close(orders[1]);
	s->pid = 0;
	return ugm_fail(err, ret, "flash server: %s", strerror(-ret));
}

/**
 * ugm_server_start() - let it serve a space
 * @s: server
 * @space: id of the space
 *
 * Return: 0 when it has the lane, or the negative errno why not (-EPERM: it
 * lacks CAP_SYS_ADMIN).
 */
int ugm_server_start(struct ugm_server *s, u64 space)
{
	int answer, ret;

	if (write(s->orders, &space, sizeof(space)) != sizeof(space))
		return -EPIPE;
	ret = receive(s->answers, &answer, sizeof(answer));
	return ret ? ret : answer;
}

/**
 * ugm_server_end() - end it and wait for it
 * @s: server, or one without a process
 *
 * Return: 0, or the number of the signal that it had died of.
 */
int ugm_server_end(struct ugm_server *s)
{
	int status = 0;

	if (!s->pid)
		return 0;
	close(s->orders);
	close(s->answers);
	kill(s->pid, SIGTERM);
	while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
		;
	s->pid = 0;
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}
