/*
 * dashboard.c - figures of several hosts, shown in three ways.
 *
 * The page is a table with a drawing for each host, made here and fetched anew by the browser; it
 * has no script.
 */
#include "dashboard.h"

#include "base/html.h"
#include "rpc/http.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The figures of a host: in a table, with a unit of the eye; for Prometheus in units of its own. */
static const struct column {
	const char *title, *unit;
	size_t at;		/* a double in struct cli_metrics */
	const char *metric, *help;
	double scale;
} columns[] = {
#define COLUMN(title, unit, field, metric, help, scale) { title, unit, offsetof(struct cli_metrics, field), metric, help, scale }
	COLUMN("step", " ms", step_ms_mean, "step_seconds", "Mean step time of the last sample.", 1e-3),
	COLUMN("shortest", " ms", step_ms_min, "step_shortest_seconds", "Shortest step of the last sample.", 1e-3),
	COLUMN("longest", " ms", step_ms_max, "step_longest_seconds", "Longest step of the last sample.", 1e-3),
	COLUMN("idle", "%", idle_percent, "device_idle_ratio", "Share of time during which the device was idle.", 1e-2),
	COLUMN("MXU", "%", mxu_percent, "matrix_unit_utilization_ratio", "Utilization of the TPU matrix units.", 1e-2),
	COLUMN("input", "%", infeed_percent_mean, "infeed_ratio", "Share of the step time spent waiting for input.", 1e-2),
#undef COLUMN
};

static double value_of(const struct cli_dashboard_host *h, const struct column *c)
{
	double v;
	memcpy(&v, (const char *)&h->sample.metrics + c->at, sizeof(v));
	return v;
}

/* The text of a cell. */
static void print_value(char out[32], const struct cli_dashboard_host *h, const struct column *c)
{
	double v = value_of(h, c);
	if (isnan(v))
		snprintf(out, 32, "-");
	else
		snprintf(out, 32, "%.4g%s", v, c->unit);
}

/* The middle of those that are numbers; at least `least` of them, else NAN. */
static double median(const double *v, size_t n, size_t min)
{
	double sorted[CLI_DASHBOARD_HOSTS];
	size_t k = 0;
	for (size_t i = 0; i < n && k < CLI_DASHBOARD_HOSTS; i++)
		if (!isnan(v[i]))
			sorted[k++] = v[i];
	if (k < min || !k)
		return NAN;
	qsort(sorted, k, sizeof(*sorted), ss_cmp_double);
	return sorted[(k - 1) / 2];
}

double cli_dashboard_usual_ms(const struct cli_dashboard *b, size_t host)
{
	return host < b->nhosts ? median(b->hosts[host].step_ms, b->hosts[host].nsteps, 3) : NAN;
}

bool cli_dashboard_any(const struct cli_dashboard *b)
{
	for (size_t i = 0; i < b->nhosts; i++)
		if (b->hosts[i].nsteps > b->hosts[i].failures)
			return true;
	return false;
}

void cli_dashboard_add(struct cli_dashboard *b, const struct cli_sample *samples, size_t n, const char *verdict)
{
	pthread_mutex_lock(&b->lock);
	b->samples++;
	snprintf(b->verdict, sizeof(b->verdict), "%s", verdict);
	for (size_t i = 0; i < n && i < b->nhosts; i++) {
		struct cli_dashboard_host *h = &b->hosts[i];
		h->sample = samples[i];
		h->failures += !samples[i].ok;
		if (h->nsteps == CLI_DASHBOARD_HISTORY)
			memmove(h->step_ms, h->step_ms + 1, --h->nsteps * sizeof(*h->step_ms));
		h->step_ms[h->nsteps++] = samples[i].ok ? samples[i].metrics.step_ms_mean : NAN;
	}
	pthread_mutex_unlock(&b->lock);
}

static bool straggles(const struct cli_dashboard_host *h)
{
	return h->sample.ok && h->sample.straggler;
}

/* The mean step of the host in the middle; NAN of less than two. */
static double middle_ms(const struct cli_dashboard *b)
{
	double v[CLI_DASHBOARD_HOSTS];
	for (size_t i = 0; i < b->nhosts; i++)
		v[i] = b->hosts[i].sample.ok ? b->hosts[i].sample.metrics.step_ms_mean : NAN;
	return median(v, b->nhosts, 2);
}

