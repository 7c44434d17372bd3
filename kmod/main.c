// SPDX-License-Identifier: GPL-2.0
#include <linux/ctype.h>
#include <linux/ioport.h>
#include <linux/module.h>

#include "ugm.h"

/**
 * DOC: module
 *
 * Loading the module makes devices= platform devices and binds its driver to
 * them. Parameters are sizes with the usual suffixes; a bad one ends the
 * loading with one line in the log that names it, its value and what is
 * allowed. Each step of init has its mirror in exit, in the opposite order, as
 * one table says; fail_init= lets each fail in turn.
 */

static char *devices = "1";
module_param(devices, charp, 0444);
MODULE_PARM_DESC(devices, "number of devices, 1 to 16 (1)");

static char *block_size = "2M";
module_param(block_size, charp, 0444);
MODULE_PARM_DESC(block_size, "bytes of a block, a power of two from 4K to 2M (2M)");

static char *gpu_mem = "256M";
module_param(gpu_mem, charp, 0444);
MODULE_PARM_DESC(gpu_mem, "bytes of each GPU tier, whole blocks (256M)");

static char *gpu_phys = "0";
module_param(gpu_phys, charp, 0444);
MODULE_PARM_DESC(gpu_phys,
		 "physical address of reserved DRAM for the GPU tiers, one after the other; 0: memory is taken from the page allocator (0)");

static char *host_mem = "0";
module_param(host_mem, charp, 0444);
MODULE_PARM_DESC(host_mem, "bytes each host tier may take, whole blocks; 0: half of memory (0)");

static unsigned int fail_init;
module_param(fail_init, uint, 0400);
MODULE_PARM_DESC(fail_init, "for tests: the step of loading that fails, from 1; 0: none (0)");

struct ugm_params ugm_params;

static struct platform_device *pdevs[16];

/* Not memparse(): it wraps at 2^64, and 16E would be a zero. */
static int parse(const char *name, const char *text, u64 *value)
{
	static const char units[] = "KMGT";
	size_t len = strcspn(text, "KMGTkmgt\n");
	const char *end = text + len, *unit = *end ? strchr(units, toupper(*end)) : NULL;
	unsigned int shift = unit ? 10 * (unit - units + 1) : 0;
	char number[24] = "";

	if (unit)
		end++;
	if (len < sizeof(number))
		memcpy(number, text, len);
	if ((*end && *end != '\n') || kstrtoull(number, 0, value) || *value > U64_MAX >> shift) {
		pr_err("%s=%s is not a number under 2^64 (bytes, or with a suffix K, M, G, T)\n",
		       name, text);
		return -EINVAL;
	}
	*value <<= shift;
	return 0;
}

/* Is [start, start + len) inside regions of type reserved, from end to end? */
static bool is_reserved(u64 start, u64 len)
{
	return region_intersects(start, len, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) ==
		       REGION_DISJOINT &&
	       region_intersects(start, len, IORESOURCE_MEM, IORES_DESC_RESERVED) ==
		       REGION_INTERSECTS &&
	       region_intersects(start, PAGE_SIZE, IORESOURCE_MEM, IORES_DESC_RESERVED) ==
		       REGION_INTERSECTS &&
	       region_intersects(start + len - PAGE_SIZE, PAGE_SIZE, IORESOURCE_MEM,
				 IORES_DESC_RESERVED) == REGION_INTERSECTS;
}

static int check_gpu_phys(const struct ugm_params *p)
{
	u64 len = p->gpu_mem * p->devices;

	if (!p->gpu_phys)
		return 0;
	/* The kernel adds memory in subsections of 2 MiB. */
	if (!IS_ALIGNED(p->gpu_phys, SZ_2M) || !IS_ALIGNED(p->gpu_mem, SZ_2M)) {
		pr_err("gpu_phys=%s gpu_mem=%s: reserved memory is used in whole, aligned 2M\n",
		       gpu_phys, gpu_mem);
		return -EINVAL;
	}
	if (p->gpu_phys + len < len || p->gpu_phys + len > 1ULL << boot_cpu_data.x86_phys_bits) {
		pr_err("gpu_phys=%s: %llu bytes from there are beyond the address space\n",
		       gpu_phys, len);
		return -EINVAL;
	}
	if (!is_reserved(p->gpu_phys, len)) {
		pr_err("gpu_phys=%s: %llu bytes from there are not all reserved: see /proc/iomem and reserve them on the kernel command line with memmap=%lluM$%s\n",
		       gpu_phys, len, len >> 20, gpu_phys);
		return -EINVAL;
	}
	return 0;
}

