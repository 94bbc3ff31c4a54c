/* gs.c - Google Cloud Storage. */
#include "location/bucket.h"
static bool open_gs(struct ss_bucket *b, struct ss_err *err)
{
	return ss_fail(err, SS_EINVAL,
		"'" SS_FMT "' is an address of Google Cloud Storage: copy it with 'gcloud storage cp -r ADDRESS DIR', and open DIR",
		SS_ARG(b->named));
}
const struct ss_bucket_kind ss_bucket_gs = { .scheme = SS_STR_INIT("gs://"), .open = open_gs };
