#!/usr/bin/env python3
"""The server's HTTP contract: routes, statuses, headers, compression, caching, and hostile requests."""
import argparse
import csv
import gzip
import http.client
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import checks
import profiles
import runs
import serving

PREFIX = '/data/plugin/profile'


class Checks(checks.Counts):
    def __init__(self, server):
        self.server = server

    def fetch(self, url, method='GET', headers=None, body=None):
        """(status, headers, body as sent)."""
        conn = http.client.HTTPConnection('127.0.0.1', self.server.port, timeout=60)
        try:
            conn.request(method, url, body=body, headers=headers or {})
            reply = conn.getresponse()
            return reply.status, dict((k.lower(), v) for k, v in reply.getheaders()), reply.read()
        finally:
            conn.close()

    def status(self, url, want, text=None, method='GET'):
        """A refusal: the right status and a sentence in JSON that holds `text`."""
        status, headers, body = self.fetch(url, method)
        good = status == want
        if good and want >= 400:
            try:
                said = json.loads(body)['error']
                good = said['status'] == want and len(said['text']) > 5 and (text or '') in said['text']
            except (ValueError, KeyError, TypeError):
                good = False
        self.check(f'{method} {url}', good, f'{status} {body[:200]!r}')

    def json(self, url):
        status, headers, body = self.fetch(url)
        self.check(f'GET {url}', status == 200 and 'json' in headers.get('content-type', ''), f'{status} {body[:200]!r}')
        try:
            return json.loads(body)
        except ValueError:
            return None


def xprof_routes(c):
    runs = c.json(f'{PREFIX}/runs')
    c.check('runs, newest name first', runs == sorted(runs, reverse=True) and 'synth_tpu1/run' in runs, str(runs))
    c.check('routes without the prefix', c.json('/runs') == runs)
    c.check('a slash at the end', c.json(f'{PREFIX}/runs/') == runs)
    hosts = c.json(f'{PREFIX}/hosts?run=synth_tpu_3hosts/run&tag=overview_page')
    c.check('only all hosts', hosts == [{'hostname': 'ALL_HOSTS'}], str(hosts))
    ours = {t['name']: t['hosts'] for t in c.json('/api/tools?run=synth_tpu_3hosts/run')['tools']}
    c.check('our page offers each host of the overview', ours['overview_page'] == ['ALL_HOSTS', 'host0', 'host1', 'host2'] and ours['pod_viewer'] == ['ALL_HOSTS'],
            f'{ours["overview_page"]} {ours["pod_viewer"]}')
    counts = [next(t['props']['host_count']['value'] for t in c.json(f'/api/tool/overview_page?run=synth_tpu_3hosts/run&host={h}')['tables'] if t['name'] == 'run_environment')
              for h in ('ALL_HOSTS', 'host1')]
    c.check('the overview of one host is that host alone', [float(n) for n in counts] == [3, 1], str(counts))
    hosts = c.json(f'{PREFIX}/hosts?run=synth_tpu_3hosts/run&tag=framework_op_stats')
    c.check('all hosts and each', [h['hostname'] for h in hosts] == ['ALL_HOSTS', 'host0', 'host1', 'host2'], str(hosts))
    c.check('an unknown run has no tools', c.json(f'{PREFIX}/run_tools?run=nope') == [])
    config = c.json(f'{PREFIX}/config')
    c.check('config', set(config) == {'enableTabNameLabel', 'hideCaptureProfileButton', 'srcPathPrefix'}, str(config))
    status, headers, body = c.fetch(f'{PREFIX}/version')
    c.check('version', status == 200 and re.match(rb'\d+\.\d+', body), f'{status} {body!r}')
    status, headers, body = c.fetch(f'{PREFIX}/module_list?run=synth_tpu1/run')
    c.check('module list', body == b'jit_train_step(12345678901234567)', body[:100])


def comparison(c):
    a = c.json('/api/diff?base=jax_mlp_train/run&new=jax_mlp_train/run')
    c.check('a run beside itself', a and a['verdict'] in ('no_significant_change', 'too_noisy') and a['base'] == ['jax_mlp_train/run'] and
            not any(next(t for t in a['tables'] if t['name'] == 'breakdown')['data'][3]), str(a)[:300])
    a = c.json('/api/diff?base=jax_mlp_train/run,jax_mlp_train/run&new=synth_tpu1/run&by=scope')
    c.check('another device', a and a['verdict'] == 'not_comparable' and 'scopes' in [t['name'] for t in a['tables']], str(a)[:300])
    c.status('/api/track', 404, '--history')
    a = c.json('/api/diff?base=jax_mlp_train/run&new=jax_mlp_train/run&tool=hlo_stats')
    c.check('the tables of a tool', [t['name'] for t in a['tables']] == ['ops'] and a['tables'][0]['nrows'] > 5, a['tables'][0]['cols'])
    c.status('/api/diff?base=jax_mlp_train/run&new=jax_mlp_train/run&tool=nothing', 404, 'nothing')
    c.status('/api/diff?base=jax_mlp_train/run', 400, 'new')
    c.status('/api/diff?base=jax_mlp_train/run&new=nope', 404, 'nope')
    c.status('/api/diff?base=jax_mlp_train/run&new=jax_mlp_train/run&by=colour', 400, 'must be op')
    c.status('/api/diff?base=jax_mlp_train/run&new=jax_mlp_train/run&host=nobody', 404, 'nobody')
    c.status('/api/diff?base=' + ','.join(['jax_mlp_train/run'] * 17) + '&new=jax_mlp_train/run', 400, '16')
    c.status('/api/diff?base=jax_mlp_train/run&new=memory_snapshot/run', 404)


