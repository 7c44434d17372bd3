// SPDX-License-Identifier: GPL-2.0
#include <time.h>

#include "ugm_test.h"

#define DEBUGFS "/sys/kernel/debug/ugm/ugm0/"

/**
 * ut_write_file() - tell the kernel something through one of its files
 * @path: file, which is there
 * @text: what to write, in one go
 *
 * Return: 0 or a negative errno.
 */
int ut_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/**
 * ut_inject() - arm a failure of the device
 * @what: a word and a number, as in kmod/inject.c
 */
int ut_inject(const char *what)
{
	return ut_write_file(DEBUGFS "inject", what);
}

/**
 * ut_waiting_for() - does debugfs name somebody who sleeps in the module?
 * @reason: part of the name
 */
bool ut_waiting_for(const char *reason)
{
	FILE *f = fopen(DEBUGFS "waiters", "re");
	char line[256];
	bool found = false;

	while (f && fgets(line, sizeof(line), f))
		found |= !!strstr(line, reason);
	if (f)
		fclose(f);
	return found;
}

/**
 * ut_await_waiter() - until somebody sleeps in the module
 * @reason: part of the name that debugfs gives to it
 *
 * Return: false if nobody does for three seconds.
 */
bool ut_await_waiter(const char *reason)
{
	uint64_t until = ut_now() + ut_limit(3000);

	while (!ut_waiting_for(reason)) {
		if (ut_now() > until)
			return false;
		ut_sleep_ms(10);
	}
	return true;
}

/**
 * ut_limit() - a time limit
 * @ms: milliseconds on a stock kernel
 *
 * Return: ns, longer by what scripts/vm says of the kernel that runs.
 */
uint64_t ut_limit(unsigned int ms)
{
	const char *slowness = getenv("UGM_SLOWNESS");

	return ms * UT_MSEC * (slowness ? strtoul(slowness, NULL, 10) : 1);
}

/**
 * ut_now() - a clock
 *
 * Return: ns since some point in the past.
 */
uint64_t ut_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * UT_NSEC + ts.tv_nsec;
}

/**
 * ut_sleep_ms() - sleep
 * @ms: milliseconds
 */
void ut_sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&ts, NULL);
}

/**
 * ut_reap() - wait for a child with a limit
 * @pid: child
 * @ms: milliseconds, see ut_limit()
 * @status: out: as of waitpid()
 *
 * Return: 0, -ETIMEDOUT (it lives on), or what waitpid() says.
 */
int ut_reap(pid_t pid, unsigned int ms, int *status)
{
	uint64_t until = ut_now() + ut_limit(ms);
	pid_t r;

	for (;;) {
		r = waitpid(pid, status, WNOHANG);
		if (r < 0)
			return -errno;
		if (r == pid)
			return 0;
		if (ut_now() > until)
			return -ETIMEDOUT;
		ut_sleep_ms(2);
	}
}

/**
 * ut_log_open() - the kernel's log from now on
 *
 * Return: a file for ut_log_lines(), or a negative errno.
 */
int ut_log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	lseek(fd, 0, SEEK_END);
	return fd;
}

/**
 * ut_log_lines() - count the lines of the kernel's log that have a word
 * @fd: of ut_log_open()
 * @word: the word
 * @last: out, or NULL: the last one of them
 * @size: of @last
 *
 * Return: how many there were since the last call.
 */
int ut_log_lines(int fd, const char *word, char *last, size_t size)
{
	char line[8192], *text, *end;
	ssize_t n;
	int nr = 0;

	while ((n = read(fd, line, sizeof(line) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		if (n < 0)
			continue;
		line[n] = 0;
		text = strchr(line, ';');
		if (!text || !strstr(text, word))
			continue;
		end = strchr(text, '\n');
		if (end)
			*end = 0;
		if (last)
			snprintf(last, size, "%s", text + 1);
		nr++;
	}
	return nr;
}
