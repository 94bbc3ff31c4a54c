/*
 * tls.c - the glue to OpenSSL, which is loaded when it is first needed: linked, it would cost every
 * start of the program two milliseconds of CPU time, half as much again as it takes now, and
 * most profilers are reached without TLS.
 *
 * A client always checks the server's chain and name; there is no switch to turn that off. A server
 * with an authority asks its clients for a certificate and turns away who has none.
 */
#include "rpc/tls.h"

#include "rpc/openssl.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

struct context {
	struct ss_tls tls;	/* first: what others see */
	struct ss_openssl lib;
	SSL_CTX *ctx;
	bool server;
	char *name;
};

/* A connection. */
struct conn {
	const struct ss_openssl *lib;
	SSL *ssl;
};

/* The one protocol we speak, as ALPN writes it. */
static const unsigned char alpn[] = { 2, 'h', '2' };

static int choose(SSL *ssl, const unsigned char **out, unsigned char *out_n, const unsigned char *in, unsigned in_n, void *arg)
{
	unsigned char *found = NULL;
	const struct ss_openssl *L = arg;
	(void)ssl;
	if (L->SSL_select_next_proto(&found, out_n, alpn, sizeof(alpn), in, in_n) != SS_OPENSSL_NPN_NEGOTIATED)
		return SS_SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = found;
	return SS_SSL_TLSEXT_ERR_OK;
}

/* The last word of OpenSSL; its queue is empty afterwards. */
static const char *reason(const struct ss_openssl *L)
{
	unsigned long code = L->ERR_peek_last_error();
	const char *text = code ? L->ERR_reason_error_string(code) : NULL;
	L->ERR_clear_error();
	return text ? text : "no reason given";
}

/* An address is checked as an address, a name as a name. */
static bool expect_name(const struct ss_openssl *L, SSL *ssl, const char *host)
{
	X509_VERIFY_PARAM *param = L->SSL_get0_param(ssl);
	if (L->X509_VERIFY_PARAM_set1_ip_asc(param, host))
		return true;
	return L->SSL_ctrl(ssl, SS_SSL_CTRL_SET_TLSEXT_HOSTNAME, SS_TLSEXT_NAMETYPE_host_name, (void *)(uintptr_t)host) == 1 &&
	       L->SSL_set1_host(ssl, host) == 1;
}

static void *conn_open(const struct ss_tls *tls, int fd, const char *host)
{
	const struct context *c = (const struct context *)(const void *)tls;
	const struct ss_openssl *L = &c->lib;
	struct conn *conn = calloc(1, sizeof(*conn));
	SSL *ssl = conn ? L->SSL_new(c->ctx) : NULL;
	bool ok = ssl && L->SSL_set_fd(ssl, fd) == 1;
	if (ok && c->server) {
		L->SSL_set_accept_state(ssl);
	} else if (ok) {
		L->SSL_set_connect_state(ssl);
		ok = (c->name || host) && expect_name(L, ssl, c->name ? c->name : host);
	}
	if (ok) {
		*conn = (struct conn){ L, ssl };
		return conn;
	}
	L->ERR_clear_error();
	L->SSL_free(ssl);
	free(conn);
	return NULL;
}

static long again_or_broken(const struct conn *c, int rc, short *want)
{
	int why = c->lib->SSL_get_error(c->ssl, rc);
	if (why == SS_SSL_ERROR_WANT_READ || why == SS_SSL_ERROR_WANT_WRITE) {
		*want = why == SS_SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
		return SS_LINK_AGAIN;
	}
	return why == SS_SSL_ERROR_ZERO_RETURN ? 0 : SS_LINK_BROKEN;
}

static long conn_handshake(void *arg, short *want, struct ss_err *err)
{
	struct conn *c = arg;
	const struct ss_openssl *L = c->lib;
	const unsigned char *got;
	unsigned n;
	L->ERR_clear_error();
	int rc = L->SSL_do_handshake(c->ssl);
	if (rc != 1) {
		long what = again_or_broken(c, rc, want);
		if (what == SS_LINK_AGAIN)
			return what;
		long verify = L->SSL_get_verify_result(c->ssl);
		if (verify != SS_X509_V_OK)
			ss_fail(err, SS_EIO, "the certificate is not trusted: %s", L->X509_verify_cert_error_string(verify));
		else if (strstr(reason(L), "wrong version number"))
			ss_fail(err, SS_EIO, "it does not speak TLS");
		else
			ss_fail(err, SS_EIO, "the TLS handshake failed: %s", reason(L));
		L->ERR_clear_error();
		return SS_LINK_BROKEN;
	}
	L->SSL_get0_alpn_selected(c->ssl, &got, &n);
	if (n == 2 && memcmp(got, "h2", 2) == 0)
		return 1;
	ss_fail(err, SS_EIO, "the other side does not offer HTTP/2 over TLS (no ALPN \"h2\")");
	return SS_LINK_BROKEN;
}