def older_runs(c):
    """Runs without a profile: a trace, or only answers that were stored."""
    tools = c.json(f'{PREFIX}/run_tools?run=tpu_v2/run')
    c.check('stored answers', tools == ['overview_page', 'input_pipeline_analyzer', 'pod_viewer'], str(tools))
    tools = c.json(f'{PREFIX}/run_tools?run=demo/run')
    want = ['overview_page', 'graph_viewer', 'op_profile', 'input_pipeline_analyzer', 'memory_viewer', 'framework_op_stats']
    c.check('and programs', tools == want, str(tools))
    tools = c.json(f'{PREFIX}/run_tools?run=trace_proto/run')
    c.check('a trace, and kernels', tools[:2] == ['overview_page', 'trace_viewer@'] and 'kernel_stats' in tools, str(tools))
    c.check('no memory in it', 'memory_profile' not in tools and 'memory_viewer' not in tools, str(tools))
    hosts = c.json(f'{PREFIX}/hosts?run=tpu_v2/run&tag=pod_viewer')
    c.check('its host', hosts == [{'hostname': '10.240.1.50'}], str(hosts))
    answer = c.json(f'{PREFIX}/data?run=tpu_v2/run&tag=pod_viewer&host=10.240.1.50')
    c.check('as it was stored', 'podStatsSequence' in answer, str(answer)[:100])
    listed = {t['name']: t for t in c.json('/api/tools?run=tpu_v2/run')['tools']}
    c.check('ours', listed['pod_viewer']['available'] and 'hlo_stats' not in listed, str(listed)[:200])
    tables = c.json('/api/tool/pod_viewer?run=tpu_v2/run')['tables']
    c.check('as tables', [t['name'] for t in tables][:2] == ['cores', 'steps'] and tables[0]['nrows'] > 0, str(tables)[:200])
    c.status(f'{PREFIX}/data?run=tpu_v2/run&tag=hlo_stats', 404, 'xplane')
    trace = c.json(f'{PREFIX}/data?run=trace_proto/run&tag=trace_viewer@&host=host')
    c.check('the trace', any(e.get('name') == 'fusion.1' for e in trace['traceEvents']), str(trace)[:200])
    status, _, body = c.fetch('/api/timeline?run=trace_proto/run&host=host')
    c.check('its timeline', status == 200, f'{status} {body[:100]!r}')


def csv_route(c):
    url = f'{PREFIX}/data_csv?run=synth_tpu1/run&tag=framework_op_stats&host=host0'
    status, headers, body = c.fetch(url)
    rows = list(csv.reader(io.StringIO(body.decode())))
    c.check('CSV', status == 200 and 'csv' in headers['content-type'] and len(rows) > 1, f'{status} {body[:100]!r}')
    c.check('CSV is a file to save', 'attachment' in headers.get('content-disposition', ''), str(headers))
    c.check('every row is whole', len({len(r) for r in rows}) == 1, str(rows[:2]))
    c.status(f'{PREFIX}/data_csv?run=synth_tpu1/run&tag=nonsense', 404)
    url = f'{PREFIX}/data_csv?run=synth_tpu1/run&tag=smart_suggestion'
    first, named, all_of = (c.fetch(url + more)[2].decode() for more in ('', '&table=evidence', '&table=all'))
    c.check('CSV of a table by its name', named.startswith('"Suggestion row","Figure",') and not first.startswith(named[:20]), named)
    c.check('CSV of all tables', all_of.startswith('# suggestions\n' + first) and '\n# evidence\n' + named in all_of, all_of)
    c.status(url + '&table=nonsense', 404)
    _, _, tracks = c.fetch(f'{PREFIX}/data_csv?run=synth_tpu1/run&tag=trace_viewer@&host=host0')
    c.check('CSV of a timeline: its tracks', tracks.startswith(b'"Section","Track",'), tracks)


def allocations(c):
    """What XProf draws in a document of its own is a place of our page."""
    query = 'run=synth_tpu1/run&tag=memory_viewer&host=host0&module_name=a%26b&memory_space=1&view_memory_allocation_timeline=1'
    status, headers, _ = c.fetch(f'{PREFIX}/data?{query}')
    want = ('../../../?tool=memory_viewer&run=synth%5Ftpu1%2Frun&host=host0&module_name=a%26b&memory_space=1'
            '&view_memory_allocation_timeline=1')
    c.check('leads to the page', (status, headers.get('location')) == (303, want), f'{status} {headers.get("location")}')
    status, _, body = c.fetch('/' + want.removeprefix('../../../'))
    c.check('the page is there', status == 200 and b'<html' in body, f'{status} {body[:100]!r}')


def refusals(c):
    data = f'{PREFIX}/data'
    c.status(f'{data}?run=synth_tpu1/run&tag=nonsense', 404, 'nonsense')
    c.status(f'{data}?run=nope&tag=overview_page', 404, 'nope')
    c.status(f'{data}?run=synth_tpu1/run&tag=overview_page&host=nobody', 404, 'nobody')
    c.status(f'{data}?tag=overview_page', 400, 'run')
    c.status(f'{data}?run=synth_tpu1/run', 400, 'tag')
    c.status(f'{PREFIX}/run_tools', 400, 'run')
    c.status(f'{PREFIX}/hosts', 400, 'run')
    c.status('/nowhere', 404)
    c.status('/api/nowhere', 404)
    c.status('/api/tool/nonsense?run=synth_tpu1/run', 404, 'nonsense')
    c.status('/api/tools?run=nope', 404, 'nope')
    c.status(f'{PREFIX}/runs', 405, method='DELETE')
    zoom = f'{data}?run=synth_tpu1/run&tag=trace_viewer@&host=host0'
    for query in ('start_time_ms=x', 'start_time_ms=5&end_time_ms=1', 'resolution=-1', 'resolution=abc'):
        status, _, body = c.fetch(f'{zoom}&{query}')
        c.check(query, status in (200, 400), f'{status} {body[:100]!r}')


def stored_of_several_hosts(c):
    run = 'tf24_two_hosts/run'

    def hosts(tool):
        return [h['hostname'] for h in c.json(f'{PREFIX}/hosts?run={run}&tag={tool}')]
    c.check('hosts of an answer that is combined', hosts('kernel_stats') == ['ALL_HOSTS', 'w0', 'w1'], str(hosts('kernel_stats')))
    c.check('each host of the overview, too', hosts('overview_page') == ['ALL_HOSTS', 'w0', 'w1'], str(hosts('overview_page')))
    c.check('hosts of one that is not', hosts('memory_profile') == ['w0', 'w1'], str(hosts('memory_profile')))

    def kernels(host):
        return len(c.json(f'{PREFIX}/data?run={run}&tag=kernel_stats&host={host}')['rows'])
    c.check('kernels of both', (kernels('ALL_HOSTS'), kernels('w0'), kernels('w1')) == (3, 2, 3), 'rows')
    memory = c.json(f'{PREFIX}/data?run={run}&tag=memory_profile&host=w1')
    c.check('a packed JSON is handed on unpacked', memory['version'] == 1 and 'GPU_0_bfc' in memory['memoryProfilePerAllocator'], 'keys')
    c.status(f'{PREFIX}/data?run={run}&tag=memory_profile&host=ALL_HOSTS', 400, 'one host')
    one, both = (c.json(f'{PREFIX}/data?run={run}&tag=tf_data_bottleneck_analysis&host={h}') for h in ('w0', 'ALL_HOSTS'))
    c.check('tf.data of both', list(one['tfDataStats']) == ['w0'] and sorted(both['tfDataStats']) == ['w0', 'w1'], str(both)[:200])
    s = c.json(f'/api/shares?run={run}&tool=framework_op_stats&host=ALL_HOSTS&value=total_self_time&by=type&name=operation')
    c.check('shares of a stored answer', s['greatest']['name'] == 'model/conv/Conv2D' and s['divisions'][0]['total'] == 2160, str(s)[:300])
    facts = c.json(f'/api/run?run={run}&steps=1')
    c.check('hosts and cores of a stored run', (facts['hosts'], facts['cores'], facts['steps']) == (2, 8, 4), str(facts))


