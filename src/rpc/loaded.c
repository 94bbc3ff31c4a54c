/* loaded.c - see loaded.h. */
#include "rpc/loaded.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bool ss_loads_libraries(void)
{
	return dlopen(NULL, RTLD_LAZY) != NULL;
}

void *ss_load_library(const struct ss_loaded *l, struct ss_err *err)
{
	char why[200] = "";
	for (size_t i = 0; i < l->n; i++) {
		void *handle = dlopen(l->names[i], RTLD_NOW | RTLD_LOCAL);
		const char *text = handle ? NULL : dlerror();
		if (handle)
			return handle;
		if (!*why)
			snprintf(why, sizeof(why), "%s", text ? text : l->names[i]);
	}
	if (!ss_loads_libraries())
		ss_fail(err, SS_ENOTFOUND, "%s, which a static build of stepscope does not load: use one of the wheels or packages",
			l->what);
	else
		ss_fail(err, SS_ENOTFOUND,
			"%s, which is not installed (%s). The package '%s' brings it: apt, dnf, apk or brew install %s", l->what,
			why, l->package, l->package);
	return NULL;
}

bool ss_load_functions(void *handle, const struct ss_loaded_function *v, size_t n, void *to, const char *library,
		       struct ss_err *err)
{
	for (size_t i = 0; i < n; i++) {
		void *f = dlsym(handle, v[i].name);
		if (!f)
			return ss_fail(err, SS_ENOTFOUND, "this %s has no %s", library, v[i].name);
		memcpy((char *)to + v[i].at, &f, sizeof(f));
	}
	return true;
}
