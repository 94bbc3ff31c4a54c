/*
 * fuzz_mcp.c - any bytes as what an agent writes to `stepscope mcp`: each line has one answer or none, and each answer is one line
 * of JSON. Commands are read and checked up to where a process would be started for them (see CMakeLists.txt).
 */
#include "fuzz/mutate.h"

#include "cli.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern const struct cli_command cli_command_mcp;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
pid_t __wrap_fork(void);

pid_t __wrap_fork(void)
{
	errno = EAGAIN;
	return -1;
}

static void check_line(struct ss_str line)
{
	struct ss_jsonr r = ss_jsonr_of(line);
	struct ss_jtok t;
	if (!ss_jsonr_next(&r, &t) || t.kind != SS_J_OBJECT)
		abort();
	while (ss_jsonr_next(&r, &t))
		;
	if (r.bad || !r.done || !ss_str_starts(line, SS_STR("{\"jsonrpc\":\"2.0\",\"id\":")))
		abort();
}

static void check_answers(int fd, size_t most)
{
	struct stat st;
	if (fstat(fd, &st) != 0 || !st.st_size)
		return;
	char *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		abort();
	struct ss_str rest = { p, (size_t)st.st_size };
	size_t n = 0;
	for (; rest.n; n++) {
		size_t end = ss_str_chr(rest, '\n');
		if (end == SS_NPOS)
			abort();
		check_line(ss_str_sub(rest, 0, end));
		rest = ss_str_sub(rest, end + 1, rest.n);
	}
	if (n > most)
		abort();
	munmap(p, (size_t)st.st_size);
}

/* The descriptor `number` becomes the file; returns what it was. */
static int swap(int number, int fd)
{
	int was = dup(number);
	if (was < 0 || dup2(fd, number) != number)
		abort();
	return was;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[] = "mcp", path[] = "/dev";
	char *argv[] = { name, path, NULL };
	size_t lines = 1;
	int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC);
	if (in < 0 || out < 0 || write(in, data, size) != (ssize_t)size || lseek(in, 0, SEEK_SET) != 0)
		abort();
	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	int was_in = swap(0, in), was_out = swap(1, out);
	optind = 0;
	int status = cli_command_mcp.run(2, argv);
	dup2(was_in, 0);
	dup2(was_out, 1);
	close(was_in);
	close(was_out);
	if (status != CLI_DONE)
		abort();
	check_answers(out, lines);
	close(in);
	close(out);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_json(data, size, max, seed);
}
