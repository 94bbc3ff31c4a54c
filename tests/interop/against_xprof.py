"""Open a log directory with stepscope and with XProf 2.24.2 and compare their answers, value by value."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import compare
import serving

CACHE = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'stepscope')
XPROF = os.path.join(CACHE, 'venv-xprof', 'bin', 'python')
RECORD = os.path.join(CACHE, 'venv-record', 'bin', 'python')
BIN = os.path.join(os.path.dirname(os.path.dirname(HERE)), 'build', 'stepscope')

# Tools that need no more than a host, with an option where they have one, and the least share of equal values. Less than 0.99 where
# docs/parity.md says why: copies of one op stand in the order of a hash table, and so do allocations and collectives.
TOOLS = {
    'overview_page': 0.99, 'input_pipeline_analyzer': 0.99, 'framework_op_stats': 0.99, 'trace_viewer@': 0.99, 'trace_viewer': 0.99,
    'op_profile?group_by=program': 0.97, 'op_profile?group_by=category': 0.97, 'op_profile?group_by=provenance': 0.97, 'hlo_stats': 0.99,
    'roofline_model': 0.98, 'kernel_stats': 0.99, 'pod_viewer': 0.99, 'memory_profile': 0.9, 'inference_profile': 0.98,
    'megascale_stats': 0.95, 'perf_counters': 0.99, 'utilization_viewer': 0.99, 'kernel_utilization': 0.99,
}
# Where docs/parity.md says that XProf is wrong and all of an answer follows from it: requests without a model, counted to the first one.
XPROF_WRONG = {('inference_profile', 'synth_tpu_serving')}
# ... and what of an answer does when several TPU hosts are combined: which memories the chip has is lost.
SEVERAL_HOSTS_WRONG = {'roofline_model': re.compile(r'[cv]mem_(read|write)_|has_cmem|has_merged_vmem|roofline_efficiency|max_mem_bw_utilization'
                                                    r'|optimal_flop_rate|bound_by|bottleneck_operational_intensity')}
# ... and what is of any host: tables that it says are not there, in the order of a hash table.
ALWAYS_WRONG = {'inference_profile': re.compile(r'hasTensorPattern|rows\[\d+\]\.id$')}
# A step that is shorter than its operations computes nothing in XProf.
OVERLONG_STEP = re.compile(r'tcComputeTimeMs: expected 0.0,')
OVERLONG_FOLLOWS = re.compile(r'tc(Compute|Idle)TimeMs|tc_(compute|idle)_ms_average')
ONE_HOST = ('trace_viewer', 'memory_profile', 'utilization_viewer', 'kernel_utilization')


def layout(root, name, files):
    """A log directory `root`/`name` with one run of these (file name, bytes)."""
    folder = os.path.join(root, name, 'plugins', 'profile', 'run')
    os.makedirs(folder)
    for file, data in files:
        with open(os.path.join(folder, file), 'wb') as f:
            f.write(data)
    return os.path.join(root, name)


def run_folder(logdir):
    """The one run of a log directory: (name, folder, its profile files)."""
    for folder, _, entries in os.walk(logdir):
        files = sorted(e for e in entries if e.endswith('.xplane.pb'))
        if files:
            return os.path.basename(folder), folder, files
    raise FileNotFoundError(f'no profile below {logdir}')


def host_names(files):
    return [f.removesuffix('.xplane.pb') for f in files]


def requests_for(folder, files, scratch, label, tools):
    """One request per tool; XProf gets a fresh copy of the run for each, so that no cache speaks for another host."""
    for asked in tools:
        tool, _, option = asked.partition('?')
        used = files[:1] if tool in ONE_HOST else files
        copy = os.path.join(scratch, f'{label}-{asked}')
        shutil.copytree(folder, copy)
        params = {'hosts': host_names(used), 'use_saved_result': False}
        params.update(o.split('=') for o in option.split('&') if o)
        if tool.startswith('trace_viewer'):
            params['trace_viewer_options'] = {'resolution': '8000', 'full_dma': False}
        if tool == 'megascale_stats':
            params['host'] = host_names(used)[0] if len(used) == 1 else 'ALL_HOSTS'
        yield {'id': f'{label}|{asked}', 'files': [os.path.join(copy, f) for f in used], 'asked': asked, 'tool': tool, 'params': params}


def ask_xprof(requests):
    """{id: reply}. XProf is started again after the request that brought it down."""
    replies = {}
    with tempfile.TemporaryDirectory() as scratch:
        todo, out = os.path.join(scratch, 'todo'), os.path.join(scratch, 'out')
        while requests:
            with open(todo, 'w') as f:
                json.dump(requests, f)
            subprocess.run([XPROF, os.path.join(HERE, 'xprof_answers.py'), todo, out],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=900, check=False)
            with open(out) as f:
                for line in f:
                    reply = json.loads(line)
                    replies[reply['id']] = reply
            left = [r for r in requests if r['id'] not in replies]
            if left:
                replies[left[0]['id']] = {'answer': None, 'error': 'XProf crashed'}
            requests = left[1:]
    return replies


def ask_stepscope(logdir, run, files, asked):
    tool, _, option = asked.partition('?')
    hosts = host_names(files[:1] if tool in ONE_HOST else files)
    query = {'run': run, 'tag': tool, 'host': hosts[0] if len(hosts) == 1 else 'ALL_HOSTS'}
    query.update(o.split('=') for o in option.split('&') if o)
    if tool == 'trace_viewer@':
        query.update(hosts=','.join(hosts), resolution='8000')
    with serving.Server(f'{BIN} serve --logdir {{logdir}} --port {{port}}', logdir) as server:
        status, body = server.get(serving.DATA, query)
    if status == 200:
        return json.loads(body) if body else None
    return {'status': status, 'text': body[:200].decode('utf-8', 'replace')}


class Judge:
    """Sums the shares of equal values by tool over many profiles."""

    def __init__(self, tools=None, show=6):
        self.tools = [t for t in TOOLS if not tools or t.partition('?')[0] in tools]
        self.tallies = {tool: [] for tool in self.tools}
        self.unanswered = 0
        self.show = show
        self.differing = []     # (label, tool)

    def judge(self, cases):
        """cases: [(label, log directory)]."""
        with tempfile.TemporaryDirectory() as scratch:
            requests, where = [], {}
            for label, logdir in cases:
                run, folder, files = run_folder(logdir)
                for r in requests_for(folder, files, scratch, label, self.tools):
                    requests.append(r)
                    where[r['id']] = (label, logdir, run, files, r.pop('asked'))
            replies = ask_xprof(requests)
            for key, (label, logdir, run, files, tool) in where.items():
                self.one(label, tool, replies[key], ask_stepscope(logdir, run, files, tool), len(files))

    def one(self, label, tool, reply, got, nhosts):
        if not reply['answer']:         # XProf has no answer: ours cannot be compared, only be there
            self.unanswered += 1
            print(f'{label} {tool}: XProf has no answer ({reply["error"][:100]})')
            return
        if (tool, label.split('~')[0]) in XPROF_WRONG:
            return
        tally = compare.compare(json.loads(reply['answer']), got)
        if tool in ALWAYS_WRONG:
            tally.forgive(ALWAYS_WRONG[tool])
        if nhosts > 1 and tool in SEVERAL_HOSTS_WRONG:
            tally.forgive(SEVERAL_HOSTS_WRONG[tool])
        if any(OVERLONG_STEP.search(note) for note in tally.notes):
            tally.forgive(OVERLONG_FOLLOWS)
        self.tallies[tool].append(tally)
        if not tally.whole:
            print(f'{label} {tool}: {tally.equal} of {tally.total} values')
            self.differing.append((label, tool))
            for note in tally.notes[:self.show]:
                print('    ' + note)

    def report(self):
        """Print a line per tool; the counts of tools at or above their minimum, and below."""
        passed = failed = 0
        for tool in self.tools:
            least = TOOLS[tool]
            total = sum(t.total for t in self.tallies[tool])
            equal = sum(t.equal for t in self.tallies[tool])
            share = equal / total if total else 0.0
            good = share >= least
            passed, failed = passed + good, failed + (not good)
            print(f'{tool:28} {len(self.tallies[tool]):4} profiles {total:8} values  {100 * share:6.2f} %'
                  + ('' if good else f'   below {least}'))
        print(f'{passed} passed, {failed} failed')
        return failed == 0
