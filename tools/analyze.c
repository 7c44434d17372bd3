// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>

#include "command.h"
#include "cost.h"
#include "device.h"
#include "vitality.h"

/* Inactive periods by length: powers of ten from 10 us on, and all above. */
#define FIRST_LENGTH_NS 10000ULL
#define NR_LENGTHS 8

/**
 * struct lengths - inactive periods of a range of lengths
 * @below_ns: shorter than that
 * @nr: how many
 * @bytes: of their tensors
 * @flash: of them, those longer than a round trip to flash
 * @host: likewise to the host
 */
struct lengths {
	u64 below_ns;
	u64 nr;
	u64 bytes;
	u64 flash;
	u64 host;
};

/**
 * struct analysis - what a trace's tensors do
 * @trace: the trace
 * @live: bytes alive, by kernel
 * @active: bytes in use, by kernel
 * @start_ns: when each kernel starts
 * @global_bytes: of the global tensors
 * @peak: kernel with the most bytes alive
 * @largest: kernel that uses most
 * @inactive: share of live memory that is not in use, over time
 * @over_ns: time during which more is alive than the GPU tier holds
 * @over_both_ns: likewise than GPU and host tier hold together
 * @periods: all inactive periods
 * @wrapping: of them, those around the end of the iteration
 * @by_length: the same by length
 * @byte_ns: sum of bytes times length of all periods
 * @flash_byte_ns: of those longer than a round trip to flash
 * @host_byte_ns: of those longer than a round trip to the host
 */
struct analysis {
	const struct ugm_trace *trace;
	u64 *live;
	u64 *active;
	const u64 *start_ns;
	u64 global_bytes;
	u32 peak;
	u32 largest;
	double inactive;
	u64 over_ns;
	u64 over_both_ns;
	u64 periods;
	u64 wrapping;
	struct lengths by_length[NR_LENGTHS];
	double byte_ns;
	double flash_byte_ns;
	double host_byte_ns;
};

/* The largest tensor over the slowest link takes more ns than a u64 holds. */
static unsigned __int128 trip_ns(u64 bytes, u64 bytes_per_s, u64 latency_ns)
{
	return latency_ns + (unsigned __int128)bytes * 1000000000 / bytes_per_s;
}

static void add_period(struct analysis *a, const struct ugm_vitality *v,
		       const struct ugm_config *c, const struct ugm_period *p)
{
	u64 bytes = a->trace->tensors[p->tensor].bytes;
	u64 ns = ugm_period_ns(v, p);
	double product = (double)bytes * (double)ns;
	unsigned int i = 0;
	bool flash, host;

	flash = ns > trip_ns(bytes, c->flash_write_bytes_per_s,
			     c->flash_latency_ns) +
			     trip_ns(bytes, c->flash_read_bytes_per_s,
				     c->flash_latency_ns);
	host = ns > 2 * trip_ns(bytes, c->pcie_bytes_per_s, c->gpu_latency_ns);
	while (i + 1 < NR_LENGTHS && ns >= a->by_length[i].below_ns)
		i++;
	a->periods++;
	a->wrapping += p->to >= a->trace->nr_kernels;
	a->by_length[i].nr++;
	a->by_length[i].bytes += bytes;
	a->by_length[i].flash += flash;
	a->by_length[i].host += host;
	a->byte_ns += product;
	a->flash_byte_ns += flash ? product : 0;
	a->host_byte_ns += host ? product : 0;
}

static void curves(struct analysis *a, const struct ugm_config *c)
{
	const struct ugm_trace *t = a->trace;
	double live = 0, active = 0;
	u32 k, x;

	for (x = 0; x < t->nr_tensors; x++)
		if (t->tensors[x].global)
			a->global_bytes += t->tensors[x].bytes;
	for (k = 0; k < t->nr_kernels; k++) {
		double ns = (double)t->kernels[k].duration_ns;

		live += (double)a->live[k] * ns;
		active += (double)a->active[k] * ns;
		if (a->live[k] > a->live[a->peak])
			a->peak = k;
		if (a->active[k] > a->active[a->largest])
			a->largest = k;
		if (a->live[k] > c->gpu_mem_bytes)
			a->over_ns += t->kernels[k].duration_ns;
		if (a->live[k] > c->gpu_mem_bytes + c->host_mem_bytes)
			a->over_both_ns += t->kernels[k].duration_ns;
	}
	a->inactive = live > 0 ? 1 - active / live : 0;
}

