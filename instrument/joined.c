/* joined.c - see joined.h. */
#include "joined.h"

#include "recorder.h"

#include <dlfcn.h>
#include <string.h>

const struct recorder_table *ss_rec_other(void)
{
	return __atomic_load_n(&ss_rec.other, __ATOMIC_ACQUIRE);
}

void ss_rec_find_other(void)
{
	const struct recorder_table *(*table)(void) = NULL;
	if (__atomic_exchange_n(&ss_rec.looked, true, __ATOMIC_ACQ_REL))
		return;
	ss_rec_stay_loaded();
	void *at = dlsym(RTLD_DEFAULT, RECORDER_TABLE_NAME);
	memcpy(&table, &at, sizeof(table));
	const struct recorder_table *found = table ? table() : NULL;
	if (!found || found->size < sizeof(*found) || found->level == &ss_trace_level_now)
		return;
	/* A forked child records nothing until it starts: its level is ours to put out. */
	if (ss_rec_lock_session()) {
		ss_rec_prepare();
		ss_rec_unlock_session();
	}
	__atomic_store_n(&ss_rec.other, found, __ATOMIC_RELEASE);
}
