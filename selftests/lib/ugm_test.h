/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UGM_TEST_H
#define UGM_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ugm.h>

/**
 * DOC: kselftests
 *
 * Each test loads the module with the parameters it is about, attaches a piece
 * of the namespace, opens a device and maps both views of it; afterwards it
 * checks every invariant, that nothing is left in use, and unloads the module.
 * Nothing is shared between tests, so each can be run alone.
 *
 * Functions return 0 (or what they were asked for) or a negative errno.
 */

#define UT_DEVICE	"/dev/ugm0"
#define UT_NAMESPACE	"/dev/nvme0n1"
#define UT_NAMESPACE_LEN (64ULL << 20)
/* Bytes of the views that ut_open() maps. */
#define UT_SPAN		(256ULL << 20)

#define UT_NSEC		1000000000ULL
#define UT_MSEC		1000000ULL

/**
 * struct ut - a device under test
 * @fd: its file
 * @block: bytes of a block
 * @gpu: GPU view of the unified addresses 0 to UT_SPAN
 * @host: host view of these
 * @id: of the space
 */
struct ut {
	int fd;
	uint32_t block;
	char *gpu;
	char *host;
	uint64_t id;
};

/* The module and the device */
int ut_load(const char *params);
int ut_unload(void);
int ut_attach(const char *path, uint64_t len);
int ut_open(struct ut *d);
int ut_close(struct ut *d);
int ut_setup(struct ut *d, const char *params);
int ut_teardown(struct ut *d);
int ut_ioctl(int fd, unsigned long request, void *arg);
int ut_idle(int fd);

/* Ranges and where their blocks are */
int64_t ut_alloc(struct ut *d, uint64_t tag, uint64_t len, uint32_t flags);
int64_t ut_alloc_blocks(struct ut *d, uint64_t tag, uint64_t nr);
int ut_free(struct ut *d, uint64_t offset);
int ut_advise(struct ut *d, uint64_t offset, uint64_t len, uint32_t advice, uint32_t tier);
uint32_t ut_state(struct ut *d, uint64_t offset);
int ut_tier(struct ut *d, uint64_t offset);
bool ut_has_copy(struct ut *d, uint64_t offset, uint32_t tier);

/* Hints, launches, clocks */
int ut_hint(struct ut *d, uint32_t op, uint64_t tag, uint64_t offset, uint64_t len, uint32_t tier,
	    uint64_t at, uint64_t need);
int ut_hint_now(struct ut *d, uint32_t op, uint64_t tag, uint64_t first, uint64_t nr,
		uint32_t tier);
int ut_wait(struct ut *d, uint64_t *now);
int ut_move(struct ut *d, uint32_t op, uint64_t tag, uint64_t first, uint64_t nr, uint32_t tier);
int ut_launch(struct ut *d, uint64_t offset, uint64_t len, uint32_t access, uint64_t duration_ns,
	      struct ugm_ioc_launch *result);
int ut_options(struct ut *d, const struct ugm_ioc_options *changes);
int ut_virtual(struct ut *d, uint64_t fault_ns);

/* Statistics by name */
#define UT_NO_STAT UINT64_MAX
uint64_t ut_stat(struct ut *d, const char *name);
uint64_t ut_stats_like(struct ut *d, const char *prefix, const char *suffix);
uint64_t ut_moved(struct ut *d, const char *from, const char *to);

/* Data */
void ut_fill(void *p, size_t len, uint64_t seed);
int64_t ut_compare(const void *p, size_t len, uint64_t seed);
bool ut_zero(const void *p, size_t len);
int ut_touch(volatile char *p, bool write);

/* Failures on purpose, see kmod/inject.c */
int ut_inject(const char *what);
bool ut_waiting_for(const char *reason);
bool ut_await_waiter(const char *reason);

/* Time, processes, the kernel's files and its log */
uint64_t ut_now(void);
uint64_t ut_limit(unsigned int ms);
void ut_sleep_ms(unsigned int ms);
int ut_reap(pid_t pid, unsigned int ms, int *status);
int ut_write_file(const char *path, const char *text);
int ut_log_open(void);
int ut_log_lines(int fd, const char *word, char *last, size_t size);

#endif /* UGM_TEST_H */
