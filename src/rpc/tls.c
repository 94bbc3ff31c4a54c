/*
 * tls.c - the glue to OpenSSL.
 *
 * A client always checks the server's chain and name; there is no switch to turn that off. A server
 * with an authority asks its clients for a certificate and turns away who has none.
 */
#include "rpc/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

struct context {
	struct ss_tls tls;	/* first: what others see */
	SSL_CTX *ctx;
	bool server;
	char *name;
};

/* The one protocol we speak, as ALPN writes it. */
static const unsigned char alpn[] = { 2, 'h', '2' };

static int choose(SSL *ssl, const unsigned char **out, unsigned char *out_n, const unsigned char *in, unsigned in_n, void *arg)
{
	unsigned char *found = NULL;
	(void)ssl;
	(void)arg;
	if (SSL_select_next_proto(&found, out_n, alpn, sizeof(alpn), in, in_n) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = found;
	return SSL_TLSEXT_ERR_OK;
}

/* The last word of OpenSSL; its queue is empty afterwards. */
static const char *reason(void)
{
	unsigned long code = ERR_peek_last_error();
	const char *text = code ? ERR_reason_error_string(code) : NULL;
	ERR_clear_error();
	return text ? text : "no reason given";
}

/* An address is checked as an address, a name as a name. */
static bool expect_name(SSL *ssl, const char *host)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
	if (X509_VERIFY_PARAM_set1_ip_asc(param, host))
		return true;
	return SSL_set_tlsext_host_name(ssl, host) == 1 && SSL_set1_host(ssl, host) == 1;
}

static void *conn_open(const struct ss_tls *tls, int fd, const char *host)
{
	const struct context *c = (const struct context *)(const void *)tls;
	SSL *ssl = SSL_new(c->ctx);
	if (!ssl)
		return NULL;
	bool ok = SSL_set_fd(ssl, fd) == 1;
	if (c->server) {
		SSL_set_accept_state(ssl);
	} else {
		SSL_set_connect_state(ssl);
		ok = ok && (c->name || host) && expect_name(ssl, c->name ? c->name : host);
	}
	if (ok)
		return ssl;
	ERR_clear_error();
	SSL_free(ssl);
	return NULL;
}

static long again_or_broken(SSL *ssl, int rc, short *want)
{
	int why = SSL_get_error(ssl, rc);
	if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
		*want = why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
		return SS_LINK_AGAIN;
	}
	return why == SSL_ERROR_ZERO_RETURN ? 0 : SS_LINK_BROKEN;
}

static long conn_handshake(void *conn, short *want, struct ss_err *err)
{
	SSL *ssl = conn;
	const unsigned char *got;
	unsigned n;
	ERR_clear_error();
	int rc = SSL_do_handshake(ssl);
	if (rc != 1) {
		long what = again_or_broken(ssl, rc, want);
		if (what == SS_LINK_AGAIN)
			return what;
		long verify = SSL_get_verify_result(ssl);
		if (verify != X509_V_OK)
			ss_fail(err, SS_EIO, "the certificate is not trusted: %s", X509_verify_cert_error_string(verify));
		else
			ss_fail(err, SS_EIO, "the TLS handshake failed: %s", reason());
		ERR_clear_error();
		return SS_LINK_BROKEN;
	}
	SSL_get0_alpn_selected(ssl, &got, &n);
	if (n == 2 && memcmp(got, "h2", 2) == 0)
		return 1;
	ss_fail(err, SS_EIO, "the other side does not offer HTTP/2 over TLS (no ALPN \"h2\")");
	return SS_LINK_BROKEN;
}

static long conn_read(void *conn, void *buf, size_t n, short *want)
{
	ERR_clear_error();
	int got = SSL_read(conn, buf, (int)(n > 1 << 20 ? 1 << 20 : n));
	return got > 0 ? got : again_or_broken(conn, got, want);
}

static long conn_write(void *conn, const void *buf, size_t n, short *want)
{
	ERR_clear_error();
	int put = SSL_write(conn, buf, (int)(n > 1 << 20 ? 1 << 20 : n));
	long rc = put > 0 ? put : again_or_broken(conn, put, want);
	return rc == 0 ? SS_LINK_BROKEN : rc;
}

static void conn_close(void *conn)
{
	/* Says goodbye where that needs no waiting. */
	SSL_shutdown(conn);
	ERR_clear_error();
	SSL_free(conn);
}

static bool load(struct context *c, const struct ss_tls_config *config, struct ss_err *err)
{
	const char *cert = config->cert_file, *key = config->key_file ? config->key_file : cert;
	if (config->ca_file && SSL_CTX_load_verify_locations(c->ctx, config->ca_file, NULL) != 1)
		return ss_fail(err, SS_EIO, "cannot read the authority's certificates in '%s': %s", config->ca_file, reason());
	if (!config->ca_file && !config->server && SSL_CTX_set_default_verify_paths(c->ctx) != 1)
		return ss_fail(err, SS_EIO, "cannot read the system's list of authorities: %s", reason());
	if (config->server && !cert)
		return ss_fail(err, SS_EINVAL, "a server with TLS needs a certificate and its key");
	if (cert && SSL_CTX_use_certificate_chain_file(c->ctx, cert) != 1)
		return ss_fail(err, SS_EIO, "cannot read the certificate in '%s': %s", cert, reason());
	if (key && SSL_CTX_use_PrivateKey_file(c->ctx, key, SSL_FILETYPE_PEM) != 1)
		return ss_fail(err, SS_EIO, "cannot use the key in '%s': %s", key, reason());
	if (!config->server || config->ca_file)
		SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	return true;
}

struct ss_tls *ss_tls_new(const struct ss_tls_config *config, struct ss_err *err)
{
	struct context *c = calloc(1, sizeof(*c));
	if (!c) {
		ss_fail_mem(err);
		return NULL;
	}
	c->tls = (struct ss_tls){ conn_open, conn_handshake, conn_read, conn_write, conn_close };
	c->server = config->server;
	c->ctx = SSL_CTX_new(config->server ? TLS_server_method() : TLS_client_method());
	c->name = config->name ? strdup(config->name) : NULL;
	if (!c->ctx || (config->name && !c->name)) {
		ss_fail_mem(err);
		ss_tls_free(&c->tls);
		return NULL;
	}
	SSL_CTX_set_min_proto_version(c->ctx, TLS1_2_VERSION);
	SSL_CTX_set_options(c->ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
	SSL_CTX_set_mode(c->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(c->ctx, SSL_SESS_CACHE_OFF);
	if (config->server)
		SSL_CTX_set_alpn_select_cb(c->ctx, choose, NULL);
	bool ok = config->server || SSL_CTX_set_alpn_protos(c->ctx, alpn, sizeof(alpn)) == 0 || ss_fail_mem(err);
	if (ok && load(c, config, err))
		return &c->tls;
	ss_tls_free(&c->tls);
	return NULL;
}

void ss_tls_free(struct ss_tls *tls)
{
	struct context *c = (struct context *)(void *)tls;
	if (!c)
		return;
	SSL_CTX_free(c->ctx);
	free(c->name);
	free(c);
}
