/*
 * nvtx.c - see nvtx.h.
 *
 * NVTX 3 is a header: every library of a program that includes it asks for a tool at its first call and
 * then calls through a table, in which the tool replaces what it wants. We need no CUPTI for it, so
 * ranges are recorded on machines without a GPU too. Ranges of threads (push and pop) nest and are
 * scopes; ranges of the process (start and end) may end on another thread and stand on a line of
 * their own.
 *
 * The numbers below are of NVTX's interface between header and tool, which is fixed since 3.0;
 * tests/interop/cupti_live.py compares them with NVIDIA's headers. A thread's ranges are a stack for each
 * domain, and those of different domains may cross.
 */
#include "nvtx.h"

#include "recorder.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { TABLE_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum {
	CORE_MARK_EX = 1, CORE_MARK = 2, CORE_MARK_WIDE = 3, CORE_RANGE_START_EX = 4, CORE_RANGE_START = 5,
	CORE_RANGE_START_WIDE = 6, CORE_RANGE_END = 7, CORE_PUSH_EX = 8, CORE_PUSH = 9, CORE_PUSH_WIDE = 10, CORE_POP = 11,
	CORE_NAME_THREAD = 14,
	DOMAIN_MARK = 1, DOMAIN_RANGE_START = 2, DOMAIN_RANGE_END = 3, DOMAIN_PUSH = 4, DOMAIN_POP = 5, DOMAIN_REGISTER = 10,
	DOMAIN_REGISTER_WIDE = 11, DOMAIN_CREATE = 12, DOMAIN_CREATE_WIDE = 13, DOMAIN_DESTROY = 14,
};
enum {
	ATTRIBUTES_MESSAGE_TYPE = 32, ATTRIBUTES_MESSAGE = 40, ATTRIBUTES_SIZE = 2,
	MESSAGE_ASCII = 1, MESSAGE_WIDE = 2, MESSAGE_REGISTERED = 3,
};

struct callbacks_table {
	size_t size;
	int (*module)(int module, void ****table, unsigned *n);
};

#define DEPTH_MAX 64u
#define PATH_MAX_BYTES 1000u
#define RANGES_MAX 256u
#define UNNAMED "range"

/* A range that a thread has pushed. */
struct pushed {
	struct ss_trace_scope scope;
	const char *text, *domain;
};

/* All of them, of whatever domain; deeper ones are counted and not recorded. */
struct stack {
	unsigned depth;		/* of those that are kept */
	unsigned deeper;
	struct pushed pushed[DEPTH_MAX];
	const char *path;	/* of all of them; NULL: to be made */
};

/* A range of the process. */
struct range {
	uint64_t id, session, begin_ns;	/* id 0: free */
	unsigned char *record;
};

static struct steps {
	const char *name;	/* atomic */
	int64_t counted;	/* atomic */
} steps;

static struct ranges {
	pthread_mutex_t lock;
	struct range range[RANGES_MAX];
	uint64_t last_id;
} ranges = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct stack *mine(void)
{
	return ss_rec_mine(THREAD_RANGES, sizeof(struct stack));
}

const char *ss_nvtx_path(void)
{
	struct stack *stack = mine();
	if (!stack || !stack->depth)
		return NULL;
	if (stack->path)
		return stack->path;
	char path[PATH_MAX_BYTES];
	size_t n = 0;
	for (unsigned i = 0; i < stack->depth && n < sizeof(path); i++) {
		int got = snprintf(path + n, sizeof(path) - n, "%s%s", i ? "/" : "", stack->pushed[i].text);
		n += got > 0 ? (size_t)got : 0;
	}
	struct ss_trace_name *name = ss_trace_intern(path);
	return stack->path = name ? name->text : NULL;
}

void ss_nvtx_steps(const char *name)
{
	__atomic_store_n(&steps.name, name, __ATOMIC_RELEASE);
}

/* Is the text the name of a step? Behind it there may be a number, and something between that is neither letter nor number. */
static bool is_step(const char *text, const char *name, int64_t *number)
{
	size_t n = strlen(name);
	if (strncmp(text, name, n) != 0 || isalpha((unsigned char)text[n]))
		return false;
	const char *digits = text + n;
	while (*digits && !isalnum((unsigned char)*digits))
		digits++;
	if (!*digits) {
		*number = __atomic_fetch_add(&steps.counted, 1, __ATOMIC_RELAXED);
		return true;
	}
	char *end;
	*number = strtoll(digits, &end, 10);
	return end != digits && !*end;
}

static struct ss_trace_scope begin_range(struct ss_trace_name *name, const char *text, const char *domain)
{
	static struct ss_trace_name key = { "nvtx_domain", 0 };
	const struct ss_trace_arg arg = { &key, SS_TRACE_TEXT, { .text = domain } };
	const char *step = __atomic_load_n(&steps.name, __ATOMIC_ACQUIRE);
	int64_t number;
	if (step && ss_trace_on(SS_TRACE_CRITICAL) && is_step(text, step, &number)) {
		struct ss_trace_name *base = ss_trace_intern(step);
		return ss_trace_step_begin(base ? base : name, number);
	}
	return ss_trace_begin(SS_TRACE_INFO, name, &arg, domain ? 1 : 0);
}

