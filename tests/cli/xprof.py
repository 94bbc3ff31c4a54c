#!/usr/bin/env python3
"""stepscope xprof: answers of XProf 2.24.2's command line, statuses, forms of arguments, and hostile ones.

xprof_answers.json.xz holds a list of [arguments, exit status, answer]; profiles are those of tests/data/profiles. XProf's answers
were written by `tests/interop/xprof_cli_live.py --write`, which compares with an installed XProf.
"""
import json
import lzma
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import answers
import checks
import profiles
import xspace

ANSWERS = os.path.join(HERE, 'xprof_answers.json.xz')
SAMPLE = 'synth_tpu1'


class Checks:
    def __init__(self, binary):
        self.binary = os.path.abspath(binary)
        self.passed = self.failed = 0

    def check(self, what, problems):
        self.passed, self.failed = self.passed + (not problems), self.failed + bool(problems)
        if problems:
            print(f'{what}: ' + '; '.join(problems[:4]))

    def run(self, argv, program=None, **more):
        command = [program] if program else [self.binary, 'xprof']
        return subprocess.run([*command, *argv], cwd=profiles.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              stdin=subprocess.DEVNULL, **more)

    def json(self, argv, status=0, **more):
        done = self.run(argv, **more)
        try:
            value = json.loads(done.stdout)
        except ValueError:
            value = None
        problems = [] if done.returncode == status else [f'status {done.returncode}, not {status}: {done.stdout[:300]!r}']
        self.check(' '.join(argv)[:200], problems or ([] if value is not None else [f'no JSON: {done.stdout[:200]!r} {done.stderr[:200]!r}']))
        return value if value is not None else {}


def recorded(c):
    for argv, status, want in json.load(lzma.open(ANSWERS)):
        done = c.run(argv)
        problems = [] if done.returncode == status else [f'status {done.returncode}, not {status}']
        if isinstance(want, str):
            got = done.stdout.decode()
            if answers.lines(want) != answers.lines(got):
                problems.append('the texts differ')
        else:
            try:
                problems += answers.differences(want, json.loads(done.stdout))
            except ValueError:
                problems.append(f'no JSON: {done.stdout[:200]!r}')
        c.check(' '.join(argv), problems)


def forms(c):
    """Ways to write the same."""
    want = c.json(['get_hlo_stats', SAMPLE, '--limit=2', '--include_nested'])
    for argv in (['get-hlo-stats'],):
        c.check('names have no dashes', [] if c.run([*argv, SAMPLE]).returncode == 2 else ['taken'])
    same = [['--limit', '2', '--include_nested'], ['--limit=2', '--include-nested=True'], ['--limit=2', '--include_nested', '--bypass_cache']]
    for flags in same:
        c.check(' '.join(flags), answers.differences(want, c.json(['get_hlo_stats', SAMPLE, *flags])))
    for session in (['--session_dir=' + SAMPLE], ['--source', SAMPLE], ['--session_path', SAMPLE], ['--logdir=' + SAMPLE],
                    ['run', '--logdir', SAMPLE], [os.path.join(SAMPLE, 'plugins/profile/run')],
                    [os.path.join(SAMPLE, 'plugins/profile/run/host0.xplane.pb')]):
        got = c.json(['get_hlo_stats', *session, '--limit=2', '--include_nested'])
        c.check(' '.join(session), answers.differences(want, got))
    c.check('--noinclude_summary', [] if 'summary' not in c.json(['get_step_trace', SAMPLE, '--noinclude_summary']) else ['there is a summary'])
    with tempfile.TemporaryDirectory() as d:
        link = os.path.join(d, 'xprof')
        os.symlink(c.binary, link)
        c.check('called as xprof', answers.differences(want, c.json(['get_hlo_stats', SAMPLE, '--limit=2', '--include_nested'], program=link)))
        wants_help = c.run(['--help'], program=link)
        c.check('--help as xprof', [] if b'get_overview' in wants_help.stdout else ['no list'])
    for flag, said in (('--min_size_mib=2.5', True), ('--aggregate_instructions=False', False)):
        text = c.run(['get_peak_allocations', SAMPLE, '--output_format=markdown', flag]).stdout.decode()
        c.check(f'{flag}: what rows stand for', [] if all((what in text) == said for what in ('[!NOTE]', '`name.*`', 'below 2.5 MiB')) else [text[:200]])
    done = c.run(['get_kernel_stats', SAMPLE])
    c.check('capture of a list', [] if done.stderr.startswith(b'xprof-capture: {') else [repr(done.stderr[:100])])


