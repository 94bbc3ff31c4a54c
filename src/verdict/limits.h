/*
 * limits.h - from where on something is said, with the reason.
 */
#ifndef SS_VERDICT_LIMITS_H
#define SS_VERDICT_LIMITS_H

/* Less than this is not worth a change by itself. */
#define SS_LEAST_SHARE 0.05
/* Slow steps do more of the same, nothing of their own, if usual ones spend this much of their time on it. */
#define SS_SAME_FRAC 0.2
/* Slow steps do nothing that others do not, if usual ones spend this much of that time on the same. */
#define SS_ALL_DO_FRAC 0.05
/* Less than this is not even mentioned beside something else. */
#define SS_LEAST_MENTION 0.01
/* The largest operation below this share is one of many, and not named. */
#define SS_LEAST_NAMED 0.0005
/* A unit has the problem if it has this share of the worst unit's; others are normal. */
#define SS_BEFALLEN_FRAC 0.3
/* To compute is what a program is for: it gives way to another cause of this share. */
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
/* So few are not "many small ones". */
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
/* Memory is short from here on: the next larger allocation may fail. */
#define SS_MEMORY_FULL_FRAC 0.92
/* More is in use after this share of the steps, and at the end by this much. */
#define SS_GROWS_STEPS_FRAC 0.75
#define SS_GROWS_LEAST_STEPS 4
#define SS_GROWS_FRAC 0.03
/* Less in a step takes days to fill anything, and lists of results grow by that. */
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
 * worth a word.
 */
#define SS_UNCOVERED_SHARE 0.25
/* Kernels without a known operation below this share are not worth a word. */
#define SS_ATTRIBUTED_SHARE 0.995
/*
 * Matrix products in wide types are worth a word from this share of all such kernels and of the
 * time on.
 */
#define SS_WIDE_FRAC 0.25
#define SS_WIDE_SHARE 0.15

#endif
