// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "array.h"
#include "engine.h"
#include "text.h"
#include "trace.h"
#include "units.h"

/* Ids stay clear of the tags of workspaces and of the arena. */
#define MAX_ID ((1ULL << 62) - 1)
#define MAX_TENSORS (1U << 30)

/**
 * struct reader - a trace file being read
 * @text: the file
 * @trace: what was read
 * @err: where errors go
 * @tensor_room: tensors there is room for
 * @kernel_room: likewise kernels
 * @use_room: likewise uses
 * @seen: by tensor index, the kernel that used it last + 1
 * @seen_at: by tensor index, the use
 * @seen_room: tensors @seen has room for
 * @workspaces: by kernel, bytes of its workspace
 * @workspace_room: kernels @workspaces has room for
 * @total: bytes of all tensors
 * @max_id: largest id
 */
struct reader {
	struct ugm_text text;
	struct ugm_trace *trace;
	struct ugm_error *err;
	u64 tensor_room;
	u64 kernel_room;
	u64 use_room;
	struct {
		u32 kernel;
		u64 use;
	} *seen;
	u64 seen_room;
	u64 *workspaces;
	u64 workspace_room;
	u64 total;
	u64 max_id;
};

#define FAIL(r, ...) ugm_text_fail(&(r)->text, (r)->err, __VA_ARGS__)

static int no_memory(struct reader *r)
{
	return ugm_fail(r->err, -ENOMEM, "%s: no memory", r->text.path);
}

static u32 slot_of(const struct ugm_trace *t, u64 id)
{
	u32 slot = (u32)((id * 0x9e3779b97f4a7c15ULL) >> 32);

	for (slot &= t->by_id_mask; t->by_id[slot];
	     slot = (slot + 1) & t->by_id_mask)
		if (t->tensors[t->by_id[slot] - 1].id == id)
			break;
	return slot;
}

/* Room for one more tensor in the index, at most half full. */
static int index_room(struct ugm_trace *t)
{
	u32 *old = t->by_id;
	u64 size;
	u32 i;

	if (old && ((u64)t->nr_tensors + 1) * 2 <= (u64)t->by_id_mask + 1)
		return 0;
	size = old ? ((u64)t->by_id_mask + 1) * 2 : 64;
	t->by_id = calloc(size, sizeof(*t->by_id));
	if (!t->by_id) {
		t->by_id = old;
		return -ENOMEM;
	}
	free(old);
	t->by_id_mask = (u32)(size - 1);
	for (i = 0; i < t->nr_tensors; i++)
		t->by_id[slot_of(t, t->tensors[i].id)] = i + 1;
	return 0;
}

/**
 * ugm_trace_find() - a tensor by its id
 * @trace: trace
 * @id: its id
 *
 * Context: any.
 * Return: its index, or -ENOENT.
 */
s64 ugm_trace_find(const struct ugm_trace *trace, u64 id)
{
	u32 entry = trace->by_id ? trace->by_id[slot_of(trace, id)] : 0;

	return entry ? (s64)entry - 1 : -ENOENT;
}

