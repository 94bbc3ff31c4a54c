"""Profiles of made-up jobs on several slices: transfers between them as the program runs them, and as the runtime on the host does.

    slices.py SEED FOLDER     write the files of one job
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'lib'))
import hlo
import xspace
from jobs import US, Plane, U

TYPES = ('ONE_TO_ONE', 'ALL_GATHER', 'ALL_REDUCE', 'ALL_TO_ALL', 'REDUCE_SCATTER', 'SOMETHING_NEW')
OPS = ('send', 'send-done', 'recv', 'recv-done')
ELEMENTS = ('f32', 'bf16', 's8', 's32', 'f64')


class Collective:
    """A transfer of a program: send, send-done, recv and recv-done of one rendezvous."""

    def __init__(self, rnd, k):
        self.name, self.type = f'{rnd.choice(("all-reduce", "send_recv", "ar.x"))}_{k}', rnd.choice(TYPES)
        self.members, self.number = rnd.choice((0, 2, 4, 8)), k + 1
        data = hlo.Shape(rnd.choice(ELEMENTS), (rnd.choice((1, 128, 1000)), rnd.choice((8, 64))))
        if rnd.random() < 0.2:
            data = hlo.Shape('tuple', parts=(data, hlo.Shape('f32', (17,))))
        self.data, self.on_done = data, rnd.random() < 0.3
        self.dur = {op: rnd.randrange(1, 9 * US) for op in OPS}

    def info(self):
        """DcnCollectiveInfoProto."""
        if self.type == 'ONE_TO_ONE':
            return xspace.serialize([[1, 0, 2], [3, 2, [[1, 2, [[1, 0, 0]]], [2, 2, [[1, 0, 1]]]]]])
        ends = [[1, 2, [[1, 0, k], [2, 0, k]]] for k in range(self.members)]
        return xspace.serialize([[1, 0, 5], [2, 2, ends]])

    def attributes(self, op):
        if op.endswith('-done') and not self.on_done:
            return ()
        pairs = (('_xla_host_transfer_rendezvous', self.name), ('_xla_megascale_transfer_type', self.type))
        return [[68, 2, [[1, 2, [[1, 2, k.encode()], [2, 2, v.encode()]]] for k, v in pairs]]]

    def text(self, op):
        said = f', frontend_attributes={{_xla_host_transfer_rendezvous="{self.name}",_xla_megascale_transfer_type="{self.type}"}}'
        return f'%{op}.{self.number} = {self.data.text()} {op}(%x){said if self.attributes(op) else ""}'


class Job:
    def __init__(self, seed):
        self.rnd = rnd = random.Random(seed)
        self.nhosts, self.ndevices, self.nsteps = rnd.randrange(1, 4), rnd.choice((1, 2)), rnd.randrange(1, 5)
        self.collectives = [Collective(rnd, k) for k in range(rnd.randrange(1, 5))]
        self.program, self.kept = rnd.randrange(1, 1 << 40), rnd.random() < 0.9
        self.tiny, self.traceme, self.module_runs = rnd.random() < 0.6, rnd.random() < 0.5, rnd.random() < 0.7
        self.order = self.schedule()

    def schedule(self):
        """[(collective, op)]: its four in their order, those of several mixed; other work between them is None."""
        rnd, left, out = self.rnd, {c: list(OPS) for c in self.collectives}, []
        while left:
            c = rnd.choice(list(left))
            out.append((c, left[c].pop(0)))
            if not left[c]:
                del left[c]
            if rnd.random() < 0.5:
                out.append((None, ''))
        return out

    def module(self):
        made = hlo.Module('jit_dcn')
        main = made.computation('main')
        token = hlo.Shape('token')
        x = {c: main.parameter(f'x.{c.number}', c.data) for c in self.collectives}
        after, last = main.add('tok', 'after-all', token), {}
        for c, op in self.order:
            if c is None:
                continue
            shape = {'send': (c.data, hlo.Shape('u32'), token), 'recv': (c.data, hlo.Shape('u32'), token), 'recv-done': (c.data, token)}.get(op)
            operands = {'send': lambda: (x[c], after), 'send-done': lambda: (last[c],), 'recv': lambda: (last[c],), 'recv-done': lambda: (last[c],)}
            channel = 2 * c.number + (1 if op.startswith('recv') else 0)
            last[c] = main.add(f'{op}.{c.number}', op, hlo.Shape('tuple', parts=shape) if shape else token, operands[op](),
                               extra=[[26, 0, channel], [47, 0, 1], *c.attributes(op)])
        main.add('done', 'after-all', token)
        return made.proto()


class Device:
    def __init__(self, job, host, number):
        self.job, self.rnd, self.number = job, random.Random(f'{host}/{number}/{job.rnd.random()}'), number
        self.plane = Plane(f'/device:TPU:{number}', 2 + number)
        self.plane.own = [self.plane.stat('device_type_string', 'TPU v4'), self.plane.stat('device_id', number)]
        self.steps, self.modules, self.ops, self.traceme, self.sent = [], [], [], [], []

    def step(self, k, at):
        job, plane, rnd, begin = self.job, self.plane, self.rnd, at
        at += rnd.randrange(1, US)
        for c, op in job.order:
            if c is None:
                at = self.other(at)
                continue
            dur = max(1, int(c.dur[op] * rnd.uniform(0.7, 1.3)))
            stats = {'hlo_category': f'host {op}', 'program_id': U(job.program), 'symbol_id': U(10 * c.number + OPS.index(op))}
            if op == 'send':
                stats['dcn_collective_info'] = c.info()
                self.sent.append((k, c, at))
            self.ops.append((plane.meta(c.text(op), f'{op}.{c.number}', **stats), at, dur, {}))
            at += dur + rnd.choice((0, rnd.randrange(1, US)))
        run = {'run_id': U(500 + k)} if job.module_runs else {}
        self.modules.append((plane.meta(f'jit_dcn({job.program})'), begin, at - begin, run))
        self.steps.append((plane.meta(str(k)), begin, at - begin + 10, {'step_num': k}))
        if job.traceme:
            self.traceme.append((plane.meta('scope'), begin + 5, (at - begin) // 2, {'level': 0.5}))
        return at + rnd.randrange(1, 5 * US)

    def other(self, at):
        plane, rnd = self.plane, self.rnd
        if self.job.tiny and rnd.random() < 0.6:
            for k in range(rnd.randrange(1, 5)):
                self.ops.append((plane.meta(f'%tiny.{k} = f32[]', f'tiny.{k}'), at, rnd.randrange(1, 200), {}))
                at += rnd.randrange(200, 400)
        dur = rnd.randrange(1, 20 * US)
        self.ops.append((plane.meta('%fusion.1 = f32[8] fusion()', 'fusion.1', hlo_category='loop fusion', program_id=U(self.job.program),
                                    symbol_id=U(1)), at, dur, {}))
        return at + dur

    def build(self):
        at = 50 * US
        for k in range(self.job.nsteps):
            at = self.step(k, at)
        for ident, name, events in ((1, 'Steps', self.steps), (2, 'XLA Modules', self.modules), (3, 'XLA Ops', self.ops), (4, 'XLA TraceMe', self.traceme)):
            if events:
                self.plane.line(ident, name, 0, events)
        return self.plane.fields()


def runtime(job, devices):
    """The runtime's own trace: what each execution of a collective did."""
    rnd, plane, events = job.rnd, Plane('/device:CUSTOM:Megascale Trace', 950), []
    for device in devices:
        ident = 3 + 4 * device.number
        for k, c, at in device.sent:
            key = f'device_{ident}_gid_{c.name}${k}^i{k}_x'

            def add(name, begin, dur, key=key, **stats):
                events.append((plane.meta(name), begin, dur, {'graph_key': key, **stats}))
            total = rnd.randrange(5 * US, 30 * US)
            add(f'device_{ident}_gid_{c.name}', at + US, total, input_size=rnd.randrange(1 << 20))
            for index in range(rnd.randrange(1, 3)):
                add('DeviceToHost START', at + 2 * US + index, 100, action_index=index)
                add('DeviceToHost END', at + 3 * US + index, rnd.randrange(1, US), action_index=index)
            sizes = ' '.join(f's{a}->{rnd.randrange(3)}d|$c{a}={rnd.randrange(1 << 16)}' for a in range(rnd.randrange(1, 3)))
            add('NetworkSend END', at + 4 * US, 1000, action_duration_ns=rnd.randrange(1, 5000), buffer_sizes=sizes)
            if rnd.random() < 0.8:
                add('NetworkReceive END', at + 6 * US, 1000, network_transport_latency_us=U(rnd.randrange(1, 60)), buffer_sizes=sizes)
            for index in range(rnd.randrange(1, 3)):
                add('HostToDevice START', at + 7 * US + index, 100, action_index=index)
                add('HostToDevice END', at + 8 * US + index, rnd.randrange(2000, US), action_index=index)
    plane.line(1, 'megascale', 0, events)
    return plane.fields()


def files(seed):
    """[(file name, bytes)], one a host."""
    job, out = Job(seed), []
    for h in range(job.nhosts):
        devices = [Device(job, h, k) for k in range(job.ndevices)]
        planes = [d.build() for d in devices]
        metadata, host = Plane('/host:metadata', 900), Plane('/host:CPU', 1)
        if job.kept:
            metadata.meta(f'jit_dcn({job.program})', ident=job.program, **{'Hlo Proto': job.module()})
        host.meta('MegaScale: Communication Transport Receive')
        planes += [metadata.fields(), host.fields(), runtime(job, devices)]
        out.append((f'host{h}.xplane.pb', xspace.serialize(planes + [[4, 2, f'host{h}'.encode()]])))
    return out


def main():
    os.makedirs(sys.argv[2], exist_ok=True)
    for name, data in files(sys.argv[1]):
        with open(os.path.join(sys.argv[2], name), 'wb') as f:
            f.write(data)


if __name__ == '__main__':
    main()
