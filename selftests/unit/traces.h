/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UGM_UNIT_TRACES_H
#define UGM_UNIT_TRACES_H

/* What tests need that run a small trace on a small machine. */

#include "unit.h"

#include "machine.h"
#include "trace.h"

#define MIB (1ULL << 20)

/* The trace that @text is; one that is none fails the test. */
static inline struct ugm_trace *trace_of(const char *text)
{
	const char *path = text_file(text, strlen(text));
	struct ugm_trace *t;
	struct ugm_error err;

	if (ugm_trace_read(path, &t, &err))
		fail_msg("%s\n%s", err.text, text);
	unlink(path);
	return t;
}

/* Likewise of what was printed to a memory stream, which is ended. */
static inline struct ugm_trace *trace_of_stream(FILE *f, char **text)
{
	struct ugm_trace *t;

	fclose(f);
	t = trace_of(*text);
	free(*text);
	return t;
}

/* Blocks of 1 MiB, of which flash moves 1000 a second, and the GPU's link 10000. */
static inline struct ugm_config machine_of(u64 gpu_blocks, u64 host_blocks)
{
	struct ugm_config c;

	ugm_config_preset(&c, NULL, NULL);
	c.gpu_mem_bytes = gpu_blocks * MIB;
	c.host_mem_bytes = host_blocks * MIB;
	c.flash_read_bytes_per_s = MIB * 1000;
	c.flash_write_bytes_per_s = MIB * 1000;
	c.pcie_bytes_per_s = MIB * 10000;
	c.scale = 256;
	c.block_size = 4096;
	c.iterations = 1;
	return c;
}

#endif /* UGM_UNIT_TRACES_H */
