/* openssl.c - finding OpenSSL at run time. */
#include "rpc/openssl.h"

#include "base/str.h"
#include "rpc/loaded.h"
#include "rpc/tls.h"

#include <stdio.h>

#define OLDEST 0x30000020UL	/* 3.0.2 */

bool ss_openssl_load(struct ss_openssl *lib, struct ss_err *err)
{
	static const struct {
		const char *name;
		size_t at;
	} functions[] = {
#define F(type, name, parameters) { #name, offsetof(struct ss_openssl, name) },
#include "rpc/openssl.def"
	};
	static const char *const names[] = {
#ifdef __APPLE__
		"libssl.3.dylib", "/opt/homebrew/opt/openssl@3/lib/libssl.3.dylib", "/usr/local/opt/openssl@3/lib/libssl.3.dylib",
#else
		"libssl.so.3",
#endif
	};
	void *handle = NULL;
	for (size_t i = 0; i < SS_COUNT(names) && !handle; i++)
		handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!handle && !ss_loads_libraries())
		return ss_fail(err, SS_ENOTFOUND, "TLS needs OpenSSL 3, which a static build of stepscope does not "
			       "load: use one of the wheels or packages");
	if (!handle)
		return ss_fail(err, SS_ENOTFOUND, "TLS needs OpenSSL 3, which is not installed: %s", dlerror());
	for (size_t i = 0; i < SS_COUNT(functions); i++) {
		/* Those of libcrypto are found through libssl, which needs it. */
		void *f = dlsym(handle, functions[i].name);
		if (!f)
			return ss_fail(err, SS_ENOTFOUND, "this OpenSSL has no %s", functions[i].name);
		memcpy((char *)lib + functions[i].at, &f, sizeof(f));
	}
	return lib->OpenSSL_version_num() >= OLDEST ||
	       ss_fail(err, SS_ENOTFOUND, "TLS needs OpenSSL 3.0.2 or later, and this is %s", lib->OpenSSL_version(0));
}

bool ss_openssl_version(char *text, size_t size)
{
	struct ss_openssl lib;
	struct ss_err err = { 0 };
	if (ss_openssl_load(&lib, &err))
		snprintf(text, size, "%s", lib.OpenSSL_version(0));
	return !err.code;
}