def refused(c):
    """(arguments, status, reason): each with a sentence."""
    file = os.path.join(SAMPLE, 'plugins/profile/run/host0.xplane.pb')
    cases = [
        (['get_overview'], 2, 'USAGE_ERROR'),
        (['get_overview', SAMPLE, '--nosuch=1'], 2, 'USAGE_ERROR'),
        (['get_overview', SAMPLE, '--host'], 2, 'USAGE_ERROR'),
        (['get_hlo_stats', SAMPLE, '--limit=many'], 2, 'USAGE_ERROR'),
        (['get_hlo_stats', SAMPLE, '--limit=1e400'], 2, 'USAGE_ERROR'),
        (['get_overview', ''], 4, 'INVALID_VALUE'),
        (['get_overview', 'x' * 5000], 3, 'PATH_ERROR'),
        (['get_overview', 'nosuch'], 3, 'PATH_ERROR'),
        (['get_overview', SAMPLE, '--host=nosuch'], 4, 'INVALID_VALUE'),
        (['get_memory_profile', 'synth_tpu_3hosts'], 4, 'INVALID_VALUE'),
        (['get_hlo_op_profile', SAMPLE, '--view=nosuch'], 4, 'INVALID_VALUE'),
        (['get_hlo_op_profile', SAMPLE, '--category=nosuch'], 3, 'PATH_ERROR'),
        (['list_xplane_events', SAMPLE, '--filter=nosuch == 1'], 4, 'INVALID_VALUE'),
        (['list_xplane_events', SAMPLE, '--filter=plane =='], 4, 'INVALID_VALUE'),
        (['list_xplane_events', SAMPLE, '--filter=' + '(' * 5000], 4, 'INVALID_VALUE'),
        (['list_xplane_events', SAMPLE, '--filter=' + 'NOT ' * 5000 + 'plane == x'], 4, 'INVALID_VALUE'),
        (['list_xplane_events', SAMPLE, '--filter=' + ' OR '.join(['plane == x'] * 5000)], 4, 'INVALID_VALUE'),
        (['get_graph_viewer', SAMPLE, '--output_type=graph'], 4, 'INVALID_VALUE'),
        (['get_graph_viewer', SAMPLE, '--output_type=graph', '--node_name=fusion.1'], 4, 'INVALID_VALUE'),
        (['list_xplane_events', SAMPLE, '--event_regex=('], 4, 'INVALID_VALUE'),
        (['list_xplane_events', SAMPLE, '--event_regex=(a)\\1'], 4, 'INVALID_VALUE'),
        (['list_xplane_events', SAMPLE, '--event_regex=' + '(' * 5000], 4, 'INVALID_VALUE'),
        (['list_xplane_events', SAMPLE, '--event_regex=((((a{1000}){1000}){1000}){1000})'], 4, 'INVALID_VALUE'),
        (['list_xplane_events', SAMPLE, '--event_regex=(((((){1000}){1000}){1000}){1000})'], 4, 'INVALID_VALUE'),
        (['list_xplane_events', SAMPLE, '--start_time_ps=5', '--end_time_ps=4'], 4, 'INVALID_VALUE'),
        (['aggregate_xplane_events', SAMPLE, '--group_by=nosuch'], 4, 'INVALID_VALUE'),
        (['analyze_async_overlap', SAMPLE, '--hidden_threshold=0.1', '--exposed_threshold=0.5'], 4, 'INVALID_VALUE'),
        (['query_hlo_graph', SAMPLE, '--mode=sql', '--sql=DELETE FROM instructions'], 4, 'INVALID_VALUE'),
        (['query_hlo_graph', SAMPLE, '--mode=sql', "--sql=SELECT load_extension('x')"], 4, 'INVALID_VALUE'),
        (['query_hlo_graph', SAMPLE, '--mode=sql', '--sql=SELECT 1; SELECT 2'], 4, 'INVALID_VALUE'),
        (['query_hlo_graph', SAMPLE, '--mode=sql', '--sql=WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t) SELECT count(*) FROM t'],
         4, 'INVALID_VALUE'),
        (['query_hlo_graph', SAMPLE, '--mode=sql', '--sql=SELECT zeroblob(1000000000)'], 4, 'INVALID_VALUE'),
        (['query_hlo_graph', SAMPLE, '--module_name=nosuch'], 4, 'INVALID_VALUE'),
        (['query_hlo_graph', SAMPLE, '--mode=shortest_path'], 4, 'INVALID_VALUE'),
        (['get_hlo_neighborhood', SAMPLE, '--instruction_name=dot.5', '--direction=sideways'], 4, 'INVALID_VALUE'),
        (['diff_sessions', '--baseline_session_id=' + SAMPLE], 2, 'USAGE_ERROR'),
        (['diff_sessions', '--baseline_session_id=nosuch', '--optimized_session_id=' + SAMPLE], 1, 'INTERNAL_ERROR'),
        (['get_hlo_text', file, '--path=/nosuch/directory/file'], 3, 'PATH_ERROR'),
        (['create_events_db', 'synth_tpu_3hosts'], 4, 'INVALID_VALUE'),
        (['query_events_db', 'synth_tpu_3hosts', '--query=SELECT 1'], 1, 'INTERNAL_ERROR'),
        (['query_events_db', SAMPLE, '--query='], 4, 'INVALID_VALUE'),
        (['query_events_db', SAMPLE, '--query=-- nothing'], 4, 'INVALID_VALUE'),
        (['query_events_db', SAMPLE, '--query=DROP TABLE Events'], 4, 'INVALID_VALUE'),
        (['query_events_db', SAMPLE, '--query=DROP TABLE nosuch'], 4, 'INVALID_VALUE'),
        (['query_events_db', SAMPLE, '--query=SELECT 1; SELECT 2'], 4, 'INVALID_VALUE'),
        (['query_events_db', SAMPLE, '--query=SELECT FROM WHERE'], 4, 'INVALID_VALUE'),
        (['query_events_db', SAMPLE, "--query=ATTACH 'x' AS y"], 4, 'INVALID_VALUE'),
        (['query_events_db', SAMPLE, '--query=/* a */ SELECT nosuch FROM Events'], 1, 'INTERNAL_ERROR'),
        (['query_events_db', SAMPLE, "--query=SELECT * FROM read_csv('/etc/passwd')"], 1, 'INTERNAL_ERROR'),
        (['query_events_db', SAMPLE, '--query=SELECT * FROM steps'], 1, 'INTERNAL_ERROR'),
        (['query_events_db', SAMPLE, '--query=WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t) SELECT count(*) FROM t'], 1, 'INTERNAL_ERROR'),
    ]
    for argv, status, reason in cases:
        got = c.json(argv, status)
        good = got.get('status') == 'ERROR' and got.get('reason') == reason and len(got.get('error', '')) > 10
        c.check(' '.join(argv)[:120] + ': reason', [] if good else [repr(got)[:300]])
    for text, words in ('duration > 5 parsec', 'a unit stands right behind its number'), ('duration > 5parsec', 'its unit may be ps, ns, us, ms or s'):
        got = c.json(['list_xplane_events', SAMPLE, '--filter=' + text], 4)
        c.check(f'filter {text}: what is wrong', [] if words in got.get('error', '') else [repr(got)[:300]])
    got = c.json(['list_xplane_events', SAMPLE, '--filter=' + 'NOT ' * 5000 + 'plane == x'], 4)
    c.check('a long filter is not repeated', [] if len(got.get('error', '')) < 200 else [repr(got)[:300]])
    for argv, words in (['--instruction_name=nosuch'], b"'nosuch'"), (['--instruction_name=dot.5', '--module_name=zz'], b"'zz'"):
        done = c.run(['get_hlo_neighborhood', SAMPLE, *argv])
        c.check(f'a neighborhood of {argv[-1]}: says so, as XProf does', [] if done.returncode == 0 and words in done.stdout else [repr(done)[:300]])
    torch = os.path.join(os.path.dirname(profiles.ROOT), 'legacy', 'pytorch', 'run', 'worker.pt.trace.json')
    for flags in [], ['--host=worker']:
        hosts = c.json(['get_hosts', torch, *flags]).get('hosts')
        c.check(f'the host of a trace of PyTorch {flags}', [] if hosts == [{'hostname': 'worker'}] else [repr(hosts)])
    listed = c.json(['query_hlo_graph', SAMPLE, '--mode=nosuch'])
    c.check('an unknown mode lists instructions, as XProf does', [] if listed.get('status') == 'SUCCESS' and listed['rows'] else [repr(listed)[:300]])
    done = c.run([])
    c.check('no subcommand: the list', [] if done.returncode == 2 and not done.stdout and b'get_overview' in done.stderr else [repr(done.stderr[:200])])
    done = c.run(['frobnicate'])
    c.check('an unknown subcommand', [] if done.returncode == 2 and not done.stdout and b'get_overview' in done.stderr else [repr(done.stderr[:200])])


