// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>

#include "array.h"
#include "output.h"
#include "schedule.h"
#include "text.h"
#include "units.h"

/**
 * struct rule - a run-time rule of a space, as a schedule names it
 * @name: its name
 * @offset: of its number in &struct ugm_options
 * @values: what the numbers are called; ends with NULL
 */
struct rule {
	const char *name;
	size_t offset;
	const char *values[4];
};

#define RULE(field) offsetof(struct ugm_options, field)

static const struct rule rules[] = {
	{ "victim", RULE(victim), { "fifo", "lru", "need" } },
	{ "clean", RULE(clean), { "write", "drop" } },
	{ "dead", RULE(dead), { "keep", "lazy", "drop" } },
	{ "promote", RULE(promote), { "off", "on" } },
	{ "prefetch-evicts", RULE(prefetch_evicts),
	  { "none", "unprotected", "any" } },
	{ "overlap", RULE(overlap), { "full", "none" } },
	{ "demand", RULE(demand), { "off", "on" } },
};

static const char *const op_names[UGM_NR_OPS] = {
	[UGM_OP_PREFETCH] = "prefetch",
	[UGM_OP_EVICT] = "evict",
	[UGM_OP_DISCARD] = "discard",
	[UGM_OP_PIN] = "pin",
	[UGM_OP_UNPIN] = "unpin",
	[UGM_OP_PROTECT] = "protect",
	[UGM_OP_UNPROTECT] = "unprotect",
	[UGM_OP_WRITEBACK] = "writeback",
};

/* Where an operation may move a block to; empty: it names no tier. */
static u32 tiers_of(u8 op)
{
	switch (op) {
	case UGM_OP_PREFETCH:
		return 1u << UGM_TIER_GPU | 1u << UGM_TIER_HOST;
	case UGM_OP_EVICT:
	case UGM_OP_WRITEBACK:
		return 1u << UGM_TIER_HOST | 1u << UGM_TIER_FLASH;
	default:
		return 0;
	}
}

/**
 * ugm_schedule_init() - an empty schedule with the engine's default options
 * @s: filled
 *
 * Context: any.
 */
void ugm_schedule_init(struct ugm_schedule *s)
{
	memset(s, 0, sizeof(*s));
	ugm_options_default(&s->opt);
}

/**
 * ugm_schedule_free() - forget a schedule
 * @s: schedule
 *
 * Context: any.
 */
void ugm_schedule_free(struct ugm_schedule *s)
{
	free(s->hints);
	memset(s, 0, sizeof(*s));
}

/**
 * ugm_schedule_add() - add a hint at the end
 * @s: schedule; ugm_schedule_sort() it after the last
 * @hint: hint
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_schedule_add(struct ugm_schedule *s,
		     const struct ugm_schedule_hint *hint)
{
	struct ugm_schedule_hint *p;

	p = ugm_array_room(s->hints, &s->room, s->nr_hints + 1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	s->hints = p;
	s->hints[s->nr_hints++] = *hint;
	return 0;
}

/**
 * ugm_schedule_sort() - order hints by launch, equals as they were added
 * @s: schedule
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_schedule_sort(struct ugm_schedule *s)
{
	struct ugm_schedule_hint *from = s->hints, *to, *swap;
	u64 width, lo, mid, hi, a, b, i;

	/* Merge sort, bottom up: qsort() is not stable. */
	to = calloc(s->nr_hints + 1, sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (width = 1; width < s->nr_hints; width *= 2) {
		for (lo = 0; lo < s->nr_hints; lo = hi) {
			mid = lo + width < s->nr_hints ? lo + width :
							 s->nr_hints;
			hi = mid + width < s->nr_hints ? mid + width :
							 s->nr_hints;
			a = lo;
			b = mid;
			for (i = lo; i < hi; i++) {
				if (a < mid && (b == hi ||
						from[a].at <= from[b].at))
					to[i] = from[a++];
				else
					to[i] = from[b++];
			}
		}
		swap = from;
		from = to;
		to = swap;
	}
	if (from == s->hints) {
		free(to);
	} else {
		free(to);
		s->hints = from;
		s->room = s->nr_hints + 1;
	}
	return 0;
}

/* @seen: a bit for each rule that was given before */
static int read_option(struct ugm_text *t, struct ugm_schedule *s, u32 *seen,
		       struct ugm_error *err)
{
	char list[128];
	size_t n = 0;
	unsigned int i, v;

