/* run.c - running a subcommand: arguments, session, answer, errors. */
#include "model/host/host.h"
#include "xprof/cli/args.h"

#include "base/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Longer answers go to a file. */
#define MOST_BYTES 10485760

static const char *const reasons[] = { "", "INTERNAL_ERROR", "USAGE_ERROR", "PATH_ERROR",
				       "INVALID_VALUE" };

const struct xcli_command xcli_commands[] = {
#define COMMAND(word, fn, how, what, ...) \
	{ .name = #word, .run = fn, .combine = how, .flags = what, .params = { __VA_ARGS__ } },
#define P(name, preset) { name, preset },
#include "xprof/cli/commands.def"
#undef P
#undef COMMAND
	{ .name = NULL },
};

static void close_all(struct xcli *x)
{
	xcli_answers_free(x);
	ss_model_release(&x->model);
	for (size_t i = 0; i < x->nhosts; i++)
		ss_host_close(&x->hosts[i]);
	free(x->hosts);
	ss_store_free(&x->store);
	struct ss_str total = ss_location_total(&x->place, &x->arena);
	if (total.n)
		fprintf(stderr, "stepscope: " SS_FMT "\n", SS_ARG(total));
	ss_location_close(&x->place);
}

static const char *combination(const struct xcli *x)
{
	switch (x->cmd->combine) {
	case XCLI_MERGED:
		return "Times and counts are totals over %zu traces. Name one file, or a host with "
		       "--host, for one host's.";
	case XCLI_SUMMED:
		return "Counts and durations are sums over %zu traces. Name one file, or a host "
		       "with --host, for one host's.";
	case XCLI_LISTED:
		return "Events of %zu traces are listed together. Name one file, or a host with "
		       "--host, for one host's.";
	case XCLI_APART:
		break;
	}
	return NULL;
}

/* Which traces the answer is of. */
static struct xv *capture_of(struct xcli *x)
{
	struct xv *c = xv_object(&x->make);
	xv_str(c, "input", x->input);
	xv_str(c, "run", x->run);
	struct xv *used = xv_add_array(c, "files_used"),
		  *available = xv_add_array(c, "files_available");
	for (size_t i = 0; i < x->ntraces; i++)
		xv_str(used, NULL, x->traces[i].stem);
	for (size_t i = 0; i < x->navailable; i++)
		xv_str(available, NULL, x->available[i].stem);
	xv_bool(c, "combined", x->ntraces > 1);
	xv_put(c, "warnings", x->warnings);
	if (x->ntraces > 1 && combination(x)) {
		struct ss_str text = ss_arena_printf(&x->arena, combination(x), x->ntraces);
		xv_str(x->warnings, NULL, text);
	}
	if (x->ntraces > 1 && x->cmd->flags & XCLI_STEP_TIMES) {
		xv_z(c, "step_time_scope", "per_step_max_across_hosts");
		xv_z(x->warnings, NULL,
		     "The step time of each step is that of the slowest core of all hosts. "
		     "per_host_step_time_ms has "
		     "each host's own.");
	}
	return c;
}

/* An object with the capture before its members. */
static struct xv *with_capture(struct xcli *x, struct xv *answer, struct xv *capture)
{
	struct xv *o = xv_object(&x->make);
	xv_put(o, "capture", capture);
	for (size_t i = 0; i < answer->m.n; i++)
		xv_put_key(o, answer->m.v[i].key, answer->m.v[i].value);
	return o;
}

static bool run_command(struct xcli *x, struct xv **out)
{
	bool ok = xcli_args_check(x);
	if (ok && !(x->cmd->flags & XCLI_NO_SESSION))
		ok = xcli_session_find(x) && (!x->strict || xcli_whole(x));
	ok = ok && x->cmd->run(x, out);
	if (ok && (x->make.no_memory || !*out))
		ok = xcli_no_memory(x);
	return ok;
}

static void close_everything(struct xcli *x)
{
	for (struct xcli *o = x->others, *next; o; o = next) {
		next = o->next;
		close_all(o);
		ss_arena_release(&o->arena);
		free(o);
	}
	close_all(x);
	ss_arena_release(&x->arena);
}

/* An answer that is too long for a terminal: in a file, and where. */
static bool spill(struct xcli *x, struct ss_str text, struct xv *capture)
{
	bool json = text.p[0] == '{' || text.p[0] == '[';
	struct ss_str path = xcli_file(x, "stepscope_xprof", json ? ".json" : ".txt", text);
	struct xv *o = xv_object(&x->make);
	struct ss_out out;
	if (!path.p)
		return false;
	xv_z(o, "status", "SAVED_TO_FILE");
	xv_u64(o, "size_bytes", text.n);
	xv_rounded(o, "size_mib", (double)text.n / 1048576, 2);
	xv_str(o, "file_path", path);
	xv_z(o, "message", "The answer is longer than 10 MiB, so it was written to the file.");
	xv_put(o, "capture", capture);
	ss_out_init(&out, NULL, NULL);
	xv_print(&out, o, true);
	ss_out_char(&out, '\n');
	bool ok = !out.no_memory && !x->make.no_memory && ss_write_all(1, out.buf, out.n);
	ss_out_free(&out);
	return ok || xcli_no_memory(x);
}

static bool print_answer(struct xcli *x, struct xv *answer)
{
	struct ss_out o;
	struct xv *capture = x->cmd->flags & XCLI_NO_SESSION ? NULL : capture_of(x);
	bool object = answer->kind == XV_OBJECT, ok = true;
	if (object && capture)
		answer = with_capture(x, answer, capture);
	ss_out_init(&o, NULL, NULL);
	if (!object && capture) {
		ss_out_lit(&o, "xprof-capture: ");
		xv_print(&o, capture, false);
		ss_out_char(&o, '\n');
		ok = !o.no_memory && ss_write_all(2, o.buf, o.n);
		o.n = 0;
	}
	if (answer->kind == XV_STR)
		ss_out_str(&o, answer->s);
	else
		xv_print(&o, answer, true);
	if (o.no_memory || x->make.no_memory)
		ok = xcli_no_memory(x);
	else if (o.n > MOST_BYTES)
		ok = spill(x, (struct ss_str){ o.buf, o.n }, capture);
	else {
		ss_out_char(&o, '\n');
		ok = ss_write_all(1, o.buf, o.n) ||
		     xcli_fail(x, XCLI_INTERNAL, "Cannot write the answer: %s", strerror(errno));
	}
	ss_out_free(&o);
	return ok;
}

static void print_error(struct xcli *x)
{
	struct xv *o = xv_object(&x->make);
	struct ss_out out;
	xv_z(o, "status", "ERROR");
	xv_z(o, "reason", reasons[x->status]);
	xv_str(o, "error", x->error);
	ss_out_init(&out, NULL, NULL);
	xv_print(&out, o, true);
	ss_out_char(&out, '\n');
	(void)ss_write_all(1, out.buf, out.n);
	ss_out_free(&out);
	fprintf(stderr, "%s: " SS_FMT "\n", reasons[x->status], SS_ARG(x->error));
}

int xcli_main(int argc, char **argv)
{
	struct xcli x = { .commands = xcli_commands, .cmd = xcli_find(xcli_commands, argv[0]), .name = argv[0] };
	struct xv *answer = NULL;
	x.make.arena = &x.arena;
	if (xcli_args_take(&x, argc, argv) && run_command(&x, &answer))
		print_answer(&x, answer);
	if (x.status)
		print_error(&x);
	enum xcli_status status = x.status;
	close_everything(&x);
	return (int)status;
}
