/*
 * suggestion_rules.h - what makes a suggestion, and what it says: the rules behind smart_suggestion.
 *
 * The rule on barriers is the one that XProf has switched on, with its definition; others follow the
 * thresholds that XProf's sources hold ready. Where a figure comes from: smart_suggestion.c.
 */
#ifndef SS_TOOLS_SUGGESTION_RULES_H
#define SS_TOOLS_SUGGESTION_RULES_H

#include <stdbool.h>
#include <stddef.h>

/* Everything the rules ask for, in percent. */
enum ss_figure {
	SS_FIG_NONE,
	SS_FIG_BARRIER,
	SS_FIG_COLLECTIVE,
	SS_FIG_MXU,
	SS_FIG_HBM,
	SS_FIG_SHUFFLE,
	SS_FIG_INPUT,
	SS_FIG_ENQUEUE,
	SS_FIG_HOST_WORK,
	SS_FIG_DEBUG,
	SS_FIG_IDLE,
	SS_FIG_SPARSE,
	SS_FIG_ASYNC,
	SS_FIG_COPY,
	SS_FIG_GAPS,
	SS_FIG_MEMORY,
	SS_FIG_FRAGMENTED,
	SS_FIG_COUNT
};

/* What a figure is called, and the tool that shows it in detail. */
struct ss_figure_name {
	const char *label, *tool;
};

extern const struct ss_figure_name ss_figure_names[SS_FIG_COUNT];

/*
 * A rule fires when all its conditions hold. The first figure ranks it. A figure that the profile does
 * not have is not "at least" anything, and contradicts no "below".
 */
struct ss_condition {
	enum ss_figure figure;
	char sign;		/* '>' at least or '<' below */
	double than;
};

struct ss_advice {
	const char *title, *text;
};

struct ss_rule {
	const char *name, *title;
	const char *before, *after; /* what was found, around the first figure */
	struct ss_condition when[3];
	struct ss_advice advice[4];
	bool about_memory;	/* not time: comes after all that is */
};

extern const struct ss_rule ss_rules[];
extern const size_t ss_nrules;

#endif
