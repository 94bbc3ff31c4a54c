/* test_tls.c - gRPC over TLS: authorities, names, certificates on both sides, and what must not work. */
#include "rpc/grpc_client.h"
#include "rpc/grpc_server.h"
#include "rpc/loaded.h"
#include "rpc/tls.h"

#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/*
 * tests/data/tls: an authority, a server's certificate for localhost and 127.0.0.1 by it, a client's
 * by it, and another authority with a client's by that; made by the script beside them.
 */
#define AT(name) SS_TEST_DATA "/tls/" name

static void echo(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	ss_buf_str(&answer->body, asked->request);
}

static const struct ss_grpc_method methods[] = { { "/t.S/Echo", echo, NULL } };

static const struct ss_tls_config server_plain = { .server = true, .cert_file = AT("server.crt"), .key_file = AT("server.key") };
static const struct ss_tls_config server_mutual = {
	.server = true, .cert_file = AT("server.crt"), .key_file = AT("server.key"), .ca_file = AT("ca.crt")
};

/* One call: its status. With `server` or `client` NULL that side speaks without TLS. */
static struct ss_grpc_status call(const struct ss_tls_config *server, const struct ss_tls_config *client, const char *host)
{
	struct ss_err err = { 0 };
	struct ss_grpc_status st = { 0 };
	struct ss_buf big = { 0 }, got = { 0 };
	char target[64];
	struct ss_tls *ours = server ? ss_tls_new(server, &err) : NULL, *theirs = client ? ss_tls_new(client, &err) : NULL;
	if (err.code)
		fail_msg("%s", err.text);
	struct ss_grpc_server *s = ss_grpc_server_start(
		&(struct ss_grpc_server_config){ .methods = methods, .nmethods = 1, .tls = ours }, &err);
	assert_non_null(s);
	snprintf(target, sizeof(target), "%s:%u", host, ss_grpc_server_port(s));
	const struct ss_grpc_channel_config there = { .target = target, .tls = theirs };
	struct ss_grpc_channel *ch = ss_grpc_channel_open(&there, &err);
	for (int i = 0; i < 300000; i++)
		ss_buf_lit(&big, "0123456789");
	if (ss_grpc_unary(ch, &(struct ss_grpc_call_config){ .method = "/t.S/Echo", .request = ss_buf_get(&big),
							     .timeout_ns = 10000000000 }, &got, &st))
		assert_true(ss_str_eq(ss_buf_get(&big), ss_buf_get(&got)));
	ss_grpc_channel_close(ch);
	ss_grpc_server_stop(s, 100);
	ss_tls_free(ours);
	ss_tls_free(theirs);
	ss_buf_free(&big);
	ss_buf_free(&got);
	return st;
}

static void works(void **state)
{
	const struct ss_tls_config trust = { .ca_file = AT("ca.crt") };
	const struct ss_tls_config named = { .ca_file = AT("ca.crt"), .name = "localhost" };
	const struct ss_tls_config known = { .ca_file = AT("ca.crt"), .cert_file = AT("client.crt"), .key_file = AT("client.key") };
	(void)state;
	assert_int_equal(call(&server_plain, &trust, "127.0.0.1").code, SS_GRPC_OK);
	assert_int_equal(call(&server_plain, &trust, "localhost").code, SS_GRPC_OK);
	assert_int_equal(call(&server_plain, &named, "127.0.0.2").code, SS_GRPC_UNAVAILABLE); /* nobody listens there */
	assert_int_equal(call(&server_plain, &named, "127.0.0.1").code, SS_GRPC_OK);
	assert_int_equal(call(&server_mutual, &known, "127.0.0.1").code, SS_GRPC_OK);
}

static void refused(void **state)
{
	const struct ss_tls_config trust = { .ca_file = AT("ca.crt") }, stranger = { .ca_file = AT("other.crt") }, system = { 0 };
	const struct ss_tls_config wrong_name = { .ca_file = AT("ca.crt"), .name = "example.org" };
	const struct ss_tls_config imposter = { .ca_file = AT("ca.crt"), .cert_file = AT("imposter.crt"),
						.key_file = AT("imposter.key") };
	const struct {
		const struct ss_tls_config *server, *client;
		const char *says;
	} rows[] = {
		{ &server_plain, &stranger, "not trusted" },	 { &server_plain, &system, "not trusted" },
		{ &server_plain, &wrong_name, "not trusted" }, { &server_mutual, &trust, "" },
		{ &server_mutual, &imposter, "" },		 { &server_plain, NULL, "" },
		{ NULL, &trust, "" },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(rows); i++) {
		struct ss_grpc_status st = call(rows[i].server, rows[i].client, "127.0.0.1");
		if (st.code != SS_GRPC_UNAVAILABLE || !st.text[0] || !strstr(st.text, rows[i].says))
			fail_msg("row %zu: %s: %s", i, ss_grpc_code_name(st.code), st.text);
	}
}

static void bad_files(void **state)
{
	const struct ss_tls_config rows[] = {
		{ .ca_file = "/nowhere" },
		{ .ca_file = AT("server.key") },
		{ .server = true },
		{ .server = true, .cert_file = AT("server.crt"), .key_file = AT("client.key") },
		{ .server = true, .cert_file = "/nowhere" },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(rows); i++) {
		struct ss_err err = { 0 };
		assert_null(ss_tls_new(&rows[i], &err));
		assert_true(err.code == SS_EIO || err.code == SS_EINVAL);
		assert_true(err.text[0]);
	}
}

/* The error names the package to install, and the reason that the system gives for the first name. */
static void missing_library(void **state)
{
	(void)state;
	static const char *const names[] = { "libstepscope-none.so.7", "libstepscope-none.so.6" };
	const struct ss_loaded none = { "this test needs libnone", "none", names, 2 };
	struct ss_err err = { 0 };
	assert_null(ss_load_library(&none, &err));
	assert_int_equal(err.code, SS_ENOTFOUND);
	assert_ptr_equal(strstr(err.text, "this test needs libnone, which is not installed ("), err.text);
	assert_non_null(strstr(err.text, "libstepscope-none.so.7"));
	assert_non_null(strstr(err.text, "The package 'none' brings it: apt, dnf, apk or brew install none"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(works), cmocka_unit_test(refused), cmocka_unit_test(bad_files),
					   cmocka_unit_test(missing_library) };
	signal(SIGPIPE, SIG_IGN);
	return RUN_TESTS(tests);
}