static int analyse(const struct ugm_trace *t, const struct ugm_config *c,
		   struct ugm_vitality *v, struct analysis *a)
{
	struct ugm_period *periods;
	u64 nr, i, below = FIRST_LENGTH_NS;

	memset(a, 0, sizeof(*a));
	a->trace = t;
	for (i = 0; i < NR_LENGTHS; i++, below *= 10)
		a->by_length[i].below_ns = i + 1 < NR_LENGTHS ? below : U64_MAX;
	a->live = calloc(t->nr_kernels, sizeof(*a->live));
	a->active = calloc(t->nr_kernels, sizeof(*a->active));
	if (!a->live || !a->active || ugm_vitality_periods(v, &periods, &nr))
		return -ENOMEM;
	a->start_ns = v->start_ns;
	ugm_vitality_live(v, a->live);
	ugm_vitality_active(v, a->active);
	curves(a, c);
	for (i = 0; i < nr; i++)
		add_period(a, v, c, &periods[i]);
	free(periods);
	return 0;
}

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static const char *length_name(u64 ns, char *text, size_t len)
{
	if (ns == U64_MAX)
		snprintf(text, len, "longer");
	else if (ns < 1000000)
		snprintf(text, len, "< %" PRIu64 " us", ns / 1000);
	else if (ns < 1000000000)
		snprintf(text, len, "< %" PRIu64 " ms", ns / 1000000);
	else
		snprintf(text, len, "< %" PRIu64 " s", ns / 1000000000);
	return text;
}

static void show(const struct analysis *a, const struct ugm_config *c)
{
	const struct ugm_trace *t = a->trace;
	char name[32];
	unsigned int i;

	printf("%s: %u tensors, %u kernels, %.3f s without stalls\n", t->name,
	       t->nr_tensors, t->nr_kernels, (double)t->ideal_ns / 1e9);
	printf("alive at most   %10.3f GiB (kernel %u %s); global %.3f GiB\n",
	       (double)a->live[a->peak] / 0x1p30, a->peak,
	       t->kernels[a->peak].name, (double)a->global_bytes / 0x1p30);
	printf("largest kernel  %10.3f GiB (kernel %u %s)\n",
	       (double)a->active[a->largest] / 0x1p30, a->largest,
	       t->kernels[a->largest].name);
	printf("over capacity   %9.1f%% of the time (%.1f GiB)\n",
	       share((double)a->over_ns, (double)t->ideal_ns) * 100,
	       (double)c->gpu_mem_bytes / 0x1p30);
	printf("with the host   %9.1f%% of the time (%.1f GiB)\n",
	       share((double)a->over_both_ns, (double)t->ideal_ns) * 100,
	       (double)(c->gpu_mem_bytes + c->host_mem_bytes) / 0x1p30);
	printf("inactive        %9.1f%% of the memory alive, over time\n",
	       a->inactive * 100);
	printf("\ninactive periods: %" PRIu64 ", around the end of the iteration: %" PRIu64 "\n",
	       a->periods, a->wrapping);
	printf("%-10s  %8s  %12s  %21s  %21s\n", "length", "periods", "GiB",
	       "longer than flash trip", "longer than host trip");
	for (i = 0; i < NR_LENGTHS; i++) {
		const struct lengths *l = &a->by_length[i];

		printf("%-10s  %8" PRIu64 "  %12.3f  %21.1f%%  %20.1f%%\n",
		       length_name(l->below_ns, name, sizeof(name)), l->nr,
		       (double)l->bytes / 0x1p30,
		       share((double)l->flash, (double)l->nr) * 100,
		       share((double)l->host, (double)l->nr) * 100);
	}
	printf("of bytes x time inactive: %.1f%% could be in flash, %.1f%% in the host\n",
	       share(a->flash_byte_ns, a->byte_ns) * 100,
	       share(a->host_byte_ns, a->byte_ns) * 100);
}

static struct json_object *lengths_json(const struct analysis *a)
{
	struct json_object *list = json_object_new_array(), *o;
	unsigned int i;

