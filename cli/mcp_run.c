/* mcp_run.c - running a call's command in a child, and a page of what it prints. */
#include "mcp.h"

#include "cli.h"
#include "mcp_input.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HEAD_BYTES 65536u  /* of what the child says of the profile */
#define SAID_BYTES 8192u   /* of its warnings and errors */
#define MOST_HOSTS 64u	   /* that are named */

static uint64_t mix_bytes(uint64_t h, const void *p, size_t n)
{
	const unsigned char *c = p;
	for (size_t i = 0; i < n; i++)
		h = (h ^ c[i]) * 0x100000001b3u;
	return h;
}

/* ---- in the child ---- */

/* Identify the files of the answer: a number for cursors, and a text for people. */
static void say_profile(const struct mcp_call *c)
{
	struct cli_profile p = { 0 };
	struct ss_err err = { 0 };
	struct ss_buf b = { 0 };
	uint64_t h = 0xcbf29ce484222325u;
	if (c->profile && strcmp(c->tool->name, "runs") != 0 && cli_profile_find(&p, c->profile, c->run, &err)) {
		ss_buf_lit(&b, ",\"run\":");
		ss_buf_json_str(&b, p.run->name);
		ss_buf_lit(&b, ",\"hosts\":[");
		for (size_t i = 0; i < p.run->nhosts; i++) {
			const struct ss_host_file *f = &p.run->hosts[i];
			h = mix_bytes(mix_bytes(mix_bytes(h, f->path.p, f->path.n), &f->bytes, sizeof(f->bytes)), &f->mtime_ns,
				      sizeof(f->mtime_ns));
			if (i < MOST_HOSTS) {
				ss_buf_z(&b, i ? "," : "");
				ss_buf_json_str(&b, f->name);
			}
		}
		ss_buf_printf(&b, "],\"host_count\":%zu", p.run->nhosts);
	}
	printf("%016llx" SS_FMT "\n", (unsigned long long)h, SS_ARG(ss_buf_get(&b)));
	fflush(stdout);
	ss_buf_free(&b);
	cli_profile_close(&p);
}

static void be_child(struct mcp_call *c, int out, int err)
{
	int null = open("/dev/null", O_RDONLY);
	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(CLI_FAILED);
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	signal(SIGPIPE, SIG_DFL);
	say_profile(c);
	cli_for_agent = true;
	optind = 0;
	int status = cli_command_find(c->argv[0])->run((int)c->argc, c->argv);
	fflush(stdout);
	_exit(status);
}

/* ---- the page ---- */

struct page {
	struct ss_buf head, text, said;
	bool in_text, more, late, cancelled;
	uint64_t skip, most;
	uint64_t before; /* a number of what was skipped */
};

static void take_text(struct page *p, const char *v, size_t n)
{
	size_t skipped = p->skip < n ? (size_t)p->skip : n;
	p->skip -= skipped;
	p->before = mix_bytes(p->before, v, skipped);
	v += skipped;
	n -= skipped;
	size_t room = (size_t)p->most - p->text.n;
	p->more = p->more || n > room;
	ss_buf_str(&p->text, (struct ss_str){ v, n > room ? room : n });
}

