/* serve.c - stepscope serve DIR: the page and the routes, until a signal. */
#include "capture_words.h"

#include "base/sandbox.h"
#include "base/heap.h"
#include "base/system.h"
#include "location/tree.h"
#include "rpc/net.h"
#include "serve/server.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern const struct cli_command cli_command_serve;

#define SWEEP_MS 30000
#define NO_PORT UINT64_MAX

/* Wait for a signal that ends us, sweeping now and then. */
static void wait_for_end(struct ss_server *s, const sigset_t *ends)
{
	while (!ss_signal_wait(ends, SWEEP_MS))
		ss_server_sweep(s);
}

/* Whoever started this program holds the other end of standard input, and it closes when that program ends, however it does. */
static void *end_at_eof(void *arg)
{
	char piece[256];
	ssize_t n;
	while ((n = read(STDIN_FILENO, piece, sizeof(piece))) > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)))
		if (n < 0 && errno == EAGAIN)
			poll(&(struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN }, 1, -1);
	kill(getpid(), SIGTERM);
	return arg;
}

static bool watch_input(struct ss_err *err)
{
	pthread_t thread;
	int error = ss_thread_start(&thread, end_at_eof, NULL);
	if (!error)
		pthread_detach(thread);
	return !error || ss_fail(err, SS_EIO, "cannot wait for the end of standard input: %s", strerror(error));
}

/* `made`: the token that was made for this once, or NULL. One that was given is not printed. */
static void say_where(const struct ss_server *s, const struct ss_server_config *config, const char *made)
{
	const char *bind = config->bind ? config->bind : "127.0.0.1";
	bool any = strcmp(bind, "0.0.0.0") == 0 || strcmp(bind, "::") == 0, v6 = strchr(bind, ':');
	char host[256];
	if (any && gethostname(host, sizeof(host)) == 0)
		host[sizeof(host) - 1] = '\0';
	else
		snprintf(host, sizeof(host), v6 ? "[%s]" : "%s", bind);
	if (ss_server_nruns(s))
		cli_tell("%llu run%s in %s", (unsigned long long)ss_server_nruns(s),
			ss_server_nruns(s) == 1 ? "" : "s", config->logdir);
	else
		cli_tell("%s; runs will appear when they are written",
			 ss_server_why_empty(s) ? ss_server_why_empty(s) : "no profile yet");
	if (ss_server_grpc_port(s))
		fprintf(stderr, "stepscope: gRPC on %s:%u\n", host, ss_server_grpc_port(s));
	fprintf(stderr, "stepscope: serving on %s://%s:%u/%s%s (Ctrl-C ends)\n", config->tls_key ? "https" : "http", host,
		ss_server_port(s), made ? "?token=" : "", made ? made : "");
	if (made)
		fprintf(stderr, "stepscope: other machines can reach this address, so requests need this token. "
				"--token-file sets a fixed token; --no-token turns the check off\n");
}

/* With --strict: the profiles that are there now. */
static bool are_whole(const struct ss_location *place, struct ss_err *err)
{
	struct ss_store store = { 0 };
	bool ok = ss_location_scan(place, &store, err) && cli_runs_whole(&store, err);
	ss_store_free(&store);
	return ok;
}

/* The place is open: as long as threads run it must be. */
static int serve_place(const struct ss_server_config *config, const char *made, bool until_eof)
{
	sigset_t ends;
	struct ss_err err = { 0 };
	/* Blocked before there are threads, so that all inherit it and the signal comes here. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	ss_heap_for_server();
	/*
	 * Before there are threads: what is given up here no thread gets back. Loopback addresses
	 * need no name service.
	 */
	ss_sandbox_enter(config->allow_capture,
			 config->allow_capture || !ss_net_is_local(config->bind ? config->bind : "127.0.0.1"),
			 ss_location_scratch(config->place));
	struct ss_server *s = !until_eof || watch_input(&err) ? ss_server_start(config, &err) : NULL;
	if (!s)
		return cli_fail(&err);
	say_where(s, config, made);
	wait_for_end(s, &ends);
	/* Nothing is ever half written, so requests in work can be left behind. */
	if (!ss_server_stop(s))
		_exit(CLI_DONE);
	return CLI_DONE;
}

static void tell(struct ss_str text)
{
	cli_say(NULL, text);
}

/*
 * A PATH that is not a directory or file of this machine is fetched or unpacked first, because the
 * server itself may do neither. For buckets it has a process that may.
 */
static int serve(struct ss_server_config *config, const char *made, bool until_eof)
{
	struct ss_location place;
	struct ss_err err = { 0 };
	config->place = &place;
	bool ok = cli_location_open(&place, config->logdir, &err) && (!cli_strict || are_whole(&place, &err)) &&
		  (!place.tree || ss_tree_leave_to_fetcher(place.tree, ss_fetcher_run, tell, &err));
	config->logdir = ok ? place.named : config->logdir;
	int status = ok ? serve_place(config, made, until_eof) : cli_fail(&err);
	cli_location_close(&place);
	return status;
}

