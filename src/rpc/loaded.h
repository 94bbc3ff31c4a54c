/* loaded.h - libraries that the program loads when it needs them. */
#ifndef SS_RPC_LOADED_H
#define SS_RPC_LOADED_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

/* False of a static program: it loads none. */
static inline bool ss_loads_libraries(void)
{
	return dlopen(NULL, RTLD_LAZY) != NULL;
}

#endif
