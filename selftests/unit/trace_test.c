// SPDX-License-Identifier: GPL-2.0
/* The trace reader: what it accepts, what it says about the rest. */
#include "unit.h"

#include <zlib.h>

#include "engine.h"
#include "trace.h"

static const char good[] =
	"# ugm-trace 1\n# a comment\n"
	"tensor 5 8192 global weight\n"
	"tensor 2 4096 intermediate x # and one here\n"
	"\n"
	"tensor 9 100 intermediate y\n"
	"kernel 0 1000 first in=5,2 out=2,9 workspace=0\n"
	"kernel 1 2000 second in=9,9 out= workspace=300\n"
	"kernel 2 0 third in= out=5 workspace=400";

static struct ugm_trace *read_text(const char *text, size_t len,
				   struct ugm_error *err)
{
	const char *path = text_file(text, len);
	struct ugm_trace *t = NULL;
	int ret;

	err->text[0] = '\0';
	ret = ugm_trace_read(path, &t, err);
	unlink(path);
	assert_true(ret <= 0);
	assert_true(!ret == !!t);
	assert_true(!ret == !*err->text);
	return t;
}

static void check_good(const struct ugm_trace *t)
{
	const struct ugm_use *use;

	assert_int_equal(t->nr_tensors, 5);
	assert_int_equal(t->nr_kernels, 3);
	assert_int_equal(t->ideal_ns, 3000);
	assert_int_equal(t->tensors[0].id, 5);
	assert_int_equal(t->tensors[0].bytes, 8192);
	assert_true(t->tensors[0].global);
	assert_false(t->tensors[1].global);
	assert_string_equal(t->tensors[1].name, "x");
	assert_int_equal(ugm_trace_find(t, 9), 2);
	assert_int_equal(ugm_trace_find(t, 3), -ENOENT);
	/* workspaces: ids beyond the largest */
	assert_int_equal(t->tensors[3].id, 10);
	assert_int_equal(t->tensors[3].bytes, 300);
	assert_true(t->tensors[3].workspace);
	assert_int_equal(t->tensors[4].id, 11);

	use = ugm_kernel_uses(t, 0);
	assert_int_equal(t->kernels[0].nr_uses, 3);
	assert_int_equal(use[0].tensor, 0);
	assert_int_equal(use[0].mode, UGM_OPERAND_READ);
	assert_int_equal(use[1].tensor, 1);
	assert_int_equal(use[1].mode, UGM_OPERAND_READ | UGM_OPERAND_WRITE);
	assert_int_equal(use[2].tensor, 2);
	assert_int_equal(use[2].mode, UGM_OPERAND_WRITE);
	use = ugm_kernel_uses(t, 1);
	assert_int_equal(t->kernels[1].nr_uses, 2); /* 9 twice is one use */
	assert_int_equal(use[1].tensor, 3);
	assert_int_equal(use[1].mode, UGM_OPERAND_WRITE);
	assert_string_equal(t->kernels[2].name, "third");
}

static void reads(void **unused)
{
	struct ugm_error err;
	struct ugm_trace *t = read_text(good, strlen(good), &err);

	assert_non_null(t);
	check_good(t);
	assert_true(!strncmp(t->name, "ugm-unit-", 9));
	ugm_trace_free(t);
}

static void reads_gzip(void **unused)
{
	const char *path = "/tmp/ugm-unit-trace.test.trace.gz";
	struct ugm_trace *t = NULL;
	struct ugm_error err;
	gzFile f = gzopen(path, "wb");
	char packed[512];
	size_t len;
	FILE *raw;

	assert_true(gzputs(f, good) > 0);
	gzclose(f);
	assert_int_equal(ugm_trace_read(path, &t, &err), 0);
	check_good(t);
	assert_string_equal(t->name, "ugm-unit-trace.test");
	ugm_trace_free(t);

	/* Cut off, it is refused, not half read. */
	raw = fopen(path, "rb");
	len = fread(packed, 1, sizeof(packed), raw);
	fclose(raw);
	unlink(path);
	t = read_text(packed, len - 10, &err);
	assert_null(t);
	t = read_text(packed, len / 2, &err);
	assert_null(t);
}