def event_files(c):
    """Runs without a profile: in the page's list, not in XProf's, where there are profiles."""
    runs = {r['run']: r['hosts'] for r in c.json('/api/runs')['runs']}
    c.check('a graph and a log of phases are runs', runs.get('tf1_mnist/run') == [] and runs.get('end_to_end/run') == [], str(runs))
    listed = c.json(f'{PREFIX}/runs')
    c.check('XProf would not list them', 'tf1_mnist/run' not in listed, str(listed))
    c.check('tools of one', c.json(f'{PREFIX}/run_tools?run=tf1_mnist/run') == ['tf_graph'])
    tools = c.json('/api/tools?run=end_to_end/run')['tools']
    c.check('tools of the other', [(t['name'], t['available']) for t in tools] == [('end_to_end', True)], str(tools))
    ours = {t['name'] for t in c.json('/api/tools?run=synth_tpu1/run')['tools']}
    c.check('none of a profile', not ours & {'tf_graph', 'end_to_end'}, str(ours))
    hosts = c.json(f'{PREFIX}/hosts?run=tf1_mnist/run&tag=tf_graph')
    c.check('files as hosts', [h['hostname'] for h in hosts] == ['events.out.tfevents.1795251845.host'], str(hosts))
    chart = c.json(f'{PREFIX}/data?run=end_to_end/run&tag=end_to_end')
    c.check('the chart of old', len(chart) == 2 and chart[0][0] == 'Category' and chart[0][-1] == {'role': 'annotation'}
            and len(chart[1]) == 12 and abs(chart[1][6] - 25770.357) < 0.01, str(chart))
    scope = c.json('/api/tool/tf_graph?run=tf1_mnist/run&scope=tower')
    names = [t['name'] for t in scope['tables']]
    c.check('a scope with its picture', names == ['scopes', 'incompatible', 'operators', 'attributes', 'children', 'links'], str(names))
    status, _, body = c.fetch(f'{PREFIX}/data_csv?run=tf1_mnist/run&tag=tf_graph')
    c.check('its scopes as CSV', status == 200 and body.startswith(b'"Scope","Parent"'), body[:60])
    c.status('/api/tool/tf_graph?run=tf1_mnist/run&scope=nowhere', 404, 'nowhere')
    c.status('/api/tool/tf_graph?run=tf1_mnist/run&node=nobody', 404, 'nobody')
    c.status('/api/tool/tf_graph?run=synth_tpu1/run', 404, 'event file')
    c.status('/api/tool/overview_page?run=tf1_mnist/run', 404)


def no_way_out(c):
    """No byte from outside the log directory, whatever the spelling."""
    for path in ('/../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '/..%2f..%2fetc%2fpasswd', '//etc/passwd', '/etc/passwd',
                 '/index.html/../../../etc/passwd', f'{PREFIX}/../../../../etc/passwd', '/%00', '/\\..\\etc'):
        status, _, body = c.fetch(path)
        c.check(path, b'root:' not in body and status in (200, 400, 404), f'{status} {body[:80]!r}')
    for name in ('../../../../etc', '/etc', '..', '../synth_tpu1/run', 'synth_tpu1/run/../../../..', 'synth_tpu1%00', '%2e%2e'):
        for url in (f'{PREFIX}/data?tag=overview_page&run={name}', f'/api/tools?run={name}',
                    f'{PREFIX}/data?tag=overview_page&run=synth_tpu1/run&host={name}'):
            status, _, body = c.fetch(url)
            c.check(url, status in (400, 404) and b'root:' not in body, f'{status} {body[:80]!r}')
    for key in ('session_path', 'run_path'):    # XProf opens any directory by these
        status, _, body = c.fetch(f'{PREFIX}/data?tag=overview_page&run=run&{key}=/etc')
        c.check(key, status in (400, 403, 404), f'{status} {body[:80]!r}')


def headers_and_caching(c):
    url = f'{PREFIX}/data?run=synth_tpu1/run&tag=overview_page&host=host0'
    status, headers, body = c.fetch(url)
    c.check('security headers', "default-src 'self'" in headers.get('content-security-policy', '')
            and headers.get('x-content-type-options') == 'nosniff', str(headers))
    drawn = c.fetch(f'{PREFIX}/data?run=synth_tpu1/run&tag=graph_viewer&host=host0&type=graph&node_name=fusion.2')
    policy = drawn[1].get('content-security-policy', '')
    c.check('a drawing may have its style sheet, and nothing else', "style-src 'unsafe-inline'" in policy
            and "default-src 'none'" in policy and b'<svg' in drawn[2], f'{drawn[0]} {policy}')
    again = c.fetch(f'{PREFIX}/data?run=synth_tpu1/run&tag=graph_viewer&host=host0&type=graph&node_name=fusion.2',
                    headers={'If-None-Match': drawn[1].get('etag', '')})
    c.check('unchanged: no policy in place of the first', again[0] == 304 and 'content-security-policy' not in again[1], str(again[:2]))
    timeline = {'run': 'synth_tpu1/run', 'tool': 'trace_viewer@', 'host': 'host0'}
    wanted = '<api/timeline?run=synth_tpu1%2Frun&host=host0>; rel=preload; as=fetch; crossorigin'
    page = c.fetch('/?' + urllib.parse.urlencode(timeline))[1]
    c.check('the page of a timeline names what it will ask for', page.get('link') == wanted, str(page))
    known = c.fetch('/?' + urllib.parse.urlencode(timeline), headers={'If-None-Match': page.get('etag', '')})
    c.check('and so it does where the browser has the page', known[0] == 304 and known[1].get('link') == wanted, str(known[:2]))
    aligned = c.fetch('/?' + urllib.parse.urlencode(timeline | {'clocks': 'aligned'}))[1].get('link', '')
    c.check('with the clocks that are asked for', '&host=host0&clocks=aligned>' in aligned, aligned)
    odd = c.fetch('/?' + urllib.parse.urlencode(timeline | {'host': 'a ~*>;"\r\nX-Made: 1'}))[1]
    c.check('a name cannot leave its place in the header',
            'host=a+%7E*%3E%3B%22%0D%0AX-Made%3A+1>; rel' in odd.get('link', '') and 'x-made' not in odd, str(odd))
    for other in ({'tool': 'overview_page'}, {'host': ''}, {'host': 'x' * 3000}, {'run': ''}, {'compare': 'synth_tpu1/run'}, {'sql': 'SELECT 1'}):
        plain = c.fetch('/?' + urllib.parse.urlencode(timeline | other))[1]
        c.check(f'no such header with {other}'[:80], 'link' not in plain, str(plain))
    c.check('as XProf\'s page asks for graphs', c.fetch(f'//{url}')[0] == 200 and c.fetch(f'//{url}')[2] == body)
    c.check('as XProf\'s page asks before a column is chosen',
            c.fetch(f'{PREFIX}/data?run=synth_tpu1/run&tag=inference_profile&host=host0'
                    '&request_column=undefined&batch_column=undefined')[0] == 200)
    c.check('plain unless asked', 'content-encoding' not in headers, str(headers))
    packed = c.fetch(url, headers={'Accept-Encoding': 'gzip'})
    c.check('compressed when asked', packed[1].get('content-encoding') == 'gzip', str(packed[1]))
    c.check('the same answer', packed[1].get('content-encoding') == 'gzip' and gzip.decompress(packed[2]) == body)
    for refused in ('gzip;q=0', 'br', 'identity'):
        c.check(refused, 'content-encoding' not in c.fetch(url, headers={'Accept-Encoding': refused})[1])
    c.check('answers vary', 'accept-encoding' in packed[1].get('vary', '').lower(), str(packed[1]))
    tag = headers.get('etag')
    c.check('ETag', tag, str(headers))
    again = c.fetch(url, headers={'If-None-Match': tag or '"x"'})
    c.check('not modified', again[0] == 304 and again[2] == b'', f'{again[0]} {len(again[2])} bytes')
    c.check('another tag', c.fetch(url, headers={'If-None-Match': '"other"'})[0] == 200)
    head = c.fetch(url, 'HEAD')
    c.check('HEAD', head[0] == 200 and head[2] == b'', f'{head[0]} {len(head[2])}')
    page = c.fetch('/')
    c.check('the page', page[0] == 200 and b'<html' in page[2].lower() and "default-src 'self'" in
            page[1].get('content-security-policy', ''), f'{page[0]} {page[2][:80]!r}')
    c.check('no other host in the page', not re.search(rb'(src|href)="(https?:)?//', page[2]), page[2][:200])


