// SPDX-License-Identifier: MIT
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "cost.h"
#include "device.h"
#include "options.h"
#include "record.h"
#include "report.h"

struct compare_options {
	const char *policies;
	bool csv;
	bool json;
	bool device;
	const char *html;
};

#define COMPARE(field) offsetof(struct compare_options, field)

static const struct option_spec compare_options[] = {
	{ "policies", "A,B|all", option_string, COMPARE(policies), false,
	  "policies to compare (all)" },
	{ "csv", NULL, NULL, COMPARE(csv), false,
	  "comma-separated values instead of a table" },
	{ "json", NULL, NULL, COMPARE(json), false,
	  "JSON instead of a table" },
	{ "html", "FILE", option_string, COMPARE(html), false,
	  "also write a page with memory, links and stalls over time" },
	{ "device", NULL, NULL, COMPARE(device), false,
	  "replay on a device (" DEFAULT_DEVICE ", or $UGM_DEVICE) instead of predicting" },
	{}
};

/**
 * struct comparison - what is compared
 * @traces: the traces
 * @nr_traces: how many
 * @policies: the policies
 * @nr_policies: how many
 * @results: by trace, then by policy
 * @records: the iterations behind them, if a page is written, else NULL
 * @nr_results: how many are filled
 */
struct comparison {
	struct ugm_trace **traces;
	unsigned int nr_traces;
	const struct ugm_policy **policies;
	unsigned int nr_policies;
	struct ugm_result *results;
	struct ugm_record *records;
	unsigned int nr_results;
};

/* Policies from a list of names, or all; none twice. */
static int choose(struct comparison *c, const char *list)
{
	char *copy, *rest, *name;
	struct ugm_error err;
	unsigned int i;

	c->policies = calloc(ugm_nr_policies, sizeof(*c->policies));
	copy = rest = strdup(list);
	if (!c->policies || !copy) {
		free(copy);
		return complain(EXIT_FAILED, "no memory");
	}
	if (!strcmp(list, "all")) {
		for (i = 0; i < ugm_nr_policies; i++)
			c->policies[c->nr_policies++] = ugm_policies[i];
	} else {
		while ((name = strsep(&rest, ","))) {
			const struct ugm_policy *p = ugm_policy_find(name, &err);

			for (i = 0; p && i < c->nr_policies; i++) {
				if (c->policies[i] != p)
					continue;
				ugm_fail(&err, -EINVAL,
					 "--policies: '%s' is there twice",
					 name);
				p = NULL;
			}
			if (!p) {
				free(copy);
				return complain(EXIT_USAGE, "%s", err.text);
			}
			c->policies[c->nr_policies++] = p;
		}
	}
	free(copy);
	return EXIT_DONE;
}

/* Read all traces before the first is predicted: a bad one costs no time. */
static int read_traces(struct comparison *c, char **paths, int nr)
{
	struct ugm_error err;

	c->traces = calloc((size_t)nr, sizeof(*c->traces));
	if (!c->traces)
		return complain(EXIT_FAILED, "no memory");
	for (; c->nr_traces < (unsigned int)nr; c->nr_traces++)
		if (ugm_trace_read(paths[c->nr_traces],
				   &c->traces[c->nr_traces], &err))
			return complain(EXIT_USAGE, "%s", err.text);
	return EXIT_DONE;
}

/* A policy that cannot run on a trace is a row that says so. */
static int compare(struct comparison *c, const struct ugm_config *config,
		   const struct ugm_replay_options *device, bool record)
{
	size_t all = (size_t)c->nr_traces * c->nr_policies;
	struct ugm_result *r;
	unsigned int t, p;

	c->results = calloc(all, sizeof(*c->results));
	c->records = record ? calloc(all, sizeof(*c->records)) : NULL;
	if (!c->results || (record && !c->records))
		return complain(EXIT_FAILED, "no memory");
	for (t = 0; t < c->nr_traces; t++) {
		for (p = 0; p < c->nr_policies; p++) {
			r = &c->results[c->nr_results];
			r->record = record ? &c->records[c->nr_results] : NULL;
			c->nr_results++;
			if (cost_policy(c->traces[t], config, device,
					c->policies[p], NULL, r) == -ENOMEM)
				return complain(EXIT_FAILED, "no memory");
		}
	}
	return EXIT_DONE;
}

