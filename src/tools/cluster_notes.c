/* cluster_notes.c - see cluster_notes.h. */
#include "tools/cluster_notes.h"

#define MOST_NAMED 8

int64_t ss_step_cell(int64_t step)
{
	return step == SS_NO_STEP ? -1 : step;
}

double ss_ps_us(int64_t ps)
{
	return (double)ps * 1e-6;
}

/* "host3, host7 and 12 others" of one state. */
static bool name_hosts(const struct ss_cluster *c, enum ss_host_state state, const char *what, struct ss_result *out)
{
	struct ss_buf b = { 0 };
	uint32_t n = 0;
	struct ss_err err;
	for (size_t i = 0; i < c->hosts.n; i++) {
		if (c->hosts.v[i].state != state)
			continue;
		if (n < MOST_NAMED) {
			ss_buf_z(&b, n ? ", " : "");
			ss_buf_str(&b, c->hosts.v[i].name);
		}
		n++;
	}
	if (!n)
		return true;
	if (n > MOST_NAMED)
		ss_buf_printf(&b, " and %u others", n - MOST_NAMED);
	bool ok = ss_buf_ok(&b, "a note", &err);
	struct ss_str names = ss_buf_get(&b);
	struct ss_str text = ss_arena_printf(out->arena, "%u of %zu hosts %s: " SS_FMT, n, c->hosts.n, what, SS_ARG(names));
	ss_result_note(out, SS_WARNING, text);
	ss_buf_free(&b);
	return ok;
}

bool ss_cluster_notes(const struct ss_cluster *c, struct ss_result *out)
{
	bool ok = name_hosts(c, SS_HOST_MISSING, "have no recording here; their part is unknown", out) &&
		  name_hosts(c, SS_HOST_CUT, "have recordings that end early; what is whole of them counts", out) &&
		  name_hosts(c, SS_HOST_UNREADABLE, "have files that cannot be read", out);
	for (size_t i = 0; ok && i < c->notes.n; i++) {
		struct ss_str text = ss_arena_str(out->arena, c->notes.v[i].text);
		ss_result_note(out, c->notes.v[i].warning ? SS_WARNING : SS_INFO, text);
	}
	return ok;
}
