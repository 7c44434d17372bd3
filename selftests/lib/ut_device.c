// SPDX-License-Identifier: GPL-2.0
#include <limits.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "ugm_test.h"

/* What is left after a close may take a moment: I/O that was given up. */
#define IDLE_MS 3000

/**
 * ut_ioctl() - an ioctl
 * @fd: file
 * @request: UGM_IOC_*
 * @arg: its structure, or NULL
 *
 * Return: what it returns, or a negative errno.
 */
int ut_ioctl(int fd, unsigned long request, void *arg)
{
	int ret = ioctl(fd, request, arg);

	return ret < 0 ? -errno : ret;
}

/* build/selftests/NAME is what runs, build/RELEASE/ugm.ko is what is tested. */
static void module_path(char *path, size_t size)
{
	struct utsname uts;
	char exe[PATH_MAX / 2] = "";
	char *slash;
	int i;

	uname(&uts);
	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		exe[0] = 0;
	for (i = 0; i < 2; i++) {
		slash = strrchr(exe, '/');
		if (slash)
			*slash = 0;
	}
	snprintf(path, size, "%s/%s/ugm.ko", exe, uts.release);
}

/* Put the address of the reserved memory where the parameters name it. */
static int expand(const char *params, char *text, size_t size)
{
	static const char name[] = "$UGM_GPU_PHYS";
	const char *at = strstr(params, name), *phys = getenv("UGM_GPU_PHYS");

	if (!at) {
		snprintf(text, size, "%s", params);
		return 0;
	}
	if (!phys || !*phys)
		return -ENXIO;
	snprintf(text, size, "%.*s%s%s", (int)(at - params), params, phys, at + strlen(name));
	return 0;
}

/**
 * ut_load() - load the module; one that is loaded is unloaded first
 * @params: its parameters; $UGM_GPU_PHYS in them is replaced
 *
 * Only ever in a virtual machine of scripts/vm: its kernel is there to be lost.
 *
 * Return: 0; -EPERM on any other machine; -ENXIO without the reserved memory
 * that the parameters name; or what the kernel says.
 */
int ut_load(const char *params)
{
	char path[PATH_MAX], text[512], host[64] = "";
	int fd, err;

	gethostname(host, sizeof(host) - 1);
	if (strcmp(host, "ugm-vm")) {
		fprintf(stderr, "# not in a virtual machine of scripts/vm: nothing is loaded here\n");
		return -EPERM;
	}
	err = expand(params, text, sizeof(text));
	if (err)
		return err;
	err = ut_unload();
	if (err && err != -ENOENT)
		return err;
	module_path(path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = syscall(SYS_finit_module, fd, text, 0) ? -errno : 0;
	close(fd);
	return err;
}

/**
 * ut_unload() - unload the module
 *
 * Return: 0, -ENOENT (it is not loaded), -EWOULDBLOCK (it is in use).
 */
int ut_unload(void)
{
	return syscall(SYS_delete_module, "ugm", O_NONBLOCK) ? -errno : 0;
}

/**
 * ut_attach() - make the beginning of a namespace the flash tier
 * @path: block device
 * @len: bytes of it
 */
int ut_attach(const char *path, uint64_t len)
{
	struct ugm_ioc_attach arg = { .len = len };
	int fd, err;

	snprintf(arg.path, sizeof(arg.path), "%s", path);
	fd = open(UT_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = ut_ioctl(fd, UGM_IOC_ATTACH, &arg);
	close(fd);
	return err;
}

/* Views at an address where a huge page may begin, wherever that is. */
static char *map_view(int fd, uint64_t view)
{
	void *p = mmap(NULL, UT_SPAN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)view);

	return p == MAP_FAILED ? NULL : p;
}

/**
 * ut_open() - open the device and map both views
 * @d: filled
 */
int ut_open(struct ut *d)
{
	struct ugm_ioc_info info = { 0 };
	int err;

	*d = (struct ut){ .fd = open(UT_DEVICE, O_RDWR | O_CLOEXEC) };
	if (d->fd < 0)
		return -errno;
	err = ut_ioctl(d->fd, UGM_IOC_INFO, &info);
	if (!err) {
		d->block = info.block_size;
		d->id = info.space_id;
		d->gpu = map_view(d->fd, UGM_VIEW_GPU);
		d->host = map_view(d->fd, UGM_VIEW_HOST);
		if (!d->gpu || !d->host)
			err = -errno;
	}
	if (err)
		ut_close(d);
	return err;
}

/**
 * ut_close() - unmap the views and close the device
 * @d: device; also one that is closed already
 */
int ut_close(struct ut *d)
{
	int err = 0;

	if (d->gpu)
		munmap(d->gpu, UT_SPAN);
	if (d->host)
		munmap(d->host, UT_SPAN);
	if (d->fd >= 0)
		err = close(d->fd) ? -errno : 0;
	*d = (struct ut){ .fd = -1 };
	return err;
}

/**
 * ut_idle() - is the device as it was after loading?
 * @fd: a file of it whose space has no ranges, the only one
 *
 * Waits a little for what may still come back. Return: 0; -EUCLEAN: an invariant
 * is broken; -EBUSY: frames, host pages or slots are still in use.
 */
int ut_idle(int fd)
{
	uint64_t until = ut_now() + ut_limit(IDLE_MS);
	struct ugm_ioc_check check = { 0 };
	struct ugm_ioc_info info;
	int err;

	for (;;) {
		memset(&info, 0, sizeof(info));
		err = ut_ioctl(fd, UGM_IOC_INFO, &info);
		if (err)
			return err;
		if (info.gpu_free == info.gpu_frames && !info.host_used && !info.flash_used)
			break;
		if (ut_now() > until) {
			fprintf(stderr, "# left in use: %llu frames, %llu host blocks, %llu slots\n",
				(unsigned long long)(info.gpu_frames - info.gpu_free),
				(unsigned long long)info.host_used,
				(unsigned long long)info.flash_used);
			return -EBUSY;
		}
		ut_sleep_ms(10);
	}
	err = ut_ioctl(fd, UGM_IOC_CHECK, &check);
	if (err)
		return err;
	if (info.flags & UGM_INFO_BROKEN || check.violations) {
		fprintf(stderr, "# %llu invariants are broken: see the kernel's log\n",
			(unsigned long long)check.violations);
		return -EUCLEAN;
	}
	return 0;
}

/**
 * ut_setup() - load the module, attach the namespace, open the device
 * @d: filled
 * @params: module parameters
 *
 * Return: 0, -ENXIO (see ut_load()), or what failed.
 */
int ut_setup(struct ut *d, const char *params)
{
	int err;

	*d = (struct ut){ .fd = -1 };
	/* Output that a child inherits unwritten would be written twice. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	err = ut_load(params);
	if (err)
		return err;
	err = ut_attach(UT_NAMESPACE, UT_NAMESPACE_LEN);
	if (err)
		return err;
	return ut_open(d);
}

/**
 * ut_teardown() - close the device, see that nothing is left, unload
 * @d: device; also one that the test has closed
 */
int ut_teardown(struct ut *d)
{
	struct ugm_ioc_check check = { 0 };
	int err = 0, fd;

	/* Once with all that the test made, and once without. */
	if (d->fd >= 0 && !ut_ioctl(d->fd, UGM_IOC_CHECK, &check) && check.violations) {
		fprintf(stderr, "# %llu invariants are broken: see the kernel's log\n",
			(unsigned long long)check.violations);
		err = -EUCLEAN;
	}
	ut_close(d);
	fd = open(UT_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		err = ut_idle(fd) ?: err;
		close(fd);
	}
	return ut_unload() ?: err;
}
