"""What a trace of torch.profiler says, computed the slow and plain way, from the rules that the pages of the tools state (docs/tools).

Trace(path).blocks() are the values that stepscope must answer, in the form of expected/*.json. It shares no code with stepscope and holds
the whole trace in memory; it is for small files.
"""
import bisect
import gzip
import json
import re
from collections import defaultdict

OPS = {'operator', 'cpu_op'}
CALLS = {x + '_runtime' for x in ('cuda', 'hip', 'mtia', 'xpu', 'glow', 'privateuse1')} | {'runtime', 'cuda_driver', 'xpu_driver', 'driver'}
KERNELS = {'kernel', 'concurrent_kernel', 'mtia_ccp_events'}
COPIES, FILLS = {'memcpy', 'gpu_memcpy'}, {'memset', 'gpu_memset'}
COLLECTIVE = re.compile(r'^(void )?nccl|rccl|msccl|nvshmem|cross_device_reduce|deep_ep', re.I)
ELEMENT = {**dict.fromkeys(('double', 'long', 'complexfloat'), 8), 'complexdouble': 16, **dict.fromkeys(('float', 'int'), 4),
           **dict.fromkeys(('half', 'bfloat16', 'short'), 2), **dict.fromkeys(('byte', 'char', 'bool'), 1)}
COMM = ('allreduce', 'reducescatter', 'allgather', 'alltoall', 'broadcast', 'sendrecv', 'barrier', 'gather', 'scatter', 'reduce', 'send', 'recv')


class Event:
    __slots__ = ('cat', 'name', 'thread', 'pid', 'begin', 'end', 'args', 'number', 'children', 'parent', 'call', 'op', 'calls', 'device')

    @property
    def dur(self):
        return self.end - self.begin


def ns(v):
    text = str(v)
    whole, _, part = text.partition('.')
    sign = -1 if whole.startswith('-') else 1
    return int(whole) * 1000 + sign * int((part + '000')[:3])


def whole(v):
    try:
        return int(v)
    except (TypeError, ValueError):
        return None


def union(spans):
    out = []
    for a, b in sorted(s for s in spans if s[1] > s[0]):
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return out


def length(spans):
    return sum(b - a for a, b in spans)


def meet(x, y):
    out, i, j = [], 0, 0
    while i < len(x) and j < len(y):
        a, b = max(x[i][0], y[j][0]), min(x[i][1], y[j][1])
        if a < b:
            out.append([a, b])
        if x[i][1] < y[j][1]:
            i += 1
        else:
            j += 1
    return out


def minus(x, y):
    out = []
    for a, b in x:
        for c, d in y:
            if d <= a or c >= b:
                continue
            if c > a:
                out.append([a, c])
            a = max(a, d)
            if a >= b:
                break
        if a < b:
            out.append([a, b])
    return out


def us(v):
    return round(v / 1000, 6)


def is_range(name):
    return name.startswith(('ProfilerStep#', 'Optimizer.')) or is_loader(name) or name in ('DataParallel.forward', 'DistributedDataParallel.forward')


def is_loader(name):
    return name.startswith(('enumerate(DataLoader)#', 'enumerate(DataPipe)#')) and '.__next__' in name


def kind_of(text):
    text = text.lower().replace('_', '')
    return next((c for c in COMM if c in text), 'unknown')


