"""Train a small network with TensorFlow on the CPU, fed by tf.data, and record it: record_tf.py LOGDIR"""
import os
import sys

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')
import tensorflow as tf


def main():
    weights = [tf.Variable(tf.random.normal(s, stddev=0.1)) for s in ((32, 64), (64, 4))]
    data = tf.data.Dataset.range(4096).map(lambda i: tf.random.stateless_normal((32,), [i, i]), num_parallel_calls=2)
    data = iter(data.batch(64).prefetch(2))

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.nn.relu(x @ weights[0]) @ weights[1] - 1.0))
        for w, g in zip(weights, tape.gradient(loss, weights)):
            w.assign_sub(0.01 * g)
        return loss

    train_step(next(data))
    tf.profiler.experimental.start(sys.argv[1])
    for step in range(6):
        with tf.profiler.experimental.Trace('train', step_num=step, _r=1):
            train_step(next(data))
    tf.profiler.experimental.stop()


if __name__ == '__main__':
    main()
