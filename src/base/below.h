/*
 * below.h - opening files below a directory and no others, even if another process renames and links
 * there meanwhile.
 */
#ifndef SS_BASE_BELOW_H
#define SS_BASE_BELOW_H

#include "base/str.h"

/*
 * The part of `path` that follows the directory `top`; "" for `top` itself; p is NULL if `path` is not
 * below `top`. Only the texts are compared.
 */
struct ss_str ss_path_below(struct ss_str top, struct ss_str path);

/*
 * Like open(path, flags | O_CLOEXEC), for a path at or below the canonical path `top`, which is a
 * directory or this very file. Links on the way are followed while they stay below; a link that
 * leads out, or is replaced by such a link meanwhile, fails with EXDEV. The path of `top` itself is
 * trusted.
 */
int ss_open_below(const char *top, const char *path, int flags);

#endif
