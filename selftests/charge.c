// SPDX-License-Identifier: GPL-2.0
/*
 * UGM-MODULE: none
 *
 * Who pays for host pages: the memory cgroup of whoever opened the space,
 * whoever moves its blocks, and nobody else for it.
 */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "ugm_harness.h"

#define GROUPS "/sys/fs/cgroup"
#define LEN (16ULL << 20)
/* A group's counter is exact to some pages a CPU, and more than ours is in it. */
#define SLACK (LEN / 4)

/* What a tenant is told to do, and answers with a number. */
enum order { TO_HOST, TO_GPU, TOUCH_HOST, IN_HOST, WRONG };

/* A process in a cgroup of its own, with LEN bytes of data in the GPU tier. */
struct tenant {
	pid_t pid;
	int sock;
	uint64_t space;
	char group[64];
};

static int write_group(const char *group, const char *file, const char *text)
{
	char path[192];

	snprintf(path, sizeof(path), "%s/%s", group, file);
	return ut_write_file(path, text);
}

static int64_t charged(const struct tenant *t)
{
	char path[192];
	long long bytes = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/memory.current", t->group);
	f = fopen(path, "re");
	if (f && fscanf(f, "%lld", &bytes) != 1)
		bytes = -1;
	if (f)
		fclose(f);
	return bytes;
}

static int limit(const struct tenant *t, int64_t bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)bytes);
	return write_group(t->group, "memory.max", text);
}

static int64_t obey(struct ut *d, enum order order)
{
	uint64_t nr = LEN / d->block, i, n = 0;
	int err;

	switch (order) {
	case TO_HOST:
		return ut_move(d, UGM_HINT_EVICT, 1, 0, nr, UGM_TIER_ID_HOST);
	case TO_GPU:
		return ut_move(d, UGM_HINT_PREFETCH, 1, 0, nr, UGM_TIER_ID_GPU);
	case TOUCH_HOST:
		for (i = 0; i < nr; i++) {
			err = ut_touch(d->host + i * d->block, true);
			if (err)
				return err;
		}
		return 0;
	case IN_HOST:
		for (i = 0; i < nr; i++)
			n += ut_tier(d, i * d->block) == UGM_TIER_ID_HOST;
		return n;
	case WRONG:
		return ut_compare(d->gpu, LEN, d->id);
	}
	return -EINVAL;
}

static int live(const struct tenant *t)
{
	enum order order;
	int64_t answer;
	struct ut d;

	/* Not to keep open what the others close. */
	close_range(3, t->sock - 1, 0);
	close_range(t->sock + 1, ~0u, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write_group(t->group, "cgroup.procs", "0") || ut_open(&d) ||
	    ut_alloc_blocks(&d, 1, LEN / d.block))
		return 1;
	ut_fill(d.gpu, LEN, d.id);
	answer = (int64_t)d.id;
	while (write(t->sock, &answer, sizeof(answer)) == sizeof(answer) &&
	       read(t->sock, &order, sizeof(order)) == sizeof(order))
		answer = obey(&d, order);
	return 0;
}

static int64_t answer_of(struct tenant *t)
{
	int64_t answer;

	return read(t->sock, &answer, sizeof(answer)) == sizeof(answer) ? answer : -EPIPE;
}

static void tell(struct tenant *t, enum order order)
{
	if (write(t->sock, &order, sizeof(order)) != sizeof(order))
		perror("# a tenant is gone");
}

static int64_t ask(struct tenant *t, enum order order)
{
	tell(t, order);
	return answer_of(t);
}

static int move_in(struct tenant *t, const char *name)
{
	int sock[2];

	snprintf(t->group, sizeof(t->group), GROUPS "/ugm-%s", name);
	if (mkdir(t->group, 0755) && errno != EEXIST)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock))
		return -errno;
	t->pid = fork();
	t->sock = sock[!t->pid];
	close(sock[!!t->pid]);
	if (!t->pid)
		_exit(live(t));
	t->space = (uint64_t)answer_of(t);
	return (int64_t)t->space < 0 ? (int)t->space : 0;
}

static void move_out(struct tenant *t)
{
	if (!t->pid)
		return;
	close(t->sock);
	ut_reap(t->pid, 10000, NULL);
	t->pid = 0;
}

/* What the two have left behind is given back within some seconds. */
static bool falls_below(const struct tenant *t, int64_t bytes)
{
	uint64_t until = ut_now() + ut_limit(6000);

	while (charged(t) >= bytes) {
		if (ut_now() > until)
			return false;
		ut_sleep_ms(50);
	}
	return true;
}

FIXTURE(charge)
{
	struct ut d;
	struct tenant a, b;
};

FIXTURE_VARIANT(charge)
{
	const char *params;
};

