"""A program with its profiler's port open: profiled.py jax|tf PORT. Trains until its standard input ends."""
import os
import sys
import threading


def jax_steps(port):
    import jax
    import jax.numpy as jnp
    jax.profiler.start_server(port)
    f = jax.jit(lambda x: jnp.tanh(x @ x).sum())
    x = jnp.ones((128, 128))
    f(x).block_until_ready()
    for i in range(1 << 30):
        with jax.profiler.StepTraceAnnotation('train', step_num=i):
            f(x).block_until_ready()
        yield


def tf_steps(port):
    os.environ['TF_CPP_MIN_LOG_LEVEL'] = '2'
    import tensorflow as tf
    tf.profiler.experimental.server.start(port)
    w = tf.Variable(tf.random.normal((64, 64)))
    f = tf.function(lambda x: tf.reduce_sum(tf.matmul(x, w)))
    x = tf.ones((64, 64))
    f(x)
    for i in range(1 << 30):
        with tf.profiler.experimental.Trace('train', step_num=i, _r=1):
            f(x)
        yield


def main():
    steps = {'jax': jax_steps, 'tf': tf_steps}[sys.argv[1]](int(sys.argv[2]))
    next(steps)
    print('ready', flush=True)
    end = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), end.set()), daemon=True).start()
    while not end.wait(0.01):
        next(steps)


if __name__ == '__main__':
    main()
