/*
 * judge.h - the input of the rules, and the functions with which a rule adds a finding. Internal to
 * this folder.
 */
#ifndef SS_VERDICT_JUDGE_H
#define SS_VERDICT_JUDGE_H

#include "base/percent.h"
#include "base/vec.h"
#include "model/cluster/straggler.h"
#include "model/runtime/memory.h"
#include "verdict/verdict.h"

#include <math.h>

/* A device, or the program on a host without one. */
struct ss_judged_unit {
	const struct ss_time_unit *u;
	const struct ss_time_host *h;
	struct ss_wait wait;
	double wait_frac; /* of its window: time in which it waited for others in collectives that nothing hides */
};

struct ss_judge {
	const struct ss_attribution *a;
	const struct ss_env *env;
	struct ss_arena *arena;
	struct ss_judged_unit *units;
	size_t nunits;
	const struct ss_memory_peak *peak;
	/*
	 * Of several hosts whose collectives could be joined; nsteps 0: not known. Of one host only
	 * who is absent.
	 */
	struct ss_straggler_verdict late;
	bool of_threads;     /* devices of a program on a CPU, which are one unit, communicate */
	uint32_t npresent;   /* how many of them, where all that take part are known and recorded; else 0 */
	double transfer_frac; /* of these: the most that one spends in exposed transfers, without waiting for the last one */
	unsigned frameworks; /* bits of enum ss_framework; 0: unknown */
	unsigned habits;     /* bits of enum ss_habit */
	bool has_device, has_python;
	bool no_python; /* of no host does the recording show that the program is one of Python */
	struct ss_verdict *out;
	SS_VEC(struct ss_verdict_finding) found;
	SS_VEC(struct ss_not_judged) unknown;
	SS_VEC(struct ss_recording_gap) gaps;
	bool no_memory;
};

/* Share of the window, by class: in steps, between them; of one unit. */
double ss_unit_frac(const struct ss_judged_unit *u, enum ss_time_class c, enum ss_time_region r);
double ss_unit_step_frac(const struct ss_judged_unit *u, enum ss_time_class c); /* usual and outlying steps */

/*
 * A class over all units: the mean of the units that have it, and the unit with the largest share.
 */
struct ss_affected {
	double frac;
	size_t n; /* units that have it */
	const struct ss_judged_unit *worst; /* NULL: none */
};
struct ss_affected ss_affected_by(const struct ss_judge *j, enum ss_time_class c);

/* The displayed name; of a kernel its short name. */
struct ss_str ss_shown_name(struct ss_judge *j, const struct ss_time_subject *s);
/* The largest subject of a unit in a class, in steps (or between them); NULL: there is none. */
const struct ss_time_subject *ss_largest(const struct ss_judged_unit *u, enum ss_time_class c, bool between);
uint64_t ss_subject_ps(const struct ss_time_subject *s, bool between);

/* A new finding, valid until the next is made; NULL when memory is out. */
struct ss_verdict_finding *ss_find(struct ss_judge *j, enum ss_cause c, double share_frac);
/* Formatted into the arena, cut to SS_MOST_TEXT_BYTES. */
struct ss_str ss_say(struct ss_judge *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "7.55 ms". */
struct ss_str ss_say_time(struct ss_judge *j, double ps);
/* The first bytes of the text; no UTF-8 character is cut. */
struct ss_str ss_cut(struct ss_str s, size_t max);
/* For texts: with "…" where something is cut. */
struct ss_str ss_shorten(struct ss_judge *j, struct ss_str s, size_t max);
void ss_prove(struct ss_judge *j, struct ss_verdict_finding *f, const char *what, double value, const char *unit,
	      const struct ss_judged_unit *u, const char *tool);
void ss_prove_words(struct ss_judge *j, struct ss_verdict_finding *f, const char *what, struct ss_str words,
		    const struct ss_judged_unit *u, const char *tool);
/* "share of the recorded time", with the name of the device if its host has several. */
struct ss_str ss_say_share(struct ss_judge *j, const struct ss_judged_unit *u);
/* Links the last proof to this range of the timeline. */
void ss_point_at(struct ss_judge *j, struct ss_verdict_finding *f, const struct ss_judged_unit *u, int64_t begin_ps,
		 int64_t end_ps);
void ss_cannot_judge(struct ss_judge *j, enum ss_cause c, const char *why);
/* advice.c: what to do, in the terms of the framework. */
void ss_advise(struct ss_judge *j, struct ss_verdict_finding *f);

/* "host1", or "/device:GPU:1" if one host has several; "" if there is only one unit. */
struct ss_str ss_judged_name(struct ss_judge *j, const struct ss_judged_unit *u);
/* What a recording is of: a "host", or a "process" of one that sentences call by another name. */
const char *ss_recording_word(const struct ss_judge *j);

typedef void ss_rule_fn(struct ss_judge *j);
#define RULE(name) ss_rule_fn ss_rule_##name;
#include "verdict/rules.def"
#undef RULE

/* rules_steps.c: adds in which steps most of the time of a finding lies, if these are few. */
void ss_say_steps(struct ss_judge *j, struct ss_verdict_finding *f);

/* gaps.c: what the recording lacks. False on failure. */
bool ss_find_gaps(struct ss_judge *j, struct ss_model *m, struct ss_err *err);

/* rank.c */
void ss_rank(struct ss_judge *j);

#endif
