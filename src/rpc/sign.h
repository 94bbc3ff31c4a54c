/* sign.h - signatures with a private key, by OpenSSL, which is loaded for it. */
#ifndef SS_RPC_SIGN_H
#define SS_RPC_SIGN_H

#include "base/err.h"
#include "base/str.h"

#define SS_SIGNATURE_BYTES 2048	/* a key of 16384 bits */

/* RSA with SHA-256 (PKCS #1 1.5) of `text`, with a key in PEM. SS_ENOTFOUND without OpenSSL, SS_EFORMAT where the key is none. */
bool ss_sign_rs256(struct ss_str key, struct ss_str text, char *signature, size_t *bytes, struct ss_err *err);

#endif