def languages(c):
    """The filter language and regular expressions, against what Python says of the same events."""
    import re
    events = c.json(['list_xplane_events', 'synth_tpu_sparsecore', '--max_events=0'])['events']
    c.check('there are events', [] if len(events) > 50 else ['too few'])
    patterns = ['fus', '^%(fusion|copy)', r'copy\.\d+', '(a|b)+$', '[^x]{3,5}0', 'f32|s32', r'\bfusion\b', '(?i)FUSION', '(?:ab)*c?', 'x{0}', 'a.c']
    for p in patterns:
        got = c.json(['list_xplane_events', 'synth_tpu_sparsecore', '--max_events=0', f'--event_regex={p}'])
        want = [e for e in events if re.search(p, e['event'])]
        c.check(f'regular expression {p}', [] if got.get('events') == want else [f'{got.get("total_matched")} events, not {len(want)}'])
    filters = [
        ('duration > 10us', lambda e: e['duration_ps'] > 10000000),
        ('duration_us >= 10 AND plane CONTAINS "SparseCore"', lambda e: e['duration_ps'] >= 10000000 and 'SparseCore' in e['plane']),
        ('NOT (plane == "/device:TPU:0" OR event =~ "^%fusion")', lambda e: not (e['plane'] == '/device:TPU:0' or re.search('^%fusion', e['event']))),
        ('line_id != Steps && duration < 5us || event !~ "s"', lambda e: (e['line_id'] != 'Steps' and e['duration_ps'] < 5000000) or not re.search('s', e['event'])),
        ('!plane=x', lambda e: e['plane'] != 'x'),
    ]
    for text, test in filters:
        got = c.json(['list_xplane_events', 'synth_tpu_sparsecore', '--max_events=0', f'--filter={text}'])
        want = [e for e in events if test(e)]
        c.check(f'filter {text}', [] if got.get('events') == want else [f'{got.get("total_matched")} events, not {len(want)}'])
    part = c.json(['list_xplane_events', 'synth_tpu_sparsecore', '--max_events=7', '--offset=5'])
    c.check('offset', [] if part['events'] == events[5:12] and part['truncated'] else ['other events'])