static void take_out(struct page *p, const char *v, size_t n)
{
	if (p->in_text) {
		take_text(p, v, n);
		return;
	}
	const char *end = memchr(v, '\n', n);
	size_t k = end ? (size_t)(end - v) : n;
	if (p->head.n + k <= HEAD_BYTES)
		ss_buf_str(&p->head, (struct ss_str){ v, k });
	p->in_text = end;
	if (end)
		take_text(p, end + 1, n - k - 1);
}

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Until the child has said all, or the page is full, or time is up, or the client says that it does not wait any more. */
static void read_child(struct page *p, const struct mcp_call *c, int out, int err)
{
	struct pollfd fds[3] = { { .fd = out, .events = POLLIN }, { .fd = err, .events = POLLIN }, { .events = POLLIN } };
	int64_t end_ms = now_ms() + (int64_t)c->timeout_ms;
	char buf[16384];
	while (!p->more && (fds[0].fd >= 0 || fds[1].fd >= 0)) {
		int64_t left_ms = end_ms - now_ms();
		fds[2].fd = mcp_input_waits(c->in) ? STDIN_FILENO : -1;
		int ready = left_ms > 0 ? poll(fds, 3, (int)left_ms) : 0;
		if (ready < 0 && errno == EINTR)
			continue;
		p->late = ready <= 0;
		if (p->late)
			return;
		if (fds[2].revents)
			mcp_input_read(c->in);
		p->cancelled = fds[2].revents && c->is_cancelled(c->in, c->id);
		if (p->cancelled)
			return;
		for (int i = 0; i < 2; i++) {
			ssize_t n = fds[i].revents ? read(fds[i].fd, buf, sizeof(buf)) : 1;
			if (n <= 0)
				fds[i].fd = -1;
			else if (fds[i].revents && i == 0)
				take_out(p, buf, (size_t)n);
			else if (fds[i].revents && p->said.n + (size_t)n <= SAID_BYTES)
				ss_buf_str(&p->said, (struct ss_str){ buf, (size_t)n });
		}
	}
}

/* A page ends with a line, or at least with a letter. */
static void cut_page(struct page *p)
{
	size_t n = p->text.n;
	if (!p->more)
		return;
	size_t line = ss_str_rchr(ss_buf_get(&p->text), '\n');
	if (line != SS_NPOS && line > n / 4)
		n = line + 1;
	else
		while (n && ((unsigned char)p->text.p[n - 1] & 0xc0) == 0x80)
			n--;
	if (n == p->text.n && n && (unsigned char)p->text.p[n - 1] >= 0xc0)
		n--;
	p->text.n = n ? n : p->text.n;
}

/* ---- the result ---- */

static void put_text(struct ss_buf *b, struct ss_str text)
{
	ss_buf_lit(b, "{\"type\":\"text\",\"text\":");
	ss_buf_json_str(b, text);
	ss_buf_char(b, '}');
}

void mcp_put_failure(struct ss_buf *b, struct ss_str text)
{
	ss_buf_lit(b, "{\"content\":[");
	put_text(b, text);
	ss_buf_lit(b, "],\"isError\":true}");
}

