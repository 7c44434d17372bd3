/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UGM_IOCTL_H
#define UGM_IOCTL_H

struct ugm_file_space;

/*
 * One function a request: @arg is a kernel copy of its structure, which is
 * copied back when the function returns 0. Context: process context, no locks.
 */
int ugm_ioc_info(struct ugm_file_space *fs, void *arg);
int ugm_ioc_alloc(struct ugm_file_space *fs, void *arg);
int ugm_ioc_free(struct ugm_file_space *fs, void *arg);
int ugm_ioc_advise(struct ugm_file_space *fs, void *arg);
int ugm_ioc_hint(struct ugm_file_space *fs, void *arg);
int ugm_ioc_launch(struct ugm_file_space *fs, void *arg);
int ugm_ioc_wait(struct ugm_file_space *fs, void *arg);
int ugm_ioc_residency(struct ugm_file_space *fs, void *arg);
int ugm_ioc_stats(struct ugm_file_space *fs, void *arg);
int ugm_ioc_options(struct ugm_file_space *fs, void *arg);
int ugm_ioc_machine(struct ugm_file_space *fs, void *arg);
int ugm_ioc_reset(struct ugm_file_space *fs, void *arg);
int ugm_ioc_check(struct ugm_file_space *fs, void *arg);
int ugm_ioc_spaces(struct ugm_file_space *fs, void *arg);
int ugm_ioc_ranges(struct ugm_file_space *fs, void *arg);

#endif /* UGM_IOCTL_H */
