/* remote.h - files of other machines. */
#ifndef SS_LOCATION_REMOTE_H
#define SS_LOCATION_REMOTE_H

#include "location/location.h"

/* Fetch the file at the address p->named; p->path is then its path. p->named becomes the name that messages may show. */
bool ss_location_fetch(struct ss_location *p, struct ss_err *err);
/* Write the answers of the server at grpc://HOST:PORT[/RUN] for one run into the scratch directory. */
bool ss_location_ask(struct ss_location *p, struct ss_err *err);

/* Fetch the object that the bucket's path names, in the same way. */
struct ss_bucket;
bool ss_location_fetch_object(struct ss_location *p, struct ss_bucket *b, struct ss_err *err);
/* The last part of an address, as a file name for the cache; p is NULL when memory is out. */
struct ss_str ss_location_file_name(struct ss_str address, struct ss_arena *arena);

#endif
