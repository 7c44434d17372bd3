// SPDX-License-Identifier: GPL-2.0
/* Output files where the filesystem has files without a name, and where not. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "output.h"

static bool nameless_refused;
static char folder[] = "/tmp/ugm-unit-XXXXXX";
static char path[64];

/* In place of the C library's: a filesystem without O_TMPFILE, if wanted. */
int open(const char *name, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE)
		mode = va_arg(args, mode_t);
	va_end(args);
	if (nameless_refused && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
}

static bool nameless_here(void)
{
	int fd = open(folder, O_TMPFILE | O_WRONLY, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int set_up(void **unused)
{
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
	return 0;
}

static int tear_down(void **unused)
{
	unlink(path);
	return rmdir(folder);
}

static unsigned int nr_files(void)
{
	struct dirent *e;
	unsigned int n = 0;
	DIR *d = opendir(folder);

	assert_non_null(d);
	while ((e = readdir(d)))
		n += *e->d_name != '.';
	closedir(d);
	return n;
}

static void check_text(const char *text)
{
	char have[64] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_non_null(fgets(have, sizeof(have), f));
	fclose(f);
	assert_string_equal(have, text);
}

static void write_text(const char *text)
{
	struct ugm_output o;
	struct ugm_error err;

	assert_int_equal(ugm_output_open(&o, path, &err), 0);
	fputs(text, o.file);
	assert_int_equal(ugm_output_commit(&o, &err), 0);
}

/* What a signal that comes in the middle leaves behind. */
static void die_of(int sig)
{
	struct ugm_output o;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		ugm_output_catch(SIGTERM);
		if (ugm_output_open(&o, path, NULL))
			_exit(1);
		fputs("half", o.file);
		fflush(o.file);
		raise(sig);
		_exit(2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == sig);
}

static void replaces_or_leaves(bool named)
{
	struct ugm_output o;
	struct ugm_error err;
	struct stat st;

	write_text("one");
	check_text("one");
	assert_int_equal(chmod(path, 0640), 0);
	write_text("two");
	check_text("two");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(nr_files(), 1);

	assert_int_equal(ugm_output_open(&o, path, &err), 0);
	fputs("three", o.file);
	assert_int_equal(nr_files(), named ? 2 : 1);
	ugm_output_discard(&o);
	assert_int_equal(nr_files(), 1);
	die_of(SIGTERM);
	assert_int_equal(nr_files(), 1);
	check_text("two");
}

static void without_a_name(void **unused)
{
	if (!nameless_here())
		skip();
	replaces_or_leaves(false);
	die_of(SIGKILL);
	assert_int_equal(nr_files(), 1);
	check_text("two");
}

static void with_a_name(void **unused)
{
	nameless_refused = true;
	replaces_or_leaves(true);
	nameless_refused = false;
}

/* Before the work, not after it. */
static void a_name_that_is_too_long(void **unused)
{
	char name[64 + NAME_MAX];
	struct ugm_output o;
	struct ugm_error err;

	snprintf(name, sizeof(name), "%s/%0*d", folder, NAME_MAX, 0);
	assert_int_equal(ugm_output_open(&o, name, &err), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_name),
		cmocka_unit_test(with_a_name),
		cmocka_unit_test(a_name_that_is_too_long),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
