/*
 * sandbox.h - a server that only shows files permanently gives up writing files, running programs
 * and connecting to others, with Landlock (Linux 5.13) and seccomp. Where the kernel has neither,
 * nothing changes.
 */
#ifndef SS_BASE_SANDBOX_H
#define SS_BASE_SANDBOX_H

#include <stdbool.h>

/* The version of the kernel's Landlock; 0: it has none, or it is off. */
int ss_sandbox_landlock(void);
/* Has the kernel filters for system calls? */
bool ss_sandbox_seccomp(void);

/*
 * Applies to this thread and all threads that it starts from now on. `writes` keeps making and
 * writing files, `connects` keeps connecting. Below the directory `own`, unless NULL, files can be
 * made, written and removed in any case. Operations that the kernel cannot restrict stay possible.
 */
void ss_sandbox_enter(bool writes, bool connects, const char *own);

#endif