/**
 * ugm_trace_add() - add a tensor to a trace that is made by hand
 * @trace: zeroed, or with the tensors added before; ugm_trace_free() it
 * @id: its id, not there yet
 * @bytes: full-size bytes
 *
 * For the ranges of a running space, which hints can name like tensors.
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_trace_add(struct ugm_trace *trace, u64 id, u64 bytes)
{
	struct ugm_tensor *more;

	more = reallocarray(trace->tensors, (size_t)trace->nr_tensors + 1,
			    sizeof(*more));
	if (!more)
		return -ENOMEM;
	trace->tensors = more;
	if (index_room(trace))
		return -ENOMEM;
	more[trace->nr_tensors] = (struct ugm_tensor){
		.id = id,
		.bytes = bytes,
	};
	trace->by_id[slot_of(trace, id)] = ++trace->nr_tensors;
	return 0;
}

static int add_tensor(struct reader *r, const struct ugm_tensor *tensor)
{
	struct ugm_trace *t = r->trace;
	void *p;

	if (t->nr_tensors >= MAX_TENSORS)
		return FAIL(r, "more than %u tensors", MAX_TENSORS);
	if (tensor->bytes > UGM_TRACE_MAX_BYTES ||
	    r->total + tensor->bytes > UGM_TRACE_MAX_BYTES)
		return FAIL(r, "the tensors together have more than 2^60 bytes");
	p = ugm_array_room(t->tensors, &r->tensor_room, (u64)t->nr_tensors + 1,
			   sizeof(*t->tensors));
	if (!p)
		return no_memory(r);
	t->tensors = p;
	p = ugm_array_room(r->seen, &r->seen_room, (u64)t->nr_tensors + 1,
			   sizeof(*r->seen));
	if (!p)
		return no_memory(r);
	r->seen = p;
	if (index_room(t))
		return no_memory(r);
	t->tensors[t->nr_tensors] = *tensor;
	t->tensors[t->nr_tensors].name = strdup(tensor->name);
	if (!t->tensors[t->nr_tensors].name)
		return no_memory(r);
	r->seen[t->nr_tensors].kernel = 0;
	t->by_id[slot_of(t, tensor->id)] = ++t->nr_tensors;
	r->total += tensor->bytes;
	if (tensor->id > r->max_id)
		r->max_id = tensor->id;
	return 0;
}

static int read_tensor(struct reader *r)
{
	char **words = r->text.words;
	struct ugm_tensor tensor = {};

	if (r->text.nr_words != 5)
		return FAIL(r, "%llu words: a tensor line is 'tensor ID BYTES global|intermediate NAME'",
			    (unsigned long long)r->text.nr_words);
	if (!ugm_decimal(words[1], &tensor.id) || tensor.id > MAX_ID)
		return FAIL(r, "tensor id '%s' is not a number from 0 to %llu",
			    words[1], MAX_ID);
	if (ugm_trace_find(r->trace, tensor.id) >= 0)
		return FAIL(r, "tensor %s is there twice", words[1]);
	if (!ugm_decimal(words[2], &tensor.bytes) || !tensor.bytes)
		return FAIL(r, "size '%s' of tensor %s is not a number of bytes from 1 on",
			    words[2], words[1]);
	if (!strcmp(words[3], "global"))
		tensor.global = true;
	else if (strcmp(words[3], "intermediate"))
		return FAIL(r, "tensor %s is '%s': global or intermediate",
			    words[1], words[3]);
	tensor.name = words[4];
	return add_tensor(r, &tensor);
}

static int add_use(struct reader *r, struct ugm_kernel *k, u32 tensor, u32 mode)
{
	struct ugm_trace *t = r->trace;
	struct ugm_use *p;

	if (r->seen[tensor].kernel == t->nr_kernels + 1) {
		t->uses[r->seen[tensor].use].mode |= mode;
		return 0;
	}
	if (k->nr_uses >= UGM_TRACE_MAX_OPERANDS)
		return FAIL(r, "kernel %u uses more than %d tensors",
			    t->nr_kernels, UGM_TRACE_MAX_OPERANDS);
	p = ugm_array_room(t->uses, &r->use_room, t->nr_uses + 1, sizeof(*p));
	if (!p)
		return no_memory(r);
	t->uses = p;
	t->uses[t->nr_uses] = (struct ugm_use){ tensor, mode };
	r->seen[tensor].kernel = t->nr_kernels + 1;
	r->seen[tensor].use = t->nr_uses++;
	k->nr_uses++;
	return 0;
}

/* A list of ids, "1,2,3" or nothing. */
static int read_uses(struct reader *r, struct ugm_kernel *k, char *list,
		     u32 mode)
{
	char *id;
	int ret;

	while (*list && (id = strsep(&list, ","))) {
		s64 tensor;
		u64 n;

		if (!ugm_decimal(id, &n))
			return FAIL(r, "'%s' in the operands of kernel %u is not a tensor id",
				    id, r->trace->nr_kernels);
		tensor = ugm_trace_find(r->trace, n);
		if (tensor < 0)
			return FAIL(r, "kernel %u uses tensor %s, which no line above defines",
				    r->trace->nr_kernels, id);
		ret = add_use(r, k, (u32)tensor, mode);
		if (ret)
			return ret;
		if (!list)
			break;
		if (!*list)
			return FAIL(r, "the operands of kernel %u end with a comma",
				    r->trace->nr_kernels);
	}
	return 0;
}

