"""Call compiled functions twelve times with JAX on the CPU, without marking steps: record_plain_jax.py LOGDIR"""
import sys

import jax
import jax.numpy as jnp


@jax.jit
def infer(w, x):
    for _ in range(4):
        x = jnp.tanh(x @ w)
    return x


def main():
    w, x = jnp.full((512, 512), 0.01), jnp.ones((512, 512))     # some milliseconds: shorter steps are not shown
    infer(w, x).block_until_ready()     # compiled before the recording
    with jax.profiler.trace(sys.argv[1]):
        for _ in range(12):
            infer(w, x).block_until_ready()


if __name__ == '__main__':
    main()
