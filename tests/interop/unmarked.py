#!/usr/bin/env python3
"""Profiles of programs that marked no steps, and when their steps really began: are they found, and how surely?

    unmarked.py [--bin build/stepscope] [--show]

Each kind is made from a seed with its truth: the begins of its steps. Found is right when there are as many steps as there were, but for
one at each end of the profile, and all of them are as long as their period; where a kind has no steps (None), little confidence is right.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import against_xprof
import xspace
from jobs import US, Plane, U


SLOW = 100  # a step of these programs lasts a millisecond and more: what is shorter is not shown as a step


class World:
    """A clock, and what ran: spans by line, of device 0 and of threads."""

    def __init__(self, kind, seed):
        self.rnd, self.at, self.begins = random.Random(f'{kind}/{seed}'), 100 * US, []
        self.lines, self.jitter = {}, 0.03

    def long(self, us):
        return max(1, int(us * SLOW * US * self.rnd.uniform(1 - self.jitter, 1 + self.jitter)))

    def span(self, line, name, us, inside=None, **stats):
        """One span from now on; with `inside` (a function) it covers what that does."""
        begin = self.at
        here = self.lines.setdefault(line, [])
        here.append(None)
        place = len(here) - 1
        if inside:
            inside()
        else:
            self.at += self.long(us)
        here[place] = (name, begin, self.at - begin, stats)

    def gap(self, us):
        self.at += self.long(us)

    def step(self):
        self.begins.append(self.at)


def tpu(w, modules=True):
    plane = Plane('/device:TPU:0', 2)
    plane.own = [plane.stat('device_type_string', 'TPU v5 Lite')]
    names = {}
    for ident, line in ((2, 'XLA Modules'), (3, 'XLA Ops')):
        if line == 'XLA Modules' and not modules:
            continue
        plane.line(ident, line, 0, [
            (plane.meta(f'%{n} = x()' if ident == 3 else n, n if ident == 3 else '', **({
                'program_id': U(5), 'symbol_id': U(names.setdefault(n, len(names) + 1)), 'hlo_category': 'loop fusion'} if ident == 3 else {})),
             b, d, {'device_offset_ps': U(b), 'device_duration_ps': U(d)}) for n, b, d, _ in w.lines.get(line, [])])
    return plane


def gpu(w):
    plane = Plane('/device:GPU:0', 2)
    plane.own = [plane.stat('compute_cap_major', 9), plane.stat('core_count', 132), plane.stat('clock_rate', 1980000)]
    for k, line in enumerate(sorted(n for n in w.lines if n.startswith('Stream'))):
        plane.line(10 + k, line, 0, [(plane.meta(n), b, d, {'kernel_details': 'regs:1', 'correlation_id': U(i + 1)})
                                     for i, (n, b, d, _) in enumerate(w.lines[line])])
    return plane


def threads(w):
    plane = Plane('/host:CPU', 1)
    for k, line in enumerate(sorted(n for n in w.lines if n.startswith(('python', 'tf_', 'pool')))):
        events = sorted(w.lines[line], key=lambda e: (e[1], -e[2]))
        plane.line(1000 + k, line, 0, [(plane.meta(n), b, d, s) for n, b, d, s in events])
    return plane


def program(w, name, ops, us=10):
    def run():
        for op in ops:
            w.span('XLA Ops', op, us)
            w.gap(0.05)
    w.span('XLA Modules', name, 0, run)
    w.gap(3)


def layers(w, line, head, body, tail, n, us):
    for name in head:
        w.span(line, name, us)
    for _ in range(n):
        for name in body:
            w.span(line, name, us)
            w.gap(0.02)
    for name in tail:
        w.span(line, name, us)


TRAIN = ('fusion.1', 'fusion.2', 'convolution.3', 'all-reduce.4', 'fusion.5')


def one_program(w):
    for _ in range(12):
        w.step()
        program(w, 'jit_step(5)', TRAIN)
    return tpu(w)


def two_programs(w):
    for _ in range(9):
        w.step()
        program(w, 'jit_grads(5)', TRAIN)
        program(w, 'jit_update(6)', ('fusion.7', 'fusion.8'), 4)
    return tpu(w)


def small_ones_before(w):
    for _ in range(10):
        w.step()
        for name in ('jit_convert(7)', 'jit_fold_in(8)', 'jit_split(9)'):
            program(w, name, ('copy.1',), 0.3)
        program(w, 'jit_step(5)', TRAIN)
    return tpu(w)


def evaluation(w):
    for k in range(15):
        w.step()
        program(w, 'jit_step(5)', TRAIN)
        if k % 5 == 4:
            program(w, 'jit_eval(6)', ('fusion.11', 'fusion.12'))
    return tpu(w)


def accumulated(w):
    for _ in range(8):
        w.step()
        for _ in range(4):
            program(w, 'jit_micro(5)', TRAIN, 3)
        program(w, 'jit_apply(6)', ('fusion.21', 'fusion.22'), 2)
    return tpu(w)


def only_ops(w):
    for _ in range(11):
        w.step()
        layers(w, 'XLA Ops', ('copy.1', 'fusion.2'), ('fusion.3', 'convolution.4', 'fusion.5'), ('all-reduce.6', 'fusion.7'), 12, 2)
        w.gap(4)
    return tpu(w, modules=False)


def ops_without_gaps(w):
    for _ in range(14):
        w.step()
        layers(w, 'XLA Ops', ('copy.1',), ('fusion.3', 'fusion.5'), ('fusion.7',), 24, 1)
    return tpu(w, modules=False)


def unsteady(w):
    w.jitter = 0.4
    for _ in range(20):
        w.step()
        program(w, 'jit_step(5)', TRAIN)
    return tpu(w)


def cut_at_both_ends(w):
    for op in TRAIN[3:]:
        w.span('XLA Ops', op, 10)
    for _ in range(9):
        w.step()
        for op in TRAIN:
            w.span('XLA Ops', op, 10)
        w.gap(3)
    w.step()
    w.span('XLA Ops', TRAIN[0], 10)
    return tpu(w, modules=False)


def a_pause(w):
    for k in range(16):
        if k == 9:
            w.gap(5000)
        w.step()
        program(w, 'jit_step(5)', TRAIN)
    return tpu(w)


def requests(w):
    """They come when they come: each is a step, from its begin to the next one's or to its end."""
    for _ in range(30):
        w.step()
        program(w, 'jit_serve(5)', TRAIN, 4)
        w.gap(w.rnd.expovariate(1 / 15))
    return tpu(w)


