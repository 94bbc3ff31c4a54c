#!/usr/bin/env python3
"""stepscope, XProf 2.24.2 and the floor on the same files in the same run: CPU time, peak memory, ratios.

    bench.py [--quick] [--events 1,5,20] [--tools] [--only TEXT] [--no-peer] [--fresh] [--json FILE]

Inputs are made by gen_xspace and gen_hlo and kept below ~/.cache/stepscope/bench: profiles as a program records them, and (1 million
events) one that came grouped. Each figure is CPU time, user and system, or peak resident memory:

  cold        a fresh process: stepscope's whole process, started by the shell, from the file to the last byte of XProf's JSON;
              XProf's call alone, in a fresh directory, without the time to import its package
  warm        one more answer of a running server over HTTP, mean of many; XProf: the second call in one process, without HTTP
  first       from starting the server to its first answer (the list of runs)
  floor       a naive walk over every event and stat of the file, which builds nothing
  picture     CPU of a timeline's first answer in a fresh server, as a ratio to the floor, and on all processors to on one
  programs    memory_viewer on compiled programs of 1,000 and 37,000 instructions
  hosts       one answer over many hosts of 1 MB, beside as many answers over one of them; the verdict over 1,000 hosts of 1.5 MB of
              one job, beside their overview; and 4,000 small hosts in 16 shards, merged and served
  small       the peak memory of a recording by Python's tracer, 15 bytes an event, with marked steps and without, beside its size
  findings    an overview with the findings beside one without
  libsstrace  an event beside two clock readings, a stop beside writing as many bytes
  torch       a trace of torch.profiler with 1.3 million events, packed and not, beside HTA 0.5.0, if ~/.cache/stepscope/venv-hta has it
              (python3 -m venv, pip install HolisticTraceAnalysis 'pandas<2.3'), and a search of its text; a memory snapshot of 1 GB

Of 5 million events (with --tools: of any number) every tool that XProf has for such profiles is measured cold. XProf is not asked what
would take more memory than there is, nor longer than a quarter of an hour. stepscope is measured three times and the median taken;
XProf, which is slow, once: its figures are kept beside the inputs, by profile, tool and release, until --fresh.
"""
import argparse
import gzip
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'lib'))
import serving

CACHE = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'stepscope')
BUILD = os.path.join(ROOT, 'build', 'bench')
BIN = os.path.join(ROOT, 'build', 'stepscope')
XPROF = os.path.join(CACHE, 'venv-xprof', 'bin', 'python')
HTA = os.path.join(CACHE, 'venv-hta', 'bin', 'python')
RUN, HOST = 'scale', 'vm'

# name, tool, options of the query; begin and end are shares of the profile's length
COLD = [('trace_viewer@ full', 'trace_viewer@'), ('overview_page', 'overview_page'),
        ('framework_op_stats', 'framework_op_stats'), ('input_pipeline_analyzer', 'input_pipeline_analyzer')]
WARM = [('trace_viewer@ full', 'trace_viewer@', None), ('trace_viewer@ 10 ms window', 'trace_viewer@', 10.0),
        ('trace_viewer@ 1 ms window', 'trace_viewer@', 1.0), ('overview_page', 'overview_page', None),
        ('framework_op_stats', 'framework_op_stats', None),
        ('input_pipeline_analyzer', 'input_pipeline_analyzer', None)]
# every other tool that XProf has for such profiles; measured cold where the profile is TOOLS_AT million events long
TOOLS = ['op_profile', 'hlo_stats', 'roofline_model', 'memory_profile', 'pod_viewer', 'inference_profile', 'smart_suggestion',
         'megascale_stats', 'perf_counters', 'utilization_viewer', 'trace_viewer']
TOOLS_AT = 5
PEER_SECONDS = 900
# XProf's op statistics take 2.1 kB of memory an event, its trace viewer 0.6
PEER_BYTES_PER_EVENT = {'trace_viewer@': 700, 'other': 2200}


# --- Inputs -------------------------------------------------------------------------------------

def compile_c(name, *flags, newer_than=None):
    source, out = os.path.join(ROOT, 'bench', name + '.c'), os.path.join(BUILD, name)
    header = os.path.join(ROOT, 'bench', 'xspace_out.h')
    if not os.path.exists(out) or os.path.getmtime(out) < max(os.path.getmtime(f) for f in (source, header, newer_than or source)):
        os.makedirs(BUILD, exist_ok=True)
        subprocess.run(['cc', '-std=c11', '-D_DEFAULT_SOURCE', '-O2', source, '-o', out, *flags], check=True)
    return out


def make_input(generator, name, *args):
    """A log directory with one profile: what `generator` (a command) makes with these arguments; made anew when it has changed."""
    with open(generator[-1], 'rb') as f:
        version = hashlib.sha256(f.read()).hexdigest()[:12]
    logdir = os.path.join(CACHE, 'bench', f'{name}-{version}')
    path = os.path.join(logdir, 'plugins', 'profile', RUN, HOST + '.xplane.pb')
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run([*generator, path + '.part', *args], check=True, stdout=subprocess.DEVNULL)
        os.rename(path + '.part', path)
    with open(path, 'rb', buffering=0) as f:    # into the page cache, for everybody
        while f.read(1 << 24):
            pass
    return logdir, path


