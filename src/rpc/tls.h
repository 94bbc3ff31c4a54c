/*
 * tls.h - TLS for links, by OpenSSL: 1.2 and later, ALPN "h2", certificates of a custom authority,
 * certificates for both sides.
 *
 * A program that uses it must ignore SIGPIPE: OpenSSL writes to sockets in its own way.
 */
#ifndef SS_RPC_TLS_H
#define SS_RPC_TLS_H

#include "rpc/net.h"

struct ss_tls_config {
	bool server;
	const char *ca_file;	/* PEM: who signs the other side; NULL: the system's list (client), nobody asked (server) */
	const char *cert_file;	/* PEM: our chain; a server must have one */
	const char *key_file;	/* PEM: its key */
	const char *name;	/* client: the name the server must have, instead of the one it is called by; NULL */
};

/* "OpenSSL 3.0.19 27 Jan 2026", of the one that would be loaded; false when there is none. */
bool ss_openssl_version(char *text, size_t size);

/* NULL: SS_EIO says which file and why. It must outlive the links made of it. */
struct ss_tls *ss_tls_new(const struct ss_tls_config *config, struct ss_err *err);
void ss_tls_free(struct ss_tls *tls);

#endif