def decoding(w):
    program(w, 'jit_prefill(4)', [f'{op}{k}' for k in range(6) for op in TRAIN])
    for _ in range(40):
        w.step()
        program(w, 'jit_decode(5)', TRAIN, 2)
    return tpu(w)


def kernels(w):
    for _ in range(10):
        w.step()
        layers(w, 'Stream #7(Compute)', ('embed', 'norm'), ('gemm_qkv', 'softmax', 'gemm_o', 'norm', 'gelu'), ('loss',), 8, 3)
        layers(w, 'Stream #7(Compute)', ('loss_grad',), ('gemm_o_grad', 'softmax_grad', 'gemm_qkv_grad', 'gelu_grad'), ('adam', 'adam', 'adam'), 8, 4)
        w.gap(6)
    return gpu(w)


def kernels_and_copies(w):
    for _ in range(12):
        w.step()
        w.span('Stream #8(MemcpyH2D)', 'MemcpyH2D', 7)
        for name in ('conv', 'relu', 'conv', 'relu', 'pool', 'gemm', 'loss', 'gemm_grad', 'conv_grad', 'conv_grad', 'sgd'):
            w.span('Stream #7(Compute)', name, 5)
            w.gap(0.5)
        w.span('Stream #9(MemcpyD2H)', 'MemcpyD2H', 1)
    return gpu(w)


def one_kernel(w):
    for _ in range(25):
        w.step()
        w.span('Stream #7(Compute)', 'megakernel', 30)
        w.gap(2)
    return gpu(w)


def keras(w):
    def step():
        for name in ('IteratorGetNext:IteratorGetNext', 'model/dense/MatMul:MatMul', 'model/dense/Relu:Relu', 'model/dense_1/MatMul:MatMul',
                     'gradient_tape/model/dense_1/MatMul:MatMul', 'gradient_tape/model/dense/MatMul:MatMul', 'Adam/Adam/update:ResourceApplyAdam'):
            w.span('tf_Compute/1', name, 8)
            w.gap(0.2)
    for _ in range(13):
        w.step()
        step()
        w.gap(9)
    return threads(w)


def jax_on_cpu(w):
    def step():
        for name in ('dot.1', 'fusion.2', 'dot.3', 'reduce.4'):
            w.span('tf_XLAEigen/1', name, 6, hlo_op=name, hlo_module='jit_step', program_id=U(3))
    for _ in range(17):
        w.step()
        w.span('python', 'PjitFunction(train_step)', 0, step)
        w.gap(5)
    return threads(w)


def data_runs_ahead(w):
    for _ in range(12):
        w.step()
        begin = w.at
        for name in ('model/a/MatMul:MatMul', 'model/b/MatMul:MatMul', 'model/c/Sum:Sum', 'train/Apply:AssignSubVariableOp'):
            w.span('tf_Compute/1', name, 20)
        end, w.at = w.at, begin
        for _ in range(6):
            w.span('tf_data_private_threadpool', 'Iterator::Map', 5)
            w.gap(1)
        w.at = max(end, w.at) + US
    return threads(w)


def eager(w):
    for _ in range(10):
        w.step()
        for name in ('MatMul', 'BiasAdd', 'Relu', 'MatMul', 'Softmax', 'MatMul', 'ResourceApplyGradientDescent'):
            def run(name=name):
                w.span('python', f'{name}:{name}', 4)
            w.span('python', 'EagerExecute', 0, run)
            w.gap(0.5)
        w.gap(10)
    return threads(w)


