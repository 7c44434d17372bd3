// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "noise.h"

/**
 * DOC: noise
 *
 * Kernels do not take the time that was planned with: each duration is drawn
 * anew from duration x (1 - noise) to duration x (1 + noise), evenly, once for
 * each call, or once for each name (up to its first colon), which is harder, for
 * it does not average out. The draw depends on seed and call or name alone. Plans
 * know nothing of it, unless they are made again from what was observed.
 */

/* A number between -1 and 1 from a key, by the finaliser of splitmix64. */
static double draw(u64 key)
{
	key += 0x9e3779b97f4a7c15ULL;
	key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9ULL;
	key = (key ^ key >> 27) * 0x94d049bb133111ebULL;
	key ^= key >> 31;
	return (double)(key >> 11) * 0x1p-52 - 1;
}

static u64 key_of_name(const char *name)
{
	u64 h = 0xcbf29ce484222325ULL;

	for (; *name && *name != ':'; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3ULL;
	return h;
}

/**
 * ugm_noise_apply() - a trace whose kernels take other times
 * @trace: the trace; must stay
 * @config: how much noise, which seed, per call or per name
 * @noisy: filled; shares all but the kernels; ugm_noise_free() it
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ugm_noise_apply(const struct ugm_trace *trace,
		    const struct ugm_config *config, struct ugm_trace *noisy)
{
	u64 seed = config->seed * 0x9e3779b97f4a7c15ULL, key;
	struct ugm_kernel *kernel;
	u32 k;

	*noisy = *trace;
	noisy->kernels = calloc(trace->nr_kernels, sizeof(*noisy->kernels));
	if (!noisy->kernels)
		return -ENOMEM;
	noisy->ideal_ns = 0;
	for (k = 0; k < trace->nr_kernels; k++) {
		kernel = &noisy->kernels[k];
		*kernel = trace->kernels[k];
		key = config->noise_per_name ? key_of_name(kernel->name) : k;
		kernel->duration_ns = (u64)((double)kernel->duration_ns *
					    (1 + config->noise *
						 draw(seed ^ key)));
		noisy->ideal_ns += kernel->duration_ns;
	}
	return 0;
}

/**
 * ugm_noise_free() - forget a noisy trace
 * @noisy: the trace; the one it was made from stays
 *
 * Context: any.
 */
void ugm_noise_free(struct ugm_trace *noisy)
{
	free(noisy->kernels);
}