/* The level of a domain's last range is how many it has below. */
static int level_of(const struct stack *stack, const char *domain)
{
	int n = -1;
	for (unsigned i = 0; i < stack->depth; i++)
		n += stack->pushed[i].domain == domain;
	return n;
}

static int push(const char *text, const char *domain)
{
	struct ss_trace_name *name = ss_trace_intern(text ? text : UNNAMED);
	struct stack *stack = mine();
	if (!stack)
		return 0;
	if (stack->depth == DEPTH_MAX)
		return (int)(stack->depth + stack->deeper++);
	struct pushed *p = &stack->pushed[stack->depth++];
	stack->path = NULL;
	*p = (struct pushed){ .text = name ? name->text : UNNAMED, .domain = domain };
	if (name)
		p->scope = begin_range(name, name->text, domain);
	return level_of(stack, domain);
}

/* The last one of the domain, which those of others may stand above. */
static int pop(const char *domain)
{
	struct stack *stack = mine();
	if (stack && stack->deeper)
		return (int)(DEPTH_MAX + --stack->deeper);
	unsigned at = stack ? stack->depth : 0;
	while (at && stack->pushed[at - 1].domain != domain)
		at--;
	if (!at)
		return -2;	/* as the interface says: there was none */
	int level = level_of(stack, domain);
	struct ss_trace_scope scope = stack->pushed[at - 1].scope;
	memmove(&stack->pushed[at - 1], &stack->pushed[at], (stack->depth - at) * sizeof(*stack->pushed));
	stack->depth--;
	stack->path = NULL;
	ss_trace_end(&scope);
	return level;
}

static void mark(const char *text)
{
	struct ss_trace_name *name = ss_trace_intern(text ? text : UNNAMED);
	if (name)
		ss_trace_instant(SS_TRACE_INFO, name, NULL, 0);
}

static uint64_t range_start(const char *text)
{
	struct ss_trace_name *name = ss_trace_intern(text ? text : UNNAMED);
	struct range made = { .session = ss_rec_session(), .begin_ns = now_ns(CLOCK_MONOTONIC) };
	if (name && ss_trace_on(SS_TRACE_INFO))
		made.record = ss_rec_shared_event(SHARED_RANGES, name, made.begin_ns, NULL, 0);
	pthread_mutex_lock(&ranges.lock);
	made.id = ++ranges.last_id;
	for (unsigned i = 0; made.record && i < RANGES_MAX; i++)
		if (!ranges.range[i].id) {
			ranges.range[i] = made;
			break;
		}
	pthread_mutex_unlock(&ranges.lock);
	return made.id;
}

static void range_end(uint64_t id)
{
	struct range ended = { 0 };
	pthread_mutex_lock(&ranges.lock);
	for (unsigned i = 0; id && i < RANGES_MAX; i++)
		if (ranges.range[i].id == id) {
			ended = ranges.range[i];
			ranges.range[i].id = 0;
			break;
		}
	pthread_mutex_unlock(&ranges.lock);
	if (ended.record)
		ss_rec_shared_end(ended.record, now_ns(CLOCK_MONOTONIC) - ended.begin_ns, ended.session);
}

/* --- what stands in NVTX's tables --------------------------------------------------------------- */

/* Wide texts as UTF-8, kept as all names are. What is no character becomes '?'. */
static const char *narrow(const wchar_t *wide)
{
	char text[PATH_MAX_BYTES];
	size_t n = 0;
	for (; wide && *wide && n + 4 < sizeof(text); wide++) {
		uint32_t c = (uint32_t)*wide;
		if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			c = '?';
		unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
		text[n++] = (char)(more ? (0xff00u >> (more + 1) & 0xff) | c >> 6 * more : c);
		while (more--)
			text[n++] = (char)(0x80 | (c >> 6 * more & 0x3f));
	}
	text[n] = '\0';
	struct ss_trace_name *name = wide ? ss_trace_intern(text) : NULL;
	return name ? name->text : NULL;
}

static const char *message_of(const void *attributes)
{
	const char *p = attributes;
	uint16_t size;
	int32_t type;
	const char *text;
	if (!p)
		return NULL;
	memcpy(&size, p + ATTRIBUTES_SIZE, sizeof(size));
	if (size < ATTRIBUTES_MESSAGE + sizeof(text))
		return NULL;
	memcpy(&type, p + ATTRIBUTES_MESSAGE_TYPE, sizeof(type));
	memcpy(&text, p + ATTRIBUTES_MESSAGE, sizeof(text));
	if (type == MESSAGE_WIDE)
		return narrow((const wchar_t *)(const void *)text);
	/* A registered text is the handle that domain_register gave out: a text of ours. */
	return type == MESSAGE_ASCII || type == MESSAGE_REGISTERED ? text : NULL;
}

