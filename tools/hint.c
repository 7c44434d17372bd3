// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "device.h"
#include "layout.h"
#include "schedule.h"
#include "units.h"

/* Refused hints that are shown one by one. */
#define SHOWN 10

/**
 * struct hint_options - what is hinted
 * @space: id of the space; 0: the only one
 * @device: device node, or NULL
 * @json: answer as JSON
 * @trace: trace that FILE is a schedule of, or NULL
 * @shift: added to the launch numbers of a file
 * @op: enum ugm_op + 1 of a single hint, or 0
 * @tag: its range
 * @offset: full-size bytes
 * @length: full-size bytes; 0: to the end
 * @tier: enum ugm_tier
 * @at: launch number, or UGM_HINT_NOW
 * @need: launch number, or UGM_NEED_NONE
 */
struct hint_options {
	u64 space;
	const char *device;
	bool json;
	const char *trace;
	u64 shift;
	u32 op;
	u64 tag;
	u64 offset;
	u64 length;
	u32 tier;
	u64 at;
	u64 need;
};

static const char *const op_names[UGM_NR_OPS] = {
	[UGM_OP_PREFETCH] = "prefetch", [UGM_OP_EVICT] = "evict",
	[UGM_OP_DISCARD] = "discard",	[UGM_OP_PIN] = "pin",
	[UGM_OP_UNPIN] = "unpin",	[UGM_OP_PROTECT] = "protect",
	[UGM_OP_UNPROTECT] = "unprotect", [UGM_OP_WRITEBACK] = "writeback",
};

static int option_op(const char *what, const char *text, void *target, struct ugm_error *err)
{
	struct hint_options *o = target;
	int ret = ugm_parse_choice(what, text, op_names, UGM_NR_OPS, &o->op, err);

	o->op++;
	return ret;
}

static int option_tier(const char *what, const char *text, void *target, struct ugm_error *err)
{
	static const char *const names[] = { "gpu", "host", "flash" };
	struct hint_options *o = target;
	int ret = ugm_parse_choice(what, text, names, ARRAY_SIZE(names), &o->tier, err);

	o->tier += UGM_TIER_GPU;
	return ret;
}

/* The largest numbers of all stand for "at once" and "nobody". */
static int option_launch(const char *what, const char *text, void *target, struct ugm_error *err)
{
	return ugm_parse_u64(what, text, 0, U64_MAX / 2, target, err);
}

#define HINT(field) offsetof(struct hint_options, field)

static const struct option_spec options[] = {
	{ "trace", "TRACE", option_string, HINT(trace), false,
	  "FILE is a schedule of this trace: tensors without a range of their own are left out" },
	{ "shift", "N", option_launch, HINT(shift), false, "add N to the launch numbers of FILE (0)" },
	{ "op", "OP", option_op, 0, false,
	  "a single hint: prefetch, evict, discard, pin, unpin, protect, unprotect, writeback" },
	{ "tag", "TAG", option_u64, HINT(tag), false, "its range" },
	{ "offset", "BYTES", option_size, HINT(offset), false, "full-size bytes into it (0)" },
	{ "length", "BYTES", option_length, HINT(length), false, "full-size bytes (to its end)" },
	{ "tier", "gpu|host|flash", option_tier, 0, false,
	  "where prefetch, evict and writeback go" },
	{ "at", "LAUNCH", option_launch, HINT(at), false, "launch at whose begin it acts (at once)" },
	{ "need", "LAUNCH", option_launch, HINT(need), false, "launch that needs it (none)" },
	{}
};

/*
 * The ranges of the space as tensors, so that hints are read as schedules are.
 * With a trace its tensors are there already, and those that the space has no
 * range for get no blocks.
 */
static int read_ranges(struct ugm *space, const struct hint_options *o, struct ugm_layout *l,
		       struct ugm_trace *t)
{
	bool known = o->trace;
	s64 tensor;
	struct ugm_ioc_machine machine;
	struct ugm_range_desc *ranges;
	size_t nr, i;
	int ret;

