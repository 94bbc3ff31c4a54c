/*
 * apart.h - memory that two threads write at the same time.
 *
 * A processor fetches memory by lines of 64 bytes, mostly two at once. If two threads write into
 * one such pair, it moves between their processors with each write, and both wait for it: a loop
 * that only counts then takes several times as long.
 */
#ifndef SS_BASE_APART_H
#define SS_BASE_APART_H

/* What stands this far apart is in different pairs of lines. */
#define SS_APART_BYTES 128u

/* Before a member: it, and what follows it, share no pair of lines with the members before it. */
#define SS_APART _Alignas(SS_APART_BYTES)

#endif
