// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "json.h"
#include "result.h"
#include "utf8.h"

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

static struct json_object *config_json(const struct ugm_config *c)
{
	struct json_object *o = json_object_new_object();

	json_add_text(o, "preset", c->preset);
	json_add_text(o, "units",
		      "GB = 1e9 for bandwidths, 2^30 for capacities");
	json_add_u64(o, "gpu_mem_bytes", c->gpu_mem_bytes);
	json_add_u64(o, "host_mem_bytes", c->host_mem_bytes);
	json_add_u64(o, "pcie_bytes_per_s", c->pcie_bytes_per_s);
	json_add_u64(o, "flash_read_bytes_per_s", c->flash_read_bytes_per_s);
	json_add_u64(o, "flash_write_bytes_per_s", c->flash_write_bytes_per_s);
	json_add_u64(o, "gpu_latency_ns", c->gpu_latency_ns);
	json_add_u64(o, "flash_latency_ns", c->flash_latency_ns);
	json_add_u64(o, "fault_ns", c->fault_ns);
	json_add_u64(o, "fault_batch_bytes", c->fault_batch_bytes);
	json_add_text(o, "overlap",
		      c->overlap == UGM_OVERLAP_FULL ? "full" : "none");
	json_add_u64(o, "scale", c->scale);
	json_add_u64(o, "block_size_bytes", c->block_size);
	json_add_u64(o, "iterations", c->iterations);
	json_add_double(o, "target_factor", ugm_config_target_factor(c, 1));
	json_add_double(o, "noise", c->noise);
	json_add_u64(o, "seed", c->seed);
	json_add_text(o, "noise_per", c->noise_per_name ? "name" : "call");
	json_add_bool(o, "replan", c->replan);
	json_add_text(o, "drive", c->drive.name);
	json_add_double(o, "drive_capacity_bytes", c->drive.capacity_bytes);
	json_add_double(o, "drive_endurance_bytes", c->drive.endurance_bytes);
	return o;
}

static void wear_of(const struct ugm_config *c, const struct ugm_result *r,
		    struct ugm_drive_wear *wear)
{
	ugm_drive_wear(&c->drive,
		       r->traffic_bytes[UGM_TIER_GPU][UGM_TIER_FLASH] +
			       r->traffic_bytes[UGM_TIER_HOST][UGM_TIER_FLASH],
		       r->iteration_ns, wear);
}

static struct json_object *wear_json(const struct ugm_config *c,
				     const struct ugm_result *r)
{
	struct json_object *o = json_object_new_object();
	struct ugm_drive_wear wear;

	wear_of(c, r, &wear);
	json_add_u64(o, "written_bytes", wear.bytes);
	json_add_double(o, "drive_writes_per_day", wear.drive_writes_per_day);
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

	json_add_text(o, "trace", r->trace);
	json_add_text(o, "policy", r->policy);
	if (*r->error.text) {
		json_add_text(o, "error", r->error.text);
		add(o, "exact", NULL);
		add(o, "iteration_ns", NULL);
		add(o, "iterations_ns", NULL);
		json_add_u64(o, "ideal_ns", r->ideal_ns);
		add(o, "stall_ns", NULL);
		add(o, "fraction_of_ideal", NULL);
		add(o, "traffic_bytes", NULL);
		add(o, "flash_wear", NULL);
		add(o, "plan_ns", NULL);
		add(o, "peak_rss_bytes", NULL);
		return o;
	}
	json_add_bool(o, "exact", !r->inexact);
	json_add_u64(o, "iteration_ns", r->iteration_ns);
	list = json_object_new_array();
	for (n = 0; n < r->iterations; n++)
		json_object_array_add(list, json_object_new_uint64(
						    r->iterations_ns[n]));
	add(o, "iterations_ns", list);
	json_add_u64(o, "ideal_ns", r->ideal_ns);
	json_add_u64(o, "stall_ns", r->iteration_ns - r->ideal_ns);
	fraction = json_object_new_double(fraction_of_ideal(r));
	json_object_set_serializer(fraction, json_object_double_to_json_string,
				   (void *)"%.9f", NULL);
	add(o, "fraction_of_ideal", fraction);
	traffic = json_object_new_object();
	for (i = 0; i < ARRAY_SIZE(directions); i++)
		json_add_u64(
			traffic, directions[i].name,
			r->traffic_bytes[directions[i].src][directions[i].dst]);
	add(o, "traffic_bytes", traffic);
	add(o, "flash_wear", wear_json(c, r));
	json_add_u64(o, "plan_ns", r->plan_ns);
	json_add_u64(o, "peak_rss_bytes", r->peak_rss_bytes);
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
	json_add_text(o, "schema", "ugm.result/1");
	add(o, "config", config_json(config));
	add(o, "results", list);
	return o;
}

