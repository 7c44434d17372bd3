/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UGM_HARNESS_H
#define UGM_HARNESS_H

#include <kselftest_harness.h>

#include "ugm_test.h"

/* What a test program includes: the kernel's harness, and our fixture for it. */

/* The functions that the harness makes of fixtures are not static. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/*
 * The runner has a time limit for the whole program, which it fits to the speed
 * of the kernel; the harness's own for each test cannot be.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 86400

/**
 * UT_FIXTURE - the fixture of most tests: self->d, and variants by parameters
 * @name: of the fixture; add variants with UT_VARIANT()
 */
#define UT_FIXTURE(name)                                                   \
	FIXTURE(name)                                                      \
	{                                                                  \
		struct ut d;                                               \
	};                                                                 \
	FIXTURE_VARIANT(name)                                              \
	{                                                                  \
		const char *params;                                        \
	};                                                                 \
	FIXTURE_SETUP(name)                                                \
	{                                                                  \
		int err = ut_setup(&self->d, variant->params);             \
		if (err == -ENXIO)                                         \
			SKIP(return, "no reserved memory in this machine"); \
		ASSERT_EQ(0, err);                                         \
	}                                                                  \
	FIXTURE_TEARDOWN(name)                                             \
	{                                                                  \
		EXPECT_EQ(0, ut_teardown(&self->d));                       \
	}

#define UT_VARIANT(name, variant, parameters)                              \
	FIXTURE_VARIANT_ADD(name, variant)                                 \
	{                                                                  \
		.params = parameters,                                      \
	}

#endif /* UGM_HARNESS_H */