static long conn_read(void *arg, void *buf, size_t n, short *want)
{
	struct conn *c = arg;
	c->lib->ERR_clear_error();
	int got = c->lib->SSL_read(c->ssl, buf, (int)(n > 1 << 20 ? 1 << 20 : n));
	return got > 0 ? got : again_or_broken(c, got, want);
}

static long conn_write(void *arg, const void *buf, size_t n, short *want)
{
	struct conn *c = arg;
	c->lib->ERR_clear_error();
	int put = c->lib->SSL_write(c->ssl, buf, (int)(n > 1 << 20 ? 1 << 20 : n));
	long rc = put > 0 ? put : again_or_broken(c, put, want);
	return rc == 0 ? SS_LINK_BROKEN : rc;
}

static void conn_close(void *arg)
{
	struct conn *c = arg;
	/* Says goodbye where that needs no waiting. */
	c->lib->SSL_shutdown(c->ssl);
	c->lib->ERR_clear_error();
	c->lib->SSL_free(c->ssl);
	free(c);
}

static bool load(struct context *c, const struct ss_tls_config *config, struct ss_err *err)
{
	const struct ss_openssl *L = &c->lib;
	const char *cert = config->cert_file, *key = config->key_file ? config->key_file : cert;
	if (config->ca_file && L->SSL_CTX_load_verify_locations(c->ctx, config->ca_file, NULL) != 1)
		return ss_fail(err, SS_EIO, "cannot read the authority's certificates in '%s': %s", config->ca_file, reason(L));
	if (!config->ca_file && !config->server && L->SSL_CTX_set_default_verify_paths(c->ctx) != 1)
		return ss_fail(err, SS_EIO, "cannot read the system's list of authorities: %s", reason(L));
	if (config->server && !cert)
		return ss_fail(err, SS_EINVAL, "a server with TLS needs a certificate and its key");
	if (cert && L->SSL_CTX_use_certificate_chain_file(c->ctx, cert) != 1)
		return ss_fail(err, SS_EIO, "cannot read the certificate in '%s': %s", cert, reason(L));
	if (key && L->SSL_CTX_use_PrivateKey_file(c->ctx, key, SS_SSL_FILETYPE_PEM) != 1)
		return ss_fail(err, SS_EIO, "cannot use the key in '%s': %s", key, reason(L));
	if (!config->server || config->ca_file)
		L->SSL_CTX_set_verify(c->ctx, SS_SSL_VERIFY_PEER | SS_SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	return true;
}

struct ss_tls *ss_tls_new(const struct ss_tls_config *config, struct ss_err *err)
{
	struct context *c = calloc(1, sizeof(*c));
	if (!c) {
		ss_fail_mem(err);
		return NULL;
	}
	const struct ss_openssl *L = &c->lib;
	if (!ss_openssl_load(&c->lib, err)) {
		free(c);
		return NULL;
	}
	c->tls = (struct ss_tls){ conn_open, conn_handshake, conn_read, conn_write, conn_close };
	c->server = config->server;
	c->ctx = L->SSL_CTX_new(config->server ? L->TLS_server_method() : L->TLS_client_method());
	c->name = config->name ? strdup(config->name) : NULL;
	if (!c->ctx || (config->name && !c->name)) {
		ss_fail_mem(err);
		ss_tls_free(&c->tls);
		return NULL;
	}
	L->SSL_CTX_ctrl(c->ctx, SS_SSL_CTRL_SET_MIN_PROTO_VERSION, SS_TLS1_2_VERSION, NULL);
	L->SSL_CTX_set_options(c->ctx, SS_SSL_OP_NO_COMPRESSION | SS_SSL_OP_NO_RENEGOTIATION | SS_SSL_OP_NO_TICKET);
	L->SSL_CTX_ctrl(c->ctx, SS_SSL_CTRL_MODE,
		     SS_SSL_MODE_ENABLE_PARTIAL_WRITE | SS_SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SS_SSL_MODE_RELEASE_BUFFERS, NULL);
	L->SSL_CTX_ctrl(c->ctx, SS_SSL_CTRL_SET_SESS_CACHE_MODE, SS_SSL_SESS_CACHE_OFF, NULL);
	if (config->server)
		L->SSL_CTX_set_alpn_select_cb(c->ctx, choose, &c->lib);
	bool ok = config->server || L->SSL_CTX_set_alpn_protos(c->ctx, alpn, sizeof(alpn)) == 0 || ss_fail_mem(err);
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
	c->lib.SSL_CTX_free(c->ctx);
	free(c->name);
	free(c);
}