/* A field of RFC 4180. */
static void csv_text(FILE *out, const char *text)
{
	bool quoted = strpbrk(text, ",\"\r\n");
	size_t len;

	if (quoted)
		fputc('"', out);
	for (; *text; text += len ? len : 1) {
		len = ugm_utf8_length(text);
		if (!len)
			fputs(UGM_UTF8_REPLACEMENT, out);
		else
			fprintf(out, "%s%.*s", *text == '"' ? "\"" : "",
				(int)len, text);
	}
	if (quoted)
		fputc('"', out);
}

/**
 * ugm_result_write_csv() - results as comma-separated values with a header
 * @out: where to
 * @config: what determines them
 * @results: results
 * @nr: how many
 *
 * Context: may sleep.
 */
void ugm_result_write_csv(FILE *out, const struct ugm_config *config,
			  const struct ugm_result *results, unsigned int nr)
{
	struct ugm_drive_wear wear;
	unsigned int i, d;

	fputs("trace,policy,exact,iteration_ns,ideal_ns,stall_ns,fraction_of_ideal",
	      out);
	for (d = 0; d < ARRAY_SIZE(directions); d++)
		fprintf(out, ",%s_bytes", directions[d].name);
	fputs(",drive_writes_per_day,lifetime_years,plan_ns,peak_rss_bytes,error\n",
	      out);
	for (i = 0; i < nr; i++) {
		const struct ugm_result *r = &results[i];

		csv_text(out, r->trace);
		fputc(',', out);
		csv_text(out, r->policy);
		if (*r->error.text) {
			fprintf(out, ",,,%" PRIu64 ",,", r->ideal_ns);
			for (d = 0; d < ARRAY_SIZE(directions); d++)
				fputc(',', out);
			fputs(",,,,,", out);
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
		wear_of(config, r, &wear);
		fprintf(out, ",%.6g,", wear.drive_writes_per_day);
		if (isfinite(wear.lifetime_years))
			fprintf(out, "%.6g", wear.lifetime_years);
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
 * @worn: also what they do to the drive
 *
 * Context: may sleep.
 */
void ugm_result_write_table(FILE *out, const struct ugm_config *config,
			    const struct ugm_result *results, unsigned int nr,
			    bool worn)
{
	struct ugm_drive_wear wear;
	int trace = 5, policy = 6;
	unsigned int i, d;

	for (i = 0; i < nr; i++) {
		trace = width_of(results[i].trace, trace);
		policy = width_of(results[i].policy, policy);
	}
	fprintf(out,
		"%s: GPU %.1f GiB, host %.1f GiB, PCIe %.3f GB/s, flash %.2f/%.2f GB/s, ",
		config->preset, (double)config->gpu_mem_bytes / 0x1p30,
		(double)config->host_mem_bytes / 0x1p30,
		(double)config->pcie_bytes_per_s / 1e9,
		(double)config->flash_read_bytes_per_s / 1e9,
		(double)config->flash_write_bytes_per_s / 1e9);
	if (config->published)
		fputs("pages of 4 KiB or whole tensors\n", out);
	else
		fprintf(out, "blocks of %llu KiB, scale %llu\n",
			(unsigned long long)config->block_size >> 10,
			(unsigned long long)config->scale);
	if (worn)
		fprintf(out,
			"drive %s: %.4g bytes, of which %.4g may be written\n",
			config->drive.name, config->drive.capacity_bytes,
			config->drive.endurance_bytes);
	fprintf(out, "%-*s  %-*s  %12s  %8s  %12s", trace, "trace", policy,
		"policy", "s/iteration", "of ideal", "stall s");
	for (d = 0; d < ARRAY_SIZE(directions); d++)
		fprintf(out, "  %13s", directions[d].name);
	if (worn)
		fprintf(out, "  %11s  %8s", "drive/day", "years");
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
		wear_of(config, r, &wear);
		if (worn && isfinite(wear.lifetime_years))
			fprintf(out, "  %11.3f  %8.2f",
				wear.drive_writes_per_day, wear.lifetime_years);
		else if (worn)
			fprintf(out, "  %11.3f  %8s", wear.drive_writes_per_day,
				"-");
		fputs(r->inexact ? "  (not exact)\n" : "\n", out);
	}
}
