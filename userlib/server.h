/* SPDX-License-Identifier: MIT */
#ifndef UGM_SERVER_H
#define UGM_SERVER_H

#include <sys/types.h>

#include "error.h"
#include "pure.h"

/**
 * struct ugm_server - a flash server in a process of its own
 * @pid: the process, or 0: none
 * @orders: pipe to it: the space to serve
 * @answers: pipe from it: 0, or the negative errno why it does not serve
 */
struct ugm_server {
	pid_t pid;
	int orders;
	int answers;
};

int ugm_server_fork(struct ugm_server *s, const char *device, struct ugm_error *err);
int ugm_server_start(struct ugm_server *s, u64 space);
int ugm_server_end(struct ugm_server *s);

#endif /* UGM_SERVER_H */