	if (s->nr_hints)
		return ugm_text_fail(t, err, "options come before the hints");
	if (t->nr_words != 3)
		return ugm_text_fail(t, err, "an option line is 'option NAME VALUE'");
	for (i = 0; i < ARRAY_SIZE(rules); i++)
		if (!strcmp(t->words[1], rules[i].name))
			break;
	if (i == ARRAY_SIZE(rules)) {
		for (i = 0; i < ARRAY_SIZE(rules); i++)
			n += (size_t)snprintf(list + n, sizeof(list) - n,
					      "%s%s", i ? ", " : "",
					      rules[i].name);
		return ugm_text_fail(t, err, "option '%s' is not one of: %s",
				     t->words[1], list);
	}
	if (*seen & 1u << i)
		return ugm_text_fail(t, err, "option %s is given twice", t->words[1]);
	*seen |= 1u << i;
	for (v = 0; rules[i].values[v]; v++) {
		if (!strcmp(t->words[2], rules[i].values[v])) {
			*((u8 *)&s->opt + rules[i].offset) = (u8)v;
			return 0;
		}
	}
	for (v = 0; rules[i].values[v]; v++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s",
				      v ? ", " : "", rules[i].values[v]);
	return ugm_text_fail(t, err, "option %s: '%s' is not one of: %s",
			     t->words[1], t->words[2], list);
}

static int read_tensor(struct ugm_text *t, const struct ugm_trace *trace,
		       struct ugm_schedule_hint *h, struct ugm_error *err)
{
	char **w = t->words;
	s64 tensor;
	u64 tag, bytes;

	if (!ugm_decimal(w[3], &tag))
		return ugm_text_fail(t, err, "tensor '%s' is not a number", w[3]);
	tensor = ugm_trace_find(trace, tag);
	if (tensor < 0)
		return ugm_text_fail(t, err, "trace %s has no tensor %s",
				     trace->name, w[3]);
	h->tensor = (u32)tensor;
	bytes = trace->tensors[tensor].bytes;
	if (!ugm_decimal(w[4], &h->offset) || h->offset >= bytes)
		return ugm_text_fail(t, err, "offset '%s' is not within tensor %s (%llu bytes)",
				     w[4], w[3], (unsigned long long)bytes);
	if (!ugm_decimal(w[5], &h->len) || h->len > bytes - h->offset)
		return ugm_text_fail(t, err, "length '%s' at offset %s reaches beyond tensor %s (%llu bytes)",
				     w[5], w[4], w[3],
				     (unsigned long long)bytes);
	if (!h->len)
		h->len = bytes - h->offset;
	return 0;
}

static int read_tier(struct ugm_text *t, struct ugm_schedule_hint *h,
		     const char *name, struct ugm_error *err)
{
	u32 allowed = tiers_of(h->op);
	char list[32];
	size_t n = 0;
	u8 tier;

	for (tier = 0; tier < UGM_NR_TIERS; tier++) {
		if (!(allowed & 1u << tier))
			continue;
		if (name && !strcmp(name, ugm_tier_name(tier))) {
			h->tier = tier;
			return 0;
		}
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s",
				      n ? " or " : "", ugm_tier_name(tier));
	}
	if (name)
		return ugm_text_fail(t, err, "%s to '%s': its tier is %s",
				     op_names[h->op], name, list);
	return ugm_text_fail(t, err, "%s names no tier: %s", op_names[h->op],
			     list);
}

static int read_hint(struct ugm_text *t, const struct ugm_trace *trace,
		     struct ugm_schedule *s, struct ugm_error *err)
{
	struct ugm_schedule_hint h = { .need = UGM_NEED_NONE };
	u64 n = trace->nr_kernels, next = 6;
	char **w = t->words;
	int ret;

