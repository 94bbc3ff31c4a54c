/*
 * regex.h - regular expressions from requests, matched in time that grows only with the text.
 *
 * Extended syntax: . [] [^] [:alpha:] () (?:) | * + ? {m,n} ^ $ \d \w \s \b and their capitals; *?
 * and the like prefer less; (?i) in front: ASCII letters without case. There are no back
 * references. Of several matches the leftmost is found, and there the alternative that comes first
 * in the expression. Letters are those of UTF-8; an invalid byte is a letter.
 *
 * The matcher follows all ways at once: a step costs at most one visit of each instruction, and a
 * program has at most SS_REGEX_MOST of them. `go_on` is called regularly, so that a match ends when
 * time is up.
 */
#ifndef SS_BASE_REGEX_H
#define SS_BASE_REGEX_H

#include "base/err.h"
#include "base/str.h"

#define SS_REGEX_MOST 5000u
#define SS_REGEX_GROUPS 16u	/* the whole match and 15 brackets; more are no groups */

struct ss_regex;

/* NULL: not well-formed or too long (SS_EINVAL), or memory is out. */
struct ss_regex *ss_regex_new(struct ss_str pattern, struct ss_err *err);
void ss_regex_free(struct ss_regex *r);
/* Brackets of the pattern that are groups. */
uint32_t ss_regex_ngroups(const struct ss_regex *r);

enum ss_regex_found { SS_REGEX_NO, SS_REGEX_YES, SS_REGEX_STOPPED };

/*
 * Anywhere in the text. `groups` gets ngroups pieces of it, p NULL for brackets that took no part.
 * A regex serves one thread at a time.
 */
enum ss_regex_found ss_regex_search(struct ss_regex *r, struct ss_str text, struct ss_str *groups, size_t ngroups,
				    bool (*go_on)(void *arg), void *arg);

#endif
