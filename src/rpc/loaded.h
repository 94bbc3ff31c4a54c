/* loaded.h - libraries that the program loads when it needs them. */
#ifndef SS_RPC_LOADED_H
#define SS_RPC_LOADED_H

#include "base/err.h"

#include <stddef.h>

/* False: a static program, which loads no libraries. */
bool ss_loads_libraries(void);

struct ss_loaded {
	const char *what;	/* "TLS needs OpenSSL 3" */
	const char *package;	/* the package that installs it, on all systems */
	const char *const *names;	/* of the file, the best first */
	size_t n;
};

/* The library, which stays; NULL: it is not there, and `err` says what to install. */
void *ss_load_library(const struct ss_loaded *l, struct ss_err *err);

struct ss_loaded_function {
	const char *name;
	size_t at;	/* of its pointer in the struct */
};
/* The addresses of functions, into the struct `to`. `library` names it in the failure of one that is not there. */
bool ss_load_functions(void *handle, const struct ss_loaded_function *v, size_t n, void *to, const char *library,
		       struct ss_err *err);

#endif