static int check_params(struct ugm_params *p)
{
	u64 n, total = (u64)totalram_pages() << PAGE_SHIFT;
	int err;

	err = parse("devices", devices, &n);
	if (err)
		return err;
	if (n < 1 || n > ARRAY_SIZE(pdevs)) {
		pr_err("devices=%s: 1 to %zu are allowed\n", devices, ARRAY_SIZE(pdevs));
		return -EINVAL;
	}
	p->devices = n;

	err = parse("block_size", block_size, &p->block_size);
	if (err)
		return err;
	if (p->block_size < SZ_4K || p->block_size > SZ_2M || !is_power_of_2(p->block_size)) {
		pr_err("block_size=%s: a power of two from 4K to 2M is allowed\n", block_size);
		return -EINVAL;
	}

	err = parse("gpu_mem", gpu_mem, &p->gpu_mem);
	if (err)
		return err;
	/* A frame's number fits in 31 bits, its page frame number in 32. */
	if (!p->gpu_mem || !IS_ALIGNED(p->gpu_mem, p->block_size) ||
	    p->gpu_mem / p->block_size > S32_MAX || p->gpu_mem > SZ_4G << PAGE_SHIFT) {
		pr_err("gpu_mem=%s: whole blocks of %llu bytes are allowed, from one to %d\n",
		       gpu_mem, p->block_size, S32_MAX);
		return -EINVAL;
	}

	err = parse("gpu_phys", gpu_phys, &p->gpu_phys);
	if (err)
		return err;
	if (!p->gpu_phys && p->gpu_mem > total / p->devices) {
		pr_err("gpu_mem=%s: there are %llu bytes of memory for %u devices\n", gpu_mem, total,
		       p->devices);
		return -ENOMEM;
	}
	err = check_gpu_phys(p);
	if (err)
		return err;

	err = parse("host_mem", host_mem, &p->host_mem);
	if (err)
		return err;
	if (!p->host_mem)
		p->host_mem = ALIGN_DOWN(total / 2, SZ_2M);
	if (!IS_ALIGNED(p->host_mem, p->block_size)) {
		pr_err("host_mem=%s: whole blocks of %llu bytes are allowed\n", host_mem,
		       p->block_size);
		return -EINVAL;
	}
	if (p->host_mem > total) {
		pr_err("host_mem=%s: there are %llu bytes of memory\n", host_mem, total);
		return -ENOMEM;
	}
	return 0;
}

static void devices_unregister(void)
{
	int i;

	for (i = ARRAY_SIZE(pdevs) - 1; i >= 0; i--) {
		if (pdevs[i])
			platform_device_unregister(pdevs[i]);
		pdevs[i] = NULL;
	}
}

static int devices_register(void)
{
	struct platform_device *pdev;
	unsigned int i;
	int err = 0;

	for (i = 0; i < ugm_params.devices && !err; i++) {
		pdev = platform_device_register_simple("ugm", i, NULL, 0);
		if (IS_ERR(pdev)) {
			err = PTR_ERR(pdev);
			break;
		}
		pdevs[i] = pdev;
		/* Binding swallows the probe's error; a parameter may be to blame. */
		err = ugm_device_probed(pdev);
	}
	if (err)
		devices_unregister();
	return err;
}

static int add_driver(void)
{
	return platform_driver_register(&ugm_driver);
}

static void remove_driver(void)
{
	platform_driver_unregister(&ugm_driver);
}

/* What the module consists of, in the order in which it is set up. */
static const struct {
	int (*init)(void);
	void (*exit)(void);
} steps[] = {
	{ ugm_blocks_init, ugm_blocks_exit },
	{ ugm_transfers_init, ugm_transfers_exit },
	{ ugm_hints_init, ugm_hints_exit },
	{ ugm_spaces_init, ugm_spaces_exit },
	{ ugm_devices_init, ugm_devices_exit },
	{ ugm_debug_init, ugm_debug_exit },
	{ add_driver, remove_driver },
	{ devices_register, devices_unregister },
};

/**
 * ugm_init_fails() - is this the step of init that fail_init= names?
 *
 * Context: module init.
 */
bool ugm_init_fails(void)
{
	static unsigned int step;

	return ++step == fail_init;
}

static void undo(unsigned int nr)
{
	while (nr--)
		steps[nr].exit();
}

static int __init ugm_init(void)
{
	unsigned int i;
	int err;

	err = check_params(&ugm_params);
	for (i = 0; i < ARRAY_SIZE(steps) && !err; i++) {
		err = ugm_init_fails() ? -ENOMEM : steps[i].init();
		if (err)
			undo(i);
	}
	return err;
}

static void __exit ugm_exit(void)
{
	undo(ARRAY_SIZE(steps));
}

module_init(ugm_init);
module_exit(ugm_exit);

MODULE_DESCRIPTION("A GPU with unified memory over reserved DRAM, host memory and flash");
MODULE_VERSION("0.1.0");
MODULE_LICENSE("GPL");
