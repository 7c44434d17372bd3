// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "device.h"
#include "state.h"

/* Characters of a range's picture, blocks asked for at once. */
#define PICTURE 64
#define CHUNK 65536u

/**
 * struct map - what is looked at
 * @space: id of the space
 * @json: as JSON
 */
struct map {
	u64 space;
	bool json;
};

static unsigned int tier_of(uint32_t state)
{
	unsigned int t = state & 0xff;

	return t < UGM_NR_TIERS ? t : UGM_TIER_NONE;
}

/**
 * struct counts - blocks of a range
 * @home: by tier
 * @dirty: written since the last copy was made
 * @copies: by tier: valid copies besides the home
 * @poisoned: their data is lost
 */
struct counts {
	u64 home[UGM_NR_TIERS];
	u64 dirty;
	u64 copies[UGM_NR_TIERS];
	u64 poisoned;
};

static void count(const uint32_t *states, u64 nr, struct counts *c)
{
	unsigned int t;
	u64 i;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < nr; i++) {
		c->home[tier_of(states[i])]++;
		c->dirty += !!(states[i] & UGM_RESIDENCY_DIRTY);
		c->poisoned += !!(states[i] & UGM_RESIDENCY_POISON);
		for (t = 0; t < UGM_NR_TIERS; t++)
			c->copies[t] += states[i] >> (UGM_RESIDENCY_COPY_SHIFT + t) & 1;
	}
}

/* A character stands for the blocks between two marks: the tier most of them are in. */
static void picture(const uint32_t *states, u64 nr, char *out)
{
	static const char letter[UGM_NR_TIERS] = {
		[UGM_TIER_NONE] = '.',
		[UGM_TIER_GPU] = 'G',
		[UGM_TIER_HOST] = 'H',
		[UGM_TIER_FLASH] = 'F',
	};
	u64 width = nr < PICTURE ? nr : PICTURE, i;

	for (i = 0; i < width; i++) {
		u64 from = i * nr / width, to = (i + 1) * nr / width;
		unsigned int t, most = 0;
		struct counts c;

		count(states + from, to - from, &c);
		for (t = 1; t < UGM_NR_TIERS; t++)
			if (c.home[t] > c.home[most])
				most = t;
		out[i] = letter[most];
	}
	out[width] = '\0';
}

static void show(const struct ugm_range_desc *r, const uint32_t *states, u64 nr)
{
	char line[PICTURE + 1];
	struct counts c;

	count(states, nr, &c);
	picture(states, nr, line);
	printf("%20llu %#14llx %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64
	       "  %s%s\n",
	       (unsigned long long)r->tag, (unsigned long long)r->offset, c.home[UGM_TIER_GPU],
	       c.home[UGM_TIER_HOST], c.home[UGM_TIER_FLASH], c.home[UGM_TIER_NONE], c.dirty, line,
	       c.poisoned ? "  POISONED" : "");
}

static struct json_object *tiers_json(const u64 *blocks)
{
	struct json_object *o = json_object_new_object();
	int t;

	for (t = 0; t < UGM_NR_TIERS; t++)
		json_add_u64(o, ugm_tier_name(t), blocks[t]);
	return o;
}

static struct json_object *range_json(const struct ugm_range_desc *r, const uint32_t *states,
				      u64 nr)
{
	struct json_object *o = json_object_new_object(), *runs = json_object_new_array();
	struct counts c;
	u64 i, from = 0;

	count(states, nr, &c);
	json_add_u64(o, "tag", r->tag);
	json_add_u64(o, "offset_bytes", r->offset);
	json_add_u64(o, "len_bytes", r->len);
	json_add_u64(o, "model_len_bytes", r->model_len);
	json_object_object_add(o, "blocks", tiers_json(c.home));
	json_object_object_add(o, "copies", tiers_json(c.copies));
	json_add_u64(o, "dirty_blocks", c.dirty);
	json_add_u64(o, "poisoned_blocks", c.poisoned);
	/* Runs of blocks in the same tier, in order. */
	for (i = 1; i <= nr; i++) {
		struct json_object *run;

		if (i < nr && tier_of(states[i]) == tier_of(states[from]))
			continue;
		run = json_object_new_object();
		json_add_text(run, "tier", ugm_tier_name(tier_of(states[from])));
		json_add_u64(run, "blocks", i - from);
		json_object_array_add(runs, run);
		from = i;
	}
	json_object_object_add(o, "runs", runs);
	return o;
}

static int read_states(struct ugm *space, u64 id, const struct ugm_range_desc *r,
		       uint32_t **states, u64 *nr)
{
	u64 unit = ugm_block_size(space), done;
	uint32_t *list;

	*nr = (r->len + unit - 1) / unit;
	list = calloc(*nr, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (done = 0; done < *nr; done += CHUNK) {
		u64 left = *nr - done;
		int ret = ugm_residency_at(space, id, r->offset + done * unit, list + done,
					   left < CHUNK ? (uint32_t)left : CHUNK);

		if (ret) {
			free(list);
			return ret;
		}
	}
	*states = list;
	return 0;
}

static int map(struct ugm *space, const char *device, const struct map *o)
{
	struct json_object *root = NULL, *list = NULL;
	struct ugm_range_desc *ranges;
	uint32_t *states;
	size_t nr, i;
	u64 blocks;
	int ret;

	ret = ugm_ranges(space, o->space, &ranges, &nr);
	if (ret == -ENOENT)
		return complain(EXIT_USAGE, "--space %" PRIu64 ": no such space (ugm stat)",
				o->space);
	if (ret)
		return device_failed(device, "ranges", ret);
	if (o->json)
		list = json_object_new_array();
	else
		printf("%20s %14s %10s %10s %10s %10s %10s  (blocks; G gpu, H host, F flash, . nowhere)\n",
		       "tag", "address", "gpu", "host", "flash", "nowhere", "dirty");
	for (i = 0; i < nr && !ret; i++) {
		ret = read_states(space, o->space, &ranges[i], &states, &blocks);
		/* It was freed since we asked. */
		if (ret == -EINVAL || ret == -EFAULT) {
			ret = 0;
			continue;
		}
		if (ret)
			break;
		if (o->json)
			json_object_array_add(list, range_json(&ranges[i], states, blocks));
		else
			show(&ranges[i], states, blocks);
		free(states);
	}
	free(ranges);
	if (ret) {
		json_object_put(list);
		return device_failed(device, "residency", ret);
	}
	if (!o->json)
		return EXIT_DONE;
	root = json_object_new_object();
	json_add_text(root, "schema", "ugm.map/1");
	json_add_u64(root, "space", o->space);
	json_add_u64(root, "block_size_bytes", ugm_block_size(space));
	json_object_object_add(root, "ranges", list);
	return json_print(root);
}

/**
 * cmd_map() - ugm map
 * @argc: words
 * @argv: words
 *
 * Return: exit status.
 */
int cmd_map(int argc, char **argv)
{
	struct map o = {};
	const struct option_group groups[] = { { space_option, &o.space },
					       { json_option, &o.json },
					       {} };
	const struct usage usage = {
		.synopsis = "[DEVICE]",
		.summary = "Where the blocks of a space are, range by range.",
		.groups = groups,
		.max_operands = 1,
	};
	const char *device;
	struct ugm *space;
	int ret;

	ret = device_begin(&usage, argc, argv, &device, &space);
	if (ret != OPTIONS_GO_ON)
		return ret;
	ret = device_other_space(space, device, &o.space);
	if (!ret)
		ret = map(space, device, &o);
	ugm_close(space);
	return ret;
}
