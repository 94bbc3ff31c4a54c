/* chrome_args.h - the values of a trace event in JSON: times, and arguments as stats. */
#ifndef SS_IMPORT_CHROME_ARGS_H
#define SS_IMPORT_CHROME_ARGS_H

#include "base/arena.h"
#include "import/kineto.h"
#include "import/space_out.h"
#include "wire/json.h"

#define SS_CHROME_ARGS 64	/* of one event; more are left out */

struct ss_chrome_args {
	struct ss_so_arg v[SS_CHROME_ARGS];
	size_t n;
};

/*
 * Microseconds as they are written, exact to the picosecond. False if the value is not a time within
 * 292 years of 0.
 */
bool ss_chrome_time(struct ss_str text, struct ss_so_time *out);
/* The same as a length; 0 if it is not a number. */
uint64_t ss_chrome_dur_ps(struct ss_str text);

/*
 * Add the members of the object that was just begun to `out`, and take its end. Names and texts are
 * borrowed from the text, or in `arena` where they had to be decoded. False when memory is out, or,
 * with r->bad set, the text is malformed.
 */
bool ss_chrome_args_read(struct ss_jsonr *r, struct ss_arena *arena, struct ss_chrome_args *out);
/* Texts that are numbers become such, whatever their names. */
void ss_chrome_args_numbers(struct ss_chrome_args *a);
/* An argument of text: the number that it stands for, where its name is that of a known number. */
struct ss_so_arg ss_chrome_arg_text(struct ss_so_arg a);
void ss_chrome_args_add(struct ss_chrome_args *out, struct ss_so_arg arg);
/*
 * `kind`: that of the category. What PyTorch calls its arguments, in the words of XProf: the correlation of launches and kernels,
 * the geometry of a kernel, the number of a step, which leaves the name. False when memory is out.
 */
bool ss_chrome_args_kineto(struct ss_str category, enum ss_kineto kind, struct ss_str *name, struct ss_arena *arena,
			   struct ss_chrome_args *a);
/* The name that an event has in the file, where it is called `name` since; "" where that is the same. */
static inline struct ss_str ss_chrome_name_in_file(struct ss_str in_file, struct ss_str name)
{
	return ss_str_eq(in_file, name) ? SS_STR("") : in_file;
}

#endif