/* Each bad line, alone after the good tensors, and what is said about it. */
static const struct {
	const char *line;
	const char *says;
} bad[] = {
	{ "tensor 5 4096 global again", "tensor 5 is there twice" },
	{ "tensor 6 0 global empty", "size '0' of tensor 6" },
	{ "tensor 6 -1 global empty", "size '-1'" },
	{ "tensor 6 99999999999999999999 global big", "size '9999" },
	{ "tensor 6 1152921504606846976 global big", "2^60" },
	{ "tensor x 4096 global x", "tensor id 'x'" },
	{ "tensor 4611686018427387904 1 global x", "tensor id '46" },
	{ "tensor 6 4096 weights x", "'weights': global or intermediate" },
	{ "tensor 6 4096 global", "4 words" },
	{ "tensor 6 4096 global a b", "6 words" },
	{ "kernel 1 5 k in= out= workspace=0", "kernel index '1': the next is 0" },
	{ "kernel 0 5 k in=7 out= workspace=0", "tensor 7, which no line above" },
	{ "kernel 0 5 k in=5,,2 out= workspace=0", "'' in the operands" },
	{ "kernel 0 5 k in=5, out= workspace=0", "end with a comma" },
	{ "kernel 0 5 k in=5x out= workspace=0", "'5x' in the operands" },
	{ "kernel 0 1.5 k in=5 out= workspace=0", "duration '1.5'" },
	{ "kernel 0 5 k out=5 in= workspace=0", "'out=5' of kernel 0: expected is in=IDS" },
	{ "kernel 0 5 k in=5 out= workspace=1k", "workspace '1k'" },
	{ "kernel 0 5 k in=5 out=", "6 words" },
	{ "kernal 0 5 k in=5 out= workspace=0", "'kernal'" },
	{ "kernel 0 2000000000000000000 k in= out= workspace=0", "2^60" },
};

static void says_what_is_wrong(void **unused)
{
	static const char head[] = "tensor 5 8192 global w\n"
				   "tensor 2 4096 intermediate x\n";
	struct ugm_error err;
	char text[512];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct ugm_trace *t;

		snprintf(text, sizeof(text), "%s%s\n", head, bad[i].line);
		t = read_text(text, strlen(text), &err);
		if (t || !strstr(err.text, bad[i].says) ||
		    !strstr(err.text, ":3: "))
			fail_msg("'%s' says '%s'", bad[i].line, err.text);
	}
}

static void refuses_what_is_no_trace(void **unused)
{
	static const char nul[] = "tensor 1 4096 global x\0y\n";
	struct ugm_trace *t = NULL;
	struct ugm_error err;

	assert_null(read_text("", 0, &err));
	assert_non_null(strstr(err.text, "no kernel"));
	assert_null(read_text("tensor 1 4096 global x\n", 23, &err));
	assert_null(read_text(nul, sizeof(nul) - 1, &err));
	assert_non_null(strstr(err.text, ":1: a NUL byte"));
	assert_int_equal(ugm_trace_read("/tmp/ugm-unit-no-such-file", &t, &err),
			 -ENOENT);
	assert_non_null(strstr(err.text, "/tmp/ugm-unit-no-such-file: "));
	assert_int_equal(ugm_trace_read("/tmp", &t, &err), -EISDIR);
}

static void refuses_too_many_operands(void **unused)
{
	size_t room = 200000, len = 0;
	char *text = malloc(room);
	struct ugm_error err;
	struct ugm_trace *t;
	int i, n;

	for (n = UGM_TRACE_MAX_OPERANDS; n <= UGM_TRACE_MAX_OPERANDS + 1; n++) {
		len = 0;
		for (i = 0; i < n; i++)
			len += (size_t)snprintf(text + len, room - len,
						"tensor %d 1 global x\n", i);
		len += (size_t)snprintf(text + len, room - len, "kernel 0 1 k in=");
		for (i = 0; i < n; i++)
			len += (size_t)snprintf(text + len, room - len, "%s%d",
						i ? "," : "", i);
		len += (size_t)snprintf(text + len, room - len,
					" out= workspace=0\n");
		t = read_text(text, len, &err);
		if (n == UGM_TRACE_MAX_OPERANDS) {
			assert_non_null(t);
			ugm_trace_free(t);
			/* a workspace is one operand more */
			text[len - 2] = '1';
			t = read_text(text, len, &err);
		}
		assert_null(t);
		assert_non_null(strstr(err.text, "uses more than"));
	}
	free(text);
}

/* Whatever is done to a trace, the reader gives a trace or a sentence. */
static void survives_mutation(void **unused)
{
	static const char alphabet[] = "0123456789,=#\n \t\0-kernltso.~\xff";
	char text[sizeof(good)];
	struct ugm_error err;
	u64 seed = 42;
	int round, i, changes;

	for (round = 0; round < 4000; round++) {
		size_t len = strlen(good);

		memcpy(text, good, len);
		changes = 1 + (int)(next_random(&seed) % 6);
		for (i = 0; i < changes; i++)
			text[next_random(&seed) % len] =
				alphabet[next_random(&seed) %
					 (sizeof(alphabet) - 1)];
		if (next_random(&seed) % 4 == 0)
			len = next_random(&seed) % len;
		ugm_trace_free(read_text(text, len, &err));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads),
		cmocka_unit_test(reads_gzip),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(refuses_what_is_no_trace),
		cmocka_unit_test(refuses_too_many_operands),
		cmocka_unit_test(survives_mutation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
