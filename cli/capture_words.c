/* capture_words.c - interrupts, TLS and tokens of the commands that talk to running programs. */
#include "capture_words.h"

#include "base/system.h"
#include "rpc/tls.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The thread that waits for signals and writes a byte for each. */
static struct {
	pthread_t thread;
	int ends[2];
} watch;

static sigset_t wishes_to_stop(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	return set;
}

static void *pass_on(void *arg)
{
	sigset_t set = wishes_to_stop();
	int number;
	while (sigwait(&set, &number) == 0)
		if (write(watch.ends[1], "", 1) < 0)
			continue;	/* it is full: it is readable already */
	return arg;
}

int cli_interrupt_open(struct ss_err *err)
{
	sigset_t set = wishes_to_stop();
	/* Before there are threads, so that all inherit it. */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	/* A peer that goes away is said in words. */
	signal(SIGPIPE, SIG_IGN);
	int error = ss_pipe_open(watch.ends) ? pthread_create(&watch.thread, NULL, pass_on, NULL) : errno;
	if (!error)
		return watch.ends[0];
	ss_pipe_close(watch.ends);
	ss_fail(err, SS_EIO, "cannot wait for signals: %s", strerror(error));
	return -1;
}

void cli_interrupt_close(int fd)
{
	sigset_t set = wishes_to_stop(), pending;
	int number;
	if (fd < 0)
		return;
	pthread_cancel(watch.thread);
	pthread_join(watch.thread, NULL);
	ss_pipe_close(watch.ends);
	/* A signal that asks to stop must not end the program now. */
	while (sigpending(&pending) == 0 && (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM)))
		sigwait(&set, &number);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* The first line of a file. */
static char *read_token(const char *path, struct ss_err *err)
{
	char line[1024] = "";
	FILE *f = fopen(path, "r");
	if (!f || !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		fclose(f);
	line[strcspn(line, "\r\n")] = '\0';
	for (const char *p = line; *p; p++)
		if (*p <= ' ' || *p > '~')
			line[0] = '\0';
	if (!line[0]) {
		ss_fail(err, SS_EIO, "'%s' holds no token: it must be one line without spaces", path);
		return NULL;
	}
	char *token = strdup(line);
	if (!token)
		ss_fail_mem(err);
	return token;
}

bool cli_add_option(void *options, const char *value)
{
	struct ss_profile_options *o = options;
	const char *equals = strchr(value, '=');
	if (!equals || equals == value || o->nadvanced == SS_COUNT(o->advanced))
		return false;
	o->advanced[o->nadvanced++] = value;
	return true;
}

bool cli_tls_open(struct cli_tls *t, const struct ss_tls **tls, const char **token, struct ss_err *err)
{
	if (t->token_file && !(t->token = read_token(t->token_file, err)))
		return false;
	*token = t->token;
	*tls = NULL;
	if (!t->on && !t->ca && !t->cert && !t->key && !t->name)
		return true;
	t->tls = ss_tls_new(&(struct ss_tls_config){ .ca_file = t->ca, .cert_file = t->cert, .key_file = t->key,
						     .name = t->name }, err);
	*tls = t->tls;
	return t->tls;
}

void cli_tls_close(struct cli_tls *t)
{
	ss_tls_free(t->tls);
	free(t->token);
}

bool cli_token_for(const char *bind, char made[CLI_TOKEN_BYTES], const char **token, struct ss_err *err)
{
	unsigned char bytes[(CLI_TOKEN_BYTES - 1) / 2];
	if (*token || !bind || ss_net_is_local(bind))
		return true;
	if (!ss_random_bytes(bytes, sizeof(bytes)))
		return ss_fail(err, SS_EIO, "cannot make a token: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(made + 2 * i, 3, "%02x", bytes[i]);
	*token = made;
	return true;
}
