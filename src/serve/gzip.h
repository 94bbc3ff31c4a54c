/* gzip.h - whole bodies through gzip and back (libdeflate, level 1: some 400 MB/s). */
#ifndef SS_SERVE_GZIP_H
#define SS_SERVE_GZIP_H

#include "base/str.h"

/* malloc'ed, the caller's; p is NULL when memory is out. */
struct ss_str ss_gzip(struct ss_str body);
/* The same back; p is NULL when memory is out or `packed` is no gzip of one member. */
struct ss_str ss_gunzip(struct ss_str packed);

#endif