# --- Measuring ----------------------------------------------------------------------------------

def run_json(argv, **more):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if done.returncode:
        raise RuntimeError(f'{argv[0]} {argv[1]}: status {done.returncode}: {done.stderr.strip()[-300:]}')
    return json.loads(done.stdout.strip().splitlines()[-1])


def floor(path):
    runs = [run_json([compile_c('floor_walk'), path]) for _ in range(3)]
    return {'cpu_s': statistics.median(r['cpu_s'] for r in runs), 'events': runs[0]['events']}


def ours_cold(path, tool, *params, times=3, form='xprof'):
    command = [compile_c('measure'), BIN, 'tool', tool, path, '--format', form]
    if tool == 'trace_viewer@':
        command += ['--param', 'resolution=8000']
    for p in params:
        command += ['--param', p]
    runs = [run_json(command) for _ in range(times)]
    if any(r['status'] for r in runs):
        raise RuntimeError(f'stepscope tool {tool}: status {runs[0]["status"]}')
    return {'cpu_s': statistics.median(r['cpu_s'] for r in runs), 'peak_kb': max(r['peak_kb'] for r in runs)}


def window(tool, width_ms, begin_ms):
    query = {'run': RUN, 'tag': tool, 'host': HOST}
    if tool.startswith('trace_viewer'):
        query['resolution'] = '8000'
    if width_ms:
        query.update(start_time_ms=f'{begin_ms:.3f}', end_time_ms=f'{begin_ms + width_ms:.3f}')
    return query


def ours_warm(server, tool, width_ms):
    """Mean CPU of one answer; windows move, so that no answer is the one before."""
    def ask(i):
        status, body = server.get(serving.DATA, window(tool, width_ms, 100 + 7.3 * i), {'Accept-Encoding': 'identity'})
        if status != 200:
            raise RuntimeError(f'{tool}: HTTP {status}: {body[:200]!r}')
        return len(body)
    ask(0)
    before, n = server.cpu_s(), 0
    while n < 20 or (n < 400 and server.cpu_s() - before < 0.5):
        n += 1
        size = ask(n % 100)
    return {'cpu_s': (server.cpu_s() - before) / n, 'bytes': size}


def window_options(width_ms):
    return {'start_time_ms': '300.0', 'end_time_ms': str(300.0 + width_ms)} if width_ms else {}


def peer_call(path, tool):
    """XProf on a copy of the log directory of its own: it writes caches beside the profile. Cold once, then the warm cases."""
    questions = [window_options(w) for _, t, w in WARM if t == tool]
    with tempfile.TemporaryDirectory(dir=os.path.dirname(BUILD)) as scratch:
        folder = os.path.join(scratch, 'plugins', 'profile', RUN)
        os.makedirs(folder)
        try:
            os.link(path, os.path.join(folder, HOST + '.xplane.pb'))
        except OSError:         # another file system
            shutil.copy(path, folder)
        argv = [XPROF, os.path.join(ROOT, 'bench', 'xprof_tool.py'), scratch, tool, json.dumps(questions)]
        out = run_json(argv, timeout=PEER_SECONDS)
    warm = {name: cpu for (name, t, _), cpu in zip([c for c in WARM if c[1] == tool], out['warm_cpu_s'])}
    return dict(out, warm_cpu_s=warm)


def first_answer(command, logdir):
    with serving.Server(command, logdir, 120) as server:
        server.get('/data/plugin/profile/runs')
        return {'cpu_s': server.cpu_ns() * 1e-9, 'peak_kb': server.peak_kb()}


def available_bytes():
    with open('/proc/meminfo') as f:
        for line in f:
            if line.startswith('MemAvailable:'):
                return int(line.split()[1]) * 1024
    return 0


# --- Reporting ----------------------------------------------------------------------------------

