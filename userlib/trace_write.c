// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>

#include "output.h"
#include "trace.h"
#include "trace_write.h"

/**
 * ugm_trace_writer_open() - begin a trace
 * @w: filled; ugm_trace_writer_close() it whatever is returned
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_trace_writer_open(struct ugm_trace_writer *w)
{
	memset(w, 0, sizeof(*w));
	w->tensors = open_memstream(&w->tensor_text, &w->tensor_len);
	w->kernels = open_memstream(&w->kernel_text, &w->kernel_len);
	return w->tensors && w->kernels ? 0 : -ENOMEM;
}

/**
 * ugm_trace_writer_tensor() - add a tensor
 * @w: writer
 * @bytes: its size; rounded up to 4 KiB, as allocators do
 * @global: lives across iterations
 * @name: its name, without blanks
 *
 * Context: any. A lack of memory shows when the trace is saved.
 * Return: its id.
 */
u32 ugm_trace_writer_tensor(struct ugm_trace_writer *w, u64 bytes, bool global,
			    const char *name)
{
	bytes = (bytes + 4095) & ~4095ULL;
	if (__builtin_add_overflow(w->bytes, bytes, &w->bytes))
		w->bytes = U64_MAX;
	if (global)
		w->global_bytes += bytes;
	fprintf(w->tensors, "tensor %" PRIu32 " %" PRIu64 " %s %s\n",
		w->nr_tensors, bytes, global ? "global" : "intermediate", name);
	return w->nr_tensors++;
}

static void write_ids(FILE *f, const char *key, const u32 *ids, u32 nr)
{
	u32 i;

	fprintf(f, " %s=", key);
	for (i = 0; i < nr; i++)
		fprintf(f, "%s%" PRIu32, i ? "," : "", ids[i]);
}

/**
 * ugm_trace_writer_kernel() - add the next kernel
 * @w: writer
 * @k: kernel
 *
 * Context: any. A lack of memory shows when the trace is saved.
 */
void ugm_trace_writer_kernel(struct ugm_trace_writer *w,
			     const struct ugm_trace_kernel *k)
{
	fprintf(w->kernels, "kernel %" PRIu32 " %" PRIu64 " %s", w->nr_kernels,
		k->duration_ns, k->name);
	write_ids(w->kernels, "in", k->in, k->nr_in);
	write_ids(w->kernels, "out", k->out, k->nr_out);
	fprintf(w->kernels, " workspace=%" PRIu64 "\n", k->workspace);
	w->nr_kernels++;
	if (__builtin_add_overflow(w->ideal_ns, k->duration_ns, &w->ideal_ns))
		w->ideal_ns = U64_MAX;
}

/**
 * ugm_trace_writer_save() - write the trace to a file
 * @w: writer; only ugm_trace_writer_close() may follow
 * @comment: second line of the file, without '#' and newline
 * @path: file, or "-" for the standard output
 * @err: why not
 *
 * Context: may sleep.
 * Return: 0; -ERANGE: more bytes or time than a trace may have; or another
 * negative errno.
 */
int ugm_trace_writer_save(struct ugm_trace_writer *w, const char *comment,
			  const char *path, struct ugm_error *err)
{
	struct ugm_output o;
	int ret;

	if (w->bytes > UGM_TRACE_MAX_BYTES || w->ideal_ns > UGM_TRACE_MAX_BYTES)
		return ugm_fail(err, -ERANGE,
				"the trace would have more than 2^60 bytes or ns");
	if (ferror(w->tensors) || ferror(w->kernels) || fflush(w->tensors) ||
	    fflush(w->kernels))
		return ugm_fail(err, -ENOMEM, "no memory");
	ret = ugm_output_open(&o, path, err);
	if (ret)
		return ret;
	fprintf(o.file, "# ugm-trace %d\n# %s\n", UGM_TRACE_VERSION, comment);
	fprintf(o.file,
		"# tensors=%" PRIu32 " kernels=%" PRIu32 " compute_ns=%" PRIu64
		" tensor_bytes=%" PRIu64 " global_bytes=%" PRIu64 "\n",
		w->nr_tensors, w->nr_kernels, w->ideal_ns, w->bytes,
		w->global_bytes);
	fwrite(w->tensor_text, 1, w->tensor_len, o.file);
	fwrite(w->kernel_text, 1, w->kernel_len, o.file);
	return ugm_output_commit(&o, err);
}

/**
 * ugm_trace_writer_close() - forget a trace that was being made
 * @w: writer
 *
 * Context: any.
 */
void ugm_trace_writer_close(struct ugm_trace_writer *w)
{
	if (w->tensors)
		fclose(w->tensors);
	if (w->kernels)
		fclose(w->kernels);
	free(w->tensor_text);
	free(w->kernel_text);
	memset(w, 0, sizeof(*w));
}
