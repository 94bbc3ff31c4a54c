/* terminal.c - writing to stdout or a file, and to a terminal on the other end. */
#include "cli.h"
#include "model/host/host.h"

#include "base/write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool put(void *arg, const char *p, size_t n)
{
	struct cli_sink *s = arg;
	bool ok = ss_write_all(s->fd, p, n);
	s->error = ok ? s->error : errno;
	return ok;
}

#define NAME_BYTES 200	/* of the file that is meant, in the name of the one beside it */

/*
 * A draft of the file that is meant, with its rights. False where none can be made there, and errno
 * says why; a link stays a link: what it leads to is meant.
 */
static bool open_draft(struct cli_sink *s, const char *path)
{
	struct stat st;
	char hidden[PATH_MAX];
	mode_t mask = umask(0);
	umask(mask);
	bool old = stat(path, &st) == 0;
	s->target = old ? realpath(path, NULL) : strdup(path);
	errno = EPERM;
	if (!s->target || (old && !S_ISREG(st.st_mode)))
		return false;
	const char *slash = strrchr(s->target, '/');
	int folder = slash ? (int)(slash - s->target) + 1 : 0;
	errno = ENAMETOOLONG;
	if (snprintf(hidden, sizeof(hidden), "%.*s.%.*s.part-", folder, s->target, NAME_BYTES, s->target + folder) >= PATH_MAX)
		return false;
	bool ok = ss_draft_open(&s->draft, hidden, old ? st.st_mode & 07777 : 0666 & ~mask);
	s->fd = s->draft.fd;
	return ok;
}

bool cli_sink_open(struct cli_sink *s, const char *path, struct ss_err *err)
{
	*s = (struct cli_sink){ .fd = STDOUT_FILENO, .path = path, .draft.fd = -1 };
	ss_out_init(&s->out, put, s);
	if (!path || open_draft(s, path))
		return true;
	/*
	 * A device or a pipe, or a folder that nothing may be added to. On a full disk the old file
	 * would be lost.
	 */
	bool may = errno == EPERM || errno == EACCES || errno == EROFS;
	s->fd = may ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
	if (s->fd >= 0)
		return true;
	free(s->target);
	s->target = NULL;
	return ss_fail(err, SS_EIO, "cannot write '%s': %s", path, strerror(errno));
}

const char *cli_sink_name(struct cli_sink *s)
{
	if (s->draft.fd < 0)
		return s->path;
	bool ok = ss_draft_hide(&s->draft);
	s->error = ok ? s->error : errno;
	s->fd = s->draft.fd;
	return ok ? s->draft.path : NULL;
}

/* The draft becomes the file when all of it is on the disk; else the old file stays as it was. */
static bool close_file(struct cli_sink *s, bool whole)
{
	if (s->draft.fd >= 0 && whole)
		return ss_draft_keep(&s->draft, s->target, true);
	if (s->draft.fd < 0)
		return close(s->fd) == 0;
	ss_draft_drop(&s->draft);
	return true;
}

bool cli_sink_close(struct cli_sink *s, bool ok, struct ss_err *err)
{
	struct ss_err why = { 0 };
	bool written = ss_out_finish(&s->out, &why) && !s->error;
	ss_out_free(&s->out);
	if (s->path && !close_file(s, ok && written) && written) {
		s->error = errno;
		written = false;
	}
	if (!written && s->error)
		ss_fail(err, SS_EIO, "cannot write %s%s%s: %s", s->path ? "'" : "to stdout",
			s->path ? s->path : "", s->path ? "'" : "", strerror(s->error));
	else if (!written)
		ss_fail(err, why.code, "%s", why.text);
	free(s->target);
	s->target = NULL;
	return ok && written;
}

struct ss_text_style cli_style(const char *colour)
{
	struct ss_text_style style = { 0 };
	struct winsize w;
	bool tty = isatty(STDOUT_FILENO);
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");
	style.colour = tty && term && strcmp(term, "dumb") != 0 && !(no && no[0]);
	if (colour && strcmp(colour, "always") == 0)
		style.colour = true;
	if (colour && strcmp(colour, "never") == 0)
		style.colour = false;
	if (tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0)
		style.width = w.ws_col;
	return style;
}

void cli_heading(struct ss_out *o, const struct ss_text_style *style, const char *text)
{
	ss_out_char(o, '\n');
	ss_text_tone(o, style, SS_TONE_HEAD);
	ss_out_z(o, text);
	ss_text_tone(o, style, SS_TONE_PLAIN);
	ss_out_char(o, '\n');
}

/* A thread that wakes up ten times a second; the first second or so passes in silence. */
struct cli_progress {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t end;
	bool ended, shown;
	double gigabytes;
	size_t nhosts;
};

static void *show(void *arg)
{
	struct cli_progress *p = arg;
	struct timespec begin, at;
	static const char wheel[] = "|/-\\";
	clock_gettime(CLOCK_REALTIME, &begin);
	pthread_mutex_lock(&p->lock);
	for (unsigned tick = 0; !p->ended; tick++) {
		clock_gettime(CLOCK_REALTIME, &at);
		double passed_s =
			(double)(at.tv_sec - begin.tv_sec) + (double)(at.tv_nsec - begin.tv_nsec) * 1e-9;
		if (passed_s > 0.7) {
			fprintf(stderr, "\r\x1b[K%c reading %.2f GB of %zu host%s, %.0f s", wheel[tick % 4],
				p->gigabytes, p->nhosts, p->nhosts == 1 ? "" : "s", passed_s);
			fflush(stderr);
			p->shown = true;
		}
		at.tv_nsec += 100000000;
		at.tv_sec += at.tv_nsec / 1000000000;
		at.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&p->end, &p->lock, &at);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

struct cli_progress *cli_progress_start(const struct cli_profile *profile)
{
	struct cli_progress *p = isatty(STDERR_FILENO) ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return NULL;
	p->nhosts = profile->model.nhosts;
	for (size_t i = 0; i < p->nhosts; i++)
		p->gigabytes += (double)profile->model.hosts[i]->source.file_bytes * 1e-9;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->end, NULL);
	if (pthread_create(&p->thread, NULL, show, p) == 0)
		return p;
	pthread_cond_destroy(&p->end);
	pthread_mutex_destroy(&p->lock);
	free(p);
	return NULL;
}

void cli_progress_end(struct cli_progress *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->ended = true;
	pthread_cond_signal(&p->end);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	if (p->shown)
		fputs("\r\x1b[K", stderr);
	pthread_cond_destroy(&p->end);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
