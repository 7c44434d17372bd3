// SPDX-License-Identifier: GPL-2.0
/* Numbers that people type: exact, or refused. */
#include "unit.h"

#include <errno.h>

#include "drive.h"
#include "units.h"

static const struct {
	const char *text;
	u64 bytes;
} sizes[] = {
	{ "0", 0 },
	{ "1", 1 },
	{ "007", 7 },
	{ "1.", 1 },
	{ "1.000", 1 },
	{ "4K", 4096 },
	{ "1.5G", 3ULL << 29 },
	{ "0.5K", 512 },
	{ "0.0009765625K", 1 },
	{ "0.0000000000009094947017729282379150390625T", 1 },
	{ "2.500000000000000000000000000000000000000000000000000000M", 5ULL << 19 },
	/* a double has no such numbers */
	{ "9007199254740993", (1ULL << 53) + 1 },
	{ "1152921504606846977", (1ULL << 60) + 1 },
	{ "8796093022208.0009765625K", (1ULL << 53) + 1 },
	{ "9223372036854775807", (1ULL << 63) - 1 },
	{ "18446744073709551615", U64_MAX },
	{ "16777215.9999990463256835937500T", (16777216ULL << 40) - (1ULL << 20) },
};

static void sizes_are_exact(void **unused)
{
	struct ugm_error err;
	unsigned int i;
	u64 bytes;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		bytes = ~sizes[i].bytes;
		if (ugm_parse_size("size", sizes[i].text, 0, U64_MAX, &bytes, &err))
			fail_msg("'%s' says '%s'", sizes[i].text, err.text);
		assert_int_equal(bytes, sizes[i].bytes);
	}
}

static const struct {
	const char *text;
	int error;
} no_sizes[] = {
	{ "", -EINVAL },
	{ "K", -EINVAL },
	{ ".5K", -EINVAL },
	{ "-1", -EINVAL },
	{ "+1", -EINVAL },
	{ " 1", -EINVAL },
	{ "1 ", -EINVAL },
	{ "1k", -EINVAL },
	{ "1KK", -EINVAL },
	{ "1.5.5G", -EINVAL },
	{ "1e9", -EINVAL },
	{ "0x10", -EINVAL },
	{ "nan", -EINVAL },
	{ "1\xff", -EINVAL },
	{ "0.5", -EINVAL },
	{ "0.1K", -EINVAL },
	{ "1.00000000000000000001K", -EINVAL },
	{ "0.00000000000090949470177292823791503906250000000001T", -EINVAL },
	{ "4096.0000000000000000000001", -EINVAL },
	{ "18446744073709551616", -ERANGE },
	{ "16777216T", -ERANGE },
	{ "18014398509481984K", -ERANGE },
	{ "99999999999999999999999999999999999999999999999999", -ERANGE },
};

static void what_is_no_size_is_refused(void **unused)
{
	struct ugm_error err;
	unsigned int i;
	u64 bytes;

	for (i = 0; i < ARRAY_SIZE(no_sizes); i++)
		if (ugm_parse_size("size", no_sizes[i].text, 0, U64_MAX, &bytes, &err) !=
		    no_sizes[i].error)
			fail_msg("'%s' is not refused as it should be", no_sizes[i].text);
	assert_int_equal(ugm_parse_size("size", "1152921504606846977", 0, 1ULL << 60, &bytes,
					&err), -ERANGE);
	assert_string_equal(err.text, "size: 1152921504606846977: allowed are 0 to 1152921504606846976");
}

static void bandwidths(void **unused)
{
	static const char *const bad[] = { "", "-1e9", "+1e9", " 1e9", "0x3b9aca00", "nan", "inf",
					   "1e", "1e9x", "1e9 ", ".", "1..5e9" };
	struct ugm_error err;
	unsigned int i;
	u64 v;

	assert_int_equal(ugm_parse_bandwidth("bw", "3.2e9", &v, &err), 0);
	assert_int_equal(v, 3200000000);
	assert_int_equal(ugm_parse_bandwidth("bw", "999999999999999", &v, &err), 0);
	assert_int_equal(v, 999999999999999);
	assert_int_equal(ugm_parse_bandwidth("bw", "1e999", &v, &err), -ERANGE);
	assert_int_equal(ugm_parse_bandwidth("bw", "1000000000000001", &v, &err), -ERANGE);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (ugm_parse_bandwidth("bw", bad[i], &v, &err) != -EINVAL)
			fail_msg("bandwidth '%s'", bad[i]);
}

static void drives(void **unused)
{
	static const char *const bad[] = { "", ":", "1e12", "1e12:", ":1e15", "1e12:1e15:1",
					   " 1e12:1e15", "1e12: 1e15", "0x1p40:1e15", "nan:1e15",
					   "inf:1e15", "1e12:inf", "1e999:1e15", "0:1e15",
					   "1e12:-1" };
	struct ugm_drive drive;
	struct ugm_error err;
	unsigned int i;

	assert_int_equal(ugm_drive_find(NULL, &drive, &err), 0);
	assert_string_equal(drive.name, "samsung-983-zet-960g");
	assert_int_equal(ugm_drive_find("1.6e12:8.7e15", &drive, &err), 0);
	assert_true(drive.capacity_bytes == 1.6e12 && drive.endurance_bytes == 8.7e15);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (ugm_drive_find(bad[i], &drive, &err) != -EINVAL)
			fail_msg("drive '%s'", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_exact),
		cmocka_unit_test(what_is_no_size_is_refused),
		cmocka_unit_test(bandwidths),
		cmocka_unit_test(drives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
