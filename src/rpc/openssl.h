/*
 * openssl.h - OpenSSL's functions, looked up when they are first needed. Not for anybody outside of
 * this folder.
 */
#ifndef SS_RPC_OPENSSL_H
#define SS_RPC_OPENSSL_H

#include "base/err.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* A pointer to each, called as the function is. */
struct ss_openssl {
#define F(name) __typeof__(&name) name;
#include "rpc/openssl.def"
#undef F
};

/* SS_ENOTFOUND when the library is not installed, or is another than we know. It stays loaded. */
bool ss_openssl_load(struct ss_openssl *lib, struct ss_err *err);

#endif
