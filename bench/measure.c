/*
 * measure.c - run a command and print what it cost:
 * {"status":0,"cpu_s":0.12,"wall_s":0.2,"peak_kb":4096}
 *
 *	measure COMMAND [ARGS...]
 *
 * The command's output is thrown away (its words are not). A program of its own because peak
 * memory, as the system counts it, includes that of the process that forked: this one's is small.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	double begin = now_s();
	struct rusage used;
	int status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: measure COMMAND [ARGS...]\n");
		return 2;
	}
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		if (null >= 0)
			dup2(null, STDOUT_FILENO);
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) < 0) {
		perror("measure");
		return 1;
	}
	printf("{\"status\":%d,\"cpu_s\":%.6f,\"wall_s\":%.6f,\"peak_kb\":%ld}\n",
		WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
		seconds(used.ru_utime) + seconds(used.ru_stime), now_s() - begin, used.ru_maxrss);
	return 0;
}
