// SPDX-License-Identifier: GPL-2.0
#include "ugm.h"

#define CREATE_TRACE_POINTS
#include "trace.h"
