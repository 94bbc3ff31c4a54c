"""Train a small network with JAX on the CPU and record it: record_jax.py LOGDIR"""
import sys

import jax
import jax.numpy as jnp


def loss(params, x, y):
    for w in params[:-1]:
        x = jnp.tanh(x @ w)
    return jnp.mean((x @ params[-1] - y) ** 2)


@jax.jit
def train_step(params, x, y):
    grads = jax.grad(loss)(params, x, y)
    return [p - 0.01 * g for p, g in zip(params, grads)]


def main():
    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    sizes = [(64, 128), (128, 128), (128, 8)]
    params = [jax.random.normal(k, s) * 0.1 for k, s in zip(keys, sizes)]
    x, y = jax.random.normal(keys[3], (256, 64)), jnp.ones((256, 8))
    params = train_step(params, x, y)   # compiled before the recording
    jax.block_until_ready(params)
    with jax.profiler.trace(sys.argv[1]):
        for step in range(6):
            with jax.profiler.StepTraceAnnotation('train', step_num=step):
                params = train_step(params, x, y)
                jax.block_until_ready(params)


if __name__ == '__main__':
    main()
