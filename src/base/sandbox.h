/*
 * sandbox.h - what a server that only shows files gives up for good: writing files, running
 * programs and connecting to others. By Landlock (Linux 5.13) and seccomp; where the kernel has
 * neither, nothing is given up and nothing else changes.
 */
#ifndef SS_BASE_SANDBOX_H
#define SS_BASE_SANDBOX_H

#include <stdbool.h>

/* The version of the kernel's Landlock; 0: it has none, or it is off. */
int ss_sandbox_landlock(void);
/* Has the kernel filters for system calls? */
bool ss_sandbox_seccomp(void);

/*
 * For this thread and all that it starts from now on. `writes` keeps making and writing files,
 * `connects` keeps connecting. Below the directory `own`, unless NULL, files can be made, written
 * and removed in any case. What the kernel has no means for stays possible.
 */
void ss_sandbox_enter(bool writes, bool connects, const char *own);

#endif
