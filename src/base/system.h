/* system.h - functions that differ between Linux and macOS: time, waiting, descriptors, processors, and the
 * program's own file. */
#ifndef SS_BASE_SYSTEM_H
#define SS_BASE_SYSTEM_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* When the file was changed, since the Unix epoch. */
int64_t ss_mtime_ns(const struct stat *st);

/* A condition for ss_cond_wait_until. */
void ss_cond_init(pthread_cond_t *c);
/* Waits until it is signalled, or CLOCK_MONOTONIC is `until_ns`, or for no reason. */
void ss_cond_wait_until(pthread_cond_t *c, pthread_mutex_t *lock, int64_t until_ns);

/* Like pthread_create, with the stack size of the GNU C library on Linux: other systems give a sixteenth of it, or less. */
int ss_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/* A pipe that programs we start do not inherit and that never blocks; false: errno says why. */
bool ss_pipe_open(int ends[2]);
void ss_pipe_close(int ends[2]);
/* Like socket(), but child processes do not inherit the descriptor. */
int ss_socket(int family, int type, int protocol);
/* Like accept(), but child processes do not inherit the descriptor. */
int ss_accept(int listener);

/* The environment, for programs that we start. */
char **ss_environment(void);
/* The program's own file, as a string; false: the system does not say. */
bool ss_program_path(char *path, size_t bytes);
/* Waits for one of `set`, which all threads have blocked; false: none came within `ms`. */
bool ss_signal_wait(const sigset_t *set, unsigned ms);
/* Processors that this process may run on, at least 1: taskset, Slurm and containers give it some of the machine's. */
unsigned ss_processors(void);
/* Bytes of memory that this machine has; 0: unknown. */
uint64_t ss_memory_bytes(void);
/* Unpredictable random bytes; false: errno says why. */
bool ss_random_bytes(void *p, size_t n);

#endif
