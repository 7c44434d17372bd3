// SPDX-License-Identifier: MIT
/**
 * DOC: namespaces
 *
 * Finding NVMe namespaces, telling what they are and how worn, and refusing
 * those that hold somebody's data. A namespace becomes the flash tier by being
 * overwritten, so everything that hints at an owner is a reason to refuse: a
 * mount, an exclusive claim, a file system or a partition table.
 */

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <libnvme.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "namespace.h"

/**
 * struct list - namespaces found so far
 * @items: array
 * @nr: how many
 */
struct list {
	struct ugm_namespace *items;
	size_t nr;
};

/* Copies an identify string: these are padded with blanks, or absent. */
static void copy_text(char *to, size_t size, const char *from)
{
	size_t len = from ? strlen(from) : 0;

	while (len && from[len - 1] == ' ')
		len--;
	snprintf(to, size, "%.*s", (int)len, from ? from : "");
}

static void add_formats(struct ugm_namespace *out, nvme_ns_t n)
{
	struct nvme_id_ns id;
	unsigned int i;

	if (nvme_ns_identify(n, &id))
		return;
	out->nr_formats = id.nlbaf + 1u;
	if (out->nr_formats > sizeof(out->formats) / sizeof(out->formats[0]))
		out->nr_formats = sizeof(out->formats) / sizeof(out->formats[0]);
	/* The index has its upper two bits apart (NVMe 2.0). */
	out->format = (id.flbas & 0xfu) | (id.flbas & 0x60u) >> 1;
	for (i = 0; i < out->nr_formats; i++) {
		out->formats[i].lba_bytes = 1u << id.lbaf[i].ds;
		out->formats[i].metadata_bytes = le16toh(id.lbaf[i].ms);
	}
	if (out->format >= out->nr_formats)
		out->format = 0;
}

static void add_limits(struct ugm_namespace *out, nvme_ctrl_t c)
{
	struct nvme_id_ctrl id;

	if (!nvme_ctrl_identify(c, &id) && id.mdts && id.mdts < 32)
		out->max_transfer_bytes = 4096ULL << id.mdts;
}

