/* hold.c - counting what files hold, each against its own length, then against the budget. */
#include "base/hold.h"

#include <stdatomic.h>
#include <stdlib.h>

static _Atomic uint64_t spent_bytes;

struct ss_hold {
	uint64_t own_bytes;		/* that cost nothing of the budget */
	_Atomic uint64_t held_bytes;
};

struct ss_hold *ss_hold_open(uint64_t file_bytes)
{
	struct ss_hold *h = calloc(1, sizeof(*h));
	if (h)
		h->own_bytes = file_bytes > UINT64_MAX / 4 / SS_HOLD_PER_FILE_BYTE ? UINT64_MAX / 4
										     : file_bytes * SS_HOLD_PER_FILE_BYTE;
	return h;
}

/* The part of `bytes` that counts against the budget. */
static uint64_t beyond(const struct ss_hold *h, uint64_t bytes)
{
	return bytes > h->own_bytes ? bytes - h->own_bytes : 0;
}

static bool spend(uint64_t bytes)
{
	uint64_t before = atomic_load(&spent_bytes);
	do
		if (bytes > SS_HOLD_BUDGET_BYTES || before > SS_HOLD_BUDGET_BYTES - bytes)
			return false;
	while (!atomic_compare_exchange_weak(&spent_bytes, &before, before + bytes));
	return true;
}

bool ss_hold_take(struct ss_hold *h, uint64_t bytes)
{
	if (!h)
		return true;
	uint64_t before = atomic_load(&h->held_bytes), more;
	do {
		if (bytes > UINT64_MAX / 2 - before)
			return false;
		more = beyond(h, before + bytes) - beyond(h, before);
		if (more && !spend(more))
			return false;
		/* Another thread was faster: what to spend is found anew. */
		if (atomic_compare_exchange_strong(&h->held_bytes, &before, before + bytes))
			return true;
		atomic_fetch_sub(&spent_bytes, more);
	} while (true);
}

void ss_hold_give(struct ss_hold *h, uint64_t bytes)
{
	if (!h || !bytes)
		return;
	uint64_t before = atomic_fetch_sub(&h->held_bytes, bytes);
	atomic_fetch_sub(&spent_bytes, beyond(h, before) - beyond(h, before - bytes));
}

void ss_hold_close(struct ss_hold *h)
{
	if (!h)
		return;
	ss_hold_give(h, atomic_load(&h->held_bytes));
	free(h);
}

bool ss_hold_fail(struct ss_str file, struct ss_err *err)
{
	return ss_fail(err, SS_ENOMEM,
		       SS_FMT " needs more memory than %u bytes for each of its bytes, and %llu MiB for all files together; "
		       "if it is compressed, decompress it ('gunzip') and open the result",
		       SS_ARG(file), SS_HOLD_PER_FILE_BYTE, (unsigned long long)(SS_HOLD_BUDGET_BYTES >> 20));
}

uint64_t ss_hold_spent_bytes(void)
{
	return atomic_load(&spent_bytes);
}