class Report:
    """Prints a line as soon as it is measured, and keeps all for --json."""

    def __init__(self):
        self.rows = []
        self.below = 0

    def head(self, text):
        print(f'\n{text}\n{"case":44} {"stepscope":>12} {"XProf":>12} {"ratio":>8}   remarks', flush=True)

    def check(self, events, case, value, text, good):
        """A figure of stepscope alone."""
        self.rows.append(dict(events=events, case=case, metric='ratio', ours=value, peer=None, ratio=None, good=good))
        self.below += good is False
        print(f'{case:44} {text} {"ok" if good else "MISSED"}', flush=True)

    def row(self, events, case, metric, ours, peer, want=None, remark=''):
        """`want`: ours must be at most peer / want, or, as ('x', n), at most n."""
        ratio = peer / ours if peer and ours else None
        good = None
        if isinstance(want, tuple):
            good = ours <= want[1]
        elif want and ratio:
            good = ratio >= want
        self.rows.append(dict(events=events, case=case, metric=metric, ours=ours, peer=peer, ratio=ratio, good=good))
        self.below += good is False
        marks = {None: '', True: 'ok', False: 'MISSED'}
        wanted = f'(target 1/{want})' if want and not isinstance(want, tuple) else ''
        fmt = (lambda v: f'{v * 1e3:.2f} ms') if metric == 'cpu_s' else (lambda v: f'{v / 1024:.1f} MB')
        print(f'{case:44} {fmt(ours):>12} {fmt(peer) if peer else "-":>12} '
              f'{"1/%.0f" % ratio if ratio else "-":>8}   {remark} {wanted} {marks[good]}'.rstrip(), flush=True)


def peer_version():
    """Of XProf, and of the script that asks it."""
    with open(os.path.join(ROOT, 'bench', 'xprof_tool.py'), 'rb') as f:
        script = hashlib.sha256(f.read()).hexdigest()[:12]
    done = subprocess.run([XPROF, '-c', 'import importlib.metadata as m; print(m.version("xprof"))'], stdout=subprocess.PIPE, text=True)
    return f'{done.stdout.strip()}-{script}'


class Peer:
    """XProf's figures on one input, each tool measured when it is first asked for, once for all runs of this script."""

    def __init__(self, path, events, wanted, fresh):
        self.path, self.events, self.wanted = path, events, wanted
        self.known = {}
        if not wanted:
            return
        # .../bench/<input>/plugins/profile/<run>/<host>: the input's name says how it was made
        made = os.path.relpath(path, os.path.join(CACHE, 'bench')).split(os.sep)[0]
        self.kept = os.path.join(CACHE, 'bench', f'xprof-{peer_version()}-{made}.json')
        if os.path.exists(self.kept) and not fresh:
            with open(self.kept) as f:
                self.known = json.load(f)

    def figures(self, tool):
        if not self.wanted:
            return {}
        if tool not in self.known:
            self.known[tool] = self.ask(tool)
            with open(self.kept + '.part', 'w') as f:
                json.dump({k: v for k, v in self.known.items() if v}, f, indent=1)
            os.rename(self.kept + '.part', self.kept)
        return self.known[tool]

    def ask(self, tool):
        kind = tool if tool in PEER_BYTES_PER_EVENT else 'other'
        need = self.events * PEER_BYTES_PER_EVENT[kind]
        if need > available_bytes():
            print(f'({tool}: XProf would need {need / 1e9:.0f} GB of memory; not run)', flush=True)
            return {}
        try:
            return peer_call(self.path, tool)
        except (RuntimeError, subprocess.TimeoutExpired) as e:
            print(f'({tool}: XProf gave no answer: {str(e)[:200]})', flush=True)
            return {}


def bench_cold(report, events, path, size, base, peer, args):
    more, only = [(t, t) for t in TOOLS] if args.tools or events == TOOLS_AT * 1000000 else [], args.only
    for name, tool in COLD + more:
        case = f'{name}, cold'
        if only not in case:
            continue
        ours, theirs = ours_cold(path, tool), peer.figures(tool)
        report.row(events, case + ', CPU', 'cpu_s', ours['cpu_s'], theirs.get('cold_cpu_s'), 50,
                   f'{ours["cpu_s"] / base["cpu_s"]:.1f}x the floor,')
        report.row(events, case + ', memory', 'peak_kb', ours['peak_kb'], theirs.get('peak_kb'),
                   ('x', 1.5 * size / 1024), f'{ours["peak_kb"] * 1024 / size:.2f}x the file (target 1.5x)')


# what the page offers for a host without devices
SERVED = ('overview_page', 'input_pipeline_analyzer', 'framework_op_stats', 'flame_graph', 'host_boundness', 'plane_stats', 'event_stats',
          'smart_suggestion', 'host_steps', 'stragglers', 'pod_viewer')


def served_peak_kb(logdir, tools):
    """Of a server that showed what the page opens with, the timeline, and then these tools."""
    where = {'run': RUN, 'host': HOST}
    with serving.Server(BIN + ' serve --logdir {logdir} --port {port}', logdir) as server:
        def ask(path, **more):
            status, body = server.get(path, where | more)
            if status != 200:
                raise RuntimeError(f'{path}: HTTP {status}: {body[:200]!r}')
            return body
        whole = json.loads(ask('/api/timeline'))
        ask('/api/timeline/slices', begin_ps=whole['begin_ps'], end_ps=whole['end_ps'], width_px=1500)
        for tool in tools:
            ask('/api/tool/' + tool)
        return server.peak_kb()


