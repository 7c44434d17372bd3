// SPDX-License-Identifier: MIT
/* cc hello.c $(pkg-config --cflags --libs libugm) */
#include <stdio.h>
#include <string.h>
#include <ugm.h>

int main(void)
{
	struct ugm *space;
	uint32_t state;
	void *p;
	int ret;

	ret = ugm_open(NULL, &space);
	if (!ret)
		ret = ugm_malloc(space, &p, 4 << 20);
	if (ret) {
		fprintf(stderr, "/dev/ugm0: %s\n", strerror(-ret));
		return 1;
	}
	strcpy(p, "hello from flash");
	ugm_mem_evict(space, p, 4 << 20, UGM_TIER_ID_FLASH);
	ugm_synchronize(space, NULL);
	if (ugm_residency(space, p, &state, 1) || (state & 0xff) != UGM_TIER_ID_FLASH) {
		fputs("not in flash: is a namespace attached?\n", stderr);
		return 1;
	}
	puts(p);
	ugm_close(space);
	return 0;
}
