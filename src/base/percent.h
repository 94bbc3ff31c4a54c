/*
 * percent.h - a share in words: "12.3%". A share above 0 is not written 0.0%, and a share below 1 is
 * not written 100.0%.
 */
#ifndef SS_BASE_PERCENT_H
#define SS_BASE_PERCENT_H

/* For printf: ss_percent_of(f).s */
struct ss_percent {
	char s[32];
};

/* Format a share of 1 as a percentage. */
struct ss_percent ss_percent_of(double frac);

#endif