FIXTURE_VARIANT_ADD(charge, blocks_64k)
{
	.params = "block_size=64K gpu_mem=48M host_mem=64M",
};

FIXTURE_VARIANT_ADD(charge, blocks_2m)
{
	.params = "block_size=2M gpu_mem=48M host_mem=64M",
};

FIXTURE_SETUP(charge)
{
	if (write_group(GROUPS, "cgroup.subtree_control", "+memory"))
		SKIP(return, "no cgroup2 with a memory controller");
	ASSERT_EQ(0, ut_setup(&self->d, variant->params));
	ASSERT_EQ(0, move_in(&self->a, "a"));
	ASSERT_EQ(0, move_in(&self->b, "b"));
}

FIXTURE_TEARDOWN(charge)
{
	move_out(&self->a);
	move_out(&self->b);
	EXPECT_TRUE(falls_below(&self->a, SLACK));
	EXPECT_TRUE(falls_below(&self->b, SLACK));
	EXPECT_EQ(0, ut_teardown(&self->d));
	EXPECT_EQ(0, rmdir(self->a.group));
	EXPECT_EQ(0, rmdir(self->b.group));
}

static int hint_for(struct ut *d, const struct tenant *t)
{
	struct ugm_hint_desc h = {
		.tag = 1,
		.at = UGM_HINT_NOW,
		.need = UGM_HINT_NO_NEED,
		.op = UGM_HINT_EVICT,
		.tier = UGM_TIER_ID_HOST,
	};
	struct ugm_ioc_hint arg = { .space = t->space, .hints = (uintptr_t)&h, .nr = 1 };

	return ut_ioctl(d->fd, UGM_IOC_HINT, &arg) ?: h.result ?: ut_wait(d, NULL);
}

TEST_F(charge, whoever_opened_the_space)
{
	int64_t a = charged(&self->a), b = charged(&self->b);

	ASSERT_LT(0, a);
	ASSERT_LT(0, b);
	EXPECT_EQ(0, ask(&self->a, TO_HOST));
	EXPECT_LT(a + (int64_t)(LEN - SLACK), charged(&self->a));
	EXPECT_GT(a + (int64_t)(LEN + SLACK), charged(&self->a));
	EXPECT_GT(b + (int64_t)SLACK, charged(&self->b));
	/* Also when somebody else has it moved. */
	a = charged(&self->a);
	EXPECT_EQ(0, hint_for(&self->d, &self->b));
	EXPECT_LT(b + (int64_t)(LEN - SLACK), charged(&self->b));
	EXPECT_GT(a + (int64_t)SLACK, charged(&self->a));
	EXPECT_EQ(-1, ask(&self->a, WRONG));
	EXPECT_EQ(-1, ask(&self->b, WRONG));
}

/* What one gave back is kept for a while, but not for the other one. */
TEST_F(charge, pages_that_are_kept)
{
	int64_t a = charged(&self->a), b = charged(&self->b);

	EXPECT_EQ(0, ask(&self->a, TO_HOST));
	EXPECT_EQ(0, ask(&self->a, TO_GPU));
	EXPECT_EQ(0, ask(&self->b, TO_HOST));
	EXPECT_LT(b + (int64_t)(LEN - SLACK), charged(&self->b));
	EXPECT_GT(a + (int64_t)SLACK, charged(&self->a));
	EXPECT_EQ(-1, ask(&self->b, WRONG));
}

/* One whose group is full has a full host tier, and only that one. */
TEST_F(charge, full)
{
	struct tenant *a = &self->a, *b = &self->b;
	int64_t nr = LEN / self->d.block;

	ASSERT_EQ(0, limit(a, charged(a) + LEN / 2));
	tell(a, TO_HOST);
	tell(b, TO_HOST);
	EXPECT_EQ(0, answer_of(a));
	EXPECT_EQ(0, answer_of(b));
	EXPECT_EQ(nr, ask(b, IN_HOST));
	EXPECT_LE(nr / 4, ask(a, IN_HOST));
	EXPECT_GT(nr, ask(a, IN_HOST));
	EXPECT_LT(0u, ut_stat(&self->d, "host.alloc_failed.count"));
	/* The CPU gets at all of it all the same: others make room. */
	EXPECT_EQ(0, ask(a, TOUCH_HOST));
	EXPECT_EQ(-1, ask(a, WRONG));
	EXPECT_EQ(-1, ask(b, WRONG));
	ASSERT_EQ(0, write_group(a->group, "memory.max", "max"));
	ut_sleep_ms(100);
	EXPECT_EQ(0, ask(a, TO_HOST));
	EXPECT_EQ(nr, ask(a, IN_HOST));
	EXPECT_EQ(-1, ask(a, WRONG));
}

TEST_HARNESS_MAIN
