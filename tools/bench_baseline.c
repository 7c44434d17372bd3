// SPDX-License-Identifier: MIT
/**
 * DOC: baselines
 *
 * What the benchmarks are compared with, measured in the same process or on the
 * same device: memcpy of the kernel or of user space, anonymous memory, a bare
 * liburing loop and fio.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <liburing.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"
#include "progress.h"

#define HUGE (2ULL << 20)

static char *map_huge(u64 len)
{
	char *p;

	len = (len + HUGE - 1) / HUGE * HUGE;
	p = aligned_alloc(HUGE, len);
	if (!p)
		return NULL;
	madvise(p, len, MADV_HUGEPAGE);
	memset(p, 1, len);
	return p;
}

/**
 * bench_copy_ns() - copy memory in pieces of 2 MiB, from one buffer to another
 * @len: bytes, at most those of the first call
 *
 * Both buffers are 2 MiB pages where the kernel has them, and as large as what
 * is moved, so that caches help as little.
 *
 * Return: ns, or 0: no memory.
 */
u64 bench_copy_ns(u64 len)
{
	static char *from, *to;
	u64 began, i;

	if (!from)
		from = map_huge(len);
	if (!to)
		to = map_huge(len);
	if (!from || !to)
		return 0;
	began = ugm_wall_ns();
	for (i = 0; i < len; i += HUGE)
		memcpy(to + i, from + i, HUGE < len - i ? HUGE : len - i);
	return ugm_wall_ns() - began;
}

/**
 * bench_kernel_copy() - have the module copy memory, as its moves do
 * @device: path of its device
 * @bytes: out: how much
 * @ns: out: how long it took
 *
 * Return: 0 or a negative errno: there is no debugfs, or we may not read it.
 */
int bench_kernel_copy(const char *device, u64 *bytes, u64 *ns)
{
	const char *name = strrchr(device, '/');
	char path[128];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "/sys/kernel/debug/ugm/%s/copy", name ? name + 1 : device);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	n = fscanf(f, "%" SCNu64 " %" SCNu64, bytes, ns);
	fclose(f);
	return n == 2 && *bytes && *ns ? 0 : -EIO;
}

/**
 * struct toucher - a thread that faults
 * @memory: its part
 * @len: bytes of it
 * @step: bytes from one touch to the next
 * @start: when all begin
 * @ns: how long it took
 */
struct toucher {
	char *memory;
	u64 len;
	u64 step;
	pthread_barrier_t *start;
	u64 ns;
};

static void *touch(void *arg)
{
	struct toucher *t = arg;
	u64 began, i;

	pthread_barrier_wait(t->start);
	began = ugm_wall_ns();
	for (i = 0; i < t->len; i += t->step)
		*(volatile char *)(t->memory + i) = 1;
	t->ns = ugm_wall_ns() - began;
	return NULL;
}

/**
 * bench_fault_ns() - drop the mappings of memory, and fault them in again
 * @memory: mapping
 * @len: bytes of it
 * @step: bytes a fault maps
 * @threads: how many share the work, 1 or 2
 *
 * Return: ns of one fault in one thread, or 0: it could not be measured.
 */
u64 bench_fault_ns(char *memory, u64 len, u64 step, unsigned int threads)
{
	struct toucher t[2];
	pthread_barrier_t start;
	pthread_t thread;
	u64 ns = 0;
	unsigned int i;

	if (madvise(memory, len, MADV_DONTNEED))
		return 0;
	pthread_barrier_init(&start, NULL, threads);
	for (i = 0; i < threads; i++)
		t[i] = (struct toucher){
			.memory = memory + i * (len / threads),
			.len = len / threads,
			.step = step,
			.start = &start,
		};
	if (threads > 1 && pthread_create(&thread, NULL, touch, &t[1]))
		return 0;
	touch(&t[0]);
	if (threads > 1)
		pthread_join(thread, NULL);
	pthread_barrier_destroy(&start);
	for (i = 0; i < threads; i++)
		ns += t[i].ns;
	return ns / (len / step) ? ns / (len / step) : 1;
}