/* Quote a word for a shell. */
static void put_command(struct ss_buf *b, const struct mcp_call *c)
{
	ss_buf_lit(b, "stepscope");
	for (size_t i = 0; i < c->argc; i++) {
		const char *w = c->argv[i];
		ss_buf_char(b, ' ');
		if (*w && strspn(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,") == strlen(w)) {
			ss_buf_z(b, w);
			continue;
		}
		ss_buf_char(b, '\'');
		for (; *w; w++)
			if (*w == '\'')
				ss_buf_lit(b, "'\\''");
			else
				ss_buf_char(b, *w);
		ss_buf_char(b, '\'');
	}
}

/* A digest of the query and of the answer up to this point: it shows that pages fit together; else the cursor is refused. */
static uint64_t cursor_hash(uint64_t query, uint64_t before, uint64_t at)
{
	return mix_bytes(mix_bytes(query, &before, sizeof(before)), &at, sizeof(at));
}

/* The source of an answer: all data to repeat it. */
static void put_origin(struct ss_buf *b, const struct mcp_call *c, const struct page *p, uint64_t hash)
{
	struct ss_buf command = { 0 };
	uint64_t next_byte = c->cursor_byte + p->text.n;
	uint64_t next = cursor_hash(hash, mix_bytes(p->before, p->text.p, p->text.n), next_byte);
	put_command(&command, c);
	ss_buf_lit(b, "{\"profile\":");
	ss_buf_json_str(b, ss_str_from(c->profile ? c->profile : ""));
	if (p->head.n > 16)
		ss_buf_str(b, ss_str_sub(ss_buf_get(&p->head), 16, p->head.n));
	if (c->host) {
		ss_buf_lit(b, ",\"host\":");
		ss_buf_json_str(b, ss_str_from(c->host));
	}
	ss_buf_lit(b, ",\"window\":");
	if (c->start || c->end)
		ss_buf_printf(b, "{\"start_ps\":%s,\"end_ps\":%s}", c->start ? c->start : "null", c->end ? c->end : "null");
	else
		ss_buf_lit(b, "\"the whole recording\"");
	ss_buf_lit(b, ",\"command\":");
	ss_buf_json_str(b, ss_buf_get(&command));
	ss_buf_printf(b, ",\"first_byte\":%llu,\"truncated\":%s", (unsigned long long)c->cursor_byte, p->more ? "true" : "false");
	if (p->more)
		ss_buf_printf(b, ",\"next_cursor\":\"%016llx-%llu\"", (unsigned long long)next,
			      (unsigned long long)next_byte);
	ss_buf_char(b, '}');
	ss_buf_free(&command);
}

static void put_result(struct ss_buf *b, const struct mcp_call *c, struct page *p, int status)
{
	struct ss_buf origin = { 0 };
	uint64_t hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < c->argc; i++)
		hash = mix_bytes(hash, c->argv[i], strlen(c->argv[i]) + 1);
	hash = mix_bytes(hash, p->head.n ? p->head.p : "", p->head.n);
	if (c->has_cursor && cursor_hash(hash, p->before, c->cursor_byte) != c->cursor_hash) {
		mcp_put_failure(b, SS_STR("The cursor is not valid for this query, or the profile has changed since: repeat "
		    "the request without a cursor."));
		return;
	}
	put_origin(&origin, c, p, hash);
	ss_buf_lit(b, "{\"content\":[");
	/* A failure begins with its sentence: some clients show the first text alone. */
	bool answered = p->text.n || status == 0 || !p->said.n;
	if (answered)
		put_text(b, ss_buf_get(&p->text));
	if (p->said.n) {
		if (answered)
			ss_buf_char(b, ',');
		put_text(b, ss_buf_get(&p->said));
	}
	ss_buf_char(b, ',');
	put_text(b, ss_buf_get(&origin));
	ss_buf_lit(b, "],\"structuredContent\":");
	ss_buf_str(b, ss_buf_get(&origin));
	ss_buf_printf(b, ",\"isError\":%s}", status != 0 ? "true" : "false");
	b->no_memory = b->no_memory || origin.no_memory;
	ss_buf_free(&origin);
}

static void end_child(struct mcp_call *c, struct page *p, pid_t pid, struct ss_buf *b)
{
	int status = 0;
	if (p->more || p->late || p->cancelled)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (p->cancelled)
		return;
	if (p->late) {
		struct ss_str why = ss_arena_printf(&c->arena, "The answer took more than %llu s and was stopped: request less.",
						    (unsigned long long)(c->timeout_ms / 1000));
		mcp_put_failure(b, why);
		return;
	}
	cut_page(p);
	put_result(b, c, p, p->more ? 0 : WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

bool mcp_call_run(struct mcp_call *c, struct ss_buf *b)
{
	struct page p = { .skip = c->cursor_byte, .most = c->max_bytes };
	int out[2] = { -1, -1 }, err[2] = { -1, -1 };
	bool piped = pipe(out) == 0 && pipe(err) == 0;
	pid_t pid = piped ? fork() : -1;
	if (pid == 0)
		be_child(c, out[1], err[1]);
	for (int i = 0; i < 2; i++)
		if ((i ? err : out)[1] >= 0)
			close((i ? err : out)[1]);
	if (pid > 0) {
		read_child(&p, c, out[0], err[0]);
		end_child(c, &p, pid, b);
	} else {
		struct ss_str why = ss_arena_printf(&c->arena, "The command cannot be started: %s", strerror(errno));
		mcp_put_failure(b, why);
	}
	for (int i = 0; i < 2; i++)
		if ((i ? err : out)[0] >= 0)
			close((i ? err : out)[0]);
	ss_buf_free(&p.head);
	ss_buf_free(&p.text);
	ss_buf_free(&p.said);
	return !p.cancelled;
}
