/*
 * below.h - opening what lies below a directory, and nothing else, whoever renames and links there
 * meanwhile.
 */
#ifndef SS_BASE_BELOW_H
#define SS_BASE_BELOW_H

#include "base/str.h"

/*
 * What follows the directory `top` in `path`, "" for itself; p is NULL when the path does not begin
 * so. By their text alone.
 */
struct ss_str ss_path_below(struct ss_str top, struct ss_str path);

/*
 * As open(path, flags | O_CLOEXEC), for a path that lies at or below the canonical path `top`,
 * which is a directory or this very file. Links on the way are followed while they stay below; one
 * that leads out, or is swapped for such a one at this moment, is EXDEV. Of `top` itself, where it
 * lies is trusted.
 */
int ss_open_below(const char *top, const char *path, int flags);

#endif
