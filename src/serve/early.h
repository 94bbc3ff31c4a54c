/*
 * early.h - what a page asks for first and waits longest for, told to the browser with the page
 * itself.
 */
#ifndef SS_SERVE_EARLY_H
#define SS_SERVE_EARLY_H

#include "serve/call.h"

/*
 * The header Link for the page of this request, in its arena: a timeline is then read while the
 * browser still loads the page's script. "" for other pages, and when memory is out.
 */
struct ss_str ss_early_link(const struct ss_call *c);

#endif
