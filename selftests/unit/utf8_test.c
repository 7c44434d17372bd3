// SPDX-License-Identifier: GPL-2.0
/* Which bytes are characters, and what becomes of the others. */
#include "unit.h"

#include "utf8.h"

static void well_formed(void **unused)
{
	/* The first and the last of each row of the standard's table. */
	static const struct {
		const char *text;
		size_t len;
	} good[] = {
		{"\x01", 1},
		{"\x7f", 1},
		{"\xc2\x80", 2},
		{"\xdf\xbf", 2},
		{"\xe0\xa0\x80", 3},
		{"\xe0\xbf\xbf", 3},
		{"\xe1\x80\x80", 3},
		{"\xec\xbf\xbf", 3},
		{"\xed\x80\x80", 3},
		{"\xed\x9f\xbf", 3},
		{"\xee\x80\x80", 3},
		{"\xef\xbf\xbf", 3},
		{"\xf0\x90\x80\x80", 4},
		{"\xf0\xbf\xbf\xbf", 4},
		{"\xf1\x80\x80\x80", 4},
		{"\xf3\xbf\xbf\xbf", 4},
		{"\xf4\x80\x80\x80", 4},
		{"\xf4\x8f\xbf\xbf", 4},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(ugm_utf8_length(good[i].text), good[i].len);
}

static void ill_formed(void **unused)
{
	static const char *const bad[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xf5\x80\x80\x80",
		"\xff",
		"\xc2",
		"\302A",
		"\xc2\xc0",
		"\xe0\x9f\xbf",
		"\xe0\xa0",
		"\341\200A",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xf0\x8f\xbf\xbf",
		"\xf0\x90\x80",
		"\xf4\x90\x80\x80",
		"\xf1\x80\x80\xc0",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(ugm_utf8_length(bad[i]), 0);
}

/* Replaced byte by byte; what is good stays. */
static void replaced(void **unused)
{
	static const struct {
		const char *from;
		const char *to;
	} texts[] = {
		{"", ""},
		{"abc\n", "abc\n"},
		{"\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9"},
		{"a\xff", "a" UGM_UTF8_REPLACEMENT},
		{"\377\376b",
		 UGM_UTF8_REPLACEMENT UGM_UTF8_REPLACEMENT "b"},
		{"\xe2\x82", UGM_UTF8_REPLACEMENT UGM_UTF8_REPLACEMENT},
		{"\xe2\x82\xac", "\xe2\x82\xac"},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		char *text = ugm_utf8(texts[i].from);

		assert_string_equal(text, texts[i].to);
		free(text);
	}
}

/* Control characters of one byte and of two, but for those that may stay. */
static void hidden(void **unused)
{
	static const struct {
		const char *from;
		const char *keep;
		const char *to;
	} texts[] = {
		{"", "", ""},
		{"a\tb\n", "", "a?b?"},
		{"a\tb\n\r", "\n\t", "a\tb\n?"},
		{"\033[31m\177", "\n", "?[31m?"},
		{"\302\200\302\237\302\240", "", "????\302\240"},
		{"\303\233\302", "", "\303\233\302"},
	};
	char text[16];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		strcpy(text, texts[i].from);
		ugm_utf8_hide_controls(text, strlen(text), texts[i].keep);
		assert_string_equal(text, texts[i].to);
	}
	strcpy(text, "ab");
	ugm_utf8_hide_controls(text, 3, "\n");
	assert_memory_equal(text, "ab?", 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(well_formed),
		cmocka_unit_test(ill_formed),
		cmocka_unit_test(replaced),
		cmocka_unit_test(hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
