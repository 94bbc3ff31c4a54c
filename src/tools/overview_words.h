/*
 * overview_words.h - what limits the program, in sentences: the conclusion of overview_page.
 *
 * Where the input is not the bottleneck, the largest finding of smart_suggestion is the answer, and
 * the overview's own sentences follow. One of them is about time in which nothing computes; where
 * the finding says in what it goes, that one is left out: it is the main sentence, unless that is
 * about the input.
 */
#ifndef SS_TOOLS_OVERVIEW_WORDS_H
#define SS_TOOLS_OVERVIEW_WORDS_H

#include "tools/tool.h"

bool ss_overview_conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err);

#endif
