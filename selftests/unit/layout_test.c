// SPDX-License-Identifier: GPL-2.0
/* Traces on machines: blocks, tails, the arena, and what does not fit. */
#include "traces.h"

#include "layout.h"

static const char text[] =
	"tensor 1 10485760 global w\n" /* 10 MiB */
	"tensor 3 1048577 intermediate x\n" /* 1 MiB + 1 */
	"tensor 4 1048576 intermediate y\n"
	"tensor 6 1048575 intermediate small\n"
	"tensor 2 1000 global smaller\n"
	"kernel 0 1 a in=1,6 out=3 workspace=0\n"
	"kernel 1 1 b in=3,2 out=4 workspace=2000\n";

static struct ugm_trace *trace;

static int set_up(void **unused)
{
	trace = trace_of(text);
	return 0;
}

static int tear_down(void **unused)
{
	ugm_trace_free(trace);
	return 0;
}

static int make(u64 gpu_mem, u64 scale, u64 block, struct ugm_layout **l,
		struct ugm_error *err)
{
	struct ugm_config config;

	ugm_config_preset(&config, NULL, NULL);
	config.gpu_mem_bytes = gpu_mem;
	config.scale = scale;
	config.block_size = block;
	assert_int_equal(ugm_config_check(&config, err), 0);
	return ugm_layout_make(trace, &config, l, err);
}

static void scaled(void **unused)
{
	struct ugm_layout *l;
	struct ugm_error err;

	assert_int_equal(make(1ULL << 30, 256, 4096, &l, &err), 0);
	assert_int_equal(l->block_bytes, 1 << 20);
	assert_int_equal(l->gpu_blocks, 1024);
	assert_int_equal(l->host_blocks, 128 * 1024);
	assert_int_equal(l->tensors[0].nr_blocks, 10);
	assert_int_equal(l->tensors[0].len, 40960);
	assert_int_equal(l->tensors[0].tail_bytes, 1 << 20);
	assert_int_equal(l->tensors[1].nr_blocks, 2);
	assert_int_equal(l->tensors[1].len, 4097);
	assert_int_equal(l->tensors[1].tail_bytes, 1);
	assert_int_equal(l->tensors[2].nr_blocks, 1); /* just a block */
	assert_false(ugm_layout_in_arena(l, 2));
	/* the arena: 4096 (1048575 / 256), 8 (1000 / 256), 8 (2000 / 256) */
	assert_true(ugm_layout_in_arena(l, 3));
	assert_true(ugm_layout_in_arena(l, 4));
	assert_true(ugm_layout_in_arena(l, 5));
	assert_int_equal(l->tensors[3].arena_offset, 0);
	assert_int_equal(l->tensors[4].arena_offset, 4096);
	assert_int_equal(l->tensors[4].len, 4);
	assert_int_equal(l->tensors[5].arena_offset, 4104);
	assert_int_equal(l->arena_blocks, 2);
	assert_int_equal(l->arena_len, 8192);
	assert_int_equal(l->nr_blocks, 13);
	/* beyond the workspace's id, 7 */
	assert_int_equal(l->arena_tag, 8);
	ugm_layout_free(l);
}

static void without_arena(void **unused)
{
	struct ugm_layout *l;
	struct ugm_error err;
	u32 i;

	/* At 4 KiB only the 1000 and the 2000 bytes are smaller. */
	assert_int_equal(make(1ULL << 30, 1, 4096, &l, &err), 0);
	assert_int_equal(l->tensors[0].nr_blocks, 2560);
	assert_int_equal(l->tensors[3].nr_blocks, 256);
	assert_int_equal(l->tensors[3].tail_bytes, 4095);
	assert_int_equal(l->arena_blocks, 1);
	for (i = 0; i < trace->nr_tensors; i++)
		if (l->tensors[i].nr_blocks)
			assert_int_equal((l->tensors[i].nr_blocks - 1) *
						 l->block_bytes +
						 l->tensors[i].tail_bytes,
					 trace->tensors[i].bytes);
	ugm_layout_free(l);
}

/* The largest kernel needs 12 blocks, the arena 2: 40 blocks for its 5 %. */
static void capacity(void **unused)
{
	struct ugm_layout *l = NULL;
	struct ugm_error err;

	assert_int_equal(make(40ULL << 20, 256, 4096, &l, &err), 0);
	ugm_layout_free(l);
	assert_int_equal(make(39ULL << 20, 256, 4096, &l, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "more than 5 %"));
	assert_non_null(strstr(err.text, "scale 128 fits"));
	assert_int_equal(make(13ULL << 20, 256, 4096, &l, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "kernel 0 needs 12 blocks"));
	/* At this size nothing but more memory helps; what is named fits. */
	assert_int_equal(make(4ULL << 20, 1, 4096, &l, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "a GPU memory of 12591104 bytes fits"));
	assert_int_equal(make(12591104, 1, 4096, &l, &err), 0);
	ugm_layout_free(l);
	assert_int_equal(make(12591103, 1, 4096, &l, &err), -ENOSPC);
}

static void refuses_machines(void **unused)
{
	struct ugm_config config;
	struct ugm_error err;

	ugm_config_preset(&config, NULL, NULL);
	assert_int_equal(ugm_config_check(&config, &err), 0);
	assert_int_equal(config.block_size, UGM_DEFAULT_BLOCK_SIZE);
	config.block_size = 6000;
	assert_int_equal(ugm_config_check(&config, &err), -EINVAL);
	config.block_size = 2048;
	assert_int_equal(ugm_config_check(&config, &err), -EINVAL);
	config.block_size = 4096;
	config.scale = 1 << 20;
	assert_int_equal(ugm_config_check(&config, &err), 0);
	config.scale++;
	assert_int_equal(ugm_config_check(&config, &err), -EINVAL);
	config.scale = 0;
	assert_int_equal(ugm_config_check(&config, &err), -EINVAL);
	assert_int_equal(ugm_config_preset(&config, "no such", &err), -EINVAL);
	assert_non_null(strstr(err.text, "g10-paper"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scaled),
		cmocka_unit_test(without_arena),
		cmocka_unit_test(capacity),
		cmocka_unit_test(refuses_machines),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