def databases(c):
    """The database of events: in SQL, and as a file of Parquet that only its owner can read."""
    with tempfile.TemporaryDirectory() as d:
        env = dict(os.environ, TMPDIR=d)
        got = c.json(['query_events_db', SAMPLE, '--query=SELECT kernel_name, COUNT(*) AS n FROM Events GROUP BY kernel_name ORDER BY n DESC, kernel_name LIMIT 3;'], env=env)
        with open(got['path']) as f:
            rows = json.load(f)
        c.check('rows of a query', [] if [list(r) for r in rows] == [['kernel_name', 'n']] * 3 and got['capture']['run'] == 'run' else [repr(rows)])
        c.check('only its owner reads it', [] if os.stat(got['path']).st_mode & 0o777 == 0o600 else ['others, too'])
        with open(c.json(['query_events_db', SAMPLE, '--query', 'SELECT * FROM Events WHERE 0'], env=env)['path']) as f:
            c.check('no rows', [] if json.load(f) == [] else ['some'])
        with open(c.json(['create_events_db', SAMPLE], env=env)['path'], 'rb') as f:
            data = f.read()
        c.check('Parquet', [] if data[:4] == data[-4:] == b'PAR1' else [repr(data[:20])])
        before = set(os.listdir(d))
        c.json(['query_events_db', SAMPLE, '--query=SELECT nosuch FROM Events'], 1, env=env)
        c.check('a failure leaves no file', [] if set(os.listdir(d)) == before else ['a new one'])
        got = c.json(['create_events_db', SAMPLE], 1, env=dict(env, TMPDIR=os.path.join(d, 'none')))
        c.check('a directory that is not there', [] if 'No such file' in got.get('error', '') else [repr(got)])