	ret = ugm_machine_get(space, &machine);
	if (!ret)
		ret = ugm_ranges(space, o->space, &ranges, &nr);
	if (ret == -ENOENT)
		return complain(EXIT_USAGE, "--space %" PRIu64 ": no such space (ugm stat)",
				o->space);
	if (ret)
		return device_failed(o->device, "ranges", ret);
	l->trace = t;
	l->config.block_size = ugm_block_size(space);
	l->block_bytes = machine.block_bytes ? machine.block_bytes : l->config.block_size;
	l->tensors = calloc((known ? t->nr_tensors : nr) + 1, sizeof(*l->tensors));
	for (i = 0; i < nr && l->tensors; i++) {
		if (!known && ugm_trace_add(t, ranges[i].tag, ranges[i].model_len))
			break;
		tensor = ugm_trace_find(t, ranges[i].tag);
		/* An arena, or another trace's; sizes must be the same. */
		if (tensor < 0 || t->tensors[tensor].bytes != ranges[i].model_len)
			continue;
		l->tensors[tensor].len = ranges[i].len;
		l->tensors[tensor].nr_blocks =
			(u32)((ranges[i].len + l->config.block_size - 1) / l->config.block_size);
	}
	free(ranges);
	return i < nr || !l->tensors ? complain(EXIT_FAILED, "out of memory") : EXIT_DONE;
}

static bool moves(const struct hint_options *o)
{
	return o->op == UGM_OP_PREFETCH + 1 || o->op == UGM_OP_EVICT + 1 ||
	       o->op == UGM_OP_WRITEBACK + 1;
}

/* What is wrong with a single hint whatever the space. */
static int check_single(const struct hint_options *o)
{
	const char *op = op_names[o->op - 1];

	if (!option_given("tag"))
		return complain(EXIT_USAGE, "--op needs --tag");
	if (moves(o) != !!o->tier)
		return complain(EXIT_USAGE,
				moves(o) ? "--op %s needs --tier" : "--op %s takes no --tier", op);
	if (moves(o) && (o->op == UGM_OP_PREFETCH + 1 ? o->tier == UGM_TIER_FLASH :
							o->tier == UGM_TIER_GPU))
		return complain(EXIT_USAGE, "--tier %s: %s goes to %s",
				ugm_tier_name((u8)o->tier), op,
				o->op == UGM_OP_PREFETCH + 1 ? "gpu or host" : "host or flash");
	return EXIT_DONE;
}

static int single(const struct hint_options *o, const struct ugm_trace *t, struct ugm_schedule *s)
{
	struct ugm_schedule_hint h = {
		.at = o->at,
		.need = o->need,
		.op = (u8)(o->op - 1),
		.tier = (u8)o->tier,
		.offset = o->offset,
		.len = o->length,
	};
	s64 tensor = ugm_trace_find(t, o->tag);
	u64 bytes;

	if (tensor < 0)
		return complain(EXIT_USAGE, "--tag %" PRIu64 ": the space has no such range (ugm map)",
				o->tag);
	bytes = t->tensors[tensor].bytes;
	if (h.offset >= bytes || h.len > bytes - h.offset)
		return complain(EXIT_USAGE,
				"--offset %" PRIu64 " --length %" PRIu64 ": range %" PRIu64 " has %" PRIu64
				" bytes",
				h.offset, h.len, o->tag, bytes);
	h.tensor = (u32)tensor;
	if (!h.len)
		h.len = bytes - h.offset;
	return ugm_schedule_add(s, &h) ? complain(EXIT_FAILED, "out of memory") : EXIT_DONE;
}

static u64 shifted(u64 launch, u64 shift)
{
	/* "At once" and "nobody" are not numbers. */
	return launch == U64_MAX ? launch : launch + shift;
}

static void convert(const struct ugm_layout *l, const struct ugm_schedule_hint *from, u64 shift,
		    const struct ugm_span *span, struct ugm_hint_desc *to)
{
	const struct ugm_placement *p = &l->tensors[from->tensor];
	u64 unit = l->config.block_size;

	*to = (struct ugm_hint_desc){
		.tag = l->trace->tensors[from->tensor].id,
		.offset = span->first * unit,
		.at = shifted(from->at, shift),
		.need = shifted(from->need, shift),
		.op = from->op,
		.tier = from->tier,
	};
	to->len = span->first + span->nr < p->nr_blocks ? span->nr * unit : p->len - to->offset;
}

static int show(const struct hint_options *o, const struct ugm_hint_desc *hints, u64 nr, u64 empty)
{
	struct json_object *root, *list;
	u64 i, refused = 0;
	int ret = EXIT_DONE;

	root = json_object_new_object();
	list = json_object_new_array();
	for (i = 0; i < nr; i++) {
		struct json_object *r;

		if (!hints[i].result)
			continue;
		r = json_object_new_object();
		json_add_u64(r, "tag", hints[i].tag);
		json_add_u64(r, "at", hints[i].at);
		json_add_text(r, "op", op_names[hints[i].op]);
		json_add_text(r, "error", strerror(-hints[i].result));
		json_object_array_add(list, r);
		if (refused++ < SHOWN)
			complain(0, "%s of range %llu: %s", op_names[hints[i].op],
				 (unsigned long long)hints[i].tag, strerror(-hints[i].result));
	}
	if (o->json) {
		json_add_text(root, "schema", "ugm.hint/1");
		json_add_u64(root, "space", o->space);
		json_add_u64(root, "hints", nr + empty);
		json_add_u64(root, "taken", nr - refused);
		json_add_u64(root, "without_blocks", empty);
		json_object_object_add(root, "refused", list);
		ret = json_print(root);
	} else {
		printf("%" PRIu64 " hints: %" PRIu64 " taken, %" PRIu64 " refused, %" PRIu64
		       " without a whole block\n",
		       nr + empty, nr - refused, refused, empty);
		json_object_put(list);
		json_object_put(root);
	}
	return refused ? EXIT_FAILED : ret;
}

