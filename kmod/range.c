// SPDX-License-Identifier: GPL-2.0
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "engine_internal.h"
