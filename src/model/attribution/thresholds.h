/*
 * thresholds.h - every number that a judgement hangs on, with the reason for it.
 */
#ifndef SS_MODEL_ATTRIBUTION_THRESHOLDS_H
#define SS_MODEL_ATTRIBUTION_THRESHOLDS_H

/*
 * A step of more than so many usual ones is an outlier: less is what a shared machine does by
 * itself.
 */
#define SS_OUTLIER_RATIO 1.5
/*
 * Beside a step that takes far longer, one that takes a little longer is none: this share of the
 * largest excess.
 */
#define SS_OUTLIER_OF_LARGEST 0.2
/* Outliers matter if what they take beyond usual steps is this much of the recording. */
#define SS_OUTLIER_SHARE 0.10
/*
 * Steps are slow at equal distances, and not by chance, if so few of all ways to choose as many have
 * equal distances.
 */
#define SS_CHANCE 0.05
/* With fewer steps no step is judged unusual. */
#define SS_LEAST_STEPS_OF_OUTLIERS 5
/*
 * A pause this short between two operations, in which nothing was recorded, belongs to what
 * follows: threads wake up.
 */
#define SS_SHORT_PAUSE_PS INT64_C(100000000)
/* Between two operations of a TPU: no more than the core itself needs to go on to the next. */
#define SS_TPU_PAUSE_PS INT64_C(1000000)
/* The time that the start of a kernel takes on the device. */
#define SS_KERNEL_START_PS INT64_C(10000000)
/*
 * An operation of an eager framework that is shorter than this costs its call, not its computing.
 */
#define SS_SMALL_OP_PS INT64_C(10000000)
/*
 * A call of a program that is over after this has cost what calls cost: what its operations take is
 * little of it.
 */
#define SS_SMALL_CALL_PS INT64_C(20000000)
/* Python between two small operations that takes less than this is part of starting them. */
#define SS_SHORT_PYTHON_PS INT64_C(20000000)
/*
 * A call is where the time goes if it holds this much of it: what lies deeper is spread over many.
 */
#define SS_CALL_HOLDS_FRAC (1.0 / 3)
/*
 * A participant that came this much later than the first kept the others waiting: smaller differences
 * are the travel time of messages.
 */
#define SS_LATE_FRAC 0.25

#endif