	if (t->nr_words < 6)
		return ugm_text_fail(t, err, "a hint line is 'at LAUNCH OP TENSOR OFFSET LENGTH [TIER] [need=LAUNCH]'");
	if (!ugm_decimal(w[1], &h.at) || h.at >= n)
		return ugm_text_fail(t, err, "launch '%s': trace %s has 0 to %llu",
				     w[1], trace->name,
				     (unsigned long long)n - 1);
	for (h.op = 0; h.op < UGM_NR_OPS; h.op++)
		if (!strcmp(w[2], op_names[h.op]))
			break;
	if (h.op == UGM_NR_OPS)
		return ugm_text_fail(t, err, "'%s' is no operation: prefetch, evict, discard, pin, unpin, protect, unprotect, writeback",
				     w[2]);
	ret = read_tensor(t, trace, &h, err);
	if (ret)
		return ret;
	if (tiers_of(h.op)) {
		ret = read_tier(t, &h, next < t->nr_words ? w[next] : NULL,
				err);
		if (ret)
			return ret;
		next++;
	}
	if (next < t->nr_words && !strncmp(w[next], "need=", 5)) {
		if (!ugm_decimal(w[next] + 5, &h.need) || h.need < h.at ||
		    h.need >= 2 * n)
			return ugm_text_fail(t, err, "'%s': allowed are %llu to %llu",
					     w[next], (unsigned long long)h.at,
					     (unsigned long long)(2 * n - 1));
		next++;
	}
	if (next < t->nr_words)
		return ugm_text_fail(t, err, "'%s' is too much", w[next]);
	if (ugm_schedule_add(s, &h))
		return ugm_fail(err, -ENOMEM, "%s: no memory", t->path);
	return 0;
}

/**
 * ugm_schedule_read() - read a schedule
 * @path: file, plain or gzip, or "-" for the standard input
 * @trace: the trace it is for
 * @s: filled; ugm_schedule_free() it if that succeeds
 * @err: why not: file, line and what is wrong
 *
 * Options that the file does not name are the engine's defaults.
 *
 * Context: may sleep.
 * Return: 0, or a negative errno.
 */
int ugm_schedule_read(const char *path, const struct ugm_trace *trace,
		      struct ugm_schedule *s, struct ugm_error *err)
{
	struct ugm_text t;
	u32 seen = 0;
	int ret;

	ugm_schedule_init(s);
	ret = ugm_text_open(&t, path, "ugm-schedule", UGM_SCHEDULE_VERSION, err);
	while (!ret && (ret = ugm_text_next(&t, err)) > 0) {
		if (!strcmp(t.words[0], "at"))
			ret = read_hint(&t, trace, s, err);
		else if (!strcmp(t.words[0], "option"))
			ret = read_option(&t, s, &seen, err);
		else
			ret = ugm_text_fail(&t, err, "'%s': a line begins with option, at or #",
					    t.words[0]);
	}
	ugm_text_close(&t);
	if (!ret && ugm_schedule_sort(s))
		ret = ugm_fail(err, -ENOMEM, "%s: no memory", path);
	if (ret)
		ugm_schedule_free(s);
	return ret;
}

static void write_hint(FILE *f, const struct ugm_schedule_hint *h,
		       const struct ugm_trace *trace)
{
	fprintf(f, "at %" PRIu64 " %s %" PRIu64 " %" PRIu64 " %" PRIu64, h->at,
		op_names[h->op], trace->tensors[h->tensor].id, h->offset,
		h->len);
	if (tiers_of(h->op))
		fprintf(f, " %s", ugm_tier_name(h->tier));
	if (h->need != UGM_NEED_NONE)
		fprintf(f, " need=%" PRIu64, h->need);
	fputc('\n', f);
}

/**
 * ugm_schedule_write() - write a schedule
 * @s: schedule, sorted
 * @trace: the trace it is for
 * @path: file, or "-" for the standard output
 * @err: why not
 *
 * Context: may sleep.
 * Return: 0, or a negative errno.
 */
int ugm_schedule_write(const struct ugm_schedule *s,
		       const struct ugm_trace *trace, const char *path,
		       struct ugm_error *err)
{
	struct ugm_output o;
	unsigned int i, v;
	int ret;
	u64 n;

	ret = ugm_output_open(&o, path, err);
	if (ret)
		return ret;
	fprintf(o.file, "# ugm-schedule %d\n", UGM_SCHEDULE_VERSION);
	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		v = *((const u8 *)&s->opt + rules[i].offset);
		fprintf(o.file, "option %s %s\n", rules[i].name,
			rules[i].values[v]);
	}
	for (n = 0; n < s->nr_hints; n++)
		write_hint(o.file, &s->hints[n], trace);
	return ugm_output_commit(&o, err);
}
