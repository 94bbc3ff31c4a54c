#!/usr/bin/env python3
"""The Python package on the samples: its examples, and tables as lists, arrays and Arrow streams. With --peers pandas, polars, pyarrow
and DuckDB take them over.

    python.py [--peers]
"""
import argparse
import ast
import collections
import ctypes
import doctest
import gc
import importlib.util
import json
import os
import re
import signal
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import types

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, 'python'), os.path.join(ROOT, 'tests', 'lib')]
os.environ.setdefault('STEPSCOPE_LIBRARY', os.path.join(ROOT, 'build', 'libstepscope.so.0'))
os.chdir(ROOT)

import profiles

XPROF = os.path.expanduser('~/.cache/stepscope/venv-xprof/bin/xprof')    # scripts/bootstrap xprof
PEERS = ('pandas', 'polars', 'pyarrow', 'duckdb', 'mypy')
passed = failed = 0


def check(what, good, shown=''):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f'FAILED {what}: {str(shown)[:300]}')


def loading():
    """A release's library, whose name has the version, is loaded, not another build's that lies beside it."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(os.path.join(ROOT, 'python', 'stepscope'), os.path.join(folder, 'stepscope'))
        for name in ('libstepscope.so.0', 'libstepscope.so.0-1.2.3'):
            shutil.copy(os.environ['STEPSCOPE_LIBRARY'], os.path.join(folder, 'stepscope', name))
        env = {k: v for k, v in os.environ.items() if k != 'STEPSCOPE_LIBRARY'}
        done = subprocess.run([sys.executable, '-c', 'import stepscope; print(stepscope._lib._name)'], cwd=folder, env={**env, 'PYTHONPATH': folder},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        check('the library with the version', done.stdout.strip() == os.path.join(folder, 'stepscope', 'libstepscope.so.0-1.2.3'), done.stdout)


def refused(fn, words):
    import stepscope
    try:
        fn()
    except stepscope.Error as e:
        return words in str(e)
    return False


def examples():
    import stepscope
    done = doctest.testmod(stepscope)
    check('examples', done.attempted > 5 and not done.failed, done)


def documented(frames):
    """Each line of the example in docs/python.md. Without frames, a list in place of what needs pandas and polars."""
    with open(os.path.join('docs', 'python.md'), encoding='utf-8') as f:
        code = re.search(r'```python\n(.*?)```', f.read(), re.S)[1]
    code = code.replace('"logs/"', repr(os.path.join(profiles.ROOT, 'synth_tpu1')))
    names = {}
    for statement in ast.parse(code if frames else re.sub(r'[.]to_(?:pandas|polars)[(][)]', '.to_dict()', code)).body:
        text = ast.unparse(statement)
        if isinstance(statement, ast.Expr):
            value = eval(text, names)
            check(f'docs/python.md: {text}', all(len(v) for v in value) if isinstance(value, tuple) else len(value) > 0, value)
        else:
            exec(text, names)
    check('docs/python.md: its example', 'p' in names)


def tables():
    import stepscope
    with stepscope.open('tests/data/profiles/jax_mlp_train') as p:
        t = p.sql("SELECT 1 AS i, 2.5 AS r, 'x' AS t, NULL AS n UNION ALL SELECT NULL, 3, NULL, NULL UNION ALL SELECT 9007199254740993, NULL, 'y', NULL")
        check('values', t.to_dict() == {'i': [1, None, 9007199254740993], 'r': [2.5, 3.0, None], 't': ['x', None, 'y'], 'n': [None] * 3}, t.to_dict())
        check('rows', list(t)[1] == {'i': None, 'r': 3.0, 't': None, 'n': None} and t[-1]['t'] == 'y' and len(t) == 3, list(t))
        check('mixed', p.sql("SELECT 1 AS a UNION ALL SELECT 2.5 UNION ALL SELECT 'z'").to_dict()['a'] == ['1', '2.5', 'z'])
        odd = p.sql("SELECT 1 AS a, 2 AS a, x'ff00' AS b, x'41' AS m, CAST(x'ff41c3' AS TEXT) AS t, NULL AS n UNION ALL "
                    "SELECT 3, 4, NULL, 5, 'ok', x'0a' UNION ALL SELECT NULL, 2.5, x'', 'x', NULL, NULL")
        check('columns of one name', odd.columns == ['a', 'a_2', 'b', 'm', 't', 'n'] and odd['a'] == [1, 3, None] and odd['a_2'] == [2.0, 4.0, 2.5], odd.to_dict())
        check('blobs', odd['b'] == [b'\xff\0', None, b''] and odd['n'] == [None, b'\n', None] and odd['m'] == ['41', '5', 'x'], odd.to_dict())
        check('texts that are not UTF-8', odd['t'] == ['\ufffdA\ufffd', 'ok', None], odd['t'])
        check('a part of the rows', [r['a'] for r in odd[:2]] == [1, 3] and odd[5:] == [])
        check('no rows', len(p.sql('SELECT * FROM events WHERE 0')) == 0 and p.sql('SELECT * FROM events WHERE 0').to_dict()['name'] == [])
        n = p.sql('SELECT COUNT(*) AS n FROM events')[0]['n']
        check('events', len(p.events()) == n)
        some = p.events(plane='/host:CPU', names=['dot', 'train'], start_ps=10**11, end_ps=2 * 10**11)
        check('some events', 0 < len(some) < n and set(some.to_dict()['name']) <= {'dot', 'train'} and min(some.to_dict()['end_ps']) > 10**11)
        shown = stepscope.open(os.path.join(profiles.ROOT, 'synth_tpu1')).events(line='XLA Ops', names='fusion.1')
        check('a name as displayed', len(shown) > 0 and {r['display_name'] for r in shown} == {'fusion.1'}, len(shown))
        check("a name with a quote", len(p.events(names="it's")) == 0)
        check('findings', all(isinstance(s, str) and s for s in p.findings()) and p.findings(), p.findings())
        check('tools', 'overview_page' in p.tools and p.ask('plane_stats')['tables'], p.tools)
        check('no rows are said', '<p>no rows</p>' in p.sql("SELECT name FROM events WHERE name = 'none'")._repr_html_())
        check('a profile names itself', repr(p).startswith("<stepscope.Profile of '") and repr(p).endswith(' 1 host>'), repr(p))
        check('html', '<th>name</th>' in p.events(names='train')._repr_html_() and '&lt;' in p.sql("SELECT '<b>' AS x")._repr_html_())
        for what, fn, words in (('wrong', lambda: p.sql('SELECT x'), 'no such column'), ('writes', lambda: p.sql('DELETE FROM run'), ''),
                                ('tool', lambda: p.tool('none'), "no tool 'none'"), ('a slip', lambda: p.tool('a; b'), 'no tool'),
                                ('table', lambda: p.tool('plane_stats', 0), 'from 1 on'), ('column', lambda: t['zz'], "no column 'zz': the table has i, r, t, n"),
                                ('far column', lambda: t.nulls(4), 'no column 4'), ('negative column', lambda: t.nulls(-1), 'no column -1'),
                                ('host of events', lambda: p.events(host='zz'), "no host 'zz'"), ('host of steps', lambda: p.steps(host='zz'), "no host 'zz'"),
                                ('host', lambda: p.sql('SELECT 1', host='zz'), "no host 'zz'"), ('negative time', lambda: p.sql('SELECT 1', timeout_s=-1), 'takes seconds'),
                                ('no time', lambda: p.sql('SELECT 1', timeout_s=float('nan')), 'takes seconds'), ('zero byte', lambda: p.sql('SELECT \0'), 'zero byte'),
                                ('half a letter', lambda: p.sql("SELECT '\ud800'"), 'UTF-8'), ('path', lambda: stepscope.open('tests\0x'), 'zero byte'),
                                ('time', lambda: p.sql('SELECT COUNT(*) FROM events a, events b, events c', timeout_s=0.1), 'stopped')):
            check(f'refused: {what}', refused(fn, words))
        kept = p.sql('SELECT name FROM events')
    check('a table outlives its profile', len(kept.to_dict()['name']) == n)
    for what, fn in (('sql', lambda: p.sql('SELECT 1')), ('hosts', lambda: p.hosts), ('runs', lambda: p.runs), ('tools', lambda: p.tools),
                     ('findings', p.findings), ('ask', lambda: p.ask('plane_stats')), ('steps', p.steps), ('events', p.events)):
        check(f'a closed profile: {what}', refused(fn, 'the profile is closed'))
    with stepscope.open('tests/data/profiles') as many:
        check('the newest run has a name', many.run in many.runs and many.sql('SELECT 1 AS one')['one'] == [1], many.run)
        check('its hosts are those of the run by name', many.hosts == stepscope.open('tests/data/profiles', many.run).hosts)
    check('no such path', refused(lambda: stepscope.open('/none'), 'none') and refused(lambda: stepscope.open('tests/data/profiles/synth_gpu1', 'no'), 'no run'))


def streams():
    """The stream as C sees it, and that memory goes with the last who holds it."""
    import stepscope
    p = stepscope.open('tests/data/profiles/jax_mlp_train')

    def resident():
        with open('/proc/self/statm') as f:
            return int(f.read().split()[1])
    for _ in range(3):
        p.events().__arrow_c_stream__()
    gc.collect()
    before = resident()
    for _ in range(300):
        capsule = p.events().__arrow_c_stream__()
        assert ctypes.pythonapi.PyCapsule_IsValid(ctypes.py_object(capsule), b'arrow_array_stream')
    del capsule
    gc.collect()
    check('streams that nobody takes are given back', resident() - before < 5000 and not stepscope._streams, resident() - before)


def arguments():
    """Arguments of other types than the documented ones, and a parameter that a tool does not have."""
    import stepscope
    p = stepscope.open('tests/data/profiles/jax_mlp_train')

    def raises(fn):
        try:
            fn()
        except TypeError as e:
            return str(e)
        return ''
    for what, fn, words in (('start_ps', lambda: p.events(start_ps='x'), 'start_ps takes a whole number'), ('end_ps', lambda: p.events(end_ps=[1]), 'end_ps takes'),
                            ('names', lambda: p.events(names=[1]), 'not 1'), ('plane', lambda: p.events(plane=5), 'plane takes a text'),
                            ('line', lambda: p.events(line=b'x'), 'line takes a text'), ('plane of steps', lambda: p.steps(plane=5), 'plane takes a text'),
                            ('host', lambda: p.events(host=5), 'host takes a text'), ('params', lambda: p.ask('op_profile', params=[1]), 'params takes a mapping'),
                            ('timeout_s', lambda: p.sql('SELECT 1', timeout_s='5'), "timeout_s takes seconds, not '5'"), ('tool', lambda: p.tool(5), 'not 5'),
                            ('table', lambda: p.tool('plane_stats', table=True), 'table takes a whole number'),
                            ('run', lambda: stepscope.open('tests/data/profiles/jax_mlp_train', run=5), 'run takes a text')):
        check(f'another type: {what}', words in raises(fn), raises(fn))
    check('an unknown parameter', refused(lambda: p.ask('op_profile', params={'zz': 1}), "no parameter 'zz'"))


def endings():
    """A profile that is closed while it is asked, Ctrl-C, and a recursion without an end."""
    import stepscope
    endless = 'SELECT COUNT(*) FROM events a, events b, events c'
    recursion = 'WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t) SELECT COUNT(*) FROM t'
    p = stepscope.open('tests/data/profiles/jax_mlp_train')
    said = []

    def ask(work):
        try:
            said.append(work())
        except stepscope.Error as e:
            said.append(str(e))
    threads = [threading.Thread(target=ask, args=(lambda: p.sql(endless),)) for _ in range(2)]
    for t in threads:
        t.start()
    while len(p._running) < 2:
        time.sleep(.01)
    held = p._open_store
    p.close()
    for t in threads:
        t.join()
    check('close() ends the queries of other threads', said == ['the profile is closed'] * 2 and p._store is None and not p._running, said)
    check('a call that is at work holds what is open', stepscope._lib.stepscope_run_name(held, 0) is not None)
    del held
    p = stepscope.open('tests/data/profiles/jax_mlp_train')

    def interrupt():
        while not p._running:
            time.sleep(.01)
        os.kill(os.getpid(), signal.SIGINT)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)     # a shell may have started this with SIGINT ignored
    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    try:
        check('Ctrl-C ends a query', False, len(p.sql(endless)))
    except KeyboardInterrupt:
        check('Ctrl-C ends a query', not p._running and p.sql('SELECT 1 AS one')['one'] == [1])
    interrupter.join()
    signal.signal(signal.SIGINT, before)
    check('a recursion without an end', refused(lambda: p.sql(recursion), 'may have no end'))
    check('a recursion with a limit of time', refused(lambda: p.sql(recursion, timeout_s=.2), 'stopped after 0.2 s'))


def files(profile, duckdb, polars, pyarrow):
    """`stepscope export --to parquet`: three readers find the same rows, those of xprof_events."""
    import pyarrow.ipc
    import pyarrow.parquet
    import stepscope
    with tempfile.TemporaryDirectory() as scratch:
        path, source = os.path.join(scratch, 'events.parquet'), profiles.logdir(profile, scratch)
        subprocess.run([os.path.join(ROOT, 'build', 'stepscope'), 'export', source, '--to', 'parquet', '--output', path], check=True)
        with stepscope.open(source) as p:
            want = p.sql('SELECT * FROM xprof_events').to_dict()
        for k in ('input_tensors', 'output_tensors'):     # of the host's events a text
            want[k] = [x if x is None else json.loads(x) if x[:1] == '[' else [x] * bool(x) for x in want[k]]
        want['hlo_fingerprint'] = [x if x is None else x % 2**64 for x in want['hlo_fingerprint']]   # SQL's numbers have a sign
        arrow = pyarrow.parquet.read_table(path)
        arrow.validate(full=True)
        check(f'{profile} parquet: pyarrow', arrow.to_pydict() == want, [k for k in want if arrow.to_pydict().get(k) != want[k]])
        check(f'{profile} parquet: types', {str(f.type) for f in arrow.schema} == {'string', 'uint32', 'uint64', 'int64', 'list<element: string not null>'},
              {str(f.type) for f in arrow.schema})
        stream = os.path.join(scratch, 'events.arrows')
        subprocess.run([os.path.join(ROOT, 'build', 'stepscope'), 'export', source, '--to', 'arrow', '--output', stream], check=True)
        table = pyarrow.ipc.open_stream(stream).read_all()
        check(f'{profile} arrow: pyarrow', table.validate(full=True) is None and table.to_pydict() == want and
              {str(f.type) for f in table.schema} == {'string', 'dictionary<values=string, indices=int32, ordered=0>', 'uint32', 'uint64', 'int64',
                                                      'list<item: string>'}, table.schema)
        check(f'{profile} arrow: polars', polars.read_ipc_stream(stream).to_dict(as_series=False) == want)
        check(f'{profile} parquet: polars', polars.read_parquet(path).to_dict(as_series=False) == want)
        rows = duckdb.sql(f"SELECT COUNT(*), SUM(self_time_ns), COUNT(step), COUNT(DISTINCT kernel_name) FROM '{path}' WHERE start_ns >= 0").fetchall()[0]
        check(f'{profile} parquet: duckdb', rows == (len(want['start_ns']), sum(want['self_time_ns']), sum(x is not None for x in want['step']),
                                                     len({x for x in want['kernel_name'] if x is not None})), rows)


def xprof(profile, pyarrow):
    """The Parquet file against that of the installed XProf: the same rows, cell by cell."""
    import pyarrow.parquet
    keys = ('device', 'start_ns', 'end_ns', 'category', 'kernel_name', 'stream_id', 'thread_id')
    with tempfile.TemporaryDirectory() as scratch:
        path, source = os.path.join(scratch, 'events.parquet'), profiles.logdir(profile, scratch)
        done = subprocess.run([XPROF, 'create_events_db', source], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, TMPDIR=scratch))
        check(f"{profile}: XProf's events", done.returncode == 0, done.stdout[-300:])
        subprocess.run([os.path.join(ROOT, 'build', 'stepscope'), 'export', source, '--to', 'parquet', '--output', path], check=True)
        theirs, ours = (pyarrow.parquet.read_table(x) for x in (json.loads(done.stdout)['path'], path))
        check(f"{profile}: XProf's columns", theirs.schema.names == ours.schema.names, ours.schema.names)
        for name in theirs.schema.names:
            rows = [collections.Counter(zip(*(map(str, t[k].to_pylist()) for k in (*keys, name)))) for t in (theirs, ours)]
            check(f"{profile}: XProf's {name}", rows[0] == rows[1], (list((rows[0] - rows[1]).items())[:1], list((rows[1] - rows[0]).items())[:1]))


def peers():
    import duckdb
    import numpy
    import pandas
    import polars
    import pyarrow
    import stepscope
    for profile in ('jax_mlp_train', 'gpu_mi300_gemm', 'synth_tpu_3hosts'):
        p = stepscope.open(f'tests/data/profiles/{profile}')
        t = p.sql('SELECT event_id, host, plane, name, start_ps, dur_ps, parent_id, start_ns, dur_ps / 1000.0 AS ns, group_id FROM events')
        want = t.to_dict()
        check(f'{profile}: pyarrow', t.to_pyarrow().to_pydict() == want)
        check(f'{profile}: pyarrow finds no fault', t.to_pyarrow().validate(full=True) is None)
        check(f'{profile}: polars', t.to_polars().to_dict(as_series=False) == want)
        frame = t.to_pandas()
        check(f'{profile}: pandas', len(frame) == len(t) and frame['start_ns'].dtype == numpy.int64 and list(frame['start_ns']) == want['start_ns'] and
              list(frame['name']) == want['name'])
        check(f'{profile}: pandas, empty cells', [None if pandas.isna(x) else x for x in frame['parent_id']] == want['parent_id'])
        total = duckdb.sql('SELECT COUNT(*), SUM(dur_ps), COUNT(parent_id) FROM t').fetchall()[0]
        check(f'{profile}: duckdb', total == (len(t), sum(want['dur_ps']), sum(x is not None for x in want['parent_id'])), total)
        check(f'{profile}: numpy without a copy', t.to_numpy('start_ps').tolist() == want['start_ps'] and not t.to_numpy('start_ps').flags.owndata)
    empty = p.sql('SELECT 1 AS i, 0.5 AS r UNION ALL SELECT NULL, NULL')
    check('numpy, empty cells', numpy.isnan(empty.to_numpy('r')).tolist() == [False, True] and empty.to_numpy('i').tolist() == [1, None] and
          empty.to_numpy('i').sum() == 1, (empty.to_numpy('r'), empty.to_numpy('i')))
    for profile in ('jax_mlp_train', 'gpu_mi300_gemm', 'synth_tpu_3hosts', 'tpu_v6e_inference'):
        files(profile, duckdb, polars, pyarrow)
    with tempfile.TemporaryDirectory() as scratch:
        broken = profiles.broken_names(scratch)
        files(broken, duckdb, polars, pyarrow)
        with stepscope.open(broken) as odd:
            t = odd.events()
            check('names that are not UTF-8', t.to_pyarrow().validate(full=True) is None and any('\ufffd' in n for n in t['name']))
    for profile in ('gpu_mi300_gemm', 'jax_mlp_train', 'tf_inputbound_steps', 'synth_gpu1', 'synth_gpu_costs', 'synth_tpu_sparsecore', 'synth_megascale', 'synth_tpu_nosteps'):
        xprof(profile, pyarrow)
    kept = p.sql('SELECT * FROM events').to_polars()
    array = p.sql('SELECT dur_ps FROM events').to_numpy('dur_ps')
    p.close()
    gc.collect()
    check('what others took lives on', kept['dur_ps'].sum() == array.sum() > 0)


def typed():
    """The package says that it has types (py.typed): they must be right."""
    done = subprocess.run([sys.executable, '-m', 'mypy', '--ignore-missing-imports', '--no-incremental', 'python/stepscope'], capture_output=True, text=True, check=False)
    check('mypy', done.returncode == 0, done.stdout + done.stderr)


def ended(pid):
    """Waits for the end of a process that is no child of ours."""
    for _ in range(3000):
        try:
            with open(f'/proc/{pid}/stat') as f:
                if f.read().rsplit(')', 1)[1].split()[0] == 'Z':
                    return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


def servers():
    """A server outlives the interrupt of a cell, which goes to the whole group, and not the program that started it, however that ends."""
    code = ("import signal, sys; signal.signal(signal.SIGINT, lambda *_: print('interrupted', flush=True)); from stepscope.server import Server; "
            "s = Server(sys.argv[1]); print(s._process.pid, flush=True)\nfor line in sys.stdin: print(s.running(), flush=True)")
    env = {**os.environ, 'PYTHONPATH': os.path.join(ROOT, 'python'), 'STEPSCOPE_PROGRAM': os.path.join(ROOT, 'build', 'stepscope')}
    for how in (signal.SIGKILL, signal.SIGTERM):
        p = subprocess.Popen([sys.executable, '-c', code, os.path.join(profiles.ROOT, 'synth_tpu1')], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             env=env, start_new_session=True)
        pid = int(p.stdout.readline())
        os.killpg(p.pid, signal.SIGINT)
        check('the cell is interrupted', p.stdout.readline() == 'interrupted\n')
        p.stdin.write('\n')
        p.stdin.flush()
        check('its server runs on', p.stdout.readline() == 'True\n' and os.getpgid(pid) != p.pid)
        p.send_signal(how)
        p.communicate()
        check(f'the server ends with a program that is ended by {how.name}', ended(pid))


def in_tensorboard():
    """The plugin with a stand-in for TensorBoard's base class, which is all that it imports of it."""
    base = types.ModuleType('tensorboard.plugins.base_plugin')
    base.TBPlugin, base.TBContext, base.FrontendMetadata = object, object, dict
    plugins = types.ModuleType('tensorboard.plugins')
    plugins.base_plugin = base
    kept = {name: sys.modules.get(name) for name in ('tensorboard', 'tensorboard.plugins', 'tensorboard.plugins.base_plugin')}
    sys.modules.update({'tensorboard': types.ModuleType('tensorboard'), 'tensorboard.plugins': plugins, 'tensorboard.plugins.base_plugin': base})
    os.environ['STEPSCOPE_PROGRAM'] = os.path.join(ROOT, 'build', 'stepscope')
    try:
        import stepscope.tensorboard as tb
        tb._FIRST_LOOK_S = 600    # the machine may be busy
        said = []

        def ask(plugin, path):
            environ = {'PATH_INFO': '/data/plugin/stepscope/page' + path, 'REQUEST_METHOD': 'GET'}
            return b''.join(plugin._page(environ, lambda status, headers: said.append((status, dict(headers))))).decode()
        plugin = tb.StepscopePlugin(types.SimpleNamespace(logdir=os.path.join(profiles.ROOT, 'synth_tpu1')))
        check('TensorBoard: the first answer has looked', plugin.is_active())
        check('TensorBoard: the page', '<html' in ask(plugin, '/index.html'), said)
        plugin._server.stop()
        with tempfile.TemporaryDirectory() as nothing:
            empty = tb.StepscopePlugin(types.SimpleNamespace(logdir=nothing))
            check('TensorBoard: no runs, no tab', not empty.is_active())
            empty._server.stop()
        several = tb.StepscopePlugin(types.SimpleNamespace(logdir=''))
        check('TensorBoard: --logdir_spec', not several.is_active() and '--logdir_spec' in ask(several, '/index.html') and
              said[-1][0].startswith('404') and said[-1][1]['Content-Type'].startswith('text/plain'), said[-1])
    finally:
        for name, module in kept.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--peers', action='store_true')
    if ap.parse_args().peers:
        if any(importlib.util.find_spec(name) is None for name in PEERS):
            home = os.path.expanduser('~/.cache/stepscope/python')
            python = os.path.join(home, 'bin', 'python')
            if not os.path.exists(os.path.join(home, 'bin', PEERS[-1])):
                subprocess.run([sys.executable, '-m', 'venv', home], check=True)
                subprocess.run([python, '-m', 'pip', 'install', '-q', *PEERS, 'numpy'], check=True)
            os.execv(python, [python, os.path.abspath(__file__), '--peers'])
        peers()
        typed()
        documented(frames=True)
    else:
        for part in (loading, examples, tables, streams, arguments, endings, servers, in_tensorboard):
            part()
        documented(frames=False)
    print(f'{passed} passed, {failed} failed')
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
