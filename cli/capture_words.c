/* capture_words.c - interrupts, TLS and tokens of the commands that talk to running programs. */
#include "capture_words.h"

#include "rpc/tls.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

int cli_interrupt_open(struct ss_err *err)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	/* Before there are threads, so that all inherit it. */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	/* A peer that goes away is said in words. */
	signal(SIGPIPE, SIG_IGN);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		ss_fail(err, SS_EIO, "cannot wait for signals: %s", strerror(errno));
	return fd;
}

void cli_interrupt_close(int fd)
{
	struct signalfd_siginfo info;
	sigset_t set;
	/* What was taken as a wish to stop must not end us now. */
	while (read(fd, &info, sizeof(info)) == sizeof(info))
		;
	close(fd);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
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
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return ss_fail(err, SS_EIO, "cannot make a token: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(made + 2 * i, 3, "%02x", bytes[i]);
	*token = made;
	return true;
}
