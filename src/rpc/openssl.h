/*
 * openssl.h - OpenSSL's functions, looked up when they are first needed, and its constants with SS_ before their names. Internal
 * to this folder.
 */
#ifndef SS_RPC_OPENSSL_H
#define SS_RPC_OPENSSL_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

typedef struct ssl_st SSL;
typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_method_st SSL_METHOD;
typedef struct X509_VERIFY_PARAM_st X509_VERIFY_PARAM;
typedef struct x509_store_ctx_st X509_STORE_CTX;
typedef struct bio_st BIO;
typedef struct engine_st ENGINE;
typedef struct evp_md_st EVP_MD;
typedef struct evp_md_ctx_st EVP_MD_CTX;
typedef struct evp_pkey_st EVP_PKEY;
typedef struct evp_pkey_ctx_st EVP_PKEY_CTX;

/* A pointer to each, called as the function is. */
struct ss_openssl {
#define F(type, name, parameters) type(*name) parameters;
#include "rpc/openssl.def"
};

enum {
#define C(name, value) SS_##name = (value),
#include "rpc/openssl.def"
};

/* SS_ENOTFOUND when the library is not installed, or is another than we know. It stays loaded. */
bool ss_openssl_load(struct ss_openssl *lib, struct ss_err *err);

#endif
