/*
 * sandbox.c - by system calls of Linux, for C libraries have no functions for them. Other systems
 * have neither.
 */
#include "base/sandbox.h"

#ifdef __linux__
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same numbers on every machine; older headers do not have them. */
#define LANDLOCK_CREATE_RULESET 444
#define LANDLOCK_ADD_RULE 445
#define LANDLOCK_RESTRICT_SELF 446
#define LANDLOCK_VERSION_FLAG 1u
#define EXECUTE_AND_WRITE 0x1ff3u	/* of version 1: all but reading files (bit 2) and directories (bit 3) */
#define EXECUTE 0x1u
#define BENEATH_PATH 1u			/* the kind of a rule */
#define REFER 0x2000u			/* version 2 */
#define TRUNCATE 0x4000u		/* version 3 */

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#endif

int ss_sandbox_landlock(void)
{
	long version = syscall(LANDLOCK_CREATE_RULESET, NULL, (size_t)0, LANDLOCK_VERSION_FLAG);
	return version > 0 ? (int)version : 0;
}

bool ss_sandbox_seccomp(void)
{
	/* Asked for with no rules, a kernel that has filters complains of the address. */
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) != 0 && errno == EFAULT;
}

/* As in linux/landlock.h, which older systems do not have. */
struct beneath {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

static void keep_own(int rules, uint64_t handled, const char *own)
{
	struct beneath rule = { .allowed = handled & ~(uint64_t)EXECUTE, .parent = open(own, O_PATH | O_DIRECTORY | O_CLOEXEC) };
	if (rule.parent < 0)
		return;
	(void)syscall(LANDLOCK_ADD_RULE, rules, BENEATH_PATH, &rule, 0u);
	close(rule.parent);
}

/* No file may be made, written, moved, removed or run, wherever it lies but below `own`. */
static void give_up_writing(const char *own)
{
	int version = ss_sandbox_landlock();
	const uint64_t handled = EXECUTE_AND_WRITE | (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0);
	long fd = version ? syscall(LANDLOCK_CREATE_RULESET, &handled, sizeof(handled), 0u) : -1;
	if (fd < 0)
		return;
	if (own)
		keep_own((int)fd, handled, own);
	(void)syscall(LANDLOCK_RESTRICT_SELF, (int)fd, 0u);
	close((int)fd);
}

#ifdef __has_feature
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#undef THIS_ARCH	/* the sanitizer looks for leaks by ptrace, and runs a program that names addresses */
#endif

#ifdef THIS_ARCH
#define REFUSE(call)                                              \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),    \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static void filter_calls(bool connects)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		REFUSE(execve),
		REFUSE(execveat),
		REFUSE(ptrace),
		REFUSE(process_vm_readv),
		REFUSE(process_vm_writev),
		REFUSE(bpf),
		REFUSE(mount),
		/* The last one is left out where connecting is needed. */
		REFUSE(connect),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const size_t n = SS_COUNT(rules);
	if (connects)
		rules[n - 3] = rules[n - 1];
	const struct sock_fprog program = { (unsigned short)(connects ? n - 2 : n), rules };
	(void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}
#else
static void filter_calls(bool connects)
{
	(void)connects;
}
#endif

void ss_sandbox_enter(bool writes, bool connects, const char *own)
{
	/* Without it the kernel lets only administrators do either. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return;
	if (!writes)
		give_up_writing(own);
	filter_calls(connects);
}
#else
int ss_sandbox_landlock(void)
{
	return 0;
}

bool ss_sandbox_seccomp(void)
{
	return false;
}

void ss_sandbox_enter(bool writes, bool connects, const char *own)
{
	(void)writes, (void)connects, (void)own;
}
#endif
