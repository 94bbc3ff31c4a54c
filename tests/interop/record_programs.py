"""Compile programs of every shape with JAX on the CPU and record them: record_programs.py LOGDIR

The recording holds each program's HloProto with its buffer assignment, which is all that the graph viewer and the memory viewer read.
"""
import os
import sys

os.environ['XLA_FLAGS'] = os.environ.get('XLA_FLAGS', '') + ' --xla_force_host_platform_device_count=8'

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

KEY = jax.random.PRNGKey(7)
LARGE = np.arange(20_000, dtype=np.float32).reshape(100, 200)


def loops(x):
    """A loop with state, and one in it."""
    def inner(i, acc):
        return acc * 0.5 + jnp.sin(acc + i)

    def body(state):
        i, acc, best = state
        acc = jax.lax.fori_loop(0, 5, inner, acc)
        return i + 1, acc, jnp.maximum(best, acc.max())

    return jax.lax.while_loop(lambda s: (s[0] < 10) & (s[2] < 100.0), body, (0, x, x.min()))


def branches(i, x):
    with jax.named_scope('choose'):
        y = jax.lax.switch(i, [jnp.sin, lambda v: v @ v.T, lambda v: jnp.sort(v, axis=1)], x)
    return jax.lax.cond(y[0, 0] > 0, lambda v: v * 2, lambda v: v - LARGE[:64, :64], y)


def decompositions(x):
    s = x @ x.T + 64 * jnp.eye(64)
    return jnp.linalg.cholesky(s), jnp.linalg.eigh(s), jnp.linalg.svd(x), jnp.linalg.solve(s, x)