/* Keep @depth requests of @block bytes in flight until the region is done. */
static int loop(struct io_uring *ring, const struct bench_region *r, bool write, u64 block,
		unsigned int depth, char *buffer)
{
	u64 next = 0, done = 0, total = r->len / block, i;
	struct io_uring_cqe *cqe;
	struct io_uring_sqe *sqe;
	int ret;

	while (done < total) {
		for (; next < total && next - done < depth; next++) {
			/* Slots of the buffer are reused in order: completions nearly are. */
			i = next % depth;
			sqe = io_uring_get_sqe(ring);
			if (!sqe)
				break;
			if (write)
				io_uring_prep_write(sqe, 0, buffer + i * block, (unsigned int)block,
						    r->offset + next * block);
			else
				io_uring_prep_read(sqe, 0, buffer + i * block, (unsigned int)block,
						   r->offset + next * block);
			sqe->flags |= IOSQE_FIXED_FILE;
		}
		ret = io_uring_submit_and_wait(ring, 1);
		if (ret < 0)
			return ret;
		while (!io_uring_peek_cqe(ring, &cqe)) {
			if (cqe->res != (int)block)
				return cqe->res < 0 ? cqe->res : -EIO;
			io_uring_cqe_seen(ring, cqe);
			done++;
		}
	}
	return 0;
}

/**
 * bench_io_discard() - tell a region's device that nothing in it is needed
 * @r: region
 *
 * Return: 0 or a negative errno; a device that cannot is left as it is.
 */
int bench_io_discard(const struct bench_region *r)
{
	u64 range[2] = { r->offset, r->len };
	int fd = open(r->path, O_RDWR | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, BLKDISCARD, range) && errno != EOPNOTSUPP)
		ret = -errno;
	close(fd);
	return ret;
}

/**
 * bench_io_loop() - read or write a region once with bare liburing
 * @r: region
 * @write: overwrite it
 * @block: bytes of a request
 * @depth: requests in flight
 * @ns: out: how long it took
 *
 * Return: 0 or a negative errno.
 */
int bench_io_loop(const struct bench_region *r, bool write, u64 block, unsigned int depth, u64 *ns)
{
	struct io_uring ring;
	char *buffer;
	u64 began;
	int fd, ret;

	fd = open(r->path, (write ? O_RDWR : O_RDONLY) | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	buffer = map_huge(depth * block);
	if (!buffer) {
		close(fd);
		return -ENOMEM;
	}
	ret = io_uring_queue_init(depth, &ring,
				  IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
	if (ret == -EINVAL)
		ret = io_uring_queue_init(depth, &ring, 0);
	if (!ret) {
		ret = io_uring_register_files(&ring, &fd, 1);
		began = ugm_wall_ns();
		if (!ret)
			ret = loop(&ring, r, write, block, depth, buffer);
		*ns = ugm_wall_ns() - began;
		io_uring_queue_exit(&ring);
	}
	free(buffer);
	close(fd);
	return ret;
}

static struct json_object *descend(struct json_object *o, const char *name)
{
	struct json_object *child;

	return json_object_object_get_ex(o, name, &child) ? child : NULL;
}

/**
 * bench_io_fio() - read or write a region once with fio's io_uring engine
 * @r: region
 * @write: overwrite it
 * @block: bytes of a request
 * @depth: requests in flight
 * @bytes_per_s: out
 *
 * Return: 0, -ENOENT (fio is not installed), or a negative errno.
 */
int bench_io_fio(const struct bench_region *r, bool write, u64 block, unsigned int depth,
		 u64 *bytes_per_s)
{
	struct json_object *root, *jobs, *o;
	char command[512], text[65536];
	size_t len;
	FILE *f;
	char *json;

	snprintf(command, sizeof(command),
		 "exec fio --name=b --filename=%s --ioengine=io_uring --direct=1 --rw=%s --bs=%" PRIu64
		 " --iodepth=%u --offset=%" PRIu64 " --size=%" PRIu64
		 " --output-format=json --thread 2>/dev/null",
		 r->path, write ? "write" : "read", block, depth, r->offset, r->len);
	f = popen(command, "re");
	if (!f)
		return -errno;
	len = fread(text, 1, sizeof(text) - 1, f);
	text[len] = '\0';
	if (pclose(f))
		return -ENOENT;
	/* fio may say something before its JSON. */
	json = strchr(text, '{');
	root = json ? json_tokener_parse(json) : NULL;
	jobs = root ? descend(root, "jobs") : NULL;
	o = jobs ? json_object_array_get_idx(jobs, 0) : NULL;
	o = o ? descend(o, write ? "write" : "read") : NULL;
	o = o ? descend(o, "bw_bytes") : NULL;
	*bytes_per_s = o ? json_object_get_uint64(o) : 0;
	json_object_put(root);
	return *bytes_per_s ? 0 : -EPROTO;
}