/* The text after "key=", or NULL. */
static char *value_of(char *word, const char *key)
{
	size_t n = strlen(key);

	return !strncmp(word, key, n) && word[n] == '=' ? word + n + 1 : NULL;
}

static int read_kernel(struct reader *r)
{
	struct ugm_trace *t = r->trace;
	char **words = r->text.words;
	struct ugm_kernel k = { .first_use = t->nr_uses };
	char *in, *out, *workspace;
	u64 index, *workspaces;
	void *p;
	int ret;

	if (r->text.nr_words != 7)
		return FAIL(r, "%llu words: a kernel line is 'kernel INDEX DURATION_NS NAME in=IDS out=IDS workspace=BYTES'",
			    (unsigned long long)r->text.nr_words);
	if (!ugm_decimal(words[1], &index) || index != t->nr_kernels)
		return FAIL(r, "kernel index '%s': the next is %u", words[1],
			    t->nr_kernels);
	if (t->nr_kernels == U32_MAX - 1)
		return FAIL(r, "more than %u kernels", t->nr_kernels);
	if (!ugm_decimal(words[2], &k.duration_ns) ||
	    k.duration_ns > UGM_TRACE_MAX_BYTES ||
	    t->ideal_ns + k.duration_ns > UGM_TRACE_MAX_BYTES)
		return FAIL(r, "duration '%s' of kernel %s is not a number of ns, or all together are more than 2^60",
			    words[2], words[1]);
	in = value_of(words[4], "in");
	out = value_of(words[5], "out");
	workspace = value_of(words[6], "workspace");
	if (!in || !out || !workspace)
		return FAIL(r, "'%s' of kernel %s: expected is %s",
			    words[!in ? 4 : !out ? 5 : 6], words[1],
			    !in ? "in=IDS" :
			    !out ? "out=IDS" : "workspace=BYTES");
	workspaces = ugm_array_room(r->workspaces, &r->workspace_room,
				    (u64)t->nr_kernels + 1,
				    sizeof(*workspaces));
	if (!workspaces)
		return no_memory(r);
	r->workspaces = workspaces;
	if (!ugm_decimal(workspace, &workspaces[t->nr_kernels]) ||
	    workspaces[t->nr_kernels] > UGM_TRACE_MAX_BYTES)
		return FAIL(r, "workspace '%s' of kernel %s is not a number of bytes",
			    workspace, words[1]);
	ret = read_uses(r, &k, in, UGM_OPERAND_READ);
	if (!ret)
		ret = read_uses(r, &k, out, UGM_OPERAND_WRITE);
	if (ret)
		return ret;
	if (workspaces[t->nr_kernels] && k.nr_uses == UGM_TRACE_MAX_OPERANDS)
		return FAIL(r, "kernel %s uses more than %d tensors", words[1],
			    UGM_TRACE_MAX_OPERANDS);
	p = ugm_array_room(t->kernels, &r->kernel_room, (u64)t->nr_kernels + 1,
			   sizeof(*t->kernels));
	if (!p)
		return no_memory(r);
	t->kernels = p;
	k.name = strdup(words[3]);
	if (!k.name)
		return no_memory(r);
	t->kernels[t->nr_kernels++] = k;
	t->ideal_ns += k.duration_ns;
	return 0;
}

/*
 * Give each workspace its tensor. Only now is the largest id known; the uses
 * are written anew, each kernel's with its workspace at the end.
 */
