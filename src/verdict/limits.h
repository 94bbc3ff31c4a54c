/*
 * limits.h - the thresholds of the rules, each with its reason.
 */
#ifndef SS_VERDICT_LIMITS_H
#define SS_VERDICT_LIMITS_H

/* A third of the steps, or two of four, are said to have most of a class of time if they have this share of it. */
#define SS_MOST_OF_CLASS_FRAC 0.8
/* Slow steps stall if nothing was recorded in this share of their extra time. */
#define SS_STALL_FRAC 0.8
/* Less than this is not worth a change by itself. */
#define SS_LEAST_SHARE 0.05
/* If usual steps spend this share of their time on it, slow steps do more of the same, and nothing special. */
#define SS_SAME_FRAC 0.2
/* If usual steps spend this share of that time on the same, slow steps do nothing that other steps do not. */
#define SS_ALL_DO_FRAC 0.05
/* The same of operations, and of calls that start them, which are the same work whatever they take. */
#define SS_ALL_DO_SAME_FRAC 0.001
/* A smaller share is not mentioned, not even beside something else. */
#define SS_LEAST_MENTION 0.01
/* If the largest operation has a smaller share, no operation is named. */
#define SS_LEAST_NAMED 0.0005
/* A unit has the problem if its share is at least this part of the worst unit's share. */
#define SS_AFFECTED_FRAC 0.3
/* Computing is the purpose of a program: another cause of this share ranks before it. */
#define SS_COMPUTE_GIVES_WAY 0.25
/* Well used: the device computes for this share of the time ... */
#define SS_WELL_USED_SHARE 0.85
/* ... and its largest operation reaches this share of its peak of FLOPs. */
#define SS_WELL_USED_FLOPS 0.70
/* Below this share of both peaks neither FLOPs nor bandwidth bound an operation. */
#define SS_MIN_PEAK_FRAC 0.05
/* A start that takes longer than this is a call that does something else. */
#define SS_LONG_START_PS 3e8
/* A compilation is named beside the longest if it takes this share of its time. */
#define SS_COMPILED_BESIDE_FRAC 0.3
/* Fewer operations are not called "many small ones". */
#define SS_MANY_OPS 8
/* Operations shorter than this on average are small: starting one takes some of it. */
#define SS_SMALL_MEAN_PS UINT64_C(50000000)
/*
 * One participant came last in this share of the collectives with a late participant: this is not
 * chance. By chance, each of two participants comes last in half of them, and each of more participants
 * in fewer.
 */
#define SS_STRAGGLER_LAST_FRAC 0.6
#define SS_STRAGGLER_OF_TWO_FRAC 0.8
/* From this share in use on, memory is short: the next larger allocation may fail. */
#define SS_MEMORY_FULL_FRAC 0.92
/* Memory grows if more is in use after this share of the steps, and at the end by this much. */
#define SS_GROWS_STEPS_FRAC 0.75
#define SS_GROWS_LEAST_STEPS 4
#define SS_GROWS_FRAC 0.03
/* Slower growth takes days to fill a memory; lists of results grow at such a rate. */
#define SS_GROWS_LEAST_BYTES UINT64_C(65536)
/*
 * Free memory is in pieces if so much of it lies outside of the largest block, and is of no use if
 * so much is free.
 */
#define SS_FRAGMENTED_FRAC 0.5
#define SS_FRAGMENTED_FREE_FRAC 0.2
/* The most events that XProf writes into a trace in JSON. */
#define SS_MOST_EVENTS_OF_TRACE 1000000
/*
 * A device without events for this share of the time at one end has lost some, or was not used:
 * a note says so.
 */
#define SS_UNCOVERED_SHARE 0.25
/* Kernels without a known operation are reported from this share of the time on. */
#define SS_ATTRIBUTED_SHARE 0.995
/*
 * Matrix products in wide types are reported from this share of all such kernels and of the time
 * on.
 */
#define SS_WIDE_FRAC 0.25
#define SS_WIDE_SHARE 0.15

#endif
