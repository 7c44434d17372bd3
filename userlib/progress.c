// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"

#define SHOW_EVERY_NS 100000000ULL

/**
 * ugm_wall_ns() - monotonic time
 *
 * Context: any.
 * Return: ns since some fixed moment.
 */
u64 ugm_wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ULL + (u64)ts.tv_nsec;
}

/**
 * ugm_progress_begin() - something long begins
 * @p: filled
 * @what: what; must stay
 * @total: steps it has
 *
 * Context: any.
 */
void ugm_progress_begin(struct ugm_progress *p, const char *what, u64 total)
{
	*p = (struct ugm_progress){
		.what = what,
		.total = total,
		.shown_ns = ugm_wall_ns(),
		.on = isatty(STDERR_FILENO),
	};
}

/**
 * ugm_progress_update() - so many steps are done
 * @p: progress; NULL: nobody wants to know
 * @done: steps
 *
 * Cheap enough to call at every step.
 *
 * Context: any.
 */
void ugm_progress_update(struct ugm_progress *p, u64 done)
{
	u64 now;

	if (!p || !p->on)
		return;
	now = ugm_wall_ns();
	if (now - p->shown_ns < SHOW_EVERY_NS)
		return;
	p->shown_ns = now;
	p->visible = true;
	fprintf(stderr, "\r%s: %llu of %llu (%llu %%)\033[K", p->what,
		(unsigned long long)done, (unsigned long long)p->total,
		(unsigned long long)(p->total ? done * 100 / p->total : 100));
	fflush(stderr);
}

/**
 * ugm_progress_end() - it is over: wipe the line
 * @p: progress
 *
 * Context: any.
 */
void ugm_progress_end(struct ugm_progress *p)
{
	if (p->visible)
		fputs("\r\033[K", stderr);
	p->visible = false;
}
