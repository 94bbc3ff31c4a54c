"""Predict twelve batches with Keras on the CPU; nothing marks a step: record_plain_tf.py LOGDIR"""
import os
import sys

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')
import numpy as np
import tensorflow as tf


def main():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1024, activation='relu'), tf.keras.layers.Dense(1024)])
    data = np.ones((12 * 256, 512), 'float32')  # a batch takes some milliseconds: shorter steps are not shown
    model.predict(data, batch_size=256, verbose=0)   # traced before the recording
    tf.profiler.experimental.start(sys.argv[1])
    model.predict(data, batch_size=256, verbose=0)
    tf.profiler.experimental.stop()


if __name__ == '__main__':
    main()