def eager_by_name(w):
    for _ in range(10):
        w.step()
        for name in ('MatMul', 'BiasAdd', 'Relu', 'MatMul', 'Softmax', 'MatMul', 'ResourceApplyGradientDescent'):
            def kernel(name=name):
                w.span('python', f'{name}:{name}', 4)

            def local(name=name, kernel=kernel):
                w.span('python', f'EagerLocalExecute: {name}', 0, lambda: w.span('python', 'EagerKernelExecute', 0, kernel))
            w.span('python', 'EagerExecute', 0, local)
            w.gap(0.5)
        w.gap(10)
    return threads(w)


def functions(w):
    """tf.function on a thread, and a call now and then to read a metric."""
    for k in range(14):
        w.step()
        w.span('python', 'EagerLocalExecute: IteratorGetNext', 2)
        w.span('python', 'EagerLocalExecute: __inference_step_124', 0, lambda: w.span('python', 'FunctionRun', 40))
        if k % 4 == 3:
            w.span('python', 'EagerLocalExecute: ReadVariableOp', 1)
        w.gap(3)
    return threads(w)


def two_streams(w):
    """Kernels of the next step's input run beside those of the step."""
    for _ in range(11):
        w.step()
        begin = w.at
        for name in ('gemm', 'relu', 'gemm', 'softmax', 'gemm_grad', 'relu_grad', 'gemm_grad', 'adam'):
            w.span('Stream #7(Compute)', name, 9)
        end, w.at = w.at, begin
        for _ in range(3):
            w.span('Stream #9(Compute)', 'augment', 4)
            w.gap(6)
        w.at = max(w.at, end) + US
    return gpu(w)


def bare_calls(w):
    for _ in range(14):
        w.step()
        w.span('python', 'load_batch', 12)
        w.span('python', 'forward', 30)
        w.span('python', 'backward', 45)
        w.gap(1)
    return threads(w)


def generator_of_pairs(w):
    """Two networks by turns, as in adversarial training: a step is both."""
    for _ in range(9):
        w.step()
        program(w, 'jit_discriminator(5)', TRAIN)
        program(w, 'jit_discriminator(5)', TRAIN)
        program(w, 'jit_generator(6)', ('fusion.31', 'fusion.32', 'fusion.33'))
    return tpu(w)


def once(w):
    program(w, 'jit_all(5)', [f'fusion.{k}' for k in range(60)], 3)
    return tpu(w)


def noise(w):
    for _ in range(300):
        w.span('XLA Ops', f'fusion.{w.rnd.randrange(1000)}', w.rnd.randrange(1, 40))
        w.gap(w.rnd.randrange(1, 9))
    return tpu(w, modules=False)


KINDS = (one_program, two_programs, small_ones_before, evaluation, accumulated, only_ops, ops_without_gaps, unsteady, cut_at_both_ends, a_pause, requests,
         decoding, kernels, kernels_and_copies, one_kernel, two_streams, keras, jax_on_cpu, data_runs_ahead, eager, eager_by_name, functions,
         bare_calls, generator_of_pairs, once, noise)
WITHOUT_STEPS = (once, noise)


def judge(truth, kind, found, sure, how):
    """'' or what is wrong."""
    if kind in WITHOUT_STEPS:
        return '' if sure < 40 else f'{len(found)} steps by {how}, {sure} % sure, of a program without any'
    if not found:
        return 'no steps'
    if abs(len(found) - len(truth)) > 2:
        return f'{len(found)} steps of {len(truth)}, by {how}, {sure} % sure'
    periods = [b - a for a, b in zip(truth, truth[1:])]
    true_ms, found_ms = statistics.median(periods) / 1e9, statistics.median(found)
    if abs(found_ms - true_ms) > 0.15 * true_ms:
        return f'{found_ms:.4f} ms a step instead of {true_ms:.4f}, by {how}, {sure} % sure'
    return '' if sure >= 50 else f'right, but only {sure} % sure, by {how}'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--bin', default=against_xprof.BIN)
    parser.add_argument('--show', action='store_true')
    args = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for kind in KINDS:
            w = World(kind.__name__, os.environ.get('SEED', '1'))
            data = xspace.serialize([kind(w).fields(), [4, 2, b'host0']])
            logdir = against_xprof.layout(scratch, kind.__name__, [('host0.xplane.pb', data)])
            done = subprocess.run([args.bin, 'tool', 'overview_page', logdir, '--format', 'json'], stdout=subprocess.PIPE, check=True)
            tables = {t['name']: t for t in json.loads(done.stdout)['tables']}
            steps, said = tables['steps'], tables['diagnostics']['props']
            times = next((steps['data'][i] for i, c in enumerate(steps['cols']) if c['id'] == 'stepTimeMs'), [])
            sure = said['steps_confidence']['value'] if 'steps_confidence' in said else 0
            how = said['steps_found_by']['text'] if 'steps_found_by' in said else 'nothing'
            wrong = judge(w.begins, kind, times, sure, how)
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong or args.show:
                print(f'{kind.__name__}: {wrong or "right"} ({steps["nrows"]} of {len(w.begins)} steps by {how}, {sure:.0f} % sure)')
    print(f'{passed} passed, {failed} failed')
    return 0 if passed and not failed else 1


if __name__ == '__main__':
    sys.exit(main())