/* ---- in a terminal ---- */

/* Each look as one of eight heights, from the shortest step to the longest. */
static void put_history(struct ss_buf *out, const struct cli_dashboard_host *h)
{
	static const char *const bars[] = { "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588" };
	double low = INFINITY, high = -INFINITY;
	size_t from = h->nsteps > 20 ? h->nsteps - 20 : 0;
	for (size_t i = from; i < h->nsteps; i++) {
		low = fmin(low, h->step_ms[i]);
		high = fmax(high, h->step_ms[i]);
	}
	ss_buf_lit(out, "  ");
	for (size_t i = from; i < h->nsteps; i++) {
		double v = h->step_ms[i], share = high > low ? (v - low) / (high - low) : 0;
		ss_buf_z(out, isnan(v) ? " " : bars[(int)(share * 7.99)]);
	}
}

static void put_row(struct ss_buf *out, const struct cli_dashboard_host *h)
{
	char text[32];
	ss_buf_printf(out, "%-24s", h->name);
	if (!h->sample.ok) {
		ss_buf_printf(out, "  %s\n", h->sample.why);
		return;
	}
	for (size_t i = 0; i < SS_COUNT(columns); i++) {
		print_value(text, h, &columns[i]);
		ss_buf_printf(out, "  %10s", text);
	}
	put_history(out, h);
	if (straggles(h))
		ss_buf_lit(out, "  straggler");
	ss_buf_char(out, '\n');
	if (h->sample.metrics.finding[0])
		ss_buf_printf(out, "    %s\n", h->sample.metrics.finding);
}

static void now_text(char out[32])
{
	time_t now = time(NULL);
	struct tm tm;
	out[0] = '\0';
	if (localtime_r(&now, &tm))
		strftime(out, 32, "%H:%M:%S", &tm);
}

void cli_dashboard_text(struct cli_dashboard *b, struct ss_buf *out)
{
	char now[32];
	now_text(now);
	pthread_mutex_lock(&b->lock);
	ss_buf_printf(out, "look %llu, %s\n%-24s", (unsigned long long)b->samples, now, "host");
	for (size_t i = 0; i < SS_COUNT(columns); i++)
		ss_buf_printf(out, "  %10s", columns[i].title);
	ss_buf_lit(out, "  before\n");
	for (size_t i = 0; i < b->nhosts; i++)
		put_row(out, &b->hosts[i]);
	if (b->verdict[0])
		ss_buf_printf(out, "%s\n", b->verdict);
	pthread_mutex_unlock(&b->lock);
}

/* ---- for Prometheus ---- */

/* A label's value: its quotes, backslashes and line ends are escaped. */
static void put_label(struct ss_buf *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			ss_buf_char(out, '\\');
		if (*s == '\n')
			ss_buf_lit(out, "\\n");
		else
			ss_buf_char(out, *s);
	}
}

static void put_sample(struct ss_buf *out, const char *name, const char *host, double v)
{
	ss_buf_printf(out, "stepscope_%s{host=\"", name);
	put_label(out, host);
	ss_buf_printf(out, "\"} %.9g\n", v);
}

static void put_metrics(struct cli_dashboard *b, struct ss_buf *out)
{
	pthread_mutex_lock(&b->lock);
	ss_buf_printf(out, "# HELP stepscope_samples_total Samples taken: short profiles of all hosts.\n"
		      "# TYPE stepscope_samples_total counter\n"
		      "stepscope_samples_total %llu\n", (unsigned long long)b->samples);
	for (size_t k = 0; k < SS_COUNT(columns); k++) {
		const struct column *c = &columns[k];
		ss_buf_printf(out, "# HELP stepscope_%s %s\n# TYPE stepscope_%s gauge\n", c->metric, c->help, c->metric);
		for (size_t i = 0; i < b->nhosts; i++) {
			double v = value_of(&b->hosts[i], c);
			if (b->hosts[i].sample.ok && !isnan(v))
				put_sample(out, c->metric, b->hosts[i].name, v * c->scale);
		}
	}
	ss_buf_lit(out, "# HELP stepscope_up 1 if the last sample of the host succeeded.\n# TYPE stepscope_up gauge\n");
	for (size_t i = 0; i < b->nhosts; i++)
		put_sample(out, "up", b->hosts[i].name, b->hosts[i].sample.ok);
	ss_buf_lit(out, "# HELP stepscope_straggler 1 if the host holds up the others, by the tool stragglers.\n"
			"# TYPE stepscope_straggler gauge\n");
	for (size_t i = 0; i < b->nhosts; i++)
		put_sample(out, "straggler", b->hosts[i].name, straggles(&b->hosts[i]));
	ss_buf_lit(out, "# HELP stepscope_sample_failures_total Failed samples of the host.\n"
			"# TYPE stepscope_sample_failures_total counter\n");
	for (size_t i = 0; i < b->nhosts; i++)
		put_sample(out, "look_failures_total", b->hosts[i].name, (double)b->hosts[i].failures);
	pthread_mutex_unlock(&b->lock);
}

