// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "output.h"
#include "result.h"

/* The directions of traffic, as results name them. */
static const struct {
	const char *name;
	enum ugm_tier src, dst;
} directions[] = {
	{ "flash_to_gpu", UGM_TIER_FLASH, UGM_TIER_GPU },
	{ "gpu_to_flash", UGM_TIER_GPU, UGM_TIER_FLASH },
	{ "host_to_gpu", UGM_TIER_HOST, UGM_TIER_GPU },
	{ "gpu_to_host", UGM_TIER_GPU, UGM_TIER_HOST },
	{ "flash_to_host", UGM_TIER_FLASH, UGM_TIER_HOST },
	{ "host_to_flash", UGM_TIER_HOST, UGM_TIER_FLASH },
};

/**
 * ugm_result_init() - a result to be filled
 * @r: filled; ugm_result_free() it whatever is returned
 * @trace: name of the trace
 * @policy: name of the policy, or path of the schedule
 * @ideal_ns: sum of the kernels' durations
 * @iterations: how many there will be, not zero
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_result_init(struct ugm_result *r, const char *trace, const char *policy,
		    u64 ideal_ns, u64 iterations)
{
	memset(r, 0, sizeof(*r));
	r->ideal_ns = ideal_ns;
	r->trace = strdup(trace);
	r->policy = strdup(policy);
	r->iterations_ns = calloc(iterations, sizeof(*r->iterations_ns));
	if (!r->trace || !r->policy || !r->iterations_ns)
		return -ENOMEM;
	r->iterations = iterations;
	return 0;
}

/**
 * ugm_result_is() - is an iteration the result?
 * @r: result, with the times of the iterations up to this one
 * @iteration: from 0
 *
 * Where the fastest is the result the answer holds until there is a faster one.
 *
 * Context: any.
 */
bool ugm_result_is(const struct ugm_result *r, u64 iteration)
{
	u64 i;

	if (!r->fastest)
		return iteration == ugm_result_iteration(r->iterations);
	for (i = 0; i < iteration; i++)
		if (r->iterations_ns[i] <= r->iterations_ns[iteration])
			return false;
	return true;
}

/**
 * ugm_result_finish() - every iteration's time is there: choose the result
 * @r: result
 *
 * Context: any.
 */
void ugm_result_finish(struct ugm_result *r)
{
	struct rusage usage;
	u64 i;

	r->iteration_ns = r->iterations_ns[ugm_result_iteration(r->iterations)];
	for (i = 0; r->fastest && i < r->iterations; i++)
		if (r->iterations_ns[i] < r->iteration_ns)
			r->iteration_ns = r->iterations_ns[i];
	if (!getrusage(RUSAGE_SELF, &usage))
		r->peak_rss_bytes = (u64)usage.ru_maxrss * 1024;
}

/**
 * ugm_result_free() - forget a result
 * @r: result
 *
 * Context: any.
 */
void ugm_result_free(struct ugm_result *r)
{
	free(r->trace);
	free(r->policy);
	free(r->iterations_ns);
	memset(r, 0, sizeof(*r));
}

static double fraction_of_ideal(const struct ugm_result *r)
{
	return r->iteration_ns ?
		       (double)r->ideal_ns / (double)r->iteration_ns : 1.0;
}

static void add(struct json_object *o, const char *key, struct json_object *v)
{
	json_object_object_add(o, key, v);
}

static void add_u64(struct json_object *o, const char *key, u64 v)
{
	add(o, key, json_object_new_uint64(v));
}

static void add_string(struct json_object *o, const char *key, const char *v)
{
	add(o, key, json_object_new_string(v));
}

static struct json_object *config_json(const struct ugm_config *c)
{
	struct json_object *o = json_object_new_object();

	add_string(o, "preset", c->preset);
	add_string(o, "units",
		   "GB = 1e9 for bandwidths, 2^30 for capacities");
	add_u64(o, "gpu_mem_bytes", c->gpu_mem_bytes);
	add_u64(o, "host_mem_bytes", c->host_mem_bytes);
	add_u64(o, "pcie_bytes_per_s", c->pcie_bytes_per_s);
	add_u64(o, "flash_read_bytes_per_s", c->flash_read_bytes_per_s);
	add_u64(o, "flash_write_bytes_per_s", c->flash_write_bytes_per_s);
	add_u64(o, "gpu_latency_ns", c->gpu_latency_ns);
	add_u64(o, "flash_latency_ns", c->flash_latency_ns);
	add_u64(o, "fault_ns", c->fault_ns);
	add_u64(o, "fault_batch_bytes", c->fault_batch_bytes);
	add_string(o, "overlap",
		   c->overlap == UGM_OVERLAP_FULL ? "full" : "none");
	add_u64(o, "scale", c->scale);
	add_u64(o, "block_size_bytes", c->block_size);
	add_u64(o, "iterations", c->iterations);
	add(o, "target_factor", json_object_new_double(c->target_factor));
	add(o, "noise", json_object_new_double(c->noise));
	add_u64(o, "seed", c->seed);
	add_string(o, "noise_per", c->noise_per_name ? "name" : "call");
	add(o, "replan", json_object_new_boolean(c->replan));
	add_string(o, "drive", c->drive.name);
	add(o, "drive_capacity_bytes",
	    json_object_new_double(c->drive.capacity_bytes));
	add(o, "drive_endurance_bytes",
	    json_object_new_double(c->drive.endurance_bytes));
	return o;
}

