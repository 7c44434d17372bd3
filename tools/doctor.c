// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "command.h"
#include "device.h"
#include "namespace.h"
#include "options.h"

/**
 * DOC: doctor
 *
 * Goes through everything a device needs, from the kernel up to the flash
 * server, and says of each whether it is there, and if not, the line that mends
 * it. What only costs something (no reserved DRAM) is a note, not a fault.
 */

#define SECURE_BOOT "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
#define SIGNATURE "~Module signature appended~\n"

enum verdict { FINE, NOTE, WRONG };

/**
 * struct patient - what was found so far
 * @device: device node
 * @release: of the kernel
 * @faults: how many things are wrong
 * @loaded: the module is loaded
 * @admin: we have CAP_SYS_ADMIN
 * @denied: the device is there, and we may not open it
 * @space: the device, or NULL
 */
struct patient {
	const char *device;
	char release[65];
	unsigned int faults;
	bool loaded;
	bool admin;
	bool denied;
	struct ugm *space;
};

static void say(struct patient *p, enum verdict v, const char *what, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void say(struct patient *p, enum verdict v, const char *what, const char *format, ...)
{
	static const char *const words[] = { "ok", "note", "WRONG" };
	va_list args;

	printf("%-6s %-12s ", words[v], what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	p->faults += v == WRONG;
}

static void mend(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void mend(const char *format, ...)
{
	va_list args;

	printf("%-19s   ", "");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

/* The first line of a small file, without its newline. */
static bool read_line(const char *path, char *line, size_t size)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(line, (int)size, f);

	if (ok)
		line[strcspn(line, "\n")] = '\0';
	if (f)
		fclose(f);
	return ok;
}

/* Where a module of this kernel would be loaded from; empty: nowhere known. */
static void find_module(const struct patient *p, char *path, size_t size)
{
	static const char *const places[] = {
		"build/%s/ugm.ko",
		"/lib/modules/%s/extra/ugm.ko",
		"/lib/modules/%s/updates/dkms/ugm.ko",
		"/lib/modules/%s/updates/ugm.ko",
	};
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, size, places[i], p->release);
		if (!access(path, F_OK))
			return;
	}
	*path = '\0';
}

static void look_at_kernel(struct patient *p)
{
	unsigned int major = 0, minor = 0;
	char path[128], module[192];
	struct utsname u;

	uname(&u);
	snprintf(p->release, sizeof(p->release), "%s", u.release);
	sscanf(p->release, "%u.%u", &major, &minor);
	if (major < 6 || (major == 6 && minor < 1)) {
		say(p, WRONG, "kernel", "%s: 6.1 or later is needed", p->release);
		mend("apt install linux-image-amd64");
	} else {
		say(p, FINE, "kernel", "%s", p->release);
	}
	snprintf(path, sizeof(path), "/lib/modules/%s/build", p->release);
	find_module(p, module, sizeof(module));
	if (!access(path, F_OK)) {
		say(p, FINE, "headers", "%s", path);
	} else if (!access("/sys/module/ugm", F_OK) || *module) {
		say(p, NOTE, "headers", "%s is not there; they are needed to build the module again",
		    path);
	} else {
		say(p, WRONG, "headers", "%s is not there: the module cannot be built", path);
		mend("apt install linux-headers-%s", p->release);
	}
}

static void look_at_module(struct patient *p)
{
	char version[32], path[192];

	p->loaded = !access("/sys/module/ugm", F_OK);
	find_module(p, path, sizeof(path));
	if (!p->loaded) {
		say(p, WRONG, "module", "ugm is not loaded");
		if (*path == '/')
			mend("modprobe ugm");
		else if (*path)
			mend("insmod %s", path);
		else
			mend("make KDIR=/lib/modules/%s/build && insmod build/%s/ugm.ko",
			     p->release, p->release);
		return;
	}
	if (!read_line("/sys/module/ugm/version", version, sizeof(version)))
		strcpy(version, "unknown");
	if (strcmp(version, UGM_VERSION)) {
		say(p, WRONG, "module", "version %s is loaded, this command is %s", version,
		    UGM_VERSION);
		mend("rmmod ugm && insmod %s", *path ? path : "the ugm.ko that was built with it");
	} else {
		say(p, FINE, "module", "loaded, version %s", version);
	}
}

static bool is_signed(const char *path)
{
	char tail[sizeof(SIGNATURE)] = "";
	FILE *f = fopen(path, "re");
	bool found = f && !fseek(f, -(long)strlen(SIGNATURE), SEEK_END) &&
		     fread(tail, 1, strlen(SIGNATURE), f) == strlen(SIGNATURE) &&
		     !strcmp(tail, SIGNATURE);

	if (f)
		fclose(f);
	return found;
}

static bool secure_boot(void)
{
	unsigned char var[5] = { 0 };
	int fd = open(SECURE_BOOT, O_RDONLY | O_CLOEXEC);
	bool on = fd >= 0 && read(fd, var, sizeof(var)) == sizeof(var) && var[4] == 1;

	if (fd >= 0)
		close(fd);
	return on;
}

static void look_at_signature(struct patient *p)
{
	char enforce[8] = "N", lockdown[64] = "", path[192];
	bool secure = secure_boot(), needed;

	read_line("/sys/module/module/parameters/sig_enforce", enforce, sizeof(enforce));
	read_line("/sys/kernel/security/lockdown", lockdown, sizeof(lockdown));
	needed = enforce[0] == 'Y' || (*lockdown && !strstr(lockdown, "[none]"));
	find_module(p, path, sizeof(path));
	if (p->loaded || !needed) {
		say(p, FINE, "signature", "Secure Boot is %s, the kernel %s", secure ? "on" : "off",
		    needed ? "wants signed modules and took this one" : "takes unsigned modules");
	} else if (*path && is_signed(path)) {
		say(p, NOTE, "signature", "%s is signed; its key must be enrolled", path);
		mend("mokutil --import MOK.der, and enrol it at the next boot");
	} else {
		say(p, WRONG, "signature", "Secure Boot is %s and the kernel refuses unsigned modules",
		    secure ? "on" : "off");
		mend("/lib/modules/%s/build/scripts/sign-file sha256 MOK.priv MOK.der %s", p->release,
		     *path ? path : "ugm.ko");
	}
}

static void look_at_reservation(struct patient *p)
{
	char line[4096] = "", phys[64] = "0", *at;
	bool used;

	read_line("/proc/cmdline", line, sizeof(line));
	read_line("/sys/module/ugm/parameters/gpu_phys", phys, sizeof(phys));
	used = p->loaded && strtoull(phys, NULL, 0);
	at = strstr(line, "memmap=");
	if (at)
		at[strcspn(at, " ")] = '\0';
	if (used) {
		say(p, FINE, "reservation", "the GPU tier lies on reserved DRAM at %s", phys);
	} else if (at && strchr(at, '$')) {
		say(p, NOTE, "reservation", "%s is reserved and not used: the GPU tier comes from the page allocator", at);
		mend("load the module with gpu_phys=%s", strchr(at, '$') + 1);
	} else {
		say(p, NOTE, "reservation", "none: the GPU tier comes from the page allocator");
		mend("boot with memmap=SIZE$ADDRESS (2M aligned) and load with gpu_phys=ADDRESS");
	}
}

static bool has_admin(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = { 0 };

	return !syscall(SYS_capget, &h, d) && d[0].effective & 1u << CAP_SYS_ADMIN;
}

static void look_at_device(struct patient *p)
{
	uint64_t violations = 0;
	struct ugm_ioc_info info;
	int ret;

	p->admin = has_admin();
	if (access(p->device, F_OK)) {
		say(p, WRONG, "device", "%s is not there", p->device);
		if (p->loaded)
			mend("ls /dev/ugm*, or load the module with devices=N");
		else
			mend("it appears when the module is loaded");
		return;
	}
	ret = ugm_open(p->device, &p->space);
	if (ret == -EACCES || ret == -EPERM) {
		p->denied = true;
		say(p, WRONG, "permissions", "%s cannot be opened by user %u", p->device, getuid());
		mend("chgrp GROUP %s && chmod 660 %s, or a udev rule that does", p->device,
		     p->device);
		return;
	}
	if (ret) {
		say(p, WRONG, "device", "%s: %s", p->device, strerror(-ret));
		return;
	}
	ret = ugm_info(p->space, &info);
	if (ret) {
		say(p, WRONG, "device", "%s does not answer: %s", p->device, strerror(-ret));
		return;
	}
	if (info.flags & UGM_INFO_BROKEN) {
		say(p, WRONG, "device", "%s: an invariant broke, it refuses new work", p->device);
		mend("dmesg | grep ugm, then load the module again");
	} else {
		say(p, FINE, "device", "%s: %llu frames of %u bytes", p->device,
		    (unsigned long long)info.gpu_frames, info.block_size);
	}
	ret = ugm_check(p->space, &violations);
	if (ret == -EPERM || ret == -EACCES) {
		say(p, NOTE, "invariants", "only CAP_SYS_ADMIN may check them");
	} else if (ret || violations) {
		say(p, WRONG, "invariants", "%s", ret ? strerror(-ret) : "some are broken");
		mend("dmesg | grep ugm tells which");
	} else {
		say(p, FINE, "invariants", "all hold");
	}
	if (p->admin) {
		say(p, FINE, "permissions", "CAP_SYS_ADMIN: may attach, set the machine and serve");
	} else {
		say(p, NOTE, "permissions", "no CAP_SYS_ADMIN: attach, serve and other machines need it");
		mend("sudo ugm ...");
	}
}

static void look_at_namespace(struct patient *p)
{
	struct ugm_namespace *list = NULL;
	struct ugm_ioc_info info;
	struct ugm_error err;
	size_t nr = 0, i;

	if (p->space && !ugm_info(p->space, &info) && info.flags & UGM_INFO_ATTACHED) {
		say(p, FINE, "namespace", "%s: %llu slots, %llu used", info.namespace_path,
		    (unsigned long long)info.flash_slots, (unsigned long long)info.flash_used);
		return;
	}
	if (p->denied) {
		say(p, NOTE, "namespace", "not known as long as %s cannot be opened", p->device);
		return;
	}
	say(p, WRONG, "namespace", "none is attached");
	if (ugm_namespaces(&list, &nr, &err)) {
		mend("%s", err.text);
		return;
	}
	for (i = 0; i < nr; i++) {
		if (ugm_namespace_vet(list[i].path, &err))
			mend("not %s", err.text);
		else
			mend("ugm attach %s", list[i].path);
	}
	if (!nr && !p->admin)
		mend("sudo ugm doctor: without CAP_SYS_ADMIN no NVMe namespace can be seen");
	else if (!nr)
		mend("ugm attach DEVICE: no NVMe namespace here, but any unused block device will do");
	free(list);
}

static void look_at_lane(struct patient *p)
{
	struct io_uring ring;
	char disabled[16];
	int ret = io_uring_queue_init(8, &ring, 0);

	if (ret) {
		say(p, WRONG, "planner lane", "io_uring cannot be used: %s", strerror(-ret));
		if (read_line("/proc/sys/kernel/io_uring_disabled", disabled, sizeof(disabled)) &&
		    disabled[0] != '0')
			mend("sysctl kernel.io_uring_disabled=0");
		else
			mend("raise RLIMIT_MEMLOCK (ulimit -l), or leave the container");
		return;
	}
	io_uring_queue_exit(&ring);
	if (p->admin)
		say(p, FINE, "planner lane", "io_uring works");
	else
		say(p, NOTE, "planner lane", "io_uring works, but the lane needs CAP_SYS_ADMIN: the kernel lane serves");
}

/**
 * cmd_doctor() - ugm doctor
 * @argc: words
 * @argv: words
 *
 * Return: exit status; 1 where something is wrong.
 */
int cmd_doctor(int argc, char **argv)
{
	const struct option_group groups[] = { {} };
	const struct usage usage = {
		.synopsis = "[DEVICE]",
		.summary = "Check the whole set-up of DEVICE (" DEFAULT_DEVICE
			   "), and say what mends what is wrong.",
		.groups = groups,
		.max_operands = 1,
	};
	struct patient p = {};
	const char *device;
	int ret;

	ret = options_parse_one(&usage, argc, argv, &device);
	if (ret != OPTIONS_GO_ON)
		return ret;
	p.device = device_path(device);
	look_at_kernel(&p);
	look_at_module(&p);
	look_at_signature(&p);
	look_at_reservation(&p);
	look_at_device(&p);
	look_at_namespace(&p);
	look_at_lane(&p);
	ugm_close(p.space);
	if (p.faults)
		printf("%u %s wrong\n", p.faults, p.faults == 1 ? "thing is" : "things are");
	else
		printf("all is well\n");
	return p.faults ? EXIT_FAILED : EXIT_DONE;
}