/* ---- as a page ---- */

/*
 * The colours and forms of the page of `stepscope serve` (web/src/css), as far as a table needs
 * them.
 */
static const char style[] =
	":root{--bg:#f5f6f8;--surface:#fff;--line:#e3e7ec;--line-2:#cfd5dd;--text:#1b2129;--text-2:#414b58;"
	"--muted:#626d7c;--accent:#1f63b5;--wash:#1f63b51c;--warn:#8a5300;--warn-bg:#fff8eb;--error:#b42318;"
	"color-scheme:light}@media(prefers-color-scheme:dark){:root{--bg:#10141a;--surface:#171c24;--line:#272f3a;"
	"--line-2:#39434f;--text:#e5e9ee;--text-2:#bcc5d0;--muted:#93a0af;--accent:#74b3f5;--wash:#74b3f526;"
	"--warn:#f3c56b;--warn-bg:#2e2614;--error:#ff9c90;color-scheme:dark}}*{box-sizing:border-box}"
	"body{margin:0;background:var(--bg);color:var(--text);"
	"font:13px/1.45 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,sans-serif}"
	"a{color:var(--accent)}code{font-size:12px}header{display:flex;gap:12px;align-items:center;padding:0 16px;"
	"height:44px;background:var(--surface);border-bottom:1px solid var(--line)}header svg{stroke:var(--accent);"
	"stroke-width:3;stroke-linecap:round;fill:none}header b{font-size:15px}header span{color:var(--muted)}"
	"header i{flex:1}main{max-width:1240px;margin:0 auto;padding:14px 16px 28px;display:flex;"
	"flex-direction:column;gap:12px}section{background:var(--surface);border:1px solid var(--line);"
	"border-radius:8px;padding:12px 14px;overflow-x:auto}.verdict{border-left:3px solid var(--accent);"
	"font-size:15px}h1{font-size:15px;font-weight:400;margin:0}table{border-collapse:collapse;width:100%}"
	"th{font-size:12px;color:var(--text-2);border-bottom:1px solid var(--line-2)}th,td{padding:5px 10px;"
	"text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}"
	"td{border-bottom:1px solid var(--line)}tr:last-child td{border-bottom:0}"
	"th:first-child,td:first-child,th:last-child,.why{text-align:left}"
	"th:first-child,td:first-child{padding-left:2px;font-weight:600}"
	".finding{font-weight:400;white-space:normal;max-width:60ch}.why{color:var(--error);white-space:normal}"
	".slow td{background:var(--warn-bg)}mark{background:none;color:var(--warn);font-weight:600;font-size:11px}"
	"svg{display:block}.line{fill:none;stroke:var(--accent);stroke-width:1.5}.area{fill:var(--wash)}"
	"footer{color:var(--muted)}";

/* The history as a line, from zero to the longest; a look that failed is a gap. */
static void put_line(struct ss_buf *out, const struct cli_dashboard_host *h)
{
	double high = 0, last = NAN;
	for (size_t i = 0; i < h->nsteps; i++)
		high = fmax(high, isnan(h->step_ms[i]) ? 0 : h->step_ms[i]);
	ss_buf_lit(out, "<td><svg width=\"240\" height=\"32\" role=\"img\" aria-label=\"step times before\">"
		      "<path class=\"line\" d=\"");
	for (size_t i = 0; i < h->nsteps && high > 0; last = h->step_ms[i++])
		if (!isnan(h->step_ms[i]))
			ss_buf_printf(out, "%c%zu %.1f", isnan(last) ? 'M' : 'L', 4 * i + 2, 30 - 28 * h->step_ms[i] / high);
	ss_buf_lit(out, "\"/></svg></td>");
}

