// SPDX-License-Identifier: MIT
#include <inttypes.h>

#include "json.h"
#include "output.h"
#include "perfetto.h"

/**
 * DOC: timelines
 *
 * A record as a Chrome trace, which ui.perfetto.dev and chrome://tracing show:
 * kernels and their stalls, transfers by path, and the memory in use.
 */

enum { PID_GPU = 1, PID_LINKS, PID_MEMORY };
enum { TID_KERNELS = 1, TID_STALLS };

static const char *const causes[UGM_NR_CAUSES] = {
	[UGM_CAUSE_DEMAND] = "demand",
	[UGM_CAUSE_PLANNED] = "planned",
	[UGM_CAUSE_EVICTION] = "eviction",
	[UGM_CAUSE_TOUCH] = "touch",
};

static void name_track(FILE *f, int pid, int tid, const char *kind,
		       const char *name)
{
	fprintf(f, "{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"args\":{\"name\":\"%s\"}},\n",
		pid, tid, kind, name);
}

/* Microseconds, as these files count, without losing a nanosecond. */
#define US_FORMAT "%" PRIu64 ".%03" PRIu64
#define US_OF(ns) (ns) / 1000, (ns) % 1000

static void slice(FILE *f, int pid, int tid, u64 begin_ns, u64 end_ns,
		  const char *name)
{
	fprintf(f, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":" US_FORMAT ",\"dur\":" US_FORMAT
		   ",\"name\":",
		pid, tid, US_OF(begin_ns), US_OF(end_ns - begin_ns));
	ugm_json_print_text(f, name);
}

static int tid_of(const struct ugm_record_move *m)
{
	return m->src * UGM_NR_TIERS + m->dst;
}

static void write_names(FILE *f)
{
	char name[32];
	u8 src, dst;

	name_track(f, PID_GPU, 0, "process_name", "GPU");
	name_track(f, PID_GPU, TID_KERNELS, "thread_name", "kernels");
	name_track(f, PID_GPU, TID_STALLS, "thread_name", "stalls");
	name_track(f, PID_LINKS, 0, "process_name", "transfers");
	name_track(f, PID_MEMORY, 0, "process_name", "memory");
	for (src = UGM_TIER_GPU; src < UGM_NR_TIERS; src++) {
		for (dst = UGM_TIER_GPU; dst < UGM_NR_TIERS; dst++) {
			if (src == dst)
				continue;
			snprintf(name, sizeof(name), "%s to %s",
				 ugm_tier_name(src), ugm_tier_name(dst));
			name_track(f, PID_LINKS, src * UGM_NR_TIERS + dst,
				   "thread_name", name);
		}
	}
}

static void write_launch(FILE *f, const struct ugm_trace *t,
			 const struct ugm_record *r, u32 k)
{
	const struct ugm_record_launch *l = &r->launches[k];
	u64 stall = ugm_record_stall(r, k);
	u8 tier;

	slice(f, PID_GPU, TID_KERNELS, l->begin_ns, l->end_ns,
	      t->kernels[k].name);
	fprintf(f, ",\"args\":{\"kernel\":%u,\"duration_ns\":%" PRIu64
		   ",\"fault_bytes\":%" PRIu64 "}},\n",
		k, l->duration_ns, l->fault_bytes);
	if (stall) {
		slice(f, PID_GPU, TID_STALLS, l->begin_ns, l->begin_ns + stall,
		      t->kernels[k].name);
		fprintf(f, ",\"args\":{\"kernel\":%u,\"stall_ns\":%" PRIu64
			   "}},\n", k, stall);
	}
	for (tier = UGM_TIER_GPU; tier < UGM_NR_TIERS; tier++)
		fprintf(f, "{\"ph\":\"C\",\"pid\":%d,\"tid\":0,\"ts\":" US_FORMAT
			   ",\"name\":\"%s\",\"args\":{\"bytes\":%" PRIu64
			   "}},\n", PID_MEMORY, US_OF(l->end_ns),
			ugm_tier_name(tier), l->used_bytes[tier]);
}

/**
 * ugm_perfetto_write() - write a record as a timeline
 * @trace: the trace
 * @r: record
 * @path: file, or "-" for the standard output
 * @err: why not
 *
 * Context: may sleep.
 * Return: 0 or a negative errno.
 */
int ugm_perfetto_write(const struct ugm_trace *trace, const struct ugm_record *r,
		       const char *path, struct ugm_error *err)
{
	struct ugm_output o;
	char name[64];
	u64 i;
	u32 k;
	int ret;

	ret = ugm_output_open(&o, path, err);
	if (ret)
		return ret;
	fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", o.file);
	write_names(o.file);
	for (k = 0; k < r->nr_launches; k++)
		write_launch(o.file, trace, r, k);
	for (i = 0; i < r->nr_moves; i++) {
		const struct ugm_record_move *m = &r->moves[i];

		snprintf(name, sizeof(name), "tensor %" PRIu64,
			 trace->tensors[m->tensor].id);
		slice(o.file, PID_LINKS, tid_of(m), m->begin_ns, m->end_ns,
		      name);
		fprintf(o.file, ",\"cat\":\"%s\",\"args\":{\"bytes\":%" PRIu64
			",\"cause\":\"%s\"}},\n", causes[m->cause], m->bytes,
			causes[m->cause]);
	}
	fputs("{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":0}}\n]}\n",
	      o.file);
	return ugm_output_commit(&o, err);
}
