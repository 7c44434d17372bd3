/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ugm

#if !defined(UGM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define UGM_TRACE_H

#include <linux/tracepoint.h>
#include "compat.h"

/**
 * DOC: tracepoints
 *
 * Addresses are unified addresses in bytes, times the engine's. Tiers are
 * numbers: 0 none, 1 gpu, 2 host, 3 flash; lanes: 0 kernel, 1 planner; causes:
 * 0 demand, 1 planned, 2 eviction, 3 touch.
 */

TRACE_EVENT(ugm_fault,
	TP_PROTO(u64 space, u64 address, bool host_view, bool write, bool resident),
	TP_ARGS(space, address, host_view, write, resident),
	TP_STRUCT__entry(
		__field(u64, space)
		__field(u64, address)
		__field(bool, host_view)
		__field(bool, write)
		__field(bool, resident)
	),
	TP_fast_assign(
		__entry->space = space;
		__entry->address = address;
		__entry->host_view = host_view;
		__entry->write = write;
		__entry->resident = resident;
	),
	TP_printk("space=%llu address=%#llx view=%s %s%s",
		  __entry->space, __entry->address, __entry->host_view ? "host" : "gpu",
		  __entry->write ? "write" : "read", __entry->resident ? "" : " missing")
);

DECLARE_EVENT_CLASS(ugm_transfer,
	TP_PROTO(u64 space, u64 address, u8 src, u8 dst, u8 lane, u8 cause, u64 now, int error),
	TP_ARGS(space, address, src, dst, lane, cause, now, error),
	TP_STRUCT__entry(
		__field(u64, space)
		__field(u64, address)
		__field(u64, now)
		__field(u8, src)
		__field(u8, dst)
		__field(u8, lane)
		__field(u8, cause)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->space = space;
		__entry->address = address;
		__entry->now = now;
		__entry->src = src;
		__entry->dst = dst;
		__entry->lane = lane;
		__entry->cause = cause;
		__entry->error = error;
	),
	TP_printk("space=%llu address=%#llx src=%u dst=%u lane=%u cause=%u now=%llu error=%d",
		  __entry->space, __entry->address, __entry->src, __entry->dst, __entry->lane,
		  __entry->cause, __entry->now, __entry->error)
);

/* The model started a move. */
DEFINE_EVENT(ugm_transfer, ugm_transfer_start,
	TP_PROTO(u64 space, u64 address, u8 src, u8 dst, u8 lane, u8 cause, u64 now, int error),
	TP_ARGS(space, address, src, dst, lane, cause, now, error)
);

/* The model ended a move, or gave it up (error). Evictions have cause 2. */
DEFINE_EVENT(ugm_transfer, ugm_transfer_end,
	TP_PROTO(u64 space, u64 address, u8 src, u8 dst, u8 lane, u8 cause, u64 now, int error),
	TP_ARGS(space, address, src, dst, lane, cause, now, error)
);

/* Blocks were taken from every mapping. */
TRACE_EVENT(ugm_revoke,
	TP_PROTO(u64 space, u64 address, unsigned int blocks),
	TP_ARGS(space, address, blocks),
	TP_STRUCT__entry(
		__field(u64, space)
		__field(u64, address)
		__field(unsigned int, blocks)
	),
	TP_fast_assign(
		__entry->space = space;
		__entry->address = address;
		__entry->blocks = blocks;
	),
	TP_printk("space=%llu address=%#llx blocks=%u", __entry->space, __entry->address,
		  __entry->blocks)
);

/* A lease was taken (what 0), committed (1), expired (2) or released (3). */
TRACE_EVENT(ugm_lease,
	TP_PROTO(u64 space, u64 lease, u32 what, u32 segments),
	TP_ARGS(space, lease, what, segments),
	TP_STRUCT__entry(
		__field(u64, space)
		__field(u64, lease)
		__field(u32, what)
		__field(u32, segments)
	),
	TP_fast_assign(
		__entry->space = space;
		__entry->lease = lease;
		__entry->what = what;
		__entry->segments = segments;
	),
	TP_printk("space=%llu lease=%llu what=%u segments=%u", __entry->space, __entry->lease,
		  __entry->what, __entry->segments)
);

/* Somebody slept in the module. */
TRACE_EVENT(ugm_wait,
	TP_PROTO(const char *device, const char *reason, u64 ns),
	TP_ARGS(device, reason, ns),
	TP_STRUCT__entry(
		__string(device, device)
		__string(reason, reason)
		__field(u64, ns)
	),
	TP_fast_assign(
		UGM_ASSIGN_STR(device, device);
		UGM_ASSIGN_STR(reason, reason);
		__entry->ns = ns;
	),
	TP_printk("%s reason=\"%s\" ns=%llu", __get_str(device), __get_str(reason), __entry->ns)
);

#endif /* UGM_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
