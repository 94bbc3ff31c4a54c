/*
 * fuzz_questions.c - a profile and questions about it: any tool, in any format, drawn or not, with any values for its parameters,
 * of one host or of two. Each question is a field 1000 of the profile's message; readers of profiles pass over it. A message
 * without planes asks of one of the profiles that the target has with it, which stay open: field 1001 says which.
 */
#include "fuzz/mutate.h"
#include "fuzz/profile.h"
#include "model/host/host.h"
#include "model/model.h"
#include "request/request.h"
#include "wire/pb.h"

#include <stdlib.h>

#define PLANE PB_LEN(1)
#define QUESTION PB_LEN(1000)
#define OWN_PROFILE PB_VAR(1001)
enum { QUESTION_TOOL = 1, QUESTION_FORMAT, QUESTION_HOW, QUESTION_PARAM, QUESTION_TABLE, QUESTION_COLUMN };
enum { HOW_DRAWING = 1, HOW_TWO_HOSTS = 2, HOW_FEW_ROWS = 4 };
#define MOST_QUESTIONS 4
#define MOST_PARAMS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct opened {
	struct ss_host hosts[2];
	struct ss_model one, two;
};

static size_t number_of(struct ss_str s)
{
	size_t h = 0;
	for (size_t i = 0; i < s.n; i++)
		h = h * 31 + (unsigned char)s.p[i];
	return h;
}

/* A name that no tool has stands for one of them, so that each change of it leads somewhere. */
static const struct ss_tool *find_tool(struct ss_str name)
{
	size_t n = 0;
	for (; ss_tools[n]; n++)
		if (ss_str_is(name, ss_tools[n]->name))
			return ss_tools[n];
	return ss_tools[number_of(name) % n];
}

/* "name=value", likewise. */
static bool take_param(const struct ss_tool *t, struct ss_str text, struct ss_param_value *out)
{
	size_t is = ss_str_chr(text, '=');
	struct ss_str name = ss_str_sub(text, 0, is);
	out->value = is == SS_NPOS ? SS_STR("") : ss_str_sub(text, is + 1, text.n);
	for (size_t i = 0; i < t->nparams; i++)
		if (ss_str_is(name, t->params[i].name))
			return out->name = name, true;
	if (t->nparams)
		out->name = ss_str_from(t->params[number_of(name) % t->nparams].name);
	return t->nparams;
}

static void answer(struct ss_tool_request *ask)
{
	struct ss_err err = { 0 };
	struct ss_out out;
	ss_out_init(&out, NULL, NULL);
	bool ok = ss_tool_answer(ask, &out, &err);
	ok = ss_out_finish(&out, &err) && ok;
	if (!ok && (!err.code || !err.text[0]))
		abort();
	ss_out_free(&out);
	ss_tool_request_release(ask);
}

static void ask(struct opened *o, struct ss_str question)
{
	struct ss_param_value params[MOST_PARAMS];
	struct ss_tool_request r = { .params = params, .run = SS_STR("run"), .host = SS_STR("host"), .model = &o->one };
	struct ss_pb c = ss_pb_of(question), again = c;
	struct ss_pb_field f;
	r.tool = ss_tools[0];
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(QUESTION_TOOL))
			r.tool = find_tool(f.bytes);
	while (ss_pb_next(&again, &f)) {
		if (f.key == PB_VAR(QUESTION_FORMAT))
			r.format = (enum ss_format)(f.u % (SS_FORMAT_FOLDED + 1));
		else if (f.key == PB_LEN(QUESTION_TABLE))
			r.table = f.bytes;
		else if (f.key == PB_LEN(QUESTION_COLUMN))
			r.column = f.bytes;
		else if (f.key == PB_LEN(QUESTION_PARAM) && r.nparams < MOST_PARAMS)
			r.nparams += take_param(r.tool, f.bytes, &params[r.nparams]);
		else if (f.key == PB_VAR(QUESTION_HOW)) {
			r.drawing = f.u & HOW_DRAWING;
			r.most_rows = f.u & HOW_FEW_ROWS ? 2 : 0;
			if (f.u & HOW_TWO_HOSTS && r.tool->flags & SS_TOOL_ALL_HOSTS)
				r.model = &o->two;
		}
	}
	answer(&r);
}

/* raw: a file that is no profile, such as a graph. */
static bool open_hosts(struct opened *o, struct ss_str bytes, const char *name, bool raw, struct ss_err *err)
{
	struct ss_host *both[] = { &o->hosts[0], &o->hosts[1] };
	bool (*open)(struct ss_host *, struct ss_str, const char *, struct ss_err *) =
		raw ? ss_host_open_raw_bytes : ss_host_open_bytes;
	if (!open(both[0], bytes, name, err))
		return false;
	if (open(both[1], bytes, name, err)) {
		if (ss_model_init(&o->one, both, 1, err)) {
			if (ss_model_init(&o->two, both, 2, err))
				return true;
			ss_model_release(&o->one);
		}
		ss_host_close(both[1]);
	}
	ss_host_close(both[0]);
	return false;
}

static void close_hosts(struct opened *o)
{
	ss_model_release(&o->two);
	ss_model_release(&o->one);
	ss_host_close(&o->hosts[1]);
	ss_host_close(&o->hosts[0]);
}

static struct opened *own_profile(uint64_t number)
{
	static struct opened all[4];
	static bool open[SS_COUNT(all)];
	const struct {
		const char *name, *begin, *end;
		bool raw;
	} files[SS_COUNT(all)] = {
		{ "tpu.xplane.pb", fuzz_tpu, fuzz_tpu_end, false },
		{ "gpu.xplane.pb", fuzz_gpu, fuzz_gpu_end, false },
		{ "torch.pt.trace.json.gz", fuzz_torch, fuzz_torch_end, false },
		{ "graph.pbtxt", fuzz_graph, fuzz_graph_end, true },
	};
	size_t i = number % SS_COUNT(all);
	struct ss_err err = { 0 };
	struct ss_str bytes = { files[i].begin, (size_t)(files[i].end - files[i].begin) };
	if (!open[i] && !open_hosts(&all[i], bytes, files[i].name, files[i].raw, &err))
		abort();
	open[i] = true;
	return &all[i];
}

static void ask_all(struct opened *o, struct ss_str message)
{
	struct ss_pb c = ss_pb_of(message);
	struct ss_pb_field f;
	for (size_t n = 0; n < MOST_QUESTIONS && ss_pb_next(&c, &f);)
		if (f.key == QUESTION && ++n)
			ask(o, f.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct opened o;
	struct ss_err err = { 0 };
	struct ss_str bytes = { (const char *)data, size };
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field f;
	bool planes = false;
	uint64_t own = 0;

	while (ss_pb_next(&c, &f)) {
		planes |= f.key == PLANE;
		own = f.key == OWN_PROFILE ? f.u : own;
	}
	if (!planes) {
		ask_all(own_profile(own), bytes);
	} else if (open_hosts(&o, bytes, "a.xplane.pb", false, &err)) {
		ask_all(&o, bytes);
		close_hosts(&o);
	} else if (!err.code || !err.text[0]) {
		abort();
	}
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_message(data, size, max, seed);
}
