/* capture_words.h - what the commands share that talk to running programs. */
#ifndef SS_CLI_CAPTURE_WORDS_H
#define SS_CLI_CAPTURE_WORDS_H

#include "capture/capture.h"
#include "cli.h"

/* What was said so far. */
struct cli_words {
	bool terminal, live;	/* stderr is one; a line without an end stands there */
	unsigned attempt, attempts;
};

void cli_capture_progress(void *arg, const struct ss_capture *c, const struct ss_capture_host *host);

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
	const char *on, *ca, *cert, *key, *name, *token_file;
	struct ss_tls *tls;
	char *token;
};

#define CLI_TLS_OPTS(t) \
	{ "tls", 0, false, &(t).on, NULL, NULL }, { "tls_ca", 0, true, &(t).ca, NULL, NULL }, \
	{ "tls_cert", 0, true, &(t).cert, NULL, NULL }, { "tls_key", 0, true, &(t).key, NULL, NULL }, \
	{ "tls_name", 0, true, &(t).name, NULL, NULL }, { "token_file", 0, true, &(t).token_file, NULL, NULL }
#define CLI_TLS_HELP \
	"      --tls                     over TLS; so do the next four\n" \
	"      --tls_ca FILE             who signs the servers' certificates; the system's authorities without it\n" \
	"      --tls_cert FILE           our certificate, for servers that want one\n" \
	"      --tls_key FILE            its key\n" \
	"      --tls_name NAME           the name in the servers' certificates\n" \
	"      --token_file FILE         a secret to be sent along\n"

bool cli_tls_open(struct cli_tls *t, const struct ss_tls **tls, const char **token, struct ss_err *err);
void cli_tls_close(struct cli_tls *t);

#endif