static int submit(struct ugm *space, const struct hint_options *o, const struct ugm_layout *l,
		  const struct ugm_schedule *s)
{
	struct ugm_hint_desc *hints = calloc(s->nr_hints + 1, sizeof(*hints));
	u64 i, nr = 0;
	int ret;

	if (!hints)
		return complain(EXIT_FAILED, "out of memory");
	for (i = 0; i < s->nr_hints; i++) {
		struct ugm_span span = ugm_layout_hint(l, &s->hints[i]);

		if (span.nr)
			convert(l, &s->hints[i], o->shift, &span, &hints[nr++]);
	}
	ret = ugm_hint(space, o->space, hints, nr);
	ret = ret ? device_failed(o->device, "hints", ret) : show(o, hints, nr, s->nr_hints - nr);
	free(hints);
	return ret;
}

static int hint(struct ugm *space, struct hint_options *o, const char *file)
{
	struct ugm_trace *t = NULL;
	struct ugm_schedule s, defaults;
	struct ugm_layout l = {};
	struct ugm_error err;
	int ret;

	if (o->trace && ugm_trace_read(o->trace, &t, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	if (!t)
		t = calloc(1, sizeof(*t));
	if (!t)
		return complain(EXIT_FAILED, "out of memory");
	ugm_schedule_init(&s);
	ugm_schedule_init(&defaults);
	ret = device_other_space(space, o->device, &o->space);
	if (!ret)
		ret = read_ranges(space, o, &l, t);
	if (!ret && file) {
		if (!o->trace) {
			/* A space has no last launch: any number is one. */
			t->name = strdup("of this space");
			t->nr_kernels = U32_MAX;
		}
		if (ugm_schedule_read(file, t, &s, &err))
			ret = complain(EXIT_USAGE, "%s", err.text);
		if (!o->trace)
			t->nr_kernels = 0;
		if (!ret && memcmp(&s.opt, &defaults.opt, sizeof(s.opt)))
			complain(0, "%s: its options are not applied: they belong to the space's owner",
				 file);
	} else if (!ret) {
		ret = single(o, t, &s);
	}
	if (!ret)
		ret = submit(space, o, &l, &s);
	ugm_schedule_free(&s);
	free(l.tensors);
	ugm_trace_free(t);
	return ret;
}

/**
 * cmd_hint() - ugm hint
 * @argc: words
 * @argv: words
 *
 * Return: exit status; 1 where a hint was refused.
 */
int cmd_hint(int argc, char **argv)
{
	struct hint_options o = { .at = UGM_HINT_NOW, .need = UGM_NEED_NONE };
	const struct option_group groups[] = { { space_option, &o.space },
					       { device_option, &o.device },
					       { options, &o },
					       { json_option, &o.json },
					       {} };
	const struct usage usage = {
		.synopsis = "[FILE|-] | --op OP --tag TAG",
		.summary = "Give a running space of the same user (or as root) a schedule's hints, or a single one. Offsets and lengths are full-size bytes.",
		.groups = groups,
		.max_operands = 1,
	};
	const char *file;
	struct ugm *space;
	int ret;

	ret = options_parse_one(&usage, argc, argv, &file);
	if (ret != OPTIONS_GO_ON)
		return ret;
	if (!file == !o.op)
		return complain(EXIT_USAGE, "give either FILE or --op");
	ret = options_obey((const struct option_rule[]){
		{ file, "tag offset length tier at need", "needs --op" },
		{ !file, "trace shift", "needs a FILE" },
		{ !moves(&o), "need", "is for what moves: prefetch, evict and writeback" },
		{} });
	if (ret != OPTIONS_GO_ON)
		return ret;
	ret = file ? EXIT_DONE : check_single(&o);
	if (ret)
		return ret;
	ret = device_open(o.device, &space);
	if (ret)
		return ret;
	ret = hint(space, &o, file);
	ugm_close(space);
	return ret;
}
