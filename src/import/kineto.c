/* kineto.c - see kineto.h. */
#include "import/kineto.h"

#include "wire/gz_in.h"

/* In small letters; those of PyTorch are shorter than the room. */
static struct ss_str lower(struct ss_str s, char room[32])
{
	if (s.n > 32)
		return s;
	for (size_t i = 0; i < s.n; i++)
		room[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 'a' - 'A') : s.p[i];
	return (struct ss_str){ room, s.n };
}

static enum ss_kineto of_small_letters(struct ss_str category)
{
	static const struct {
		struct ss_str name;
		enum ss_kineto kind;
	} names[] = {
		{ SS_STR_INIT("cpu_op"), SS_KINETO_OPERATOR },
		{ SS_STR_INIT("python_function"), SS_KINETO_PYTHON },
		{ SS_STR_INIT("kernel"), SS_KINETO_KERNEL },
		{ SS_STR_INIT("cpu_instant_event"), SS_KINETO_INSTANT },
		{ SS_STR_INIT("gpu_memcpy"), SS_KINETO_MEMCPY },
		{ SS_STR_INIT("gpu_memset"), SS_KINETO_MEMSET },
		{ SS_STR_INIT("user_annotation"), SS_KINETO_ANNOTATION },
		{ SS_STR_INIT("gpu_user_annotation"), SS_KINETO_GPU_ANNOTATION },
		{ SS_STR_INIT("operator"), SS_KINETO_OPERATOR },
		{ SS_STR_INIT("memcpy"), SS_KINETO_MEMCPY },
		{ SS_STR_INIT("memset"), SS_KINETO_MEMSET },
		{ SS_STR_INIT("concurrent_kernel"), SS_KINETO_KERNEL },
		{ SS_STR_INIT("mtia_ccp_events"), SS_KINETO_KERNEL },
		{ SS_STR_INIT("cuda_sync"), SS_KINETO_SYNC },
		{ SS_STR_INIT("runtime"), SS_KINETO_CALL },
		{ SS_STR_INIT("driver"), SS_KINETO_CALL },
	};
	for (size_t i = 0; i < SS_COUNT(names); i++)
		if (ss_str_eq(category, names[i].name))
			return names[i].kind;
	/* "cuda_runtime", "xpu_driver": whichever library comes next is called so, too. */
	if (ss_str_ends(category, SS_STR("_runtime")) || ss_str_ends(category, SS_STR("_driver")))
		return SS_KINETO_CALL;
	return SS_KINETO_OTHER;
}

enum ss_kineto ss_kineto_of(struct ss_str category)
{
	char room[32];
	enum ss_kineto kind = of_small_letters(category);
	return kind == SS_KINETO_OTHER && category.n ? of_small_letters(lower(category, room)) : kind;
}

bool ss_kineto_is_step(struct ss_str name)
{
	return ss_str_starts(name, SS_STR("ProfilerStep#")) || ss_str_is(name, "ProfilerStep");
}

bool ss_kineto_is_dataloader(struct ss_str name)
{
	return ss_str_starts(name, SS_STR("enumerate(DataLoader)#")) || ss_str_starts(name, SS_STR("enumerate(DataPipe)#"));
}

bool ss_kineto_is_range(struct ss_str name)
{
	return ss_kineto_is_step(name) || ss_kineto_is_dataloader(name) || ss_str_starts(name, SS_STR("Optimizer.")) ||
	       ss_str_is(name, "DataParallel.forward") || ss_str_is(name, "DistributedDataParallel.forward");
}

/* Has the object that begins here a member of its own of this name, quotes included? Members of its members are not. */
static bool has_member(struct ss_str text, struct ss_str name)
{
	int depth = 0;
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		if (c == '"' && depth == 1 && ss_str_starts(ss_str_sub(text, i, text.n), name))
			return true;
		if (c == '"')
			for (i++; i < text.n && text.p[i] != '"'; i++)
				i += text.p[i] == '\\';
		else
			depth += (c == '{' || c == '[') - (c == '}' || c == ']');
	}
	return false;
}

/* Members that PyTorch alone writes, or categories of its events behind the list's begin. */
static bool is_trace(struct ss_str text)
{
	static const struct ss_str members[] = { SS_STR_INIT("\"schemaVersion\""), SS_STR_INIT("\"deviceProperties\""),
						 SS_STR_INIT("\"distributedInfo\"") };
	static const struct ss_str events[] = { SS_STR_INIT("\"cpu_op\""),	SS_STR_INIT("\"Operator\""),
						SS_STR_INIT("\"python_function\""), SS_STR_INIT("\"cuda_runtime\""),
						SS_STR_INIT("\"user_annotation\"") };
	bool list = ss_str_contains(text, SS_STR("\"traceEvents\""));
	while (text.n && (text.p[0] == ' ' || text.p[0] == '\n' || text.p[0] == '\r' || text.p[0] == '\t'))
		text = ss_str_sub(text, 1, text.n);
	if (!text.n || (text.p[0] != '{' && text.p[0] != '['))
		return false;
	for (size_t i = 0; i < SS_COUNT(members); i++)
		if (text.p[0] == '{' && has_member(text, members[i]))
			return true;
	for (size_t i = 0; i < SS_COUNT(events); i++)
		if ((list || text.p[0] == '[') && ss_str_contains(text, events[i]))
			return true;
	return false;
}

bool ss_kineto_is_trace(struct ss_str head)
{
	char text[32768];
	if (!ss_gz_is(head))
		return is_trace(head);
	struct ss_gz_in *g = ss_gz_in_open(head);
	size_t n = 0, got;
	while (g && n < sizeof(text) && (got = ss_gz_in_read(g, text + n, sizeof(text) - n)) > 0)
		n += got;
	ss_gz_in_close(g);
	return is_trace((struct ss_str){ text, n });
}