static int add(struct list *l, nvme_ctrl_t c, nvme_ns_t n)
{
	struct ugm_namespace *more, *out;
	size_t i;
	char path[64];

	snprintf(path, sizeof(path), "/dev/%s", nvme_ns_get_name(n));
	/* One that has several controllers is found under each. */
	for (i = 0; i < l->nr; i++)
		if (!strcmp(l->items[i].path, path))
			return 0;

	more = realloc(l->items, (l->nr + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	l->items = more;
	out = &l->items[l->nr++];
	memset(out, 0, sizeof(*out));
	memcpy(out->path, path, sizeof(path));
	copy_text(out->model, sizeof(out->model), nvme_ns_get_model(n));
	copy_text(out->serial, sizeof(out->serial), nvme_ns_get_serial(n));
	copy_text(out->firmware, sizeof(out->firmware), nvme_ns_get_firmware(n));
	out->bytes = nvme_ns_get_lba_count(n) * (uint64_t)nvme_ns_get_lba_size(n);
	if (c) {
		copy_text(out->controller, sizeof(out->controller), nvme_ctrl_get_name(c));
		copy_text(out->transport, sizeof(out->transport), nvme_ctrl_get_transport(c));
		add_limits(out, c);
	}
	add_formats(out, n);
	return 0;
}

/* A PCIe namespace hangs under its controller, a fabrics one under its subsystem. */
static int walk(nvme_root_t root, struct list *l)
{
	nvme_subsystem_t s;
	nvme_ctrl_t c;
	nvme_host_t h;
	nvme_ns_t n;
	int ret = 0;

	for (h = nvme_first_host(root); h && !ret; h = nvme_next_host(root, h))
		for (s = nvme_first_subsystem(h); s && !ret; s = nvme_next_subsystem(h, s)) {
			for (c = nvme_subsystem_first_ctrl(s); c && !ret;
			     c = nvme_subsystem_next_ctrl(s, c))
				for (n = nvme_ctrl_first_ns(c); n && !ret;
				     n = nvme_ctrl_next_ns(c, n))
					ret = add(l, c, n);
			c = nvme_subsystem_first_ctrl(s);
			for (n = nvme_subsystem_first_ns(s); n && !ret;
			     n = nvme_subsystem_next_ns(s, n))
				ret = add(l, c, n);
		}
	return ret;
}

/**
 * ugm_namespaces() - all NVMe namespaces of this machine
 * @list: out: an array to be freed with free()
 * @nr: out: how many; there may be none
 * @err: out
 *
 * Facts that need CAP_SYS_ADMIN stay empty without it.
 *
 * Return: 0 or a negative errno.
 */
int ugm_namespaces(struct ugm_namespace **list, size_t *nr, struct ugm_error *err)
{
	struct list l = { 0 };
	nvme_root_t root;
	int ret;

	*list = NULL;
	*nr = 0;
	/* No NVMe at all is an empty list, not an error. */
	if (access("/sys/class/nvme", F_OK))
		return 0;
	root = nvme_scan(NULL);
	if (!root)
		return ugm_fail(err, -errno, "NVMe devices cannot be listed: %s", strerror(errno));
	ret = walk(root, &l);
	nvme_free_tree(root);
	if (ret) {
		free(l.items);
		return ugm_fail(err, ret, "NVMe devices cannot be listed: %s", strerror(-ret));
	}
	*list = l.items;
	*nr = l.nr;
	return 0;
}

/**
 * ugm_namespace_find() - facts about one namespace
 * @path: its block device
 * @out: out
 * @err: out
 *
 * Return: 0, -ENODEV (it is not an NVMe namespace), or a negative errno.
 */
int ugm_namespace_find(const char *path, struct ugm_namespace *out, struct ugm_error *err)
{
	struct ugm_namespace *list;
	struct stat want, have;
	size_t nr, i;
	int ret;

	if (stat(path, &want))
		return ugm_fail(err, -errno, "%s: %s", path, strerror(errno));
	ret = ugm_namespaces(&list, &nr, err);
	if (ret)
		return ret;
	ret = -ENODEV;
	for (i = 0; i < nr && ret; i++)
		if (S_ISBLK(want.st_mode) && !stat(list[i].path, &have) &&
		    have.st_rdev == want.st_rdev) {
			*out = list[i];
			ret = 0;
		}
	free(list);
	return ret ? ugm_fail(err, ret, "%s: not an NVMe namespace", path) : 0;
}

static uint64_t low_u64(const uint8_t bytes[16])
{
	uint64_t v = 0;
	int i;

	for (i = 7; i >= 0; i--)
		v = v << 8 | bytes[i];
	return v;
}

/**
 * ugm_namespace_wear() - read the device's own counters (SMART)
 * @path: its block device
 * @wear: out
 *
 * Return: 0, -EACCES (CAP_SYS_ADMIN), -ENOTTY (not NVMe), or a negative errno.
 */
int ugm_namespace_wear(const char *path, struct ugm_wear *wear)
{
	struct nvme_smart_log log;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = nvme_get_log_smart(fd, NVME_NSID_ALL, false, &log);
	if (ret < 0)
		ret = -errno;
	else if (ret > 0)
		ret = -EIO;
	close(fd);
	if (ret)
		return ret;
	wear->read_units = low_u64(log.data_units_read);
	wear->written_units = low_u64(log.data_units_written);
	return 0;
}

/* Is the device, or a partition of it, mounted? Then where. */
static bool mounted(dev_t dev, char *where, size_t size)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	unsigned int major, minor;
	char *line = NULL, at[256];
	size_t room = 0;
	bool found = false;

	if (!f)
		return false;
	while (!found && getline(&line, &room, f) > 0) {
		char sys[64];
		struct stat st;

		if (sscanf(line, "%*d %*d %u:%u %*s %255s", &major, &minor, at) != 3)
			continue;
		found = makedev(major, minor) == dev;
		if (!found) {
			/* A partition's folder lies in its disk's. */
			snprintf(sys, sizeof(sys), "/sys/dev/block/%u:%u/../dev", major, minor);
			if (!stat(sys, &st)) {
				unsigned int a, b;
				FILE *d = fopen(sys, "re");

				if (d) {
					found = fscanf(d, "%u:%u", &a, &b) == 2 &&
						makedev(a, b) == dev;
					fclose(d);
				}
			}
		}
		if (found)
			snprintf(where, size, "%s", at);
	}
	free(line);
	fclose(f);
	return found;
}

static int probe_contents(const char *path, int fd, struct ugm_error *err)
{
	const char *type = NULL;
	blkid_probe pr = blkid_new_probe();
	int ret;

	if (!pr)
		return ugm_fail(err, -ENOMEM, "%s: out of memory", path);
	if (blkid_probe_set_device(pr, fd, 0, 0)) {
		ret = ugm_fail(err, -EIO, "%s: cannot be probed", path);
		goto out;
	}
	blkid_probe_enable_superblocks(pr, 1);
	blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE);
	blkid_probe_enable_partitions(pr, 1);

	ret = blkid_do_safeprobe(pr);
	if (ret == 1)
		ret = 0;
	else if (ret == -2)
		ret = ugm_fail(err, -EEXIST, "%s: holds several kinds of data", path);
	else if (ret < 0)
		ret = ugm_fail(err, -EIO, "%s: cannot be read", path);
	else if (!blkid_probe_lookup_value(pr, "TYPE", &type, NULL))
		ret = ugm_fail(err, -EEXIST, "%s: holds a file system or volume (%s)", path, type);
	else if (!blkid_probe_lookup_value(pr, "PTTYPE", &type, NULL))
		ret = ugm_fail(err, -EEXIST, "%s: holds a partition table (%s)", path, type);
	else
		ret = ugm_fail(err, -EEXIST, "%s: holds data of a known kind", path);
out:
	blkid_free_probe(pr);
	return ret;
}

/**
 * ugm_namespace_vet() - may a block device be overwritten?
 * @path: block device
 * @err: out: why not
 *
 * Return: 0; -ENOTBLK, -EROFS, -EBUSY (mounted or claimed), -EEXIST (it holds a
 * file system or a partition table), or a negative errno.
 */
int ugm_namespace_vet(const char *path, struct ugm_error *err)
{
	char where[256];
	struct stat st;
	int fd, ret, ro;

	if (stat(path, &st))
		return ugm_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISBLK(st.st_mode))
		return ugm_fail(err, -ENOTBLK, "%s: not a block device", path);
	if (mounted(st.st_rdev, where, sizeof(where)))
		return ugm_fail(err, -EBUSY, "%s: is mounted on %s", path, where);
	fd = open(path, O_RDWR | O_EXCL | O_CLOEXEC);
	if (fd < 0 && errno == EBUSY)
		return ugm_fail(err, -EBUSY, "%s: is in use (claimed by another user)", path);
	if (fd < 0)
		return ugm_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (!ioctl(fd, BLKROGET, &ro) && ro)
		ret = ugm_fail(err, -EROFS, "%s: is read-only", path);
	else
		ret = probe_contents(path, fd, err);
	close(fd);
	return ret;
}