	for (i = 0; i < NR_LENGTHS; i++) {
		const struct lengths *l = &a->by_length[i];

		o = json_object_new_object();
		json_object_object_add(o, "below_ns",
			l->below_ns == U64_MAX ? NULL :
				json_object_new_uint64(l->below_ns));
		json_add_u64(o, "periods", l->nr);
		json_add_u64(o, "bytes", l->bytes);
		json_add_u64(o, "longer_than_flash_round_trip", l->flash);
		json_add_u64(o, "longer_than_host_round_trip", l->host);
		json_object_array_add(list, o);
	}
	return list;
}

static int show_json(const struct analysis *a)
{
	struct json_object *o = json_object_new_object();
	struct json_object *curve = json_object_new_array(), *point;
	const struct ugm_trace *t = a->trace;
	u32 k;

	json_add_text(o, "schema", "ugm.analysis/1");
	json_add_text(o, "trace", t->name);
	json_add_u64(o, "tensors", t->nr_tensors);
	json_add_u64(o, "kernels", t->nr_kernels);
	json_add_u64(o, "ideal_ns", t->ideal_ns);
	json_add_u64(o, "global_bytes", a->global_bytes);
	json_add_u64(o, "peak_live_bytes", a->live[a->peak]);
	json_add_u64(o, "peak_kernel", a->peak);
	json_add_u64(o, "largest_kernel_bytes", a->active[a->largest]);
	json_add_u64(o, "largest_kernel", a->largest);
	json_add_u64(o, "over_capacity_ns", a->over_ns);
	json_add_u64(o, "over_gpu_and_host_ns", a->over_both_ns);
	json_add_double(o, "inactive_fraction", a->inactive);
	json_add_u64(o, "periods", a->periods);
	json_add_u64(o, "wrapping_periods", a->wrapping);
	json_object_object_add(o, "periods_by_length", lengths_json(a));
	json_add_double(o, "fraction_beyond_flash_round_trip",
			share(a->flash_byte_ns, a->byte_ns));
	json_add_double(o, "fraction_beyond_host_round_trip",
			share(a->host_byte_ns, a->byte_ns));
	for (k = 0; k < t->nr_kernels; k++) {
		point = json_object_new_object();
		json_add_u64(point, "start_ns", a->start_ns[k]);
		json_add_u64(point, "live_bytes", a->live[k]);
		json_add_u64(point, "active_bytes", a->active[k]);
		json_object_array_add(curve, point);
	}
	json_object_object_add(o, "curve", curve);
	return json_print(o);
}

static int analyze(const char *path, bool json, const struct ugm_config *config)
{
	struct ugm_vitality v;
	struct ugm_trace *trace;
	struct ugm_error err;
	struct analysis a;
	int status = EXIT_DONE;

	if (ugm_trace_read(path, &trace, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	if (ugm_vitality_analyse(trace, &v)) {
		ugm_trace_free(trace);
		return complain(EXIT_FAILED, "no memory");
	}
	if (analyse(trace, config, &v, &a))
		status = complain(EXIT_FAILED, "no memory");
	else if (json)
		status = show_json(&a);
	else
		show(&a, config);
	free(a.live);
	free(a.active);
	ugm_vitality_free(&v);
	ugm_trace_free(trace);
	return status;
}

/**
 * cmd_analyze() - ugm analyze
 * @argc: of the verb
 * @argv: of the verb
 *
 * Return: exit status.
 */
int cmd_analyze(int argc, char **argv)
{
	bool json = false;
	struct ugm_config config;
	struct ugm_error err;
	const struct option_group groups[] = { { json_option, &json },
					       { machine_options, &config },
					       {} };
	const struct usage usage = {
		.synopsis = "TRACE",
		.summary = "Tensor vitality: what is alive, what is in use, and how long the rest is idle.",
		.groups = groups,
		.min_operands = 1,
		.max_operands = 1,
	};
	const char *trace;
	int status;

	status = cost_begin(&usage, argc, argv, &config, &trace);
	if (status != OPTIONS_GO_ON)
		return status;
	status = options_obey((const struct option_rule[]){
		{ true, "fault-ns", "means nothing to an analysis" }, {} });
	if (status != OPTIONS_GO_ON)
		return status;
	if (ugm_config_check(&config, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	return analyze(trace, json, &config);
}