def one_answer_about_steps(binary):
    """The list of runs, the overview, the input pipeline and the summary name the same steps, or none."""
    with tempfile.TemporaryDirectory() as logdir:
        names = [n for n in profiles.names() if not profiles.is_packed(n)]
        for name in names:
            shutil.copytree(os.path.join(profiles.ROOT, name), os.path.join(logdir, name))
        with serving.Server(f'{binary} serve --logdir {{logdir}} --port {{port}}', logdir) as server:
            c = Checks(server)
            for r in c.json('/api/runs')['runs']:
                said = subprocess.run([binary, 'summary', logdir, '--run', r['run'], '--format', 'json'], capture_output=True, text=True)
                if said.returncode:
                    continue
                steps = json.loads(said.stdout)['steps']
                want = (steps['count'], steps['mean_ps'] and steps['mean_ps'] / 1e9)
                f = c.json(f'/api/run?run={r["run"]}&steps=1')
                shown = {'run': (f['steps'], f['step_ms'])}
                for tool in ('overview_page', 'input_pipeline_analyzer'):
                    tables = c.json(f'/api/tool/{tool}?run={r["run"]}')['tables']
                    props = next((t['props'] for t in tables if 'step_count' in t['props']), {})
                    value = {k: p['value'] for k, p in props.items()}
                    shown[tool] = (value.get('step_count'), value.get('step_time_mean_ms'))
                for where, got in shown.items():
                    c.check(f'{r["run"]}: steps of {where}', got[0] == want[0] and (got[1] is want[1] is None or
                            abs(got[1] / want[1] - 1) < 1e-6), f'{got}, not {want}')
        return c


OFFERED = ('critical_path', 'exposed_communication', 'what_if', 'hlo_stats', 'roofline_model', 'gpu_breakdown', 'operators',
           'launches', 'memory_copies', 'collectives', 'framework_op_stats')


def offered_of(c, run):
    """Of each tool that is asked of a run: is it offered, and how many rows has it? Clocks are no collectives, idle time no operation."""
    for tool in c.json(f'/api/tools?run={run}')['tools']:
        if tool['name'] in OFFERED:
            tables = c.json(f'/api/tool/{tool["name"]}?run={run}')['tables']
            yield tool['name'], tool['available'], sum(t['nrows'] for t in tables if t['name'] not in ('clocks', 'with_idle'))


def offered_with_rows(binary):
    """
    Tools are offered where they have rows, of unpacked runs with one host, and only there. Kernels of other formats are rows of
    two tools about compiled programs, too: those need not be offered.
    """
    wrong, offered = [], set()
    for kind in ('profiles', 'others', 'hosts', 'legacy'):
        logdir = os.path.join(os.path.dirname(profiles.ROOT), kind)
        with serving.Server(f'{binary} serve --logdir {{logdir}} --port {{port}}', logdir) as server:
            c = Checks(server)
            for run in (r['run'] for r in c.json('/api/runs')['runs'] if '/' in r['run'] and len(r['hosts']) == 1):
                compiled = kind in ('profiles', 'hosts')
                for name, available, rows in offered_of(c, run):
                    offered.add((name, available))
                    # How long a profiled device is idle.
                    if compiled and name == 'framework_op_stats':
                        continue
                    if available and not rows or rows and not available and (
                            compiled or name not in ('hlo_stats', 'roofline_model')):
                        wrong.append((run, name, available, rows))
    with serving.Server(f'{binary} serve --logdir {{logdir}} --port {{port}}', os.path.dirname(profiles.ROOT)) as server:
        other = Checks(server)
        ranks = [next(t['available'] for t in other.json(f'/api/tools?run={run}')['tools'] if t['name'] == 'distributed')
                 for run in ('torch/ranks', 'others/nsys/run', 'others/perfetto/run')]
    c.check('ranks of a job', ranks == [True, False, False], ranks)
    c.check('offered where they have rows', not wrong and len(offered) == 2 * len(OFFERED), f'{wrong} {sorted(offered)}')
    return c


