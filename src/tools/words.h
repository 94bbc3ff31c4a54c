/*
 * words.h - sentences that tables already hold, as those of a conclusion.
 */
#ifndef SS_TOOLS_WORDS_H
#define SS_TOOLS_WORDS_H

#include "tools/tool.h"

/* Text without tags, in an arena; p is NULL when memory is out. */
struct ss_str ss_plain_words(struct ss_arena *arena, struct ss_str html);
/* The text of a property without its links, "" when it is absent or empty; p is NULL when memory is out. */
struct ss_str ss_prop_words(const struct ss_result *r, const char *id);
/* Add those that are there to the conclusion. False when memory is out. */
bool ss_say_props(struct ss_result *r, const char *const *ids, size_t n);

#endif
