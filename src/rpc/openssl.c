/* openssl.c - finding OpenSSL at run time. */
#include "rpc/openssl.h"

#include "base/str.h"
#include "rpc/loaded.h"
#include "rpc/tls.h"

#include <stdio.h>

#define OLDEST 0x30000020UL	/* 3.0.2 */

bool ss_openssl_load(struct ss_openssl *lib, struct ss_err *err)
{
	static const struct ss_loaded_function functions[] = {
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
	static const struct ss_loaded openssl = { "TLS needs OpenSSL 3", "openssl", names, SS_COUNT(names) };
	void *handle = ss_load_library(&openssl, err);
	/* Those of libcrypto are found through libssl, which needs it. */
	if (!handle || !ss_load_functions(handle, functions, SS_COUNT(functions), lib, "OpenSSL", err))
		return false;
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