static struct json_object *wear_json(const struct ugm_config *c,
				     const struct ugm_result *r)
{
	u64 bytes = r->traffic_bytes[UGM_TIER_GPU][UGM_TIER_FLASH] +
		    r->traffic_bytes[UGM_TIER_HOST][UGM_TIER_FLASH];
	struct json_object *o = json_object_new_object();
	struct ugm_drive_wear wear;

	ugm_drive_wear(&c->drive, bytes, r->iteration_ns, &wear);
	add_u64(o, "written_bytes", wear.bytes);
	add(o, "drive_writes_per_day",
	    json_object_new_double(wear.drive_writes_per_day));
	add(o, "lifetime_years", isfinite(wear.lifetime_years) ?
		json_object_new_double(wear.lifetime_years) : NULL);
	return o;
}

static struct json_object *result_json(const struct ugm_config *c,
				       const struct ugm_result *r)
{
	struct json_object *o = json_object_new_object();
	struct json_object *list, *traffic, *fraction;
	unsigned int i;
	u64 n;

	add_string(o, "trace", r->trace);
	add_string(o, "policy", r->policy);
	if (*r->error.text) {
		add_string(o, "error", r->error.text);
		add(o, "exact", NULL);
		add(o, "iteration_ns", NULL);
		add(o, "iterations_ns", NULL);
		add_u64(o, "ideal_ns", r->ideal_ns);
		add(o, "stall_ns", NULL);
		add(o, "fraction_of_ideal", NULL);
		add(o, "traffic_bytes", NULL);
		add(o, "flash_wear", NULL);
		add(o, "plan_ns", NULL);
		add(o, "peak_rss_bytes", NULL);
		return o;
	}
	add(o, "exact", json_object_new_boolean(!r->inexact));
	add_u64(o, "iteration_ns", r->iteration_ns);
	list = json_object_new_array();
	for (n = 0; n < r->iterations; n++)
		json_object_array_add(list, json_object_new_uint64(
						    r->iterations_ns[n]));
	add(o, "iterations_ns", list);
	add_u64(o, "ideal_ns", r->ideal_ns);
	add_u64(o, "stall_ns", r->iteration_ns - r->ideal_ns);
	fraction = json_object_new_double(fraction_of_ideal(r));
	json_object_set_serializer(fraction, json_object_double_to_json_string,
				   (void *)"%.9f", NULL);
	add(o, "fraction_of_ideal", fraction);
	traffic = json_object_new_object();
	for (i = 0; i < ARRAY_SIZE(directions); i++)
		add_u64(traffic, directions[i].name,
			r->traffic_bytes[directions[i].src][directions[i].dst]);
	add(o, "traffic_bytes", traffic);
	add(o, "flash_wear", wear_json(c, r));
	add_u64(o, "plan_ns", r->plan_ns);
	add_u64(o, "peak_rss_bytes", r->peak_rss_bytes);
	return o;
}

/**
 * ugm_result_json() - results as JSON, schema ugm.result/1
 * @config: what determines them
 * @results: results
 * @nr: how many
 *
 * Context: any.
 * Return: a JSON object, the caller's; its "config" may be added to.
 */
struct json_object *ugm_result_json(const struct ugm_config *config,
				    const struct ugm_result *results,
				    unsigned int nr)
{
	struct json_object *o = json_object_new_object();
	struct json_object *list = json_object_new_array();
	unsigned int i;

	for (i = 0; i < nr; i++)
		json_object_array_add(list, result_json(config, &results[i]));
	add_string(o, "schema", "ugm.result/1");
	add(o, "config", config_json(config));
	add(o, "results", list);
	return o;
}

/**
 * ugm_result_write_json() - write JSON to a file
 * @json: object; given up
 * @path: file, or "-" for the standard output
 * @err: why not
 *
 * Context: may sleep.
 * Return: 0, or a negative errno.
 */
int ugm_result_write_json(struct json_object *json, const char *path,
			  struct ugm_error *err)
{
	struct ugm_output o;
	int ret;

