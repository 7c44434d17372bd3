/* SPDX-License-Identifier: MIT */
#ifndef UGM_NAMESPACE_H
#define UGM_NAMESPACE_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

/* A "data unit" of the SMART log: 1000 units of 512 bytes. */
#define UGM_DATA_UNIT_BYTES ((uint64_t)512000)

/**
 * struct ugm_lba_format - how a namespace can be, or is, formatted
 * @lba_bytes: bytes of a logical block
 * @metadata_bytes: metadata bytes of one
 */
struct ugm_lba_format {
	uint32_t lba_bytes;
	uint32_t metadata_bytes;
};

/**
 * struct ugm_namespace - an NVMe namespace and what is known of it
 * @path: its block device
 * @controller: a controller it is reached by, "nvme0"
 * @transport: "pcie", "tcp", …
 * @model: model of the subsystem
 * @serial: its serial number
 * @firmware: its firmware revision
 * @bytes: capacity
 * @max_transfer_bytes: largest command (MDTS, with 4 KiB pages); 0: no limit, or
 *                      not known
 * @formats: LBA formats it supports; none where identify is not permitted
 * @nr_formats: how many
 * @format: which of them it has
 */
struct ugm_namespace {
	char path[64];
	char controller[32];
	char transport[16];
	char model[48];
	char serial[32];
	char firmware[16];
	uint64_t bytes;
	uint64_t max_transfer_bytes;
	struct ugm_lba_format formats[64];
	unsigned int nr_formats;
	unsigned int format;
};

/**
 * struct ugm_wear - the device's own counters, by data units
 * @read_units: read from it
 * @written_units: written to it
 */
struct ugm_wear {
	uint64_t read_units;
	uint64_t written_units;
};

int ugm_namespaces(struct ugm_namespace **list, size_t *nr, struct ugm_error *err);
int ugm_namespace_find(const char *path, struct ugm_namespace *out, struct ugm_error *err);
int ugm_namespace_wear(const char *path, struct ugm_wear *wear);
int ugm_namespace_vet(const char *path, struct ugm_error *err);

#endif /* UGM_NAMESPACE_H */