def page_routes(c):
    runs = c.json('/api/runs')
    c.check('runs of the page', {'name', 'path', 'time_s', 'bytes', 'hosts'} >= {'name'} and
            any(r['run'] == 'synth_tpu1/run' for r in runs['runs']), str(runs)[:200])
    tools = c.json('/api/tools?run=synth_tpu1/run')['tools']
    c.check('tools of the page', {'overview_page', 'trace_viewer@'} <= {t['name'] for t in tools}, str(tools)[:200])
    result = c.json('/api/tool/overview_page?run=synth_tpu1/run')
    table = result['tables'][0]
    c.check('columns have units', all({'id', 'label', 'type', 'unit'} <= set(col) for t in result['tables'] for col in t['cols']))
    c.check('data by column', all(len(t['data']) == len(t['cols']) and all(len(v) == t['nrows'] for v in t['data'])
                                  for t in result['tables']), str(table)[:200])
    facts = c.json('/api/run?run=synth_tpu1/run')
    c.check('a run in a line', facts['hardware'] == 'TPU' and facts['device'] and 'steps' not in facts, str(facts))
    facts = c.json('/api/run?run=synth_tpu1/run&steps=1')
    c.check('its steps', facts['steps'] > 0 and facts['step_ms'] > 0, str(facts))
    shares = '/api/shares?run=synth_tpu1/run&tool=hlo_stats&value=total_self_time'
    s = c.json(f'{shares}&by=category,hlo_op_name&name=hlo_op_name&most=2')
    c.check('shares', s['unit'] == 'us' and [len(d['top']) <= 2 and abs(sum(x['sum'] for x in d['top']) + d['rest'] - d['total'])
                                             < 1e-6 for d in s['divisions']] == [True, True], str(s)[:300])
    s = c.json('/api/shares?run=synth_tpu1/run&tool=input_pipeline_analyzer&props=enqueue_us,preprocessing_us,nope')
    c.check('shares of properties', [x['name'] for x in s['divisions'][0]['top']] == ['enqueue_us', 'preprocessing_us', 'nope'], str(s)[:300])
    for more in ('&by=nope', '&by=category&value=category', '&by=category&table=99', '&by=category&most=x',
                 '&by=' + 'category,' * 20, '&by=' + 'x' * 600, '&by=category&where=nope'):
        status, _, body = c.fetch(shares.replace('&value=total_self_time', '') + more if 'value' in more else shares + more)
        c.check(f'shares{more[:30]}', status in (400, 404) and b'text' in body, f'{status} {body[:100]!r}')
    c.status('/api/shares?run=synth_tpu1/run&tool=trace_viewer@&value=x', 404)
    c.status('/api/run?run=nope', 404, 'nope')
    line = c.json('/api/timeline?run=synth_tpu1/run')
    status, headers, body = c.fetch(f'/api/timeline/slices?run=synth_tpu1/run&begin_ps=0&end_ps={line["end_ps"]}&width_px=800')
    c.check('slices', status == 200 and body[:4] == b'SSL1' and len(body) % 4 in (0, 1, 2, 3), f'{status} {body[:80]!r}')
    words = c.json('/api/timeline/conclusion?run=synth_tpu1/run')
    c.check('the timeline says what it comes to', 'work for' in words['conclusion']['text'] and words['conclusion']['mood'] == 'plain', words)
    pause = words['pause']
    work = words['work']
    c.check('the longest pause lies in the work', work['begin_ps'] <= pause['begin_ps'] and pause['end_ps'] <= work['end_ps'], words)
    c.check('the longest pause lies in the trace', 0 <= pause['begin_ps'] < pause['end_ps'] <= line['end_ps'], pause)
    found = c.json('/api/timeline/search?run=synth_tpu1/run&q=fusion')
    c.check('search', found['count'] > 0 and found['hits'], str(found)[:200])
    if found and found['hits']:
        event = c.json(f'/api/timeline/event?run=synth_tpu1/run&event={found["hits"][0]["event"]}')
        c.check('one event', 'fusion' in event['name'], str(event)[:200])
    c.status('/api/timeline/event?run=synth_tpu1/run&event=999999999', 404)
    c.status('/api/timeline/event?run=synth_tpu1/run&event=x', 400)
    c.status('/api/timeline/slices?run=synth_tpu1/run&begin_ps=5&end_ps=1&width_px=800', 400)


def questions_in_sql(c):
    def ask(query, more=''):
        status, headers, body = c.fetch('/api/sql?run=synth_tpu_3hosts%2Frun' + more, 'POST', body=query.encode())
        return status, body
    status, body = ask('SELECT host, events FROM hosts ORDER BY host')
    got = json.loads(body) if status == 200 else {}
    c.check('POST /api/sql', status == 200 and got['columns'] == ['host', 'events'] and [r[0] for r in got['rows']] == ['host0', 'host1', 'host2'] and
            got['truncated'] is False, body[:300])
    status, body = ask('SELECT event_id FROM events', '&limit=2')
    c.check('POST /api/sql: limit', status == 200 and json.loads(body)['truncated'] is True and len(json.loads(body)['rows']) == 2, body[:300])
    longs = 'SELECT -6054235170256671229, 9007199254740992, 9007199254740993, 1e300, 7'
    status, body = ask(longs)
    c.check('POST /api/sql: long integers', status == 200 and b'[-6054235170256671229,9007199254740992,9007199254740993,' in body, body[:300])
    status, body = ask(longs, '&integers=text')
    c.check('POST /api/sql: long integers as text', status == 200 and b'["-6054235170256671229",9007199254740992,"9007199254740993",' in body and b',7]' in body, body[:300])
    status, body = ask('SELECT COUNT(*) AS n FROM hosts', '&host=host1&format=json')
    c.check('POST /api/sql: host, format', status == 200 and json.loads(body) == [{'n': 1}], body[:300])
    for query, more, words in (('DROP TABLE events', '', 'only read'), ('SELECT x', '', 'no such column'), ('', '', 'empty'), ('SELECT 1', '&format=xml', 'format'),
                               ('SELECT 1', '&limit=0', 'limit'), ('SELECT 1', '&integers=double', 'integers'), ('SELECT 1 -- ' + 'x' * 70000, '', '64 KiB')):
        status, body = ask(query, more)
        c.check(f'POST /api/sql {query[:30]}{more}', status == 400 and words in body.decode(), (status, body[:300]))
    listed = c.json('/api/sql')
    c.check('GET /api/sql', len(listed['questions']) == 25 and 'SELECT' in listed['questions'][0]['sql'], str(listed)[:200])
    c.status('/api/sql?run=none', 404, 'none', method='POST')


def hostile_clients(c):
    def raw(data):
        with socket.create_connection(('127.0.0.1', c.server.port), 10) as s:
            s.settimeout(2)
            try:
                s.sendall(data)
                return s.recv(200)
            except OSError:
                return b''
    raw(b'GET / HTTP/1.1\r\n')                                  # stops in the middle
    raw(b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' * 20)     # TLS
    raw(b'A' * 100000)
    raw(b'GET /' + b'a' * 100000 + b' HTTP/1.1\r\nHost: x\r\n\r\n')
    raw(b'GET / HTTP/1.1\r\nHost: x\r\n' + b'X: ' + b'y' * 200000 + b'\r\n\r\n')
    raw(b'GET /runs?' + b'&'.join(b'k%d=v' % i for i in range(5000)) + b' HTTP/1.1\r\nHost: x\r\n\r\n')
    raw(b'POST /runs HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\nabc')
    status, _, body = c.fetch('/api/tools?run=' + '%ff' * 1000)
    c.check('bytes that are no text', status in (400, 404), f'{status} {body[:80]!r}')
    c.check('still there', c.fetch(f'{PREFIX}/runs')[0] == 200)


def many_at_once(c):
    """Cold, from many clients: each gets the one right answer."""
    url = f'{PREFIX}/data?run=jax_mlp_train/run&tag=trace_viewer@&host=vm&resolution=8000'
    bodies = [None] * 16

    def ask(i):
        bodies[i] = c.fetch(url)[2]
    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(bodies))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    c.check('the same for all', len(set(bodies)) == 1 and len(bodies[0] or b'') > 1000, str({len(b or b'') for b in bodies}))


