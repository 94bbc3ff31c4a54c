/* capture_words.h - what the commands share that talk to running programs. */
#ifndef SS_CLI_CAPTURE_WORDS_H
#define SS_CLI_CAPTURE_WORDS_H

#include "capture/capture.h"
#include "cli.h"

/* State of the messages so far. */
struct cli_words {
	bool terminal, live;	/* stderr is one; a line without an end stands there */
	unsigned attempt, attempts;
};

/* Take a profile, say how it goes and, if wanted, its summary; the exit status. */
int cli_capture_take(struct ss_capture_config *config, bool summary);

/*
 * Have the master of a pod take the profile of all workers (ProfileAnalysis.NewSession), where it
 * can: -1 when it does not know how. Else the exit status, everything said.
 */
int cli_capture_pod(struct ss_capture_config *config, const char *master, bool summary);

/* Ctrl-C does not end the program any more: it makes this readable. -1 on failure. */
int cli_interrupt_open(struct ss_err *err);
/* It ends the program again. */
void cli_interrupt_close(int fd);

/* TLS and token, as options. */
struct cli_tls {
	bool on;
	const char *ca, *cert, *key, *name, *token_file;
	struct ss_tls *tls;
	char *token;
};

#define CLI_TLS_OPTS(t) \
	CLI_FLAG("tls", 0, &(t).on), CLI_TEXT("tls_ca", 0, &(t).ca), CLI_TEXT("tls_cert", 0, &(t).cert), \
	CLI_TEXT("tls_key", 0, &(t).key), CLI_TEXT("tls_name", 0, &(t).name), CLI_TEXT("token_file", 0, &(t).token_file)
#define CLI_TLS_HELP \
	"      --tls                     use TLS; implied by the next four options\n" \
	"      --tls_ca FILE             certificate authority (default: the system's)\n" \
	"      --tls_cert FILE           client certificate, for servers that require one\n" \
	"      --tls_key FILE            key of the client certificate\n" \
	"      --tls_name NAME           expected name in the server's certificate\n" \
	"      --token_file FILE         file with the token to send\n"

/* Options that fill a struct ss_profile_options. */
#define CLI_LEVEL_OPTS(o) \
	CLI_NUMBER("host_tracer_level", 0, 3, &(o).host_level), CLI_NUMBER("device_tracer_level", 0, 2, &(o).device_level), \
	CLI_NUMBER("python_tracer_level", 0, 1, &(o).python_level), CLI_EACH("option", 'o', cli_add_option, &(o))
#define CLI_LEVEL_HELP \
	"      --host_tracer_level N     0 none, 1 critical, 2 info (default), 3 verbose\n" \
	"      --device_tracer_level N   0 none, 1 on (default)\n" \
	"      --python_tracer_level N   0 none (default), 1 Python calls\n" \
	"  -o, --option NAME=VALUE       profiler option such as tpu_trace_mode=TRACE_ONLY_XLA; may be repeated\n"
bool cli_add_option(void *options, const char *value);

/*
 * A server that others than this machine can reach wants a token: where none is given, one is made
 * into `made`.
 */
#define CLI_TOKEN_BYTES 33
bool cli_token_for(const char *bind, char made[CLI_TOKEN_BYTES], const char **token, struct ss_err *err);

bool cli_tls_open(struct cli_tls *t, const struct ss_tls **tls, const char **token, struct ss_err *err);
void cli_tls_close(struct cli_tls *t);

#endif