static int add_workspaces(struct reader *r)
{
	struct ugm_trace *t = r->trace;
	u64 tag = r->max_id + 1, from, nr = 0, i;
	struct ugm_use *uses;
	u32 k;
	int ret;

	uses = calloc(t->nr_uses + t->nr_kernels, sizeof(*uses));
	if (!uses)
		return no_memory(r);
	for (k = 0; k < t->nr_kernels; k++) {
		struct ugm_kernel *kernel = &t->kernels[k];
		char name[32];

		from = kernel->first_use;
		kernel->first_use = nr;
		for (i = 0; i < kernel->nr_uses; i++)
			uses[nr++] = t->uses[from + i];
		if (!r->workspaces[k])
			continue;
		snprintf(name, sizeof(name), "workspace%u", k);
		ret = add_tensor(r, &(struct ugm_tensor){
			.id = tag++,
			.bytes = r->workspaces[k],
			.workspace = true,
			.name = name,
		});
		if (ret) {
			free(uses);
			return ret;
		}
		uses[nr++] = (struct ugm_use){ t->nr_tensors - 1,
					       UGM_OPERAND_WRITE };
		kernel->nr_uses++;
	}
	free(t->uses);
	t->uses = uses;
	t->nr_uses = nr;
	return 0;
}

static int read_lines(struct reader *r)
{
	int ret;

	while ((ret = ugm_text_next(&r->text, r->err)) > 0) {
		if (!strcmp(r->text.words[0], "tensor"))
			ret = read_tensor(r);
		else if (!strcmp(r->text.words[0], "kernel"))
			ret = read_kernel(r);
		else
			ret = FAIL(r, "'%s': a line begins with tensor, kernel or #",
				   r->text.words[0]);
		if (ret)
			return ret;
	}
	if (ret)
		return ret;
	if (!r->trace->nr_kernels)
		return ugm_fail(r->err, -EINVAL, "%s: no kernel in it: not a trace",
				r->text.path);
	return add_workspaces(r);
}

static char *name_of(const char *path)
{
	static const char *const endings[] = { ".gz", ".trace" };
	const char *base = strrchr(path, '/');
	size_t n, e;
	unsigned int i;

	if (!strcmp(path, "-"))
		return strdup("stdin");
	base = base ? base + 1 : path;
	n = strlen(base);
	for (i = 0; i < ARRAY_SIZE(endings); i++) {
		e = strlen(endings[i]);
		if (n > e && !strncmp(base + n - e, endings[i], e))
			n -= e;
	}
	return strndup(base, n);
}

/**
 * ugm_trace_read() - read a trace
 * @path: file, plain or gzip, or "-" for the standard input
 * @trace: the trace; ugm_trace_free() it
 * @err: why not: file, line and what is wrong
 *
 * Context: may sleep.
 * Return: 0, or a negative errno.
 */
int ugm_trace_read(const char *path, struct ugm_trace **trace,
		   struct ugm_error *err)
{
	struct reader r = { .err = err };
	int ret;

	r.trace = calloc(1, sizeof(*r.trace));
	if (!r.trace)
		return ugm_fail(err, -ENOMEM, "%s: no memory", path);
	ret = ugm_text_open(&r.text, path, "ugm-trace", UGM_TRACE_VERSION, err);
	if (!ret) {
		r.trace->path = strdup(path);
		r.trace->name = name_of(path);
		ret = r.trace->path && r.trace->name ? read_lines(&r) :
						       no_memory(&r);
	}
	ugm_text_close(&r.text);
	free(r.seen);
	free(r.workspaces);
	if (ret)
		ugm_trace_free(r.trace);
	else
		*trace = r.trace;
	return ret;
}

/**
 * ugm_trace_free() - forget a trace
 * @trace: trace, or NULL
 *
 * Context: any.
 */
void ugm_trace_free(struct ugm_trace *trace)
{
	u32 i;

	if (!trace)
		return;
	for (i = 0; i < trace->nr_tensors; i++)
		free(trace->tensors[i].name);
	for (i = 0; i < trace->nr_kernels; i++)
		free(trace->kernels[i].name);
	free(trace->tensors);
	free(trace->kernels);
	free(trace->uses);
	free(trace->by_id);
	free(trace->path);
	free(trace->name);
	free(trace);
}
