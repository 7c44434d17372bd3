// SPDX-License-Identifier: GPL-2.0
/* Contents that say where they belong: lost, stale and swapped blocks are named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/mman.h>

#include "verify.h"

#define BLOCK 4096u

/* Two tensors, three kernels: write both, read both, write one. */
static struct ugm_tensor tensors[] = {
	{ .id = 7, .bytes = 5 * BLOCK, .name = "a" },
	{ .id = 9, .bytes = 3 * BLOCK - 20, .name = "b" },
};
static struct ugm_use uses[] = {
	{ 0, UGM_OPERAND_WRITE },
	{ 1, UGM_OPERAND_WRITE },
	{ 0, UGM_OPERAND_READ },
	{ 1, UGM_OPERAND_READ },
	{ 0, UGM_OPERAND_READ | UGM_OPERAND_WRITE },
};
static struct ugm_kernel kernels[] = {
	{ .first_use = 0, .nr_uses = 2 },
	{ .first_use = 2, .nr_uses = 2 },
	{ .first_use = 4, .nr_uses = 1 },
};
static struct ugm_trace trace = {
	.tensors = tensors,
	.nr_tensors = 2,
	.kernels = kernels,
	.nr_kernels = 3,
	.uses = uses,
	.nr_uses = 5,
};
static struct ugm_placement places[] = {
	{ .len = 5 * BLOCK, .nr_blocks = 5 },
	{ .len = 3 * BLOCK - 20, .nr_blocks = 3 },
};
static struct ugm_layout layout = {
	.trace = &trace,
	.config = { .block_size = BLOCK, .scale = 1 },
	.tensors = places,
};

static char memory[8 * BLOCK] __attribute__((aligned(BLOCK)));
static struct ugm_contents contents;
static struct ugm_error error;

static void begin(enum ugm_verify verify)
{
	memset(memory, 0, sizeof(memory));
	assert_int_equal(ugm_contents_init(&contents, &layout, verify), 0);
	contents.tensors[0].base = memory;
	contents.tensors[1].base = memory + 5 * BLOCK;
	/* What nobody wrote reads as zeros. */
	assert_int_equal(ugm_contents_kernel(&contents, 1, &error), 0);
	assert_int_equal(ugm_contents_kernel(&contents, 0, &error), 0);
	assert_int_equal(ugm_contents_kernel(&contents, 1, &error), 0);
}

static void fails_with(const char *text)
{
	assert_int_equal(ugm_contents_kernel(&contents, 1, &error), -EILSEQ);
	assert_string_equal(error.text, text);
	ugm_contents_free(&contents);
}

static void test_lost(void **state)
{
	begin(UGM_VERIFY_FULL);
	memset(memory + BLOCK, 0, BLOCK);
	fails_with("tensor 7 (a) offset 4096: expected version 1, found version 0 (zeros)");
}

static void test_stale(void **state)
{
	char old[BLOCK];

	begin(UGM_VERIFY_FULL);
	memcpy(old, memory + 2 * BLOCK, BLOCK);
	assert_int_equal(ugm_contents_kernel(&contents, 2, &error), 0);
	assert_int_equal(ugm_contents_kernel(&contents, 1, &error), 0);
	memcpy(memory + 2 * BLOCK, old, BLOCK);
	fails_with("tensor 7 (a) offset 8192: expected version 2, found version 1 of tensor 7 offset 8192");
}

static void test_swapped(void **state)
{
	begin(UGM_VERIFY_FULL);
	memcpy(memory + 3 * BLOCK, memory + 6 * BLOCK, BLOCK);
	fails_with("tensor 7 (a) offset 12288: expected version 1, found version 1 of tensor 9 offset 4096");
}

static void test_foreign(void **state)
{
	begin(UGM_VERIFY_FULL);
	memset(memory + 5 * BLOCK, 0xff, 8);
	assert_int_equal(ugm_contents_kernel(&contents, 1, &error), -EILSEQ);
	assert_non_null(strstr(error.text, "tensor 9 (b) offset 0: expected version 1, found "));
	ugm_contents_free(&contents);
}

/* The last word of a tensor whose length is no multiple of a word. */
static void test_tail(void **state)
{
	u64 last = 5 * BLOCK + (3 * BLOCK - 20) / 8 * 8;

	begin(UGM_VERIFY_FULL);
	memory[last] ^= 1;
	assert_int_equal(ugm_contents_kernel(&contents, 1, &error), -EILSEQ);
	assert_non_null(strstr(error.text, "tensor 9 (b) offset 12264:"));
	ugm_contents_free(&contents);
}

static void test_sample(void **state)
{
	begin(UGM_VERIFY_SAMPLE);
	/* Between the samples nothing is looked at, in them all is. */
	memset(memory + BLOCK + 512, 0x5a, 64);
	assert_int_equal(ugm_contents_kernel(&contents, 1, &error), 0);
	memset(memory + 4 * BLOCK, 0, 64);
	fails_with("tensor 7 (a) offset 16384: expected version 1, found version 0 (zeros)");
}

static void test_discard(void **state)
{
	begin(UGM_VERIFY_FULL);
	ugm_contents_discard(&contents, 0);
	memset(memory, 0x33, 5 * BLOCK);
	assert_int_equal(ugm_contents_kernel(&contents, 1, &error), 0);
	/* Written again it counts again, and its versions go on. */
	assert_int_equal(ugm_contents_kernel(&contents, 2, &error), 0);
	memset(memory, 0, 8);
	fails_with("tensor 7 (a) offset 0: expected version 2, found version 0 (zeros)");
}

/* Old versions are told from new ones after the 12 bits of them wrapped. */
static void test_many_versions(void **state)
{
	char old[8];
	int i;

	begin(UGM_VERIFY_FULL);
	for (i = 0; i < 5000; i++) {
		memcpy(old, memory, 8);
		assert_int_equal(ugm_contents_kernel(&contents, 2, &error), 0);
	}
	memcpy(memory, old, 8);
	fails_with("tensor 7 (a) offset 0: expected version 5001, found version 5000 of tensor 7 offset 0");
}

static void test_unreadable(void **state)
{
	char *hole = mmap(NULL, 5 * BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			  0);
	FILE *f = tmpfile();

	assert_non_null(f);
	assert_ptr_not_equal(hole, MAP_FAILED);
	begin(UGM_VERIFY_FULL);
	memcpy(hole, memory, 5 * BLOCK);
	contents.tensors[0].base = hole;
	assert_int_equal(ugm_contents_kernel(&contents, 1, &error), 0);
	/* Beyond the end of a mapped file: SIGBUS. */
	assert_int_equal(fwrite(memory, BLOCK, 2, f), 2);
	fflush(f);
	assert_ptr_equal(mmap(hole, 5 * BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			      fileno(f), 0),
			 hole);
	assert_int_equal(ugm_contents_kernel(&contents, 1, &error), -EIO);
	assert_string_equal(error.text,
			    "tensor 7 (a) offset 8192: unreadable (SIGBUS), expected version 1");
	ugm_contents_free(&contents);
	fclose(f);
	munmap(hole, 5 * BLOCK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost),	  cmocka_unit_test(test_stale),
		cmocka_unit_test(test_swapped),	  cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_tail),	  cmocka_unit_test(test_sample),
		cmocka_unit_test(test_discard),	  cmocka_unit_test(test_many_versions),
		cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