def reader_that_leaves(c):
    with socket.create_connection(('127.0.0.1', c.server.port), 10) as s:
        s.sendall(f'GET {PREFIX}/data?run=tpu_v6e_inference/run&tag=trace_viewer@ HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
        s.recv(100)
    c.check('still there', c.fetch(f'{PREFIX}/runs')[0] == 200)


def seen(ask, good, most_s=60):
    """The first good answer, or the last: a server that is slow to list its directory keeps the list for ten times as long."""
    end = time.monotonic() + most_s
    while not good(answer := ask()) and time.monotonic() < end:
        time.sleep(0.1)
    return answer


def changes_on_disk(c, logdir):
    """A run that appears, changes or goes while the server runs."""
    source = os.path.join(profiles.ROOT, 'synth_gpu1')
    target = os.path.join(logdir, 'later')
    url = f'{PREFIX}/data?run=later/run&tag=overview_page&host=host0'
    c.status(url, 404)
    shutil.copytree(source, target)
    c.check('a new run', 'later/run' in seen(lambda: c.json(f'{PREFIX}/runs'), lambda runs: 'later/run' in runs))
    first = c.fetch(url)
    c.check('its overview', first[0] == 200, str(first[0]))
    file = os.path.join(target, 'plugins', 'profile', 'run', 'host0.xplane.pb')
    with open(os.path.join(profiles.ROOT, 'synth_tpu1', 'plugins', 'profile', 'run', 'host0.xplane.pb'), 'rb') as f:
        data = f.read()
    with open(file + '.new', 'wb') as f:
        f.write(data)
    os.replace(file + '.new', file)
    second = seen(lambda: c.fetch(url), lambda got: got[2] != first[2])
    c.check('replaced', second[0] == 200 and second[2] != first[2], str(second[0]))
    c.check('its tag too', second[1].get('etag') != first[1].get('etag'))
    shutil.rmtree(target)
    seen(lambda: c.fetch(url), lambda got: got[0] == 404)
    c.status(url, 404)
    c.check('nothing written there', sorted(os.listdir(os.path.join(logdir, 'synth_tpu1', 'plugins', 'profile', 'run')))
            == ['host0.xplane.pb'])


def arrows_between_hosts(c, logdir):
    """The timeline of several hosts: who waited for whom at collectives, and the critical path, between the slices of the answer."""
    shutil.copytree(os.path.join(profiles.ROOT, '..', 'hosts', 'slow_gpu'), os.path.join(logdir, 'slow_gpu'))
    c.json('/api/runs')
    of = 'run=slow_gpu/run&host=ALL_HOSTS'
    layout = c.json(f'/api/timeline?{of}')
    section = {t['track']: s['name'] for s in layout['sections'] for t in s['tracks']}
    for how in ('1', 'path'):
        status, _, body = c.fetch(f'/api/timeline/slices?{of}&begin_ps={layout["begin_ps"]}&end_ps={layout["end_ps"]}&width_px=20000&flows={how}')
        head = json.loads(body[8:8 + int.from_bytes(body[4:8], 'little')]) if status == 200 else {'tracks': [], 'flows': [], 'names': []}
        names = body[8 + (int.from_bytes(body[4:8], 'little') + 3 & ~3) + 8 * head.get('nslices', 0):]
        at = {i: section[t['track']] for t in head['tracks'] for i in range(t['first'], t['first'] + t['count'])}
        called = lambda i: head['names'][int.from_bytes(names[4 * i:4 * i + 4], 'little')]
        over = [(f['from'], f['to']) for f in head['flows'] if at[f['from']].split()[0] != at[f['to']].split()[0]]
        c.check(f'arrows between hosts, {how}', len(over) >= 5, f'{status} {str(head["flows"])[:200]}')
        if how == 'path':
            c.check('the path goes over the late host', all(at[a].startswith('host2 /device:GPU:1') for a, _ in over), str(over))
        else:
            c.check('the late one holds up the others', all(at[a].startswith('host2 ') for a, b in over if 'ReduceScatter' in called(a)),
                    str([(at[a], called(a)) for a, _ in over])[:300])
    clocks_aligned(c, of, layout)
    shutil.rmtree(os.path.join(logdir, 'slow_gpu'))


def arrows_of_asynchronous(c, logdir):
    """An asynchronous collective's start is shorter than a pixel: arrows are tied to its slice among asynchronous operations."""
    folder = os.path.join(logdir, 'asynchronous', 'plugins', 'profile', 'run')
    os.makedirs(folder)
    us, gather = 10 ** 6, '%all-gather-{}.1 = f32[64]{{0}} all-gather-{}(f32[32]{{0}} %{}), replica_groups={{{{0,1}}}}'
    for h in range(2):
        p = runs.Plane(1, '/device:TPU:0')
        steps, ops, pending = p.line('Steps'), p.line('XLA Ops'), p.line('Async XLA Ops')
        fusion = p.meta('%fusion.1 = f32[32]{0} fusion(f32[32]{0} %p)', 'fusion.1')
        start, done = (p.meta(gather.format(w, w, of), f'all-gather-{w}.1', {'hlo_category': f'all-gather-{w}'})
                       for w, of in (('start', 'p'), ('done', 'all-gather-start.1')))
        whole = p.meta(gather.format('start', 'start', 'p') + ' ', 'async-all-gather', {'hlo_category': 'all-gather-start'})
        for s in range(4):
            begin, own, end = s * 400 * us, (100 + 150 * h) * us, (s * 400 + 380) * us
            p.event(steps, p.meta(str(s)), begin, end - begin)
            p.event(ops, fusion, begin, own)
            p.event(ops, start, begin + own, us // 10)
            p.event(ops, fusion, begin + own + us // 10, 20 * us)
            p.event(ops, done, begin + own + 20 * us + us // 10, end - begin - own - 20 * us - us // 10)
            p.event(pending, whole, begin + own, end - begin - own, {'hlo_op': 'all-gather-done.1'})
        with open(os.path.join(folder, f'host{h}.xplane.pb'), 'wb') as f:
            f.write(runs.field(1, p.bytes()))
    c.json('/api/runs')
    of = 'run=asynchronous/run&host=ALL_HOSTS'
    layout = c.json(f'/api/timeline?{of}')
    body = c.fetch(f'/api/timeline/slices?{of}&begin_ps={layout["begin_ps"]}&end_ps={layout["end_ps"]}&width_px=800&flows=1')[2]
    head = json.loads(body[8:8 + int.from_bytes(body[4:8], 'little')])
    c.check('arrows of asynchronous collectives', len(head['flows']) >= 3, str(head['flows']))
    shutil.rmtree(os.path.join(logdir, 'asynchronous'))


def clocks_aligned(c, of, recorded):
    """The timeline and the events of several hosts on one clock, on request: whoever waited at a collective leaves it with the others."""
    c.check('clocks are as recorded', recorded['clocks'] is None, str(recorded['clocks']))
    layout = c.json(f'/api/timeline?{of}&clocks=aligned')
    by = {h['host']: h for h in layout['clocks']['hosts']}
    c.check('each host with its clock', sorted(by) == ['host0', 'host1', 'host2'] and
            [by[h]['corrected'] for h in sorted(by)] == [False, True, True] and abs(by['host1']['offset_us'] + 57.69) < 0.05 and
            all(0 < h['uncertainty_us'] < 0.1 for h in by.values()), str(layout['clocks']))
    c.check('in words', layout['clocks']['text'].startswith('Clocks are aligned by collectives: 2 of 3 hosts are corrected, \'host1\' most, by 57.69 us'),
            layout['clocks']['text'])
    c.check('same tracks', [s['tracks'] for s in layout['sections']] == [s['tracks'] for s in recorded['sections']])

    def ask(query, more):
        status, _, body = c.fetch(f'/api/sql?{of}&format=json' + more, 'POST', body=query.encode())
        return json.loads(body) if status == 200 else {'error': body}
    ends = """SELECT host, MAX(end_ps) AS at, MAX(end_ns) AS unix_ns FROM events WHERE plane GLOB '/device:GPU:0' AND name GLOB 'nccl*AllReduce*' GROUP BY host"""
    spread = {}
    for how in ('recorded', 'aligned'):
        rows = ask(ends, f'&clocks={how}')
        c.check(f'ends, {how}', isinstance(rows, list) and len(rows) == 3, str(rows)[:300])
        spread[how] = [max(r[k] for r in rows) - min(r[k] for r in rows) for k in ('at', 'unix_ns')] if isinstance(rows, list) and rows else [0, 0]
    c.check('all leave it together', 0 <= spread['aligned'][0] < 200000 and spread['aligned'][1] < 200 and spread['recorded'][0] > 1e9, str(spread))
    lo, hi, end = 1000000000, 4000000000, layout['end_ps']
    count = [ask(f'SELECT COUNT(*) AS n FROM events WHERE start_ps{plus} BETWEEN {lo} AND {hi}', '&clocks=aligned')[0]['n'] for plus in ('', '+0')]
    c.check('a stretch of the common clock', count[0] == count[1] > 0, str(count))
    hit = c.json(f'/api/timeline/search?{of}&q=AllReduce&clocks=aligned')['hits'][0]
    for how, same in (('aligned', True), ('recorded', False)):
        event = c.json(f'/api/timeline/event?{of}&event={hit["event"]}&clocks={how}')
        c.check(f'an event by its number, {how}', (event['begin_ps'] == hit['begin_ps']) == same and event['dur_ps'] == hit['dur_ps'], f'{event} {hit}'[:300])
    for route in ('', '/conclusion', '/gap?at_ps=0', '/steps', '/names?q=AllReduce', f'/summary?begin_ps=0&end_ps={end}'):
        url = f'/api/timeline{route}{"&" if "?" in route else "?"}{of}'
        c.check(f'{route} is of the other clock', c.fetch(url + '&clocks=aligned')[2] != c.fetch(url)[2] or route[1:4] in ('gap', 'sum', 'ste'), url)
        c.status(url + '&clocks=right', 400, 'recorded or aligned')


def merged_parts(c, logdir, binary):
    """What 'stepscope merge' made is a run: the tools over many hosts answer from it as from the profiles, and say it when it is damaged."""
    folder = os.path.join(logdir, 'merged', 'plugins', 'profile', 'job')
    os.makedirs(folder)
    parts, target = os.path.join(logdir, 'parts'), os.path.join(folder, 'merged.ssp')
    for i in range(2):
        subprocess.run([binary, 'reduce', os.path.join(profiles.ROOT, 'synth_tpu_3hosts'), '--shard', f'{i}/2', '--out', parts], check=True,
                       capture_output=True)
    subprocess.run([binary, 'merge', parts, '--output', target], check=True, capture_output=True)
    shutil.rmtree(parts)
    c.check('a merged run', 'merged/job' in [r['run'] for r in c.json('/api/runs')['runs']])
    for tool in ('host_steps', 'stragglers', 'exposed_communication', 'collectives', 'critical_path', 'what_if', 'overview_page', 'pod_viewer',
                 'input_pipeline_analyzer', 'framework_op_stats', 'host_boundness', 'plane_stats', 'inference_profile'):
        of_parts, of_files = c.json(f'/api/tool/{tool}?run=merged/job'), c.json(f'/api/tool/{tool}?run=synth_tpu_3hosts/run')
        c.check(f'{tool} of merged parts', of_parts['tables'] and of_parts['tables'] == of_files['tables'] and
                of_parts['conclusion'] == of_files['conclusion'], str(of_parts)[:300])
    status, _, body = c.fetch('/api/tool/op_profile?run=merged/job')
    says = b"op_profile needs the profiles themselves, because parts hold no events: run 'stepscope tool op_profile LOGDIR'. Parts answer overview_page"
    c.check('what parts lack', status == 404 and says in body, f'{status} {body[:200]}')
    names = [t['name'] for t in c.json('/api/tools?run=merged/job')['tools']]
    c.check('tools of merged parts', 'stragglers' in names and 'overview_page' in names and 'op_profile' not in names, str(names))
    with open(target, 'rb') as f:
        whole = f.read()
    for damaged, says in ((whole[:-3], b'cut short or damaged'), (whole.replace(b'stepscope part ', b'stepscope part 9', 1), b'another version')):
        with open(target + '.new', 'wb') as f:
            f.write(damaged)
        os.replace(target + '.new', target)
        status, _, body = c.fetch('/api/tool/stragglers?run=merged/job')
        c.check('damaged parts', status >= 400 and says in body and b'merged.ssp' in body, f'{status} {body[:200]}')
    shutil.rmtree(os.path.join(logdir, 'merged'))


def time_in(answer):
    """Of all operations, each counted once."""
    t = answer['tables'][0]
    ids = [c['id'] for c in t['cols']]
    cells = list(zip(*t['data']))
    if 'time_ps' in ids:
        return cells[0][ids.index('time_ps')]
    return sum(row[ids.index('total_self_time')] for row in cells if row[ids.index('step')] == 'Total') if 'step' in ids else \
        sum(row[ids.index('total_self_time')] for row in cells)


def scattered(c, logdir):
    """Hosts in runs of their own, which began seconds apart: the page sees one recording, XProf's clients see runs."""
    for i in range(3):
        folder = os.path.join(logdir, 'scattered', 'plugins', 'profile', f'2026_11_20_10_00_0{i}')
        os.makedirs(folder)
        name = f'host{i}.xplane.pb'
        shutil.copyfile(os.path.join(profiles.ROOT, 'synth_tpu_3hosts', 'plugins', 'profile', 'run', name), os.path.join(folder, name))
    c.json('/api/runs')
    run = 'scattered/2026_11_20_10_00_01'
    for tool in ('stragglers', 'overview_page', 'host_steps'):
        apart, together = c.json(f'/api/tool/{tool}?run={run}'), c.json(f'/api/tool/{tool}?run=synth_tpu_3hosts/run')
        same = [t['name'] for t in apart['tables']] == [t['name'] for t in together['tables']] and apart['conclusion'] == together['conclusion']
        c.check(f'{tool} of scattered hosts', same, str(apart)[:300])
    tools = {t['name']: t for t in c.json(f'/api/tools?run={run}')['tools']}
    c.check('its hosts', tools['memory_profile']['hosts'] == ['host0', 'host1', 'host2'], str(tools['memory_profile']))
    for tool in ('hlo_stats', 'op_profile', 'roofline_model'):
        offered = tools[tool]['hosts'], tools[tool]['preset_host']
        c.check(f'{tool}: all hosts are offered, one is preset', offered == (['ALL_HOSTS', 'host0', 'host1', 'host2'], 'host0'), str(offered))
        busy = [time_in(c.json(f'/api/tool/{tool}?run={run}&host={h}')) for h in offered[0]]
        c.check(f'{tool} of all hosts is their sum', busy[0] > max(busy[1:]) and abs(busy[0] - sum(busy[1:])) < 1e-6 * busy[0], str(busy))
    c.check('combined is preset', tools['overview_page']['preset_host'] == 'ALL_HOSTS', str(tools['overview_page']))
    hosts = c.json(f'/data/plugin/profile/hosts?run={run}&tag=overview_page')
    c.check('its hosts for XProf', [h['hostname'] for h in hosts] == ['host1'], str(hosts))
    shutil.rmtree(os.path.join(logdir, 'scattered'))


# Tables that say where hosts and programs are, or how long nothing runs, whatever a tool finds.
ASIDE = ('clocks', 'with_idle', 'ranks', 'waiting', 'devices', 'modules', 'models', 'requests_0', 'diagnostics', 'recommendation')


def every_tool_says(binary):
    """
    Of every recording: a tool that is offered has rows or a conclusion, or a note says why it has none; asked of one that
    lacks what it needs, a tool says so. Of profiles of one host the former has rows or a conclusion.
    """
    wrong, asked, c = [], 0, Checks(None)
    for kind in ('profiles', 'others', 'hosts', 'legacy', 'torch'):
        logdir = os.path.join(os.path.dirname(profiles.ROOT), kind)
        with serving.Server(f'{binary} serve --logdir {{logdir}} --port {{port}}', logdir) as c.server:
            for r in c.json('/api/runs')['runs']:
                for tool in c.json(f'/api/tools?run={r["run"]}')['tools']:
                    status, _, body = c.fetch(f'/api/tool/{tool["name"]}?run={r["run"]}')
                    answer = json.loads(body)
                    asked += 1
                    if status != 200:
                        if tool['available'] or len(answer['error']['text']) < 20:
                            wrong.append((r['run'], tool['name'], body[:200]))
                        continue
                    if 'tables' not in answer:      # a timeline, a drawing
                        continue
                    rows = sum(t['nrows'] for t in answer['tables'] if t['name'] not in ASIDE)
                    said = answer['conclusion'] is not None or any(t['props'] for t in answer['tables'])
                    alone = kind in ('profiles', 'hosts') and len(r['hosts']) == 1
                    if not (rows or said or (answer['notes'] and not (alone and tool['available']))):
                        wrong.append((r['run'], tool['name'], tool['available'], answer['notes']))
    c.check('every tool has rows or says why not', asked > 1000 and not wrong, f'{asked} {wrong}')
    return c


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument('--bin', default='build/stepscope')
    binary = os.path.abspath(ap.parse_args().bin)
    with tempfile.TemporaryDirectory() as logdir:
        for name in ('synth_tpu1', 'synth_tpu_3hosts', 'jax_mlp_train', 'tpu_v6e_inference'):
            shutil.copytree(os.path.join(profiles.ROOT, name), os.path.join(logdir, name))
        for name in ('tpu_v2', 'demo', 'trace_proto', 'tf24_two_hosts'):
            shutil.copytree(os.path.join(profiles.ROOT, '..', 'legacy', name), os.path.join(logdir, name))
        for name in ('tf1_mnist', 'end_to_end'):
            shutil.copytree(os.path.join(profiles.ROOT, '..', 'events', name), os.path.join(logdir, name))
        with serving.Server(f'{binary} serve --logdir {{logdir}} --port {{port}}', logdir) as server:
            c = Checks(server)
            for part in (xprof_routes, comparison, older_runs, stored_of_several_hosts, event_files, csv_route, allocations, refusals, no_way_out, headers_and_caching, page_routes,
                         questions_in_sql,
                         hostile_clients,
                         many_at_once, reader_that_leaves, lambda c: changes_on_disk(c, logdir),
                         lambda c: scattered(c, logdir), lambda c: arrows_between_hosts(c, logdir),
                         lambda c: arrows_of_asynchronous(c, logdir), lambda c: merged_parts(c, logdir, binary)):
                try:
                    part(c)
                except Exception as e:          # one broken part must not hide the others
                    c.check(getattr(part, '__name__', 'part'), False, f'{type(e).__name__}: {e}')
            words = server.words()
            status = server.close()
        c.check('a clean end', status in (0, -15), f'status {status}: {words}')
    for other in (one_answer_about_steps(binary), offered_with_rows(binary), every_tool_says(binary)):
        c.passed, c.failed = c.passed + other.passed, c.failed + other.failed
    print(f'{c.passed} passed, {c.failed} failed')
    return 1 if c.failed else 0


if __name__ == '__main__':
    sys.exit(main())
