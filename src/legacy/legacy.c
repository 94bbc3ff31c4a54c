/* legacy.c - the registry of tools that read files of older programs. */
#include "legacy/legacy.h"

#include "legacy/answers.h"

static const struct row {
	const char *tool, *kind;
	ss_legacy_fn *reader;
	bool in_place; /* of profiles */
} rows[] = {
#define ANSWERS(tool, kind, reader) { tool, kind, reader, false },
#define FILES(tool, kind) { tool, kind, NULL, true },
#include "legacy/legacy.def"
#undef ANSWERS
#undef FILES
};

static const struct row *find(const struct ss_tool *t, bool in_place)
{
	for (size_t i = 0; i < SS_COUNT(rows); i++)
		if (rows[i].in_place == in_place && strcmp(rows[i].tool, t->name) == 0)
			return &rows[i];
	return NULL;
}

const char *ss_legacy_answers(const struct ss_tool *t)
{
	const struct row *row = find(t, false);
	return row ? row->kind : NULL;
}

ss_legacy_fn *ss_legacy_reader(const struct ss_tool *t)
{
	const struct row *row = find(t, false);
	return row ? row->reader : NULL;
}

const char *ss_legacy_files(const struct ss_tool *t)
{
	const struct row *row = find(t, true);
	return row ? row->kind : NULL;
}