	ret = ugm_output_open(&o, path, err);
	if (!ret) {
		fputs(json_object_to_json_string_ext(
			      json, JSON_C_TO_STRING_PRETTY |
				    JSON_C_TO_STRING_NOSLASHESCAPE), o.file);
		fputc('\n', o.file);
		ret = ugm_output_commit(&o, err);
	}
	json_object_put(json);
	return ret;
}

/* A field of RFC 4180. */
static void csv_text(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

/**
 * ugm_result_write_csv() - results as comma-separated values with a header
 * @out: where to
 * @results: results
 * @nr: how many
 *
 * Context: may sleep.
 */
void ugm_result_write_csv(FILE *out, const struct ugm_result *results,
			  unsigned int nr)
{
	unsigned int i, d;

	fputs("trace,policy,exact,iteration_ns,ideal_ns,stall_ns,fraction_of_ideal",
	      out);
	for (d = 0; d < ARRAY_SIZE(directions); d++)
		fprintf(out, ",%s_bytes", directions[d].name);
	fputs(",plan_ns,peak_rss_bytes,error\n", out);
	for (i = 0; i < nr; i++) {
		const struct ugm_result *r = &results[i];

		csv_text(out, r->trace);
		fputc(',', out);
		csv_text(out, r->policy);
		if (*r->error.text) {
			fprintf(out, ",,,%" PRIu64 ",,", r->ideal_ns);
			for (d = 0; d < ARRAY_SIZE(directions); d++)
				fputc(',', out);
			fputs(",,,", out);
			csv_text(out, r->error.text);
			fputc('\n', out);
			continue;
		}
		fprintf(out, ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.9f",
			r->inexact ? "false" : "true", r->iteration_ns,
			r->ideal_ns, r->iteration_ns - r->ideal_ns,
			fraction_of_ideal(r));
		for (d = 0; d < ARRAY_SIZE(directions); d++)
			fprintf(out, ",%" PRIu64,
				r->traffic_bytes[directions[d].src]
						[directions[d].dst]);
		fprintf(out, ",%" PRIu64 ",%" PRIu64 ",\n", r->plan_ns,
			r->peak_rss_bytes);
	}
}

static int width_of(const char *text, int width)
{
	int n = (int)strlen(text);

	return n > width ? n : width;
}

/**
 * ugm_result_write_table() - results for people
 * @out: where to
 * @config: what determines them
 * @results: results
 * @nr: how many
 *
 * Context: may sleep.
 */
void ugm_result_write_table(FILE *out, const struct ugm_config *config,
			    const struct ugm_result *results, unsigned int nr)
{
	int trace = 5, policy = 6;
	unsigned int i, d;

	for (i = 0; i < nr; i++) {
		trace = width_of(results[i].trace, trace);
		policy = width_of(results[i].policy, policy);
	}
	fprintf(out,
		"%s: GPU %.1f GiB, host %.1f GiB, PCIe %.3f GB/s, flash %.2f/%.2f GB/s, blocks of %llu KiB, scale %llu\n",
		config->preset, (double)config->gpu_mem_bytes / 0x1p30,
		(double)config->host_mem_bytes / 0x1p30,
		(double)config->pcie_bytes_per_s / 1e9,
		(double)config->flash_read_bytes_per_s / 1e9,
		(double)config->flash_write_bytes_per_s / 1e9,
		(unsigned long long)config->block_size >> 10,
		(unsigned long long)config->scale);
	fprintf(out, "%-*s  %-*s  %12s  %8s  %12s", trace, "trace", policy,
		"policy", "s/iteration", "of ideal", "stall s");
	for (d = 0; d < ARRAY_SIZE(directions); d++)
		fprintf(out, "  %13s", directions[d].name);
	fputs("  (traffic in GB = 1e9 bytes)\n", out);
	for (i = 0; i < nr; i++) {
		const struct ugm_result *r = &results[i];

		fprintf(out, "%-*s  %-*s  ", trace, r->trace, policy,
			r->policy);
		if (*r->error.text) {
			fprintf(out, "cannot run: %s\n", r->error.text);
			continue;
		}
		fprintf(out, "%12.6f  %7.2f%%  %12.6f",
			(double)r->iteration_ns / 1e9,
			fraction_of_ideal(r) * 100,
			(double)(r->iteration_ns - r->ideal_ns) / 1e9);
		for (d = 0; d < ARRAY_SIZE(directions); d++)
			fprintf(out, "  %13.3f",
				(double)r->traffic_bytes[directions[d].src]
							[directions[d].dst] /
					1e9);
		fputs(r->inexact ? "  (not exact)\n" : "\n", out);
	}
}