/* A row of the page's table. */
static void put_tr(struct ss_buf *out, const struct cli_dashboard_host *h)
{
	char text[32];
	bool slow = straggles(h);
	ss_buf_z(out, slow ? "<tr class=\"slow\"><td>" : "<tr><td>");
	ss_html_escape(out, ss_str_from(h->name));
	ss_buf_z(out, slow ? " <mark>straggler</mark>" : "");
	if (h->sample.ok && h->sample.metrics.finding[0]) {
		ss_buf_lit(out, "<div class=\"finding\">");
		ss_html_escape(out, ss_str_from(h->sample.metrics.finding));
		ss_buf_lit(out, "</div>");
	}
	ss_buf_lit(out, "</td>");
	for (size_t i = 0; h->sample.ok && i < SS_COUNT(columns); i++) {
		print_value(text, h, &columns[i]);
		ss_buf_printf(out, "<td>%s</td>", text);
	}
	if (!h->sample.ok) {
		ss_buf_printf(out, "<td class=\"why\" colspan=\"%zu\">", SS_COUNT(columns));
		ss_html_escape(out, ss_str_from(h->sample.why[0] ? h->sample.why : "not sampled yet"));
		ss_buf_lit(out, "</td>");
	}
	put_line(out, h);
	ss_buf_lit(out, "</tr>");
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* The headline: hosts that do not answer, the step time, the host that holds up the others. */
static void put_verdict(struct ss_buf *out, const struct cli_dashboard *b)
{
	const struct cli_dashboard_host *stepping = NULL;
	size_t answered = 0;
	double middle = middle_ms(b);
	for (size_t i = 0; i < b->nhosts; i++) {
		const struct cli_dashboard_host *h = &b->hosts[i];
		answered += h->sample.ok;
		if (h->sample.ok && !isnan(h->sample.metrics.step_ms_mean))
			stepping = h;
	}
	ss_buf_lit(out, "<section class=\"verdict\"><h1>");
	if (!b->samples)
		ss_buf_lit(out, "The first sample is being taken.");
	else if (answered < b->nhosts)
		ss_buf_printf(out, "%zu of %zu host%s did not answer. ", b->nhosts - answered, b->nhosts, plural(b->nhosts));
	if (!isnan(middle))
		ss_buf_printf(out, "A step takes %.4g ms on the median host. ", middle);
	else if (stepping)
		ss_buf_printf(out, "A step takes %.4g ms. ", stepping->sample.metrics.step_ms_mean);
	else if (answered)
		ss_buf_lit(out, "The last sample holds no complete step. Take longer samples with --duration_ms.");
	if (stepping)
		ss_html_escape(out, ss_str_from(b->verdict));
	ss_buf_lit(out, "</h1></section>");
}

static void put_page(struct cli_dashboard *b, struct ss_buf *out)
{
	char now[32];
	now_text(now);
	pthread_mutex_lock(&b->lock);
	uint64_t refresh_s = b->interval_ms / 1000;
	ss_buf_printf(out, "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width="
		      "device-width\"><meta http-equiv=\"refresh\" content=\"%llu\"><title>stepscope monitor</title>"
		      "<style>%s</style>"
		      "<header><svg viewBox=\"0 0 32 32\" width=\"20\" height=\"20\" aria-hidden=\"true\">"
		      "<path d=\"M4 8h22M4 16h9m4 0h8M4 24h4m4 0h4m4 0h8\"/></svg><b>stepscope</b><span>monitor</span><i></i>",
		      (unsigned long long)(refresh_s ? refresh_s : 1), style);
	if (b->link) {
		ss_buf_lit(out, "<a href=\"");
		ss_html_escape(out, ss_str_from(b->link));
		ss_buf_lit(out, "\">profiles</a>");
	}
	ss_buf_printf(out, "<span>sample %llu, %s</span></header><main>", (unsigned long long)b->samples, now);
	put_verdict(out, b);
	ss_buf_lit(out, "<section><table><thead><tr><th>host");
	for (size_t i = 0; i < SS_COUNT(columns); i++) {
		ss_buf_lit(out, "<th title=\"");
		ss_html_escape(out, ss_str_from(columns[i].help));
		ss_buf_printf(out, "\">%s", columns[i].title);
	}
	ss_buf_lit(out, "<th>previous samples</tr></thead><tbody>");
	for (size_t i = 0; i < b->nhosts; i++)
		put_tr(out, &b->hosts[i]);
	ss_buf_lit(out, "</tbody></table></section><footer>Where a host's time goes: "
		   "<code>stepscope capture -a HOST:PORT -l DIR</code>, then <code>stepscope serve DIR</code>. "
		   "The same figures for Prometheus: <a href=\"metrics\">/metrics</a>."
		   "</footer></main></html>");
	pthread_mutex_unlock(&b->lock);
}

/* "localhost" or an address that begins with 127, each with or without a port. */
static bool is_local(struct ss_str host)
{
	size_t colon = ss_str_rchr(host, ':');
	host = ss_str_sub(host, 0, colon == SS_NPOS ? host.n : colon);
	if (ss_str_ieq(host, SS_STR("localhost")))
		return true;
	for (size_t i = 0; i < host.n; i++)
		if ((host.p[i] < '0' || host.p[i] > '9') && host.p[i] != '.')
			return false;
	return ss_str_starts(host, SS_STR("127."));
}

static void answer(void *arg, const struct ss_http_req *req, struct ss_http_reply *reply)
{
	struct cli_dashboard *b = arg;
	struct ss_buf out = { 0 };
	*reply = (struct ss_http_reply){ .status = 200, .type = "text/html; charset=utf-8" };
	if (req->method != SS_HTTP_GET && req->method != SS_HTTP_HEAD) {
		*reply = (struct ss_http_reply){ .status = 405, .type = "text/plain", .allow = "GET, HEAD" };
		return;
	}
	/* A page elsewhere whose name leads here must not read along. */
	if (b->local && req->host.n && !is_local(req->host)) {
		*reply = (struct ss_http_reply){ .status = 403, .type = "text/plain",
						   .body = SS_STR("this name is not allowed\n") };
		return;
	}
	if (ss_str_is(req->path, "/metrics")) {
		reply->type = "text/plain; version=0.0.4; charset=utf-8";
		put_metrics(b, &out);
	} else if (ss_str_is(req->path, "/")) {
		put_page(b, &out);
	} else {
		*reply = (struct ss_http_reply){ .status = 404, .type = "text/plain", .body = SS_STR("this server has / "
				"and /metrics only\n") };
		return;
	}
	if (out.no_memory) {
		ss_buf_free(&out);
		*reply = (struct ss_http_reply){ .status = 500, .type = "text/plain", .body = SS_STR("out of memory\n") };
		return;
	}
	reply->body = ss_buf_get(&out);
	reply->owned = out.p;
}

bool cli_dashboard_open(struct cli_dashboard *b, const char *targets, const struct cli_dashboard_address *at, uint64_t interval_ms,
		    struct ss_err *err)
{
	struct ss_str rest = ss_str_from(targets), one;
	*b = (struct cli_dashboard){ .interval_ms = interval_ms, .local = true, .link = at ? at->link : NULL };
	pthread_mutex_init(&b->lock, NULL);
	b->hosts = calloc(CLI_DASHBOARD_HOSTS, sizeof(*b->hosts));
	while (b->hosts && b->nhosts < CLI_DASHBOARD_HOSTS && ss_next_target(&rest, &one))
		snprintf(b->hosts[b->nhosts++].name, sizeof(b->hosts->name), SS_FMT, SS_ARG(one));
	bool ok = b->hosts || ss_fail_mem(err);
	if (ok && at) {
		const struct ss_http_config http = { .bind = at->bind ? at->bind : "127.0.0.1", .port = at->port,
						     .max_connections = 32, .token = at->token,
						     .csp = "default-src 'none'; style-src 'unsafe-inline'", .handler = answer,
						     .arg = b };
		b->http = ss_http_start(&http, &b->local, err);
		ok = b->http && (b->local || at->token ||
				 ss_fail(err, SS_EINVAL, "'%s' is reachable from other machines", at->bind));
	}
	if (!ok)
		cli_dashboard_close(b);
	return ok;
}

uint16_t cli_dashboard_port(const struct cli_dashboard *b)
{
	return b->http ? ss_http_port(b->http) : 0;
}

void cli_dashboard_close(struct cli_dashboard *b)
{
	ss_http_stop(b->http);
	free(b->hosts);
	pthread_mutex_destroy(&b->lock);
}
