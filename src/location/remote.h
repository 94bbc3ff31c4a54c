/* remote.h - files of other machines. */
#ifndef SS_LOCATION_REMOTE_H
#define SS_LOCATION_REMOTE_H

#include "location/location.h"

/* The file at the address p->named, as p->path; p->named is then what messages may say of it. */
bool ss_location_fetch(struct ss_location *p, struct ss_err *err);
/* The answers of the server at grpc://HOST:PORT[/RUN] for one run, in the scratch directory. */
bool ss_location_ask(struct ss_location *p, struct ss_err *err);

/* The object that the bucket's path names, in the same way. */
struct ss_bucket;
bool ss_location_fetch_object(struct ss_location *p, struct ss_bucket *b, struct ss_err *err);
/* The last part of an address, as a file of the cache can be called; p is NULL when memory is out. */
struct ss_str ss_location_file_name(struct ss_str address, struct ss_arena *arena);

#endif