static void core_mark_ex(const void *a) { mark(message_of(a)); }
static void core_mark(const char *text) { mark(text); }
static void core_mark_wide(const wchar_t *text) { mark(narrow(text)); }
static uint64_t core_start_ex(const void *a) { return range_start(message_of(a)); }
static uint64_t core_start(const char *text) { return range_start(text); }
static uint64_t core_start_wide(const wchar_t *text) { return range_start(narrow(text)); }
static void core_end(uint64_t id) { range_end(id); }
static int core_push_ex(const void *a) { return push(message_of(a), NULL); }
static int core_push(const char *text) { return push(text, NULL); }
static int core_push_wide(const wchar_t *text) { return push(narrow(text), NULL); }
static int core_pop(void) { return pop(NULL); }

static void core_name_thread(uint32_t thread, const char *name)
{
	(void)thread;		/* programs name the thread they are on */
	if (name)
		ss_trace_thread_name(name);
}

/* A domain's handle is its name. */
static void *domain_create(const char *name)
{
	struct ss_trace_name *interned = ss_trace_intern(name ? name : "");
	return interned ? (void *)(uintptr_t)interned->text : NULL;
}

static void *domain_create_wide(const wchar_t *name) { return domain_create(narrow(name)); }

static void domain_destroy(void *domain) { (void)domain; }

static void domain_mark(void *domain, const void *a)
{
	(void)domain;
	mark(message_of(a));
}

static uint64_t domain_start(void *domain, const void *a)
{
	(void)domain;
	return range_start(message_of(a));
}

static void domain_end(void *domain, uint64_t id)
{
	(void)domain;
	range_end(id);
}

static int domain_push(void *domain, const void *a) { return push(message_of(a), domain); }

static int domain_pop(void *domain) { return pop(domain); }

static void *domain_register(void *domain, const char *text)
{
	(void)domain;
	return domain_create(text);
}

static void *domain_register_wide(void *domain, const wchar_t *text) { return domain_register(domain, narrow(text)); }

struct entry {
	unsigned number;
	void (*function)(void);
};

#define ENTRY(number, function) { (number), (void (*)(void))(function) }

/* The functions are of many types, as in the interface, where the table is one of untyped pointers. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-function-type"
static const struct entry core[] = {
	ENTRY(CORE_MARK_EX, core_mark_ex), ENTRY(CORE_MARK, core_mark), ENTRY(CORE_RANGE_START_EX, core_start_ex),
	ENTRY(CORE_RANGE_START, core_start), ENTRY(CORE_RANGE_END, core_end), ENTRY(CORE_PUSH_EX, core_push_ex),
	ENTRY(CORE_PUSH, core_push), ENTRY(CORE_POP, core_pop), ENTRY(CORE_NAME_THREAD, core_name_thread),
	ENTRY(CORE_MARK_WIDE, core_mark_wide), ENTRY(CORE_RANGE_START_WIDE, core_start_wide), ENTRY(CORE_PUSH_WIDE, core_push_wide),
};
static const struct entry core2[] = {
	ENTRY(DOMAIN_MARK, domain_mark), ENTRY(DOMAIN_RANGE_START, domain_start), ENTRY(DOMAIN_RANGE_END, domain_end),
	ENTRY(DOMAIN_PUSH, domain_push), ENTRY(DOMAIN_POP, domain_pop), ENTRY(DOMAIN_REGISTER, domain_register),
	ENTRY(DOMAIN_REGISTER_WIDE, domain_register_wide), ENTRY(DOMAIN_CREATE_WIDE, domain_create_wide),
	ENTRY(DOMAIN_CREATE, domain_create), ENTRY(DOMAIN_DESTROY, domain_destroy),
};
#pragma GCC diagnostic pop

/* The table's slots point to where the header keeps its function pointers. */
static bool replace(const struct callbacks_table *t, int module, const struct entry *entries, size_t n)
{
	void ***table = NULL;
	unsigned size = 0;
	if (!t->module(module, (void ****)&table, &size) || !table)
		return false;
	for (size_t i = 0; i < n; i++)
		if (entries[i].number < size && table[entries[i].number])
			memcpy(table[entries[i].number], &entries[i].function, sizeof(void *));
	return true;
}

/* The parent's ranges are not a child's to end, and one of its threads may have held the lock. */
static void in_child(void)
{
	pthread_mutex_init(&ranges.lock, NULL);
	memset(ranges.range, 0, sizeof(ranges.range));
}

int ss_nvtx_initialize(nvtx_export_table_fn *get_table)
{
	const struct callbacks_table *t = get_table(TABLE_CALLBACKS);
	if (!t || t->size < sizeof(*t) || pthread_atfork(NULL, NULL, in_child) != 0)
		return 0;
	bool core_done = replace(t, MODULE_CORE, core, sizeof(core) / sizeof(*core));
	return replace(t, MODULE_CORE2, core2, sizeof(core2) / sizeof(*core2)) || core_done;
}

/* A program that is linked with us: NVTX's header knows this name weakly. */
SS_TRACE_API extern int (*const InitializeInjectionNvtx2_fnptr)(nvtx_export_table_fn *get_table);
int (*const InitializeInjectionNvtx2_fnptr)(nvtx_export_table_fn *get_table) = ss_nvtx_initialize;