def llo(c):
    """Kernels at the level of LLO: what a trace without them is told, and one with them, which are not read."""
    with tempfile.TemporaryDirectory() as folder:
        profile = profiles.files(SAMPLE, folder)[0]
        with_llo = os.path.join(folder, 'host.xplane.pb')
        stat = [[1, 0, 1], [2, 2, [[1, 0, 1], [2, 2, b'llo_proto']]]]
        with open(profile, 'rb') as plain, open(with_llo, 'wb') as f:
            f.write(plain.read() + xspace.serialize([[1, 2, [[2, 2, b'/host:metadata'], [5, 2, stat]]]]))
        for path, reason, words in ((SAMPLE, 'LLO_DATA_ABSENT', 'no LLO'), (with_llo, 'LLO_DATA_NOT_READ', 'does not read')):
            for command in ('get_llo_analysis', 'get_llo_debug_string'):
                a = c.json([command, path])
                c.check(f'{command}: {reason}', [] if a.get('reason') == reason and words in a.get('error', '') else [str(a)])
            a = c.json(['get_llo_static_analysis', path])
            c.check(f'get_llo_static_analysis: {words}', [] if a.get('status') == 'ERROR' and words in a.get('error', '') else [str(a)])
            a = c.json(['get_llo_static_analysis', path, '--mode=nosuch'])
            want = 'ERROR' if path == SAMPLE else 'UNIMPLEMENTED'
            c.check(f'get_llo_static_analysis of an unknown mode: {want}', [] if a.get('status') == want else [str(a)])
        valid = [c.json(['inspect_capture', p]).get('capture_valid_for_llo_analysis') for p in (SAMPLE, with_llo)]
        c.check('inspect_capture: LLO', [] if valid == [False, True] else [str(valid)])


def check_all(binary, scratch):
    c = Checks(binary)
    for part in (recorded, forms, refused, languages, databases, llo):
        part(c)
    return c


if __name__ == '__main__':
    sys.exit(checks.main('xprof', check_all))
