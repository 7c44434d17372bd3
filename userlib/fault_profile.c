// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <unistd.h>

#include "fault_profile.h"
#include "text.h"
#include "units.h"

static char *path_beside(const char *trace)
{
	static const char *const endings[] = { ".gz", ".trace" };
	size_t len = strlen(trace), n;
	unsigned int i;
	char *path;

	for (i = 0; i < ARRAY_SIZE(endings); i++) {
		n = strlen(endings[i]);
		if (len > n && !strncmp(trace + len - n, endings[i], n))
			len -= n;
	}
	return asprintf(&path, "%.*s.pf", (int)len, trace) < 0 ? NULL : path;
}

static int read_line(const struct ugm_text *text, const struct ugm_trace *trace, u32 kernel,
		     struct ugm_fault_times *t, struct ugm_error *err)
{
	u64 *const values[] = { &t->resident_ns, &t->outputs_ns, &t->all_ns };
	unsigned int i;
	u64 index;

	if (text->nr_words != 4)
		return ugm_text_fail(
			text, err,
			"%llu words: a line is 'INDEX RESIDENT_NS OUTPUTS_FAULT_NS ALL_FAULT_NS'",
			(unsigned long long)text->nr_words);
	if (!ugm_decimal(text->words[0], &index) || index != kernel)
		return ugm_text_fail(text, err, "kernel '%s': expected kernel %u", text->words[0],
				     kernel);
	if (kernel >= trace->nr_kernels)
		return ugm_text_fail(text, err, "kernel %u: %s has %u kernels", kernel, trace->name,
				     trace->nr_kernels);
	for (i = 0; i < ARRAY_SIZE(values); i++)
		if (!ugm_decimal(text->words[i + 1], values[i]))
			return ugm_text_fail(text, err, "'%s' is not a number of nanoseconds",
					     text->words[i + 1]);
	if (t->outputs_ns < t->resident_ns)
		t->outputs_ns = t->resident_ns;
	if (t->all_ns < t->outputs_ns)
		t->all_ns = t->outputs_ns;
	return 0;
}

static int read_lines(struct ugm_text *text, const struct ugm_trace *trace,
		      struct ugm_fault_times *times, struct ugm_error *err)
{
	struct ugm_fault_times t;
	u32 kernel = 0;
	int ret;

	while ((ret = ugm_text_next(text, err)) > 0) {
		ret = read_line(text, trace, kernel, &t, err);
		if (ret)
			return ret;
		times[kernel++] = t;
	}
	if (!ret && kernel < trace->nr_kernels)
		ret = ugm_fail(err, -EINVAL, "%s: %u kernels: %s has %u", text->path, kernel,
			       trace->name, trace->nr_kernels);
	return ret;
}

/**
 * ugm_fault_profile_read() - read the profile beside a trace
 * @trace: trace
 * @times: by kernel; free() it. NULL: the trace has no profile
 * @err: why not: file, line and what is wrong
 *
 * Context: may sleep.
 * Return: 0, or a negative errno.
 */
int ugm_fault_profile_read(const struct ugm_trace *trace, struct ugm_fault_times **times,
			   struct ugm_error *err)
{
	struct ugm_text text;
	char *path;
	int ret;

	*times = NULL;
	if (!trace->path || !strcmp(trace->path, "-"))
		return 0;
	path = path_beside(trace->path);
	if (!path)
		return ugm_fail(err, -ENOMEM, "%s: no memory", trace->path);
	if (access(path, F_OK)) {
		free(path);
		return 0;
	}
	*times = calloc(trace->nr_kernels, sizeof(**times));
	if (!*times) {
		free(path);
		return ugm_fail(err, -ENOMEM, "%s: no memory", trace->path);
	}
	ret = ugm_text_open(&text, path, NULL, 0, err);
	if (!ret)
		ret = read_lines(&text, trace, *times, err);
	ugm_text_close(&text);
	free(path);
	if (ret) {
		free(*times);
		*times = NULL;
	}
	return ret;
}