static int write_page(const struct comparison *c, const char *path,
		      const struct ugm_config *config)
{
	struct report_row *rows = calloc(c->nr_results, sizeof(*rows));
	struct ugm_error err;
	unsigned int i;
	int ret;

	if (!rows)
		return complain(EXIT_FAILED, "no memory");
	for (i = 0; i < c->nr_results; i++)
		rows[i] = (struct report_row){ c->traces[i / c->nr_policies],
					       &c->results[i], &c->records[i] };
	ret = report_write(path, config, rows, c->nr_results, &err);
	free(rows);
	return ret ? complain(EXIT_FAILED, "%s", err.text) : EXIT_DONE;
}

static int show(const struct comparison *c, const struct compare_options *o,
		const struct ugm_config *config)
{
	if (o->html) {
		int status = write_page(c, o->html, config);

		if (status != EXIT_DONE || !strcmp(o->html, "-"))
			return status;
	}
	if (o->json)
		return json_print(
			ugm_result_json(config, c->results, c->nr_results));
	if (o->csv)
		ugm_result_write_csv(stdout, config, c->results, c->nr_results);
	else
		ugm_result_write_table(stdout, config, c->results,
				       c->nr_results, option_given("drive"));
	return EXIT_DONE;
}

static void comparison_free(struct comparison *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_results; i++) {
		ugm_result_free(&c->results[i]);
		if (c->records)
			ugm_record_free(&c->records[i]);
	}
	for (i = 0; i < c->nr_traces; i++)
		ugm_trace_free(c->traces[i]);
	free(c->results);
	free(c->records);
	free(c->traces);
	free(c->policies);
}

/**
 * cmd_compare() - ugm compare
 * @argc: of the verb
 * @argv: of the verb
 *
 * Return: exit status.
 */
int cmd_compare(int argc, char **argv)
{
	struct compare_options o = { .policies = "all" };
	struct ugm_replay_options device = { .verify = UGM_VERIFY_SAMPLE };
	struct comparison c = {};
	struct ugm_config config;
	struct ugm_error err;
	const struct option_group groups[] = {
		{ compare_options, &o },	{ replay_options, &device },
		{ wear_options, &config },	{ noise_options, &config },
		{ machine_options, &config },	{ model_options, &config },
		{ iteration_options, &config }, {}
	};
	const struct usage usage = {
		.synopsis = "TRACE... [--policies A,B|all]",
		.summary = "Predict several policies on several traces, in one table.",
		.groups = groups,
		.min_operands = 1,
		.max_operands = INT_MAX,
	};
	char **operands;
	int nr, status, i;

	ugm_config_preset(&config, NULL, NULL);
	status = options_parse(&usage, argc, argv, &operands, &nr);
	if (status != OPTIONS_GO_ON)
		return status;
	if (o.html && !strcmp(o.html, "-") && (o.csv || o.json))
		status = complain(EXIT_USAGE,
				  "--html, --csv and --json cannot share the standard output");
	else if (o.csv && o.json)
		status = complain(EXIT_USAGE, "give either --csv or --json");
	else
		status = options_obey((const struct option_rule[]){
			{ !o.device, "clock verify no-server", "needs --device" },
			{} });
	for (i = 0; i < nr && status == OPTIONS_GO_ON; i++)
		if (written_apart(&(struct named_path){ "--html", o.html }, 1,
				  &(struct named_path){ "a trace", operands[i] }, 1))
			status = EXIT_USAGE;
	if (status == OPTIONS_GO_ON)
		status = choose(&c, o.policies);
	if (status == EXIT_DONE)
		status = cost_obey(&config, c.policies, c.nr_policies,
				   o.device ? &device : NULL);
	if (status == EXIT_DONE && o.device)
		status = cost_device(&device, &config);
	if (status == EXIT_DONE && ugm_config_check(&config, &err))
		status = complain(EXIT_USAGE, "%s", err.text);
	if (status == EXIT_DONE)
		status = read_traces(&c, operands, nr);
	if (status == EXIT_DONE)
		status = compare(&c, &config, o.device ? &device : NULL,
				 o.html);
	if (status == EXIT_DONE)
		status = show(&c, &o, &config);
	comparison_free(&c);
	free(operands);
	return status;
}
