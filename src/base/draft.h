/*
 * draft.h - a file in the making, which gets its name when it is whole. Until then it has none
 * where the system can make such files (Linux: O_TMPFILE), so nothing is left of it if the process
 * is killed. Elsewhere, and for a writer that opens it by name, it has a hidden name; whoever next makes
 * the same file removes what a killed process left under such a name.
 */
#ifndef SS_BASE_DRAFT_H
#define SS_BASE_DRAFT_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct ss_draft {
	int fd;			/* -1: none; open for reading and writing */
	bool named;		/* it is at `path` */
	char path[PATH_MAX];	/* its hidden name, or where that would be */
};

/*
 * A new file with these rights, in the directory where `hidden` leads: the path of its hidden name
 * without the end, which makes it unique. False: errno says why.
 */
bool ss_draft_open(struct ss_draft *d, const char *hidden, mode_t mode);
/* Give it its hidden name now, for a writer that opens it by name. False: errno says why. */
bool ss_draft_hide(struct ss_draft *d);
/*
 * On disk, under this name in the same directory. `replaces`: in the place of a file of that name;
 * else false with EEXIST if the name is taken. Closed either way. False: errno says why, and no
 * draft is left.
 */
bool ss_draft_keep(struct ss_draft *d, const char *path, bool replaces);
void ss_draft_drop(struct ss_draft *d);

#endif