static int run(int argc, char **argv)
{
	struct ss_server_config config = { .bind = NULL };
	uint64_t port = 6006, grpc_port = NO_PORT, memory_mb = 0;
	struct cli_tls token = { 0 }, grpc_token = { 0 };
	bool until_eof = false;
	const struct cli_opt opts[] = {
		CLI_TEXT("logdir", 'l', &config.logdir),
		CLI_NUMBER("port", 'p', 65535, &port),
		CLI_TEXT("bind", 'b', &config.bind),
		CLI_NUMBER("memory-mb", 0, (uint64_t)1 << 40, &memory_mb),
		CLI_TEXT("allow-host", 0, &config.allow_host),
		CLI_TEXT("src-prefix", 0, &config.src_prefix),
		CLI_TEXT("history", 0, &config.history),
		CLI_FLAG("allow-capture", 0, &config.allow_capture),
		CLI_FLAG("allow-capture-get", 0, &config.capture_by_get),
		CLI_NUMBER("grpc", 0, 65535, &grpc_port),
		CLI_TEXT("grpc-token-file", 0, &grpc_token.token_file),
		CLI_TEXT("token-file", 0, &token.token_file),
		CLI_FLAG("no-token", 0, &config.open),
		CLI_TEXT("tls-cert", 0, &config.tls_cert),
		CLI_TEXT("tls-key", 0, &config.tls_key),
		CLI_FLAG("until-eof", 0, &until_eof),
		CLI_STRICT,
	};
	int status = cli_parse(&cli_command_serve, argc, argv, opts, SS_COUNT(opts), 0, 1);
	if (status >= 0)
		return status;
	if (optind < argc && config.logdir)
		return cli_misuse(&cli_command_serve, "the log directory is given twice: '%s' and '%s'",
				  config.logdir, argv[optind]);
	if (optind < argc)
		config.logdir = argv[optind];
	if (!config.logdir)
		return cli_misuse(&cli_command_serve, "no log directory given");
	if (until_eof && strcmp(config.logdir, "-") == 0)
		return cli_misuse(&cli_command_serve, "--until-eof and '-' both read standard input");
	config.port = (uint16_t)port;
	config.grpc = grpc_port != NO_PORT;
	config.grpc_port = config.grpc ? (uint16_t)grpc_port : 0;
	config.memory_bytes = memory_mb << 20;
	const struct ss_tls *no_tls;
	char made[CLI_TOKEN_BYTES] = "";
	struct ss_err err = { 0 };
	if (config.open && token.token_file)
		return cli_misuse(&cli_command_serve, "--token-file and --no-token contradict each other");
	bool ok = cli_tls_open(&token, &no_tls, &config.token, &err) &&
		  cli_tls_open(&grpc_token, &no_tls, &config.grpc_token, &err) &&
		  (config.open || cli_token_for(config.bind, made, &config.token, &err));
	if (!config.grpc_token)
		config.grpc_token = config.token;
	status = ok ? serve(&config, made[0] ? made : NULL, until_eof) : cli_fail(&err);
	cli_tls_close(&token);
	cli_tls_close(&grpc_token);
	return status;
}

const struct cli_command cli_command_serve = {
	.name = "serve",
	.args = "[--logdir] DIR [--port N] [--bind ADDRESS]",
	.summary = "show profiles in a browser",
	.help = "Serves the page, and the routes of XProf below /data/plugin/profile, for all runs below DIR. New runs\n"
		"appear automatically. Nothing is written to DIR without --allow-capture.\n"
		"\n  -l, --logdir DIR      a log directory, a run, one file, an archive of them, or - for standard input\n"
		"  -p, --port N          port to listen on (default: 6006); 0: a free port\n"
		"  -b, --bind ADDRESS    address to listen on (default: 127.0.0.1, this machine only). Any other\n"
		"                        address requires a token, which is generated and printed\n"
		"      --token-file F    require the token in file F, on any address\n"
		"      --no-token        require no token on an address that other machines reach\n"
		"      --tls-cert F      certificate chain in PEM; turns on TLS, for gRPC too\n"
		"      --tls-key F       key of the certificate\n"
		"      --memory-mb N     memory for opened profiles (default: half of the machine's)\n"
		"      --allow-host NAME further host name that a proxy on this machine sends; '*': any, if no\n"
		"                        browser runs on this machine. With a token any name is accepted\n"
		"      --strict          do not start if anything of a profile is missing\n"
		"      --until-eof       end when standard input ends, for example because the program at its other end has ended\n"
		"      --history FILE    show this history of runs, too ('stepscope track' makes it)\n"
		"      --src-prefix P    path prefix of source files, for XProf's page\n"
		"      --allow-capture   let the page capture profiles of running programs into DIR\n"
		"      --allow-capture-get  with --allow-capture: also accept GET requests from other clients\n"
		"      --grpc N          also serve gRPC (service ProfileAnalysis) at port N; 0: a free port\n"
		"      --grpc-token-file F  require the token in file F for gRPC instead\n"
		"\nFrom another machine:  ssh -L 6006:localhost:6006 HOST stepscope serve DIR\n",
	.run = run,
};
