/* write.h - the rows of a question as JSON, JSON lines, CSV or a table for people (docs/sql.md). */
#ifndef SS_SQL_WRITE_H
#define SS_SQL_WRITE_H

#include "emit/text.h"
#include "sql/sql.h"

/* SS_SQL_ROWS: {"columns":[…],"rows":[[…],…],"truncated":false}. */
enum ss_sql_format { SS_SQL_JSON, SS_SQL_JSONL, SS_SQL_CSV, SS_SQL_TABLE, SS_SQL_ROWS, SS_SQL_FORMATS };

/* "json", "jsonl", "csv", "table", "rows"; SS_SQL_FORMATS: there is no such format. */
enum ss_sql_format ss_sql_format_of(struct ss_str name);
const char *ss_sql_content_type(enum ss_sql_format format);

struct ss_sql_written {
	uint64_t rows;
	bool cut;		/* there are more rows than the limit */
};

struct ss_sql_writing {
	enum ss_sql_format format;
	uint64_t most_rows;	/* 0: all */
	bool long_as_text;	/* rows: integers beyond 2^53 as text, for readers whose numbers are doubles */
	bool raw;		/* table: times and bytes as they are */
	struct ss_text_style style;	/* table */
};

/*
 * All rows, as they come; a table is held until its end. False on failure of the query: what was
 * written is not whole.
 */
bool ss_sql_write(struct ss_sql_rows *r, const struct ss_sql_writing *w, struct ss_out *o, struct ss_sql_written *done,
		  struct ss_err *err);

#endif