class Trace:
    def __init__(self, path):
        opened = gzip.open if path.endswith('.gz') else open
        with opened(path) as f:
            data = json.load(f, parse_float=str, parse_constant=lambda s: None)
        self.meta = {} if isinstance(data, list) else {k: v for k, v in data.items() if k != 'traceEvents'}
        self.events, self.memory = [], []
        for i, e in enumerate(data if isinstance(data, list) else data['traceEvents']):
            self.add(i, e)
        of = lambda cats: [e for e in self.events if e.cat in cats]
        self.ops = [e for e in of(OPS) if not is_range(e.name)]
        self.ranges = [e for e in of(OPS) if is_range(e.name)] + of({'user_annotation'})
        self.ranges.sort(key=lambda e: e.number)
        self.calls, self.device = of(CALLS), of(KERNELS | COPIES | FILLS)
        self.python = of({'python_function'})
        for e in self.device:
            e.device = whole(e.args.get('device'))
            e.device = whole(e.pid) if e.device is None else e.device
        self.nest()
        self.launch()
        self.mark()

    def add(self, i, e):
        cat = str(e.get('cat', '')).lower()
        if e.get('name') == '[memory]' and cat in ('', 'cpu_instant_event'):
            self.memory.append((ns(e['ts']), i, (str(e.get('pid')), str(e.get('tid'))), e.get('args', {})))
        if e.get('ph') != 'X' or 'dur' not in e or e.get('ts') is None:
            return
        x = Event()
        x.cat, x.name, x.pid, x.args, x.number = cat, e['name'], e.get('pid'), e.get('args') or {}, i
        x.thread = (str(e.get('pid')), str(e.get('tid')))
        x.begin = ns(e['ts'])
        x.end = x.begin + max(0, ns(e['dur']))
        x.children, x.parent, x.call, x.op, x.calls = [], None, None, None, []
        self.events.append(x)

    # --- the tree

    @staticmethod
    def tree(events):
        threads = defaultdict(list)
        for e in events:
            threads[e.thread].append(e)
        tops = []
        for those in threads.values():
            stack = []
            for e in sorted(those, key=lambda e: (e.begin, -e.end, e.number)):
                while stack and stack[-1].end <= e.begin:
                    stack.pop()
                e.parent = stack[-1] if stack else None
                (e.parent.children if stack else tops).append(e)
                stack.append(e)
        return tops

    def nest(self):
        tops = self.tree(self.ops)
        self.merged, work, self.rows = {}, list(tops), []
        while work:
            e = work.pop()
            self.rows.append(e)
            self.merged[e] = e
            while len(e.children) == 1 and e.children[0].name == e.name:
                inner = e.children[0]
                self.merged[inner] = e
                e.children = inner.children
            for c in e.children:
                c.parent = e
            work += e.children
        self.by_thread = defaultdict(list)
        for e in sorted(self.ops, key=lambda e: (e.begin, -e.end, e.number)):
            self.by_thread[e.thread].append(e)
        self.begins = {t: [e.begin for e in those] for t, those in self.by_thread.items()}
        self.by_id = {}
        for e in self.ops:
            self.by_id.setdefault(whole(e.args.get('External id')), e)

    def innermost(self, thread, t):
        those = self.by_thread.get(thread, [])
        for i in range(bisect.bisect_right(self.begins.get(thread, []), t) - 1, -1, -1):
            if those[i].begin <= t < those[i].end:
                return those[i]
        return None

    # --- launches

    @staticmethod
    def external(e):
        v = whole(e.args.get('External id'))
        return None if v is None or v == whole(e.args.get('correlation')) else v

    def named(self, e, call):
        op = self.by_id.get(self.external(e)) if self.external(e) is not None else None
        return op if op and op.thread == call.thread and op.begin <= call.begin <= op.end else None

    def launch(self):
        first = {}
        for c in self.calls:
            k = whole(c.args.get('correlation'))
            if k is not None:
                first.setdefault(k, c)
            around = self.innermost(c.thread, c.begin)
            c.op = self.merged.get(self.named(c, c) or around)
        for d in self.device:
            d.call = first.get(whole(d.args.get('correlation')))
            if d.call:
                op = self.named(d.call, d.call) or self.named(d, d.call) or self.innermost(d.call.thread, d.call.begin)
                d.call.calls.append(d)
            else:
                op = self.by_id.get(self.external(d)) if self.external(d) is not None else None
            d.op = self.merged.get(op)
        self.outer = {c for c in self.tree(self.calls)}

    # --- steps

    def mark(self):
        found = {}
        for e in sorted(self.ranges, key=lambda e: (e.begin, e.number)):
            if e.name.startswith('ProfilerStep#') and whole(e.name[13:]) is not None:
                found.setdefault(int(e.name[13:]), e)
        self.marked = bool(found)
        self.steps = sorted(((n, e.begin, e.end) for n, e in found.items()), key=lambda s: s[1])
        if not found:
            those = self.ops + [e for e in self.ranges if e.cat in OPS] or self.calls or self.device
            if those:
                self.steps = [(0, min(e.begin for e in those), max(e.end for e in those))]
        self.device_steps = self.by_device()

    def by_device(self):
        within = [[d for d in self.device if d.call and a <= d.call.begin and d.call.end <= b] for _, a, b in self.steps]
        if not any(within):
            return self.steps
        launched = {d for w in within for d in w}
        out, before = [], None
        for (n, a, b), those in zip(self.steps, within):
            if before is None:
                before = a
                if those:
                    start = min(d.begin for d in those)
                    before = max([a] + [d.end for d in self.device if d not in launched and d.end < start])
            a = max(before, a)
            b = max([a, b] + [d.end for d in those])
            out.append((n, a, b))
            before = b
        return out

    def roles(self):
        pick = lambda those: union((e.begin, e.end) for e in those)
        cpu_only = not self.device
        hidden = lambda e: e.name.startswith('ProfilerStep#') or is_loader(e.name) or (cpu_only and e.name.startswith('gloo:'))
        return [('kernel', pick(e for e in self.device if e.cat in KERNELS and not self.collective(e))),
                ('memcpy', pick(e for e in self.device if e.cat in COPIES)), ('memset', pick(e for e in self.device if e.cat in FILLS)),
                ('communication', pick(e for e in self.ranges if e.name.startswith('gloo:')) if cpu_only else
                 pick(e for e in self.device if self.collective(e))),
                ('runtime', pick(self.calls)), ('dataloader', pick(e for e in self.ranges if is_loader(e.name))),
                ('cpu_op', pick(e for e in self.ops + self.ranges if not hidden(e)))]

    def collective(self, e):
        return e.cat in KERNELS and ('Collective name' in e.args or bool(COLLECTIVE.search(e.name)))

    def step_rows(self, steps):
        out, roles = [], self.roles()
        for n, a, b in steps:
            left, row = [[a, b]] if b > a else [], [n, us(b - a)]
            for _, spans in roles:
                row.append(us(length(meet(left, spans))))
                left = minus(left, spans)
            out.append(row + [us(length(left))])
        return out

    # --- devices

    def streams(self):
        out = defaultdict(list)
        for d in self.device:
            s = whole(d.args.get('stream'))
            out[d.device, whole(re.sub(r'\D', '', d.thread[1])) if s is None else s].append(d)
        return out

    def devices(self):
        of = defaultdict(list)
        for d in self.device:
            of[d.device].append(d)
        return of

    def device_rows(self):
        out = []
        for dev, those in self.devices().items():
            pick = lambda f: union((e.begin, e.end) for e in those if f(e))
            span = max(e.end for e in those) - min(e.begin for e in those)
            compute, comm = pick(lambda e: e.cat in KERNELS and not self.collective(e)), pick(self.collective)
            memory, busy = pick(lambda e: e.cat not in KERNELS), length(pick(lambda e: True))
            over = length(meet(compute, comm))
            out.append([dev, us(span), us(span - busy), us(length(compute)), us(busy - length(compute)), us(length(comm)), us(length(memory)), us(over),
                        us(length(comm) - over), over / length(comm) if comm else 0.0])
        return out

    def idle_rows(self):
        out = []
        for (dev, stream), those in self.streams().items():
            sums, end = [0, 0, 0], None
            for e in sorted(those, key=lambda e: (e.begin, e.number)):
                if end is not None and e.begin > end:
                    gap = e.begin - end
                    sums[0 if e.call and e.call.begin > end else 1 if gap < 30000 else 2] += gap
                end = e.end if end is None else max(end, e.end)
            out.append([dev, stream] + [us(s) for s in sums])
        return out

    # --- operators

    def operator_rows(self):
        own = defaultdict(int)
        for d in self.device:
            if d.op:
                own[d.op] += d.dur
        called = defaultdict(int)
        for c in self.outer:
            if c.op:
                called[c.op] += min(c.end, c.op.end) - min(c.begin, c.op.end)
        total = {}
        for e in reversed(self.rows):
            total[e] = own[e] + sum(total[c] for c in e.children)
        self.total = total
        names, shapes = defaultdict(lambda: [0] * 5), defaultdict(lambda: [0] * 5)
        for e in self.rows:
            inside = sum(min(c.end, e.end) - c.begin for c in e.children)
            add = [1, e.dur, e.dur - inside - called[e], total[e], own[e]]
            dims = json.dumps(e.args['Input Dims'], separators=(',', ':')) if 'Input Dims' in e.args else ''
            for table, key in ((names, (e.name,)), (shapes, (e.name, dims))):
                table[key] = [a + b for a, b in zip(table[key], add)]
        form = lambda t: [list(k) + [v[0]] + [us(x) for x in v[1:]] for k, v in t.items()]
        return form(names), form(shapes)

    def annotation_rows(self):
        out = defaultdict(lambda: [0, 0])
        for e in self.ranges:
            if not e.name.startswith('ProfilerStep#'):
                out[e.name][0] += 1
                out[e.name][1] += e.dur
        return [[k, n, us(t)] for k, (n, t) in out.items()]

    # --- launches, queues, copies, sequences

    def launch_rows(self):
        out = defaultdict(list)
        for c in self.calls:
            if c.calls:
                first = c.calls[0]
                kind = 'graph' if 'GraphLaunch' in c.name else 'kernel' if first.cat in KERNELS else 'memcpy' if first.cat in COPIES else 'memset'
                out[kind].append(c)
        rows = []
        for kind, those in out.items():
            delays = [max(0, min(d.begin for d in c.calls) - c.end) for c in those]
            rows.append([kind, len(those), sum(len(c.calls) for c in those), us(sum(c.dur for c in those)), us(sum(d.dur for c in those for d in c.calls)),
                         us(sum(delays) / len(delays)), us(max(delays)), sum(sum(d.dur for d in c.calls) < c.dur for c in those)])
        return rows

    def queue_rows(self):
        out = []
        for (dev, stream), those in self.streams().items():
            marks = sorted([(d.call.begin, 0) for d in those if d.call] + [(d.begin, 1) for d in those if d.call])
            n = most = 0
            for _, down in marks:
                n += -1 if down else 1
                most = max(most, n)
            out.append([dev, stream, len(marks) // 2, most])
        return out

    def copy_rows(self):
        out = defaultdict(lambda: [0, 0, 0])
        for d in self.device:
            if d.cat not in KERNELS:
                out[d.name] = [a + b for a, b in zip(out[d.name], [1, whole(d.args.get('bytes')) or 0, d.dur])]
        return [[k, n, b, us(t), round(b / t, 6) if t else 0.0] for k, (n, b, t) in out.items()]

    def sequence_rows(self):
        groups = defaultdict(list)
        for d in self.device:
            if d.cat in KERNELS and d.op:
                top = d.op
                while top.parent:
                    top = top.parent
                groups[top].append(d)
        out = defaultdict(lambda: [0, 0, 0])
        for top, those in groups.items():
            those.sort(key=lambda d: (d.call.begin if d.call else d.begin, d.begin, d.number))
            if 3 <= len(those) <= 64:
                key = (top.name, len(those), ' | '.join(d.name for d in those))
                out[key] = [a + b for a, b in zip(out[key], [1, sum(d.dur for d in those), top.dur])]
        return [list(k) + [n, us(d), us(c)] for k, (n, d, c) in out.items()]

    # --- kernels

    def kernel_rows(self):
        names, by_op = defaultdict(list), defaultdict(list)
        for d in self.device:
            if d.cat in KERNELS:
                names[d.name].append(d)
                by_op[d.op.name if d.op else '', d.name].append(d)
        a = [[k, len(v), us(sum(d.dur for d in v)), us(min(d.dur for d in v)), us(max(d.dur for d in v))] for k, v in names.items()]
        return a, [list(k) + [len(v), us(sum(d.dur for d in v))] for k, v in by_op.items()]

    # --- modules

    def module_rows(self):
        mods = [e for e in self.python if e.name.startswith('nn.Module: ')]
        self.tree(mods)
        path, rows = {}, defaultdict(lambda: [0] * 7)
        own, by = defaultdict(list), defaultdict(list)
        for m in sorted(mods, key=lambda e: (e.begin, -e.end, e.number)):
            path[m] = (path[m.parent] + '/' if m.parent else '') + m.name[11:]
            own[m.thread].append(m)

        def around(thread, t):
            best = None
            for m in own[thread]:
                if m.begin > t:
                    break
                if m.begin <= t < m.end:
                    best = m
            return best
        for m in mods:
            r = rows[path[m]]
            r[0] += 1
            r[1] += m.dur
            r[2] += m.dur - sum(min(c.end, m.end) - c.begin for c in m.children)
        for d in self.device:
            m = around(d.call.thread, d.call.begin) if d.call else None
            if m:
                rows[path[m]][4] += d.dur
            while m:
                rows[path[m]][3] += d.dur
                m = m.parent
        forward = defaultdict(list)
        for e in self.rows:
            q = whole(e.args.get('Sequence number'))
            if q is not None and not whole(e.args.get('Fwd thread id')) and not e.name.startswith('autograd::engine::'):
                forward[q].append(e)
        for e in self.rows:
            q = whole(e.args.get('Sequence number'))
            if q is None or not e.name.startswith('autograd::engine::evaluate_function: ') or 'AccumulateGrad' in e.name or not forward[q]:
                continue
            f = max(forward[q], key=lambda x: (x.begin, x.number))
            if e.begin <= f.begin:
                continue
            m = around(f.thread, f.begin)
            while m:
                rows[path[m]][5] += e.dur
                rows[path[m]][6] += self.total[e]
                m = m.parent
        return [[k, v[0]] + [us(x) for x in v[1:]] for k, v in rows.items()]

    # --- memory

    NAMES = {0: 'CPU', 1: 'CUDA', 6: 'HIP', 9: 'XLA', 12: 'XPU', 13: 'MPS', 15: 'HPU', 19: 'MTIA', 20: 'PrivateUse1'}

    def memory_of(self):
        out = defaultdict(list)
        for t, i, thread, a in sorted(self.memory, key=lambda m: (m[0], m[1])):
            kind, dev = whole(a.get('Device Type')), whole(a.get('Device Id'))
            out['CPU' if kind == 0 else f'{self.NAMES[kind]}:{dev}'].append((t, thread, a))
        return out

    def memory_rows(self):
        allocators, operators = [], []
        for name, those in self.memory_of().items():
            size = lambda a: whole(a['Bytes'])
            known = any('Total Allocated' in a for _, _, a in those)
            run = most = 0
            for _, _, a in those:
                run += size(a)
                most = max(most, whole(a['Total Allocated']) if known else run)
            live, paired, lost = set(), 0, 0
            for _, _, a in those:
                at = a.get('Addr')
                if at is None:
                    continue
                if size(a) > 0:
                    live.add(at)
                elif size(a) < 0:
                    paired += at in live
                    lost += at not in live
                    live.discard(at)
            allocators.append([name, sum(size(a) > 0 for _, _, a in those), sum(size(a) < 0 for _, _, a in those), most])
            rows = defaultdict(lambda: [0] * 6)
            calls = defaultdict(int)
            for e in self.rows:
                calls[e.name] += 1
            for t, thread, a in those:
                if not size(a):
                    continue
                op = self.merged.get(self.innermost(thread, t))
                add, inner = (size(a), max(0, size(a)), int(size(a) > 0)), op
                while op:
                    r = rows[op.name]
                    for i, v in enumerate(add):
                        r[i] += v if op is inner else 0
                        r[3 + i] += v
                    op = op.parent
            operators += [[name, k, calls[k]] + v for k, v in rows.items()]
        return allocators, operators

    # --- collectives

    def collective_rows(self):
        groups = defaultdict(list)
        for d in self.device:
            if not self.collective(d):
                continue
            a, op = d.args, d.op
            if 'Collective name' not in a:
                while op and 'Collective name' not in op.args:
                    op = op.parent
                a = op.args if op else {}
            number = lambda k: whole(a.get(k)) or 0
            kind = kind_of(a.get('Collective name') or d.name)
            groups[kind, str(a.get('Process Group Name', '')), a.get('dtype', ''), number('Group size'), number('In msg nelems'), number('Out msg nelems')].append(d)
        compute = defaultdict(list)
        for d in self.device:
            if d.cat in KERNELS and not self.collective(d):
                compute[d.device].append((d.begin, d.end))
        compute = {k: union(v) for k, v in compute.items()}
        out = []
        for key, those in groups.items():
            kind, _, dtype, n, ins, outs = key
            most = max(ins, outs) if kind in ('allgather', 'gather', 'scatter', 'broadcast', 'recv') else ins
            t = dtype.lower()
            s = most * (1 if t.startswith('float8') else ELEMENT.get(t, 0))
            total = sum(d.dur for d in those)
            alg = s * len(those) / total if total and s else 0.0
            factor = 2 * (n - 1) / n if kind == 'allreduce' and n else (n - 1) / n if kind in COMM[1:4] + ('gather', 'scatter') and n else 1 if n else 0
            by = defaultdict(list)
            for d in those:
                by[d.device].append((d.begin, d.end))
            exposed = sum(length(minus(union(v), compute.get(k, []))) for k, v in by.items())
            out.append(list(key) + [len(those), s, us(total), us(min(d.dur for d in those)), us(max(d.dur for d in those)), us(exposed), round(alg, 6),
                                    round(alg * factor, 6)])
        return out

    # --- critical path

    BLOCKS = re.compile(r'^(cuda|hip|cu)(Device|Ctx|Stream|Event)Synchronize|^(cuda|hip)Memcpy(Async)?$|^cuMemcpy(HtoD|DtoH|DtoD)')

    def path_rows(self):
        if not self.marked:
            return []
        order, at, ends = {}, {}, defaultdict(list)
        for key, those in self.streams().items():
            those.sort(key=lambda e: (e.begin, e.number))
            order[key] = those
            for i, e in enumerate(those):
                at[e] = (key, i)
        everything = sorted(self.device, key=lambda e: (e.end, e.begin, e.number))
        for e in everything:
            ends[e.device].append(e)
        blocking = sorted((c for c in self.calls if self.BLOCKS.search(c.name)), key=lambda c: (c.end, c.number))
        return [self.walk(s, order, at, everything, ends, blocking) for s in self.steps]

    def walk(self, step, order, at, everything, ends, blocking):
        n, a, b0 = step
        parts = defaultdict(int)
        host = []
        mine = [d for d in self.device if d.call and a <= d.call.begin and d.call.end <= b0]
        g = max(mine, key=lambda e: (e.end, e.begin, e.number)) if mine else None
        b = b0
        if g and g.end >= b0:
            b = g.end
        else:
            g = None
        t = b
        while t > a:
            if g is None:
                last = None
                for c in blocking:
                    if a < c.end <= t:
                        i = bisect.bisect_right([e.end for e in everything], c.end) - 1
                        r = everything[i] if i >= 0 else None
                        if r and r.end > c.begin and r.end < t:
                            last = r
                if not last:
                    host.append((a, t))
                    break
                host.append((max(a, last.end), t))
                g, t = last, last.end
                continue
            kind = 'communication' if self.collective(g) else 'compute' if g.cat in KERNELS else 'memory'
            parts[kind] += t - max(a, min(g.begin, t))
            t = min(g.begin, t)
            if t <= a:
                break
            key, i = at[g]
            p = order[key][i - 1] if i else None
            call = g.call
            if p and (not call or p.end > call.begin):
                if t - min(p.end, t) > 10000:
                    those = ends[g.device]
                    best = [e for e in those if e.end <= t and e is not g]
                    best = max(best, key=lambda e: (e.end, e.begin, e.number)) if best else None
                    if best and best.end > p.end:
                        p = best
                parts['kernel_delay'] += t - max(a, min(p.end, t))
                t, g = min(p.end, t), p
            elif call:
                parts['launch_delay'] += t - max(a, min(call.begin, t))
                t, g = min(call.begin, t), None
            else:
                parts['other'] += t - a
                break
        roles = [r for r in self.roles() if r[0] in ('runtime', 'dataloader', 'cpu_op')]
        left = union(host)
        for name, spans in roles:
            parts[name] += length(meet(left, spans))
            left = minus(left, spans)
        parts['other'] += length(left)
        return [n, us(b - a)] + [us(parts[k]) for k in ('compute', 'communication', 'memory', 'kernel_delay', 'launch_delay', 'runtime', 'dataloader', 'cpu_op', 'other')]

    # --- what is asked

    def blocks(self):
        steps = ['step', 'step_us', 'kernel_us', 'memcpy_us', 'memset_us', 'communication_us', 'runtime_us', 'dataloader_us', 'cpu_op_us', 'other_us']

        def block(tool, table, nkey, cols, rows, **more):
            return {'tool': tool, 'table': table, 'key': cols[:nkey], 'cols': cols[nkey:], 'rows': rows, **more}
        host = ['calls', 'cpu_total_us', 'cpu_self_us', 'device_total_us', 'device_self_us']
        names, shapes = self.operator_rows()
        out = [block('step_breakdown', 'steps', 1, steps, self.step_rows(self.steps), params={'extent': 'host'})] if self.steps else []
        out += [block('operators', 'by_name', 1, ['name'] + host, names), block('operators', 'by_shape', 2, ['name', 'input_dims'] + host, shapes),
                block('operators', 'annotations', 1, ['name', 'calls', 'cpu_total_us'], self.annotation_rows())]
        if self.device:
            out.append(block('step_breakdown', 'steps', 1, steps, self.step_rows(self.device_steps), params={'extent': 'device'}))
            out.append(block('gpu_breakdown', 'devices', 1, ['device', 'span_us', 'idle_us', 'compute_us', 'non_compute_us', 'communication_us', 'memory_us', 'overlap_us',
                                                             'exposed_communication_us', 'overlap_frac'], self.device_rows()))
            out.append(block('gpu_breakdown', 'idle', 2, ['device', 'stream', 'host_wait_us', 'kernel_wait_us', 'other_us'], self.idle_rows()))
            a, b = self.kernel_rows()
            out.append(block('kernel_stats', 'kernel_stats', 1, ['kernel_name', 'occurrences', 'total_duration_us', 'min_duration_us', 'max_duration_us'], a, group=True))
            out.append(block('kernel_stats', 'kernel_stats', 2, ['op_name', 'kernel_name', 'occurrences', 'total_duration_us'], b, group=True))
            out.append(block('memory_copies', 'copies', 1, ['kind', 'calls', 'bytes', 'total_us', 'bandwidth_gb_per_s'], self.copy_rows()))
            out.append(block('launches', 'summary', 1, ['kind', 'launches', 'device_events', 'cpu_total_us', 'device_total_us', 'delay_avg_us', 'delay_max_us', 'short'],
                             self.launch_rows()))
            out.append(block('launches', 'queue', 2, ['device', 'stream', 'launches', 'max_length'], self.queue_rows()))
            out.append(block('kernel_sequences', 'sequences', 3, ['operator', 'length', 'kernels', 'occurrences', 'device_us', 'cpu_us'], self.sequence_rows()))
            out.append(block('collectives', 'by_shape', 6, ['collective', 'process_group', 'dtype', 'group_size', 'in_elements', 'out_elements', 'calls', 'size_bytes', 'total_us',
                                                            'min_us', 'max_us', 'exposed_us', 'algbw_gb_per_s', 'busbw_gb_per_s'], self.collective_rows()))
        if self.python:
            out.append(block('modules', 'modules', 1, ['module', 'calls', 'cpu_total_us', 'cpu_self_us', 'device_total_us', 'device_self_us', 'backward_cpu_us',
                                                       'backward_device_us'], self.module_rows()))
        if self.memory:
            a, b = self.memory_rows()
            out.append(block('memory_profile', 'allocators', 1, ['memory_id', 'allocations', 'deallocations', 'lifetime_peak_bytes'], a))
            out.append(block('memory_profile', 'operators', 2, ['memory_id', 'name', 'calls', 'self_increase_bytes', 'self_allocated_bytes', 'self_allocations', 'increase_bytes',
                                                                'allocated_bytes', 'allocations'], b))
        if self.marked:
            out.append(block('critical_path', 'by_step', 1, ['step', 'path_us', 'compute_us', 'communication_us', 'memory_us', 'kernel_delay_us', 'launch_delay_us', 'runtime_us',
                                                             'dataloader_us', 'cpu_op_us', 'other_us'], self.path_rows()))
        return [b for b in out if b['rows']]
