/* sign.c - see sign.h. */
#include "rpc/sign.h"

#include "rpc/openssl.h"

#include <limits.h>

static bool sign(const struct ss_openssl *lib, EVP_PKEY *key, struct ss_str text, char *signature, size_t *bytes)
{
	EVP_MD_CTX *c = lib->EVP_MD_CTX_new();
	size_t n = SS_SIGNATURE_BYTES;
	bool ok = c && lib->EVP_DigestSignInit(c, NULL, lib->EVP_sha256(), NULL, key) == 1 &&
		  lib->EVP_DigestSign(c, (unsigned char *)signature, &n, (const unsigned char *)text.p, text.n) == 1;
	lib->EVP_MD_CTX_free(c);
	*bytes = ok ? n : 0;
	return ok;
}

/* Nobody is asked for a password. */
static int no_password(char *to, int size, int writes, void *arg)
{
	(void)to;
	(void)size;
	(void)writes;
	(void)arg;
	return -1;
}

bool ss_sign_rs256(struct ss_str key, struct ss_str text, char *signature, size_t *bytes, struct ss_err *err)
{
	struct ss_openssl lib;
	*bytes = 0;
	if (!ss_openssl_load(&lib, err))
		return false;
	BIO *b = key.n && key.n < INT_MAX ? lib.BIO_new_mem_buf(key.p, (int)key.n) : NULL;
	EVP_PKEY *k = b ? lib.PEM_read_bio_PrivateKey(b, NULL, no_password, NULL) : NULL;
	bool ok = k && lib.EVP_PKEY_get_base_id(k) == SS_EVP_PKEY_RSA && sign(&lib, k, text, signature, bytes);
	lib.EVP_PKEY_free(k);
	lib.BIO_free(b);
	lib.ERR_clear_error();
	return ok || ss_fail(err, SS_EFORMAT, "the private key of the service account is not an RSA key in PEM");
}
