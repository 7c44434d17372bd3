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

	if (ugm_open(NULL, &space) || ugm_malloc(space, &p, 4 << 20))
		return 1;
	strcpy(p, "hello from flash");
	ugm_mem_evict(space, p, 4 << 20, UGM_TIER_ID_FLASH);
	ugm_synchronize(space, NULL);
	if (ugm_residency(space, p, &state, 1) || (state & 0xff) != UGM_TIER_ID_FLASH)
		return 1;
	puts(p);
	ugm_close(space);
	return 0;
}
