/* remote.h - files of other machines. */
#ifndef SS_LOCATION_REMOTE_H
#define SS_LOCATION_REMOTE_H

#include "location/location.h"

/* The file at the address p->named, as p->path; p->named is then what messages may say of it. */
bool ss_location_fetch(struct ss_location *p, struct ss_err *err);

#endif