def convolve(images, kernel, grouped):
    dims = ('NHWC', 'HWIO', 'NHWC')
    y = jax.lax.conv_general_dilated(images, kernel, (2, 2), 'SAME', dimension_numbers=dims)
    y = jax.lax.conv_general_dilated(y, grouped, (1, 1), ((1, 2), (0, 1)), rhs_dilation=(2, 1), dimension_numbers=dims, feature_group_count=8)
    return jax.lax.reduce_window(jax.nn.relu(y), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID')


def convolve_step(images, kernel, grouped):
    return jax.grad(lambda k, g: convolve(images, k, g).sum(), argnums=(0, 1))(kernel, grouped)


def indexing(table, ids, updates):
    rows = table[ids]
    added = table.at[ids].add(updates)
    largest = table.at[ids].max(updates)
    return rows, added, largest, jax.lax.dynamic_update_slice(table, updates[:2], (ids[0], 0)), jnp.cumsum(table, axis=0)


def sorting(x):
    values, at = jax.lax.sort_key_val(x, jnp.arange(x.size, dtype=jnp.int32).reshape(x.shape), dimension=1)
    return values, at, jnp.argsort(x[0]), jax.lax.top_k(x, 5), jnp.unique(x.astype(jnp.int32), size=10)


def tuples(p):
    a, (b, c) = p['a'], p['b']
    return {'sum': a + b, 'both': (c, a.astype(jnp.bfloat16)), 'const': jnp.arange(6).reshape(2, 3), 'one': jnp.float32(1)}


def types(x):
    out = [x.astype(t) for t in (jnp.bfloat16, jnp.float16, jnp.int8, jnp.uint16, jnp.int16, jnp.bool_, jnp.float8_e4m3fn)]
    return out, jnp.fft.fft2(x), jax.lax.complex(x, -x) * 2j


def constants(x):
    few = jnp.array([1.5, -2.25, 3e10, 0.1, np.nan, np.inf, 7, 8], jnp.float32)
    return x + LARGE, x[0, :8] * few, x[0, :9] * np.arange(9, dtype=np.float32), x[:2, :0].sum(), (x[:3, :3] > 0) & np.eye(3, dtype=bool)


def randomness(key):
    a, b = jax.random.split(key)
    return jax.random.normal(a, (100, 300)), jax.random.randint(b, (40,), 0, 9), jax.random.permutation(a, 64)


def scan_layers(ws, x):
    """As large models are written: one layer, scanned, with recomputation."""
    @jax.checkpoint
    def layer(h, w):
        h = jnp.tanh(h @ w)
        return h + jax.nn.softmax(h @ h.T) @ h, h.mean()

    def loss(ws):
        h, means = jax.lax.scan(layer, x, ws)
        return h.sum() + means.sum()

    value, grads = jax.value_and_grad(loss)(ws)
    return value, ws - 0.1 * grads


def attention(q, k, v):
    with jax.named_scope('attend<1>'):
        scores = jnp.einsum('bqhd,bkhd->bhqk', q, k) / 8
        return jnp.einsum('bhqk,bkhd->bqhd', jax.nn.softmax(jnp.where(scores > 0, scores, -1e9)), v)


@functools.partial(jax.jit, donate_argnums=(0, 1))
def donated(state, momentum, grad):
    momentum = momentum * 0.9 + grad
    return state - 0.01 * momentum, momentum, (grad * grad).sum()


def many_users(x):
    return [x[0] * k + jnp.float32(k) for k in range(24)], sum(jnp.roll(x, k) for k in range(20))


def called_twice(x):
    @jax.jit
    def inner(v):
        return jnp.cumsum(jnp.exp(v)) / 3

    return inner(x[0]) + inner(x[1]), jax.lax.map(inner, x)


def callbacks(x):
    return jax.pure_callback(lambda v: np.asarray(v) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1


def sharded(mesh):
    def step(x, w):
        def local(x, w):
            y = jax.lax.all_gather(x @ w, 'model', axis=1, tiled=True)
            y = jax.lax.ppermute(y, 'data', [(0, 1), (1, 2), (2, 3), (3, 0)])
            z = jax.lax.psum_scatter(y, 'data', scatter_dimension=0, tiled=True)
            t = jax.lax.all_to_all(y, 'model', 1, 0, tiled=True)
            return jax.lax.psum(z.sum() + t.sum(), ('data', 'model')) + jax.lax.axis_index('data')
        return jax.shard_map(local, mesh=mesh, in_specs=(P('data', None), P(None, 'model')), out_specs=P(), check_vma=False)(x, w)
    return step


def partitioned(mesh):
    def step(x, w):
        y = jax.lax.with_sharding_constraint(x @ w, NamedSharding(mesh, P('data', 'model')))
        return (y * 2).sum(0), jnp.sort(y, axis=0)
    return step


def run_all():
    x = jax.random.normal(KEY, (64, 64))
    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ('data', 'model'))
    put = lambda v, *spec: jax.device_put(v, NamedSharding(mesh, P(*spec)))
    images, kernel = jnp.ones((4, 32, 32, 3)), jnp.ones((3, 3, 3, 8))
    q = jax.random.normal(KEY, (2, 32, 4, 16))
    calls = [
        (loops, x), (branches, 1, x), (decompositions, x), (convolve, images, kernel, jnp.ones((2, 2, 1, 16))),
        (convolve_step, images, kernel, jnp.ones((2, 2, 1, 16))), (indexing, jnp.ones((1000, 40)), jnp.arange(30), jnp.ones((30, 40))),
        (sorting, x), (tuples, {'a': x, 'b': (x, x[0])}), (types, x), (constants, jnp.ones((100, 200))), (randomness, KEY),
        (scan_layers, jnp.ones((6, 64, 64)), x), (attention, q, q, q), (many_users, x), (called_twice, x), (callbacks, x),
        (sharded(mesh), put(jnp.ones((64, 32)), 'data', None), put(jnp.ones((32, 64)), None, 'model')),
        (partitioned(mesh), put(jnp.ones((64, 32)), 'data', None), put(jnp.ones((32, 64)), None, 'model')),
    ]
    out = [jax.jit(f)(*args) for f, *args in calls]
    out.append(donated(jnp.zeros((300, 300)), jnp.zeros((300, 300)), jnp.ones((300, 300))))
    jax.block_until_ready(out)


def main():
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0     # calls in Python are of no interest here
    with jax.profiler.trace(sys.argv[1], profiler_options=options):
        run_all()


if __name__ == '__main__':
    main()