def bench_small(report, generator, millions, only):
    for form, how in (('python', 'small events'), ('marked', 'small events, marked steps')):
        served = {'timeline and overview served': SERVED[:1], 'timeline and all tools served': SERVED}
        tools = [t for t in ('trace_viewer@', 'overview_page', 'overview_page with findings', 'framework_op_stats', 'flame_graph',
                             'event_stats', 'host_steps', *served) if only in f'{how}, {t}']
        if not tools:
            continue
        events = millions * 1000000
        logdir, path = make_input([generator], f'{events}-{form}', str(events), '1', form)
        size = os.path.getsize(path)
        for tool in tools:
            name, findings, _ = tool.partition(' with findings')
            form_of = 'json' if findings or name in ('flame_graph', 'event_stats', 'host_steps') else 'xprof'
            peak_kb = served_peak_kb(logdir, served[tool]) if tool in served else ours_cold(path, name, times=1, form=form_of)['peak_kb']
            report.row(events, f'{how}, {tool}', 'peak_kb', peak_kb, None, ('x', 2 * size / 1024),
                       f'{peak_kb * 1024 / size:.2f}x the file (target 2x)')


def peer_diff(base, new):
    """XProf on copies of both log directories: it writes caches beside the profiles."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(BUILD)) as scratch:
        sides = []
        for side, path in (('base', base), ('new', new)):
            folder = os.path.join(scratch, side, 'plugins', 'profile', RUN)
            os.makedirs(folder)
            shutil.copy(path, folder)
            sides.append(os.path.join(scratch, side))
        try:
            return run_json([XPROF, os.path.join(ROOT, 'bench', 'xprof_diff.py'), *sides], timeout=PEER_SECONDS)
        except (RuntimeError, subprocess.TimeoutExpired) as e:
            print(f'(diff_sessions: XProf gave no answer: {str(e)[:200]})', flush=True)
            return {}


def bench_diff(report, events, path, peers, args, generator):
    """Two profiles of as many events, made from different seeds."""
    if args.only not in 'diff of two':
        return
    _, other = make_input([generator], f'{events}-other', str(events), '2')
    command = [compile_c('measure'), BIN, 'diff', path, other, '--format', 'json']
    runs = [run_json(command) for _ in range(3)]
    if any(r['status'] for r in runs):
        raise RuntimeError(f'stepscope diff: status {runs[0]["status"]}')
    theirs = peer_diff(path, other) if peers and 2 * events * PEER_BYTES_PER_EVENT['other'] < available_bytes() else {}
    want = (('x', 2.0), ('x', 300 * 1024)) if events == 5000000 else (50, 10)
    report.row(events, 'diff of two, CPU', 'cpu_s', statistics.median(r['cpu_s'] for r in runs), theirs.get('cpu_s'), want[0])
    report.row(events, 'diff of two, memory', 'peak_kb', max(r['peak_kb'] for r in runs), theirs.get('peak_kb'), want[1])


def bench_warm(report, events, logdir, peer, only):
    cases = [c for c in WARM if only in f'{c[0]}, warm']
    if not cases:
        return
    with serving.Server(f'{BIN} serve --logdir {{logdir}} --port {{port}}', logdir, 120) as server:
        for name, tool, width_ms in cases:
            ours, theirs = ours_warm(server, tool, width_ms), peer.figures(tool)
            report.row(events, f'{name}, warm, CPU', 'cpu_s', ours['cpu_s'],
                       theirs.get('warm_cpu_s', {}).get(name), 50, f'{ours["bytes"] / 1e6:.2f} MB,')
        print(f'{"server after all of these":44} {server.peak_kb() / 1024:9.1f} MB')


def first_picture_cpu_s(logdir, before=''):
    with serving.Server(f'{before} {BIN} serve --logdir {{logdir}} --port {{port}}', logdir, 120) as server:
        begin = server.cpu_s()
        status, body = server.get('/api/timeline', {'run': RUN, 'host': HOST})
        if status != 200:
            raise RuntimeError(f'api/timeline: HTTP {status}: {body[:200]!r}')
        return server.cpu_s() - begin


def bench_first_picture(report, events, logdir, base, only):
    """The layout of a timeline, cold, on which its first picture waits. Threads must not keep each other waiting: the same work on one
    processor costs hardly less CPU."""
    if only not in 'first picture, cold':
        return
    every = statistics.median(first_picture_cpu_s(logdir) for _ in range(3))
    one = statistics.median(first_picture_cpu_s(logdir, f'taskset -c {min(os.sched_getaffinity(0))}') for _ in range(3))
    report.row(events, 'first picture, cold, CPU', 'cpu_s', every, None, ('x', 4 * base['cpu_s']),
               f'{every / base["cpu_s"]:.1f}x the floor (target 4)')
    report.check(events, 'first picture, all processors to one, CPU', every / one, f'{every / one:.2f} (target 1.3)', every / one <= 1.3)


def bench_start(report, events, logdir, peers, only):
    if only not in 'server start to first answer':
        return
    ours = [first_answer(f'{BIN} serve --logdir {{logdir}} --port {{port}}', logdir) for _ in range(3)]
    peer = {}
    if peers:
        with tempfile.TemporaryDirectory(dir=os.path.dirname(BUILD)) as scratch:
            copy = os.path.join(scratch, 'logs')
            shutil.copytree(logdir, copy, copy_function=os.link)
            grpc = serving.free_port()
            peer = first_answer(f'{XPROF} -m xprof.server --logdir {{logdir}} --port {{port}} --grpc_port {grpc}', copy)
    report.row(events, 'server start to first answer, CPU', 'cpu_s', statistics.median(o['cpu_s'] for o in ours),
               peer.get('cpu_s'), 50)
    report.row(events, 'server start to first answer, memory', 'peak_kb', max(o['peak_kb'] for o in ours),
               peer.get('peak_kb'), 9)


def bench_programs(report, peers, args):
    """A program of 37,000 instructions must cost no more per instruction than one of 1,000."""
    if args.only not in 'memory_viewer, 37,000 instructions':
        return
    report.head('compiled programs')
    generator = [sys.executable, os.path.join(ROOT, 'bench', 'gen_hlo.py')]
    cpu = {}
    for n in (1, 1000, 37000):
        path = make_input(generator, f'hlo-{n}', str(n))[1]
        cpu[n] = ours_cold(path, 'memory_viewer', 'module_name=bench(1)', times=9)['cpu_s']
        theirs = Peer(path, n, peers and n > 1, args.fresh).figures('memory_viewer')
        if n > 1:
            report.row(n, f'memory_viewer, {n:,} instructions, cold, CPU', 'cpu_s', cpu[n], theirs.get('cold_cpu_s'))
    each = {n: (cpu[n] - cpu[1]) / n for n in (1000, 37000)}
    ratio = each[37000] / each[1000]
    report.check(37000, 'memory_viewer, cost per instruction', ratio,
                 f'{each[37000] * 1e6:.2f} us of 37,000, {each[1000] * 1e6:.2f} us of 1,000: {ratio:.2f}x (target 1.25x)', ratio <= 1.25)


def bench_hosts(report, generator, n, only):
    """Many hosts of 1 MB: the cost of as many single ones, and memory that does not grow with their number."""
    if only not in 'overview_page, many hosts':
        return
    report.head(f'{n:,} hosts')
    path = make_input([generator], 'host', str(16384))[1]
    size = os.path.getsize(path)
    one = ours_cold(path, 'overview_page', times=9)
    cost = {}
    for hosts in (n // 4, n):
        with tempfile.TemporaryDirectory(dir=os.path.dirname(BUILD)) as scratch:
            folder = os.path.join(scratch, 'plugins', 'profile', RUN)
            os.makedirs(folder)
            for i in range(hosts):
                shutil.copy(path, os.path.join(folder, f'host{i}.xplane.pb'))
            cost[hosts] = ours_cold(scratch, 'overview_page', times=1)
    ratio = cost[n]['cpu_s'] / n / one['cpu_s']
    report.check(n, f'overview_page, {n:,} hosts, CPU', ratio,
                 f'{cost[n]["cpu_s"]:.2f} s; {one["cpu_s"] * 1e3:.2f} ms for one alone: {ratio:.2f}x (target 1.1x)', ratio <= 1.1)
    grown = (cost[n]['peak_kb'] - cost[n // 4]['peak_kb']) * 1024 / (n - n // 4)
    report.check(n, f'overview_page, {n:,} hosts, memory', grown / size,
                 f'{cost[n]["peak_kb"] / 1024:.0f} MB; {grown / size:.2f}x its file for each more host (target 0.1x)', grown <= 0.1 * size)


def bench_findings(report, events, path, only):
    """An overview for people holds the findings; one for XProf's clients does not."""
    if only not in 'overview_page with findings, cold':
        return
    runs = [[run_json([compile_c('measure'), BIN, 'tool', 'overview_page', path, '--format', how])['cpu_s']
             for how in ('xprof', 'json')] for _ in range(9)]
    cost = {how: statistics.median(r[i] for r in runs) for i, how in enumerate(('xprof', 'json'))}
    ratio = statistics.median(r[1] / r[0] for r in runs)
    report.check(events, 'overview_page with findings, cold, CPU', ratio,
                 f'{cost["json"] * 1e3:.0f} ms; {cost["xprof"] * 1e3:.0f} ms without: {ratio:.2f}x (target 1.3x)', ratio <= 1.3)


