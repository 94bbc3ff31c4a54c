/*
 * aws_config.h - what the two files of the AWS tools say: ~/.aws/config ("[profile NAME]",
 * "[sso-session NAME]", "[services NAME]") and ~/.aws/credentials ("[NAME]"), read as those tools
 * read them.
 */
#ifndef SS_LOCATION_AWS_CONFIG_H
#define SS_LOCATION_AWS_CONFIG_H

#include "base/arena.h"

struct ss_aws_config {
	struct ss_str config, credentials;	/* the texts; "": there is no such file */
};

/* False when memory is out. */
bool ss_aws_config_read(struct ss_aws_config *c, struct ss_arena *arena);

/*
 * In each, p is NULL where it is not set. Of a profile, what the credentials file says goes before
 * the other.
 */
struct ss_str ss_aws_of_profile(const struct ss_aws_config *c, const char *profile, const char *name);
struct ss_str ss_aws_of_credentials(const struct ss_aws_config *c, const char *profile, const char *name);
struct ss_str ss_aws_of_config(const struct ss_aws_config *c, const char *profile, const char *name);
/* Get a setting of "[KIND SECTION]"; `below` names the setting whose indented lines are meant, or is NULL. */
struct ss_str ss_aws_of_section(const struct ss_aws_config *c, const char *kind, struct ss_str section, const char *below,
				const char *name);
bool ss_aws_has_profile(const struct ss_aws_config *c, const char *profile);
bool ss_aws_has_section(const struct ss_aws_config *c, const char *kind, struct ss_str section);
/* Without the white space at both ends. */
struct ss_str ss_aws_trim(struct ss_str s);

#endif
