"""Profiles of made-up servers: requests, batches of them, what the host and the device did for each.

    servers.py SEED FOLDER     write the file
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'lib'))
import xspace
from jobs import US, Plane, U

BATCHER = 4     # context type of the shared batch scheduler


class Server:
    def __init__(self, seed):
        self.rnd = rnd = random.Random(seed)
        self.host, self.device, self.modules = Plane('/host:CPU', 1), Plane('/device:TPU:0', 2), []
        self.device.own = [self.device.stat('device_type_string', 'TPU v4'), self.device.stat('device_id', 0)]
        self.batched = rnd.random() < 0.5
        self.root = rnd.choice(('SessionRun', 'TfrtModelRun', 'ServingModelRun', 'RunGraph'))
        self.models = [f'{n}:{rnd.randrange(3)}' for n in rnd.sample(('ranker', 'embed', 'lm'), rnd.randrange(1, 4))]
        self.nrequests, self.some = rnd.choice((3, 20, 70, 130)), {k: rnd.choice((0.3, 0.9, 1)) for k in (
            'h2d', 'd2h', 'execute', 'enqueue', 'complete', 'device', 'padding', 'concat', 'system', 'pattern')}
        self.batcher = rnd.choice(('ProcessBatch', 'OrbaxServing::ProcessBatch'))
        self.threads, self.runs = {}, 0

    def add(self, thread, name, begin, dur, **stats):
        self.threads.setdefault(thread, []).append((self.host.meta(name), begin, max(1, dur), stats))

    def has(self, what):
        return self.rnd.random() < self.some[what]

    def work(self, thread, begin, dur):
        """What is done for a run between the host and the device."""
        rnd, at = self.rnd, lambda share: begin + int(share * dur)
        if self.has('h2d'):
            self.add(thread, rnd.choice(('TransferH2DRequest', 'WriteHbm', 'TransferPreprocessedH2DRequest')), at(0.1), dur // 10)
        if self.has('pattern'):
            self.add(thread, rnd.choice(('Linearize', 'Delinearize')), at(0.22), dur // 30, shape='f32[8]', layout='{0}')
        if self.has('execute'):
            self.add(thread, rnd.choice(('TPUPartitionedCallOp-ExecuteLocal', 'tpu::System::Execute')), at(0.3), dur // 3)
        self.runs += 1
        if self.has('enqueue'):
            self.add(thread, 'DoEnqueueProgram', at(0.4), dur // 50, run_id=U(self.runs), queue_id=0, device_ordinal=0)
        if self.has('device'):
            meta = self.device.meta('jit_serve(5)')
            self.modules.append((meta, at(0.5), dur // 5, {'device_offset_ps': U(at(0.5)), 'device_duration_ps': U(dur // 5), 'run_id': U(self.runs),
                                                           'queue_id': 0}))
        if self.has('complete'):
            self.add(thread, 'CompleteCallbacks', at(0.75), dur // 50, run_id=U(self.runs), queue_id=0, device_ordinal=0)
        if self.has('d2h'):
            self.add(thread, rnd.choice(('TransferD2HRequest', 'ReadHbm')), at(0.8), dur // 12)

    def plain(self):
        at = 40 * US
        for k in range(self.nrequests):
            dur = self.rnd.randrange(2 * US, 12 * US)
            thread = f'serving {k % 3}'
            self.add(thread, self.root, at, dur, _r=1, model_id=self.rnd.choice(self.models))
            self.work(thread, at + 1, dur - 2)
            at += dur + self.rnd.randrange(1, 5 * US)

    def in_batches(self):
        rnd, at, number = self.rnd, 40 * US, 0
        while number < self.nrequests:
            n, waits, dur = rnd.randrange(1, 6), rnd.randrange(3 * US, 9 * US), rnd.randrange(6 * US, 20 * US)
            model, size = rnd.choice(self.models), rnd.choice((8, 16, 32))
            batch = at + waits
            for k in range(n):
                begin = at + rnd.randrange(waits // 2)
                self.add(f'request {number % 8}', 'BatchingSessionRun', begin, batch + dur - begin + rnd.randrange(1, US))
                self.add(f'request {number % 8}', 'ScheduleWithoutSplit', begin + 10, US // 4, _pt=BATCHER, _p=number + 1, batching_input_task_size=1 + k)
                number += 1
            for k in range(n):
                extra = {'_ct': BATCHER, '_c': number - k} if k == 0 else {}
                if k == 0:
                    self.add('batches', self.batcher, batch, dur, **extra)
                else:
                    self.add('batches', 'a task', batch + k * 10, 5, _ct=BATCHER, _c=number - k)
            if self.has('concat'):
                name = 'ConcatInputTensors' if self.batcher == 'ProcessBatch' else 'OrbaxServing::ConcatInputBuffers'
                padding = {'padding_amount': size - n, 'batch_size_after_padding': size} if self.has('padding') else {}
                self.add('batches', name, batch + US // 2, US, **padding)
            self.add('batches', self.root, batch + 2 * US, dur - 3 * US, model_id=model)
            self.work('batches', batch + 2 * US + 1, dur - 3 * US - 2)
            at = batch + dur + rnd.randrange(1, 4 * US)

    def parameters(self):
        plane, name = Plane('/host:tfstreamz', 950), '/tensorflow/serving/batching/'
        values = {f'{name}{k}{{model_name={m}}}': str(v) for m in self.models for k, v in (
            ('num_batch_threads', 4), ('batch_timeout_micros', 500), ('max_batch_size', 32), ('max_enqueued_batches', 9), ('allowed_batch_sizes', '8,16,32'))}
        plane.line(1, 'tfstreamz', 0, [(plane.meta('first'), 0, US, {}), (plane.meta('second'), 900 * US, US, values)])
        return plane.fields()

    def build(self):
        if self.batched:
            self.in_batches()
        else:
            self.plain()
        for k, (name, events) in enumerate(sorted(self.threads.items())):
            events.sort(key=lambda e: (e[1], -e[2]))
            self.host.line(100 + k, name, 0, events)
        self.modules.sort(key=lambda e: e[1])
        self.device.line(2, 'XLA Modules', 0, self.modules)
        planes = [self.device.fields(), self.host.fields()]
        if self.rnd.random() < 0.5:
            planes.append(self.parameters())
        return xspace.serialize(planes + [[4, 2, b'host0']])


def files(seed):
    """[(file name, bytes)] of one host."""
    return [('host0.xplane.pb', Server(seed).build())]


def main():
    os.makedirs(sys.argv[2], exist_ok=True)
    for name, data in files(sys.argv[1]):
        with open(os.path.join(sys.argv[2], name), 'wb') as f:
            f.write(data)


if __name__ == '__main__':
    main()