def make_job(folder, *numbers):
    """A job of many hosts of which one is late: (log directory, bytes)."""
    run = os.path.join(folder, 'plugins', 'profile', RUN)
    os.makedirs(run)
    subprocess.run([compile_c('gen_hosts'), run, *map(str, numbers)], check=True)
    return folder, sum(f.stat().st_size for f in os.scandir(run))


def bench_job(report, n, only):
    """A verdict over hosts of 1.5 MB that work together: joining, clocks and the rule cost at most half of an overview more."""
    if only not in 'stragglers, many hosts':
        return
    report.head(f'{n:,} hosts of one job')
    with tempfile.TemporaryDirectory(dir=os.path.dirname(BUILD)) as scratch:
        logdir, size = make_job(scratch, n, 4, 16, 12, 36, n // 3)
        cost = {tool: ours_cold(logdir, tool, times=1, form='json') for tool in ('overview_page', 'stragglers')}
        verdict = subprocess.run([BIN, 'tool', 'stragglers', logdir, '--table', 'verdict', '--format', 'csv'], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout
        if f'"straggler","host{n // 3}"' not in verdict:
            raise RuntimeError(f'the late host is not found: {verdict}')
    ours, ratio = cost['stragglers'], cost['stragglers']['cpu_s'] / cost['overview_page']['cpu_s']
    report.check(n, f'stragglers, {n:,} hosts, CPU', ratio,
                 f'{ours["cpu_s"]:.2f} s for {size / 1e6:.0f} MB; {cost["overview_page"]["cpu_s"]:.2f} s for their overview: '
                 f'{ratio:.2f}x (target 1.5x, or 11 ms a MB)', ratio <= 1.5 or ours['cpu_s'] <= 11e-9 * size)
    report.check(n, f'stragglers, {n:,} hosts, memory', ours['peak_kb'] * 1024 / size,
                 f'{ours["peak_kb"] / 1024:.0f} MB (target 200 MB)', ours['peak_kb'] <= 200e6 / 1024)


def timed(*argv):
    got = run_json([compile_c('measure'), BIN, *argv])
    if got['status']:
        raise RuntimeError(f'stepscope {argv[0]}: status {got["status"]}')
    return got


OTHER_PAGES = 'stragglers', 'critical_path', 'host_steps', 'collectives', 'exposed_communication', 'pod_viewer', 'smart_suggestion'


def bench_shards(report, n, only, shards=16):
    """Thousands of hosts in shards: what parts take, what each step costs, and a page over the merged result."""
    if only not in 'many hosts, shards, merge and page':
        return
    report.head(f'{n:,} hosts in {shards} shards')
    with tempfile.TemporaryDirectory(dir=os.path.dirname(BUILD)) as scratch:
        logdir, size = make_job(os.path.join(scratch, 'logs'), n, 1, 8, 8, 36, n // 3)
        parts, alone = os.path.join(scratch, 'parts'), os.path.join(scratch, 'alone')
        each = [timed('reduce', logdir, '--shard', f'{i}/{shards}', '--out', parts) for i in range(shards)]
        part_bytes = sum(f.stat().st_size for f in os.scandir(parts))
        merge = timed('merge', parts, '--output', os.path.join(alone, 'merged.ssp'))
        verdict = timed('tool', 'overview_page', alone, '--format', 'json')
        with serving.Server(f'{BIN} serve --logdir {{logdir}} --port {{port}}', alone, 120) as server:
            run = json.loads(server.get('/api/runs')[1])['runs'][0]['run']
            walls, first_cpu_s = [], 0
            for tool in ('overview_page', 'overview_page', *OTHER_PAGES):
                begin = time.monotonic()
                status, body = server.get(f'/api/tool/{tool}', {'run': run})
                walls.append(time.monotonic() - begin)
                first_cpu_s = server.cpu_s() if len(walls) == 1 else first_cpu_s
                if status != 200:
                    raise RuntimeError(f'{tool}: HTTP {status}: {body[:200]!r}')
            memory_kb = server.peak_kb()
    report.check(n, f'reduce, {n:,} hosts', part_bytes / size,
                 f'{sum(e["cpu_s"] for e in each):.2f} s CPU for {size / 1e6:.0f} MB, at most {max(e["peak_kb"] for e in each) / 1024:.0f} MB a '
                 f'shard; {shards} parts of {part_bytes / shards / 1e3:.0f} kB: {100 * part_bytes / size:.1f}% (target 5%)', part_bytes <= 0.05 * size)
    report.check(n, f'merge, {n:,} hosts', merge['cpu_s'],
                 f'{merge["cpu_s"]:.2f} s CPU, {merge["peak_kb"] / 1024:.0f} MB; an overview of it {verdict["cpu_s"]:.2f} s CPU, '
                 f'{verdict["peak_kb"] * 1024 / 1e6:.0f} MB (target 200 MB)', verdict['peak_kb'] * 1024 <= 200e6)
    report.check(n, f'first page, {n:,} hosts', walls[0],
                 f'{walls[0]:.2f} s, {first_cpu_s:.2f} s CPU; again {walls[1]:.2f} s, the slowest of {len(OTHER_PAGES)} other tools {max(walls[2:]):.2f} s; server '
                 f'{memory_kb * 1024 / 1e6:.0f} MB (target 1 s)', walls[0] <= 1)


def bench_sql(report, events, path, base, peers, only):
    """Questions in SQL, warm (best of five), and exports of all events, of 5 million, beside the same file of XProf."""
    if only not in 'sql, exports':
        return
    build = os.path.join(ROOT, 'build')
    subprocess.run(['cmake', '--build', build, '--target', 'sql_cost'], check=True, stdout=subprocess.DEVNULL)
    got = run_json([os.path.join(build, 'tests', 'sql_cost'), path])
    for name, most_ms in (('window', 5), ('group_by_name', 500), ('overlap_join', 1000), ('step_join', 1000)):
        report.check(events, f'sql, {name}, CPU', got[name]['ms'] / 1e3, f'{got[name]["ms"]:.1f} ms; the first time {got[name]["first_ms"]:.0f} ms '
                     f'(target {most_ms} ms)', got[name]['ms'] <= most_ms)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(BUILD)) as scratch:
        theirs = {}
        if peers:
            theirs = run_json([compile_c('measure'), os.path.join(os.path.dirname(XPROF), 'xprof'), 'create_events_db', path, '--bypass_cache'],
                              timeout=PEER_SECONDS, env=dict(os.environ, TMPDIR=scratch))
        for form, most_mb in (('parquet', 300), ('arrow', 300), ('html', 300)):
            out = os.path.join(scratch, form)
            run = run_json([compile_c('measure'), BIN, 'export', path, '--to', form, '--output', out])
            size = os.path.getsize(out)
            report.row(events, f'export, {form}, CPU', 'cpu_s', run['cpu_s'], theirs.get('cpu_s') if form == 'parquet' else None,
                       ('x', 3) if form == 'parquet' else None, f'{run["cpu_s"] / base["cpu_s"]:.1f}x the floor, {size / 1e6:.1f} MB')
            report.row(events, f'export, {form}, memory', 'peak_kb', run['peak_kb'], theirs.get('peak_kb') if form == 'parquet' else None,
                       ('x', most_mb * 1024))
            if form == 'html':
                report.check(events, 'export, html, size', size, f'{size / 1e6:.1f} MB (target 10 MB)', size <= 10_000_000)


def bench_recording(report, only):
    """libsstrace beside what it cannot do without: an event is two clock readings, a stop writes the profile."""
    if only not in 'libsstrace, event and stop':
        return
    report.head('libsstrace, 10,000,000 events')
    library = os.path.join(ROOT, 'build', 'instrument', 'libsstrace.a')
    command = compile_c('trace_cost', '-I' + os.path.join(ROOT, 'instrument'), library, '-pthread', '-ldl', newer_than=library)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(BUILD)) as scratch:
        out = subprocess.run([command, scratch], stdout=subprocess.PIPE, text=True, check=True).stdout
    got = {k: float(v) for k, v in (line.split() for line in out.splitlines())}
    report.check(10000000, 'libsstrace, event', got['scope_ratio'],
                 f'{got["scope_ns"]:.1f} ns; {got["clocks_ns"]:.1f} ns for two clock readings: {got["scope_ratio"]:.2f}x (target 1.3x)',
                 got['scope_ratio'] <= 1.3)
    report.check(10000000, 'libsstrace, stop', got['stop_ratio'],
                 f'{got["stop_ms"]:.1f} ms; {got["write_ms"]:.1f} ms to write as many bytes: {got["stop_ratio"]:.2f}x (target 1.3x)',
                 got['stop_ratio'] <= 1.3)


# What answers the same questions: which kernels of which operators; where the time goes. Both read the trace first.
HTA_CALL = """import sys
from hta.trace_analysis import TraceAnalysis
t = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir='')
for name in sys.argv[2:]:
    getattr(t, name)(visualize=False)
"""
HTA_OPERATORS = ('get_gpu_kernel_breakdown', 'get_cuda_kernel_launch_stats')
HTA_OVERVIEW = ('get_temporal_breakdown', 'get_idle_time_breakdown', 'get_gpu_kernel_breakdown', 'get_comm_comp_overlap',
                'get_cuda_kernel_launch_stats')


def torch_file(kind, name, amount):
    generator = os.path.join(ROOT, 'bench', 'gen_torch.py')
    with open(generator, 'rb') as f:
        version = hashlib.sha256(f.read()).hexdigest()[:12]
    path = os.path.join(CACHE, 'bench', f'torch-{amount}-{version}', name)
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run([sys.executable, generator, kind, path + '.part', str(amount)], check=True)
        os.rename(path + '.part', path)
    return path


def packed(path):
    if not os.path.exists(path + '.gz'):
        with open(path, 'rb') as f, gzip.open(path + '.gz.part', 'wb', 6) as to:
            shutil.copyfileobj(f, to, 1 << 20)
        os.rename(path + '.gz.part', path + '.gz')
    return path + '.gz'


def bench_torch(report, peers, args):
    """What a trace of torch.profiler costs, and a memory snapshot."""
    if args.only not in 'torch, trace and snapshot':
        return
    events, size = (130000, 100 << 20) if args.quick else (1300000, 1000 << 20)
    path = torch_file('trace', 'rank-0.pt.trace.json', events)
    text = os.path.getsize(path)
    measure = compile_c('measure')
    report.head(f'PyTorch: {events:,} events, {text / 1e6:.0f} MB')
    floor_s = run_json([measure, 'grep', '-c', '"no such word"', path])['cpu_s']   # grep ends at the first hit where nobody reads it
    print(f'a search of the text: {floor_s:.2f} s of CPU', flush=True)
    for label, at, tool, calls in (('operators', path, 'operators', HTA_OPERATORS), ('summary', path, '', HTA_OVERVIEW),
                                   ('summary, packed', packed(path), '', ())):
        theirs = run_json([measure, HTA, '-c', HTA_CALL, path, *calls]) if peers and calls and os.path.exists(HTA) else {}
        command = [measure, BIN, *(['tool', tool, at] if tool else ['summary', at])]
        runs = [run_json(command) for _ in range(3)]
        cpu, peak = statistics.median(r['cpu_s'] for r in runs), max(r['peak_kb'] for r in runs)
        report.row(events, f'torch, {label}, CPU', 'cpu_s', cpu, theirs.get('cpu_s'), 40, f'{cpu / floor_s:.1f}x the search')
        report.row(events, f'torch, {label}, memory', 'peak_kb', peak, theirs.get('peak_kb'))
        report.check(events, f'torch, {label}, memory', peak * 1024 / text, f'{peak * 1024 / text:.2f} of the text (target 0.33)',
                     peak * 1024 / text <= 1 / 3)
    path = torch_file('snapshot', 'snapshot.pickle', size)
    run = min((run_json([measure, BIN, 'tool', 'memory_snapshot', path]) for _ in range(3)), key=lambda r: r['cpu_s'])
    report.check(size, 'memory snapshot, CPU', run['cpu_s'], f'{run["cpu_s"]:.1f} s of CPU, {run["wall_s"]:.1f} s (target 10 s)',
                 run['cpu_s'] <= 10)
    share = run['peak_kb'] * 1024 / os.path.getsize(path)
    report.check(size, 'memory snapshot, memory', share, f'{share:.2f} of {os.path.getsize(path) / 1e6:.0f} MB (target 1.5)', share <= 1.5)


def bench_profile(report, events, kind, peers, args, generator):
    logdir, path = make_input([generator], f'{events}{kind}', str(events), *(['1', 'grouped'] if kind else []))
    size, base = os.path.getsize(path), floor(path)
    how = 'came grouped' if kind else 'as recorded'
    report.head(f'{base["events"]:,} events, {how}, {size / 1e6:.1f} MB; floor: {base["cpu_s"] * 1e3:.1f} ms CPU, '
                f'{size / 1e9 / base["cpu_s"]:.2f} GB/s')
    if not kind:
        bench_start(report, events, logdir, peers, args.only)
        bench_first_picture(report, events, logdir, base, args.only)
    peer = Peer(path, events, peers, args.fresh)
    bench_cold(report, events, path, size, base, peer, args)
    bench_findings(report, events, path, args.only)
    if not kind and events == 5000000:
        bench_sql(report, events, path, base, peers, args.only)
    bench_warm(report, events, logdir, peer, args.only)
    if not kind:
        bench_diff(report, events, path, peers, args, generator)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--quick', action='store_true', help='1 million events, hundreds of hosts')
    ap.add_argument('--events', default='1,5,20', help='millions of events, comma separated')
    ap.add_argument('--tools', action='store_true', help='every tool cold, whatever the number of events')
    ap.add_argument('--fresh', action='store_true', help='measure XProf again')
    ap.add_argument('--only', default='', help='cases whose name contains this')
    ap.add_argument('--no-peer', action='store_true', help='stepscope and the floor alone')
    ap.add_argument('--json', help='write all figures to this file')
    args = ap.parse_args()
    millions = [1.0] if args.quick else [float(m) for m in args.events.split(',')]
    peers = not args.no_peer
    if peers and not os.path.exists(XPROF):
        sys.exit('XProf is not installed: scripts/bootstrap xprof')
    generator = compile_c('gen_xspace', '-lm')
    report = Report()
    for m in millions:
        for kind in ('', '-grouped') if m == 1 else ('',):
            bench_profile(report, int(m * 1e6), kind, peers, args, generator)
    bench_small(report, generator, 1 if args.quick else 4, args.only)
    bench_programs(report, peers, args)
    bench_hosts(report, generator, 100 if args.quick else 1000, args.only)
    bench_job(report, 100 if args.quick else 1000, args.only)
    bench_shards(report, 400 if args.quick else 4000, args.only)
    bench_recording(report, args.only)
    bench_torch(report, peers, args)
    if args.json:
        with open(args.json, 'w') as f:
            json.dump(report.rows, f, indent=1)
    judged = [r for r in report.rows if r['good'] is not None]
    print(f'\n{len(judged) - report.below} passed, {report.below} failed')


if __name__ == '__main__':
    main()
