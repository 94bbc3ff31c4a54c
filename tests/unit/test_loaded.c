/* test_loaded.c - what we have written down of the libraries that are loaded at run time, against their own headers. */
#include "rpc/curl.h"
#include "rpc/openssl.h"

#include "unit.h"

#if __has_include(<openssl/ssl.h>) && __has_include(<curl/curl.h>)
#define HEADERS
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* The compiler compares: this file does not build when a type or a value is another. */
#define SAME_TYPE(lib, name) \
	_Static_assert(__builtin_types_compatible_p(__typeof__(((struct lib *)NULL)->name), __typeof__(&(name))), #name);
#define C(name, value) _Static_assert((long long)(name) == SS_##name, #name);
#define F(type, name, parameters) SAME_TYPE(ss_openssl, name)
#include "rpc/openssl.def"
#define C(name, value) _Static_assert((long long)(name) == SS_##name, #name);
#define F(type, name, parameters) SAME_TYPE(ss_curl, name)
#include "rpc/curl.def"
#endif

/* The table of the loader names every function, and the library that is installed has them all. */
static void test_openssl(void **state)
{
	(void)state;
	struct ss_openssl lib = { 0 };
	struct ss_err err = { 0 };
	if (!ss_openssl_load(&lib, &err)) {
		assert_int_equal(err.code, SS_ENOTFOUND);
		skip();
	}
#define F(type, name, parameters) assert_non_null(lib.name);
#include "rpc/openssl.def"
	SSL_CTX *ctx = lib.SSL_CTX_new(lib.TLS_client_method());
	assert_non_null(ctx);
	lib.SSL_CTX_free(ctx);
}

static void test_headers(void **state)
{
	(void)state;
#ifndef HEADERS
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_openssl), cmocka_unit_test(test_headers) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
