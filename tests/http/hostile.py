#!/usr/bin/env python3
"""Who means the server ill: links that are swapped while it looks."""
import argparse
import http.client
import os
import socket
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import checks
import serving
from xspace import field

PREFIX = '/data/plugin/profile'


def profile(event):
    """A profile of one thread with one event of this name."""
    line = field(1, 1) + field(2, b'thread') + field(4, field(1, 1) + field(2, 1000) + field(3, 900))
    meta = field(4, field(1, 1) + field(2, field(1, 1) + field(2, event.encode())))
    return field(1, field(2, b'/host:CPU') + field(3, line) + meta)


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(data)


class Checks(checks.Counts):
    def __init__(self, binary):
        self.binary = binary

    def serve(self, logdir, options='', **more):
        return serving.Server(f'{self.binary} serve --logdir {{logdir}} --port {{port}} {options}', logdir, **more)


def fetch(server, url, method='GET', headers=None, timeout=30):
    conn = http.client.HTTPConnection('127.0.0.1', server.port, timeout=timeout)
    try:
        conn.request(method, url, headers=headers or {})
        reply = conn.getresponse()
        return reply.status, dict((k.lower(), v) for k, v in reply.getheaders()), reply.read()
    finally:
        conn.close()


def swap(link, targets, stop, touched):
    """Let the link lead to one target after the other, without a moment at which there is none."""
    at = 0
    while not stop.is_set():
        os.symlink(targets[at % len(targets)], link + '.new')
        os.rename(link + '.new', link)
        at += 1
        if at % 7 == 0:             # odd, so that it is each target's turn
            time.sleep(0.001)       # now and then a request must find one target all the way
        if at % 20 == 0:
            os.utime(touched, ns=(at, 1_700_000_000_000_000_000 + at * 1000))   # another file: it is opened anew


def swapped_links(c):
    """What a link leads to when it is checked, and what it leads to when it is opened."""
    with tempfile.TemporaryDirectory() as top:
        top = os.path.realpath(top)
        logdir, run = f'{top}/logs', f'{top}/logs/plugins/profile/mine'
        write(f'{run}/h.xplane.pb', profile('open to all'))
        write(f'{top}/secret/h.xplane.pb', profile('kept secret'))
        with c.serve(logdir) as server:
            for what, link, inside, outside, url in (
                    ('a file', f'{run}/x.xplane.pb', 'h.xplane.pb', f'{top}/secret/h.xplane.pb',
                     '/api/tool/framework_op_stats?run=mine&host=x'),
                    ('a file, by the way up', f'{run}/x.xplane.pb', f'{run}/h.xplane.pb', '../../../../secret/h.xplane.pb',
                     '/api/timeline/search?run=mine&host=x&q=e'),
                    ('a run', f'{logdir}/plugins/profile/last', 'mine', f'{top}/secret',
                     '/api/timeline/search?run=last&host=h&q=e'),
                    ('a session', f'{logdir}/plugins/profile/last', f'{run}', f'{top}/secret',
                     '/api/timeline/search?run=mine&host=h&q=e&session_path=plugins/profile/last')):
                stop = threading.Event()
                os.symlink(inside, link)
                deadline = time.monotonic() + 10        # the list of runs is made anew once a second
                while fetch(server, url)[0] != 200 and time.monotonic() < deadline:
                    time.sleep(0.05)
                thread = threading.Thread(target=swap, args=(link, (inside, outside), stop, f'{run}/h.xplane.pb'))
                thread.start()
                good = bad = 0
                try:
                    asked, deadline = 0, time.monotonic() + 15      # a run is looked for once a second
                    while asked < 1000 or (not good and time.monotonic() < deadline):
                        status, _, body = fetch(server, url)
                        asked += 1
                        good += status == 200
                        bad += b'secret' in body and b'log directory' not in body
                finally:
                    stop.set()
                    thread.join()
                c.check(f'{what}, swapped: what lies outside', bad == 0, f'{bad} answers of {asked}')
                c.check(f'{what}, swapped: what lies inside', good > 0, 'no answer')
                os.remove(link)


def links_within(c):
    """Links that lead to a place in the log directory are followed, whichever way they are written."""
    with tempfile.TemporaryDirectory() as top:
        top = os.path.realpath(top)
        logdir, runs = f'{top}/logs', f'{top}/logs/plugins/profile'
        write(f'{runs}/mine/h.xplane.pb', profile('event'))
        write(f'{top}/secret/h.xplane.pb', profile('secret'))
        links = {'relative': 'mine', 'absolute': f'{runs}/mine', 'around': '../../plugins/profile/mine',
                 'way_out_and_in': f'../../../logs/plugins/profile/mine', 'twice': 'absolute'}
        for name, target in links.items():
            os.symlink(target, f'{runs}/{name}')
            os.symlink(f'{target}/h.xplane.pb' if target[0] == '/' else f'../{target}/h.xplane.pb', f'{runs}/mine/{name}.xplane.pb')
        os.symlink(f'{top}/secret', f'{runs}/out')
        os.symlink(f'{top}/secret/h.xplane.pb', f'{runs}/mine/out.xplane.pb')
        os.symlink(logdir, f'{top}/linked')     # the log directory itself may be named by a link
        for given in (logdir, f'{top}/linked'):
            with c.serve(given) as server:
                for name in links:
                    for url in (f'run={name}&host=h', f'run=mine&host={name}'):
                        status, _, body = fetch(server, f'/api/tool/plane_stats?{url}')
                        c.check(f'link {url}', status == 200, f'{status} {body[:100]!r}')
                for url in ('run=out&host=h', 'run=mine&host=out'):
                    status, _, body = fetch(server, f'/api/tool/plane_stats?{url}')
                    c.check(f'link {url}', status == 404, f'{status} {body[:100]!r}')


def raw(server, data, wait=10):
    """The begin of the answer."""
    with socket.create_connection(('127.0.0.1', server.port), wait) as s:
        s.sendall(data)
        s.settimeout(wait)
        try:
            return s.recv(200)
        except OSError:
            return b''


def raw_answers(server, data, wait=30):
    """All that comes until the server closes the connection."""
    got = b''
    with socket.create_connection(('127.0.0.1', server.port), wait) as s:
        s.sendall(data)
        s.settimeout(wait)
        try:
            while piece := s.recv(65536):
                got += piece
        except OSError:
            pass
    return got


def host_headers(c):
    """One Host header, and a whole one."""
    with tempfile.TemporaryDirectory() as top:
        write(f'{top}/plugins/profile/mine/h.xplane.pb', profile('event'))
        with c.serve(top) as server:
            for lines, want in (([], b'400'), (['Host:'], b'400'), (['Host: localhost', 'Host: localhost'], b'400'),
                                (['Host: localhost', 'host: evil.example'], b'400'), (['Host: localhost:x'], b'400'),
                                (['Host: localhost:'], b'400'), (['Host: localhost:0'], b'400'), (['Host: localhost:65536'], b'400'),
                                (['Host: localhost/evil'], b'400'), (['Host: local host'], b'400'), (['Host: a@localhost'], b'400'),
                                (['Host: [::1'], b'400'), (['Host: :80'], b'400'), (['Host: localhost,evil.example'], b'400'),
                                (['Host: evil.example'], b'403'), (['Host: localhost'], b'200'), (['Host: 127.0.0.1:7000'], b'200'),
                                (['Host: [::1]:7000'], b'200')):
                text = ''.join(line + '\r\n' for line in ['GET /runs HTTP/1.1'] + lines + ['Connection: close', ''])
                got = raw(server, text.encode())
                c.check(f'{lines}', got.split()[1:2] == [want], got[:60])
            got = raw(server, b'GET /runs HTTP/1.0\r\n\r\n')
            c.check('HTTP/1.0 without a host', got.split()[1:2] == [b'400'], got[:60])


def ambiguous_lengths(c):
    """Where a body ends is said once: what stands behind it would be another request for whoever counts otherwise."""
    with tempfile.TemporaryDirectory() as top:
        write(f'{top}/plugins/profile/mine/h.xplane.pb', profile('event'))
        with c.serve(top) as server:
            second = b'GET /runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
            for heads, body in (('Content-Length: 5\r\nTransfer-Encoding: chunked', b'8\r\nSELECT 1\r\n0\r\n\r\n'),
                                ('Transfer-Encoding: chunked\r\nContent-Length: 8', b'8\r\nSELECT 1\r\n0\r\n\r\n'),
                                ('Content-Length: 8\r\nContent-Length: 3', b'SELECT 1'), ('content-length: 3\r\nContent-Length: 8', b'SELECT 1'),
                                ('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', b'8\r\nSELECT 1\r\n0\r\n\r\n'),
                                ('Transfer-Encoding : chunked\r\nContent-Length: 8', b'SELECT 1'), ('Content-Length: 8\r\nX(y): z', b'SELECT 1')):
                got = raw_answers(server, f'POST /api/sql?run=mine HTTP/1.1\r\nHost: localhost\r\n{heads}\r\n\r\n'.encode() + body + second)
                c.check(f'{heads!r}', got.split()[1:2] == [b'400'] and got.count(b'HTTP/1.1 ') == 1, got[:200])
            for head, body in (('Content-Length: 8', b'SELECT 1'), ('Transfer-Encoding: chunked', b'8\r\nSELECT 1\r\n0\r\n\r\n')):
                got = raw_answers(server, f'POST /api/sql?run=mine HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n'.encode() + body + second)
                c.check(f'{head!r}', got.count(b'HTTP/1.1 200') == 2, got[:200])
            for path, want in (('/runs', b'200'), ('/runs%00', b'400'), ('/runs%00/x?y=1', b'400'), ('/runs?x=%00', b'200')):
                got = raw(server, f'GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'.encode())
                c.check(path, got.split()[1:2] == [want], got[:60])


def capture_requests(c):
    """Taking a profile changes something: a page elsewhere must not bring a browser to it."""
    with tempfile.TemporaryDirectory() as top:
        write(f'{top}/plugins/profile/mine/h.xplane.pb', profile('event'))
        url = f'{PREFIX}/capture_profile?service_addr=127.0.0.1:1&duration=1'
        for options, by_get in (('--allow-capture', 403), ('--allow-capture --allow-capture-get', 500)):
            with c.serve(top, options) as server:
                here = f'http://127.0.0.1:{server.port}'
                for method, headers, want in (('GET', {}, by_get), ('GET', {'Sec-Fetch-Site': 'none'}, by_get),
                                              ('GET', {'Sec-Fetch-Site': 'same-origin'}, 500),
                                              ('GET', {'Sec-Fetch-Site': 'cross-site'}, 403), ('POST', {}, 500),
                                              ('POST', {'Origin': here}, 500), ('POST', {'Origin': 'http://evil.example'}, 403),
                                              ('POST', {'Sec-Fetch-Site': 'cross-site'}, 403), ('POST', {'Origin': 'null'}, 403)):
                    status, _, body = fetch(server, url, method, headers)
                    c.check(f'{options}: {method} {headers}', status == want, f'{status} {body[:100]!r}')
        c.check('nothing is left of profiles that were not taken', os.listdir(f'{top}/plugins/profile') == ['mine'],
                str(os.listdir(f'{top}/plugins/profile')))


def claims_of_two_minds(c):
    """Who asks is said once: of two Origin headers the first could be ours and the second the one that another program reads."""
    with tempfile.TemporaryDirectory() as top:
        write(f'{top}/plugins/profile/mine/h.xplane.pb', profile('event'))
        with c.serve(top, '--allow-capture') as server:
            here, url = f'127.0.0.1:{server.port}', f'{PREFIX}/capture_profile?service_addr=127.0.0.1:1&duration=1'
            for lines, want in (([f'Origin: http://{here}'], b'500'), ([f'Origin: http://{here}', 'Origin: http://evil.example'], b'400'),
                                (['Origin:'], b'400'), (['Sec-Fetch-Site: same-origin'], b'500'), (['Sec-Fetch-Site: '], b'400'),
                                (['Sec-Fetch-Site: same-origin', 'sec-fetch-site: cross-site'], b'400'),
                                (['Authorization: Bearer a', 'Authorization: Bearer b'], b'400')):
                text = ''.join(line + '\r\n' for line in [f'POST {url} HTTP/1.1', f'Host: {here}', 'Content-Length: 0'] + lines +
                               ['Connection: close', ''])
                got = raw(server, text.encode(), 20)
                c.check(f'{lines}', got.split()[1:2] == [want], got[:60])


def drip(sockets, data, stop):
    """A byte of each socket's request every few seconds."""
    at = 0
    while not stop.wait(2):
        for s in sockets:
            try:
                s.sendall(data[at % len(data):at % len(data) + 1])
            except OSError:
                pass
        at += 1


def slow_requests(c):
    """More clients than there is room for, each with a byte every two seconds: others are served at once, and they end."""
    with tempfile.TemporaryDirectory() as top:
        write(f'{top}/plugins/profile/mine/h.xplane.pb', profile('event'))
        with c.serve(top) as server:
            sockets, stop = [], threading.Event()
            for _ in range(400):
                sockets.append(socket.create_connection(('127.0.0.1', server.port), 10))
                sockets[-1].sendall(b'G')
            thread = threading.Thread(target=drip, args=(sockets, b'ET /runs HTTP/1.1\r\nHost: localhost\r\nX: ' + b'x' * 1000, stop))
            thread.start()
            begin = time.monotonic()
            try:
                while time.monotonic() - begin < 40:
                    asked = time.monotonic()
                    status = fetch(server, '/runs', timeout=10)[0]
                    c.check('a client beside slow ones', status == 200 and time.monotonic() - asked < 2, f'{status}')
                    time.sleep(2)
            finally:
                stop.set()
                thread.join()
            open_still = 0
            for s in sockets:
                s.setblocking(False)
                try:
                    open_still += s.recv(1) != b''
                except BlockingIOError:
                    open_still += 1
                except OSError:
                    pass
                s.close()
            c.check('none of them stays', open_still == 0, f'{open_still} of {len(sockets)} after 40 s')


NUMBERS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) '
ENDLESS = NUMBERS + 'SELECT COUNT(i + %d) FROM n'
# No recursion, which is stopped before its time is up
HOURS = 'WITH n(i) AS (VALUES ' + ', '.join(f'({i})' for i in range(100)) + ') SELECT COUNT(*) + %d FROM ' + ', '.join(f'n AS n{i}' for i in range(6))
LONG = NUMBERS + 'SELECT hex(randomblob(4000000 + %d)) FROM n'


def ask_sql(server, query, more='', timeout=90):
    """Status, bytes that came, seconds, and the begin of the answer; an answer that broke off has the status 0."""
    conn = http.client.HTTPConnection('127.0.0.1', server.port, timeout=timeout)
    begin, status, n, head = time.monotonic(), 0, 0, b''
    try:
        conn.request('POST', f'/api/sql?run=mine{more}', query.encode())
        reply = conn.getresponse()
        while piece := reply.read(1 << 20):
            n, head = n + len(piece), head or piece[:300]
        status = reply.status
    except (OSError, http.client.HTTPException):
        pass
    finally:
        conn.close()
    return status, n, time.monotonic() - begin, head


def expensive_questions(c):
    """
    SQL that is slow in every way there is: many steps, few steps that are long, rows without an end. Each ends in time, others are
    answered beside them, and what clients do not read keeps nobody out.
    """
    with tempfile.TemporaryDirectory() as top:
        write(f'{top}/plugins/profile/mine/h.xplane.pb', profile('event'))
        with c.serve(top) as server:
            for query in (ENDLESS % 0, HOURS % 0, NUMBERS + 'SELECT SUM(LENGTH(HEX(ZEROBLOB(7000000 + i % 2)))) FROM n',
                          NUMBERS + 'SELECT COUNT(*) FROM n WHERE ' + ' + '.join(['LENGTH(HEX(ZEROBLOB(7000000 + i % 2)))'] * 100) + ' < 0'):
                status, _, took, head = ask_sql(server, query)
                c.check(f'{query[60:100]}: ends in time', status == 503 and b'was stopped' in head and b'stepscope sql --timeout S' in head and took < 30, f'{status} {took:.0f} s {head}')
            status, n, took, _ = ask_sql(server, LONG % 0, '&limit=1000000')
            c.check('an answer without an end', status == 0 and n > 8 << 20 and took < 75, f'{status} {n} bytes {took:.0f} s')
            # Places are few: more wait, and some of them are told to ask again.
            statuses = []
            threads = [threading.Thread(target=lambda i=i: statuses.append(ask_sql(server, HOURS % i)[0])) for i in range(24)]
            for t in threads:
                t.start()
            time.sleep(1)
            asked = time.monotonic()
            status = fetch(server, '/api/tool/plane_stats?run=mine')[0]
            c.check('a tool beside endless queries', status == 200 and time.monotonic() - asked < 5, f'{status} {time.monotonic() - asked:.1f} s')
            with open(f'/proc/{server.proc.pid}/status') as f:
                kb = next(int(line.split()[1]) for line in f if line.startswith('VmRSS'))
            c.check('memory of endless queries', kb < 600_000, f'{kb} kB')
            for t in threads:
                t.join()
            c.check('endless queries end', statuses == [503] * len(threads), str(statuses))
            silent = []
            for i in range(6):
                body = (LONG % i).encode()
                s = socket.create_connection(('127.0.0.1', server.port), 10)
                s.sendall(b'POST /api/sql?run=mine&limit=1000000 HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n' % len(body) + body)
                silent.append(s)
            time.sleep(2)
            deadline, status = time.monotonic() + 45, 503
            while status == 503 and time.monotonic() < deadline:
                status, _, took, head = ask_sql(server, 'SELECT COUNT(*) AS n FROM events', '&format=json')
            c.check('a query beside clients that do not read', status == 200 and b'1' in head, f'{status} {head}')
            for s in silent:
                s.close()


def changed_while_compared(c):
    """Runs that are compared while one of them is a link that leads in and out, and while the file of the other is cut and written."""
    with tempfile.TemporaryDirectory() as top:
        top = os.path.realpath(top)
        logdir, runs = f'{top}/logs', f'{top}/logs/plugins/profile'
        for name in ('base', 'new'):
            with open(os.path.join(os.path.dirname(HERE), f'data/pairs/{name}/plugins/profile/run1/host0.xplane.pb'), 'rb') as f:
                good = f.read()
            write(f'{runs}/{name}/h.xplane.pb', good)
            write(f'{top}/secret/h.xplane.pb', good.replace(b'fusion', b'secret'))
        os.symlink(f'{runs}/new', f'{runs}/last')
        url, query = '/api/diff?base=base&new=last', 'SELECT name, COUNT(*) FROM events GROUP BY name'
        with c.serve(logdir) as server:
            status, _, body = fetch(server, url)
            c.check('runs can be compared', status == 200 and b'fusion' in body, f'{status} {body[:100]!r}')
            stop = threading.Event()
            thread = threading.Thread(target=swap, args=(f'{runs}/last', (f'{runs}/new', f'{top}/secret'), stop, f'{runs}/new/h.xplane.pb'))
            thread.start()
            statuses, secrets, asked, deadline = set(), 0, 0, time.monotonic() + 15     # a run is looked for once a second
            try:
                while asked < 150 or (200 not in statuses and time.monotonic() < deadline):
                    asked += 1
                    status, _, body = fetch(server, url)
                    statuses.add(status)
                    secrets += b'secret' in body and b'log directory' not in body
                    conn = http.client.HTTPConnection('127.0.0.1', server.port, timeout=30)
                    conn.request('POST', '/api/sql?run=last', query)
                    reply = conn.getresponse()
                    statuses.add(reply.status)
                    body = reply.read()
                    secrets += b'secret' in body and b'log directory' not in body
                    conn.close()
            finally:
                stop.set()
                thread.join()
            c.check('what lies outside is neither compared nor queried', secrets == 0, f'{secrets} answers')
            c.check('statuses', statuses <= {200, 404, 500} and 200 in statuses, str(statuses))
            path, statuses, stop = f'{runs}/base/h.xplane.pb', set(), threading.Event()

            def cut():
                while not stop.is_set():
                    os.truncate(path, len(good) // 3)
                    time.sleep(0.003)
                    with open(path, 'r+b') as f:
                        f.write(good)
                    time.sleep(0.003)
            thread = threading.Thread(target=cut)
            thread.start()
            try:
                for _ in range(150):
                    statuses.add(fetch(server, '/api/diff?base=base&new=new')[0])
                    statuses.add(fetch(server, '/api/tool/plane_stats?run=base')[0])
            finally:
                stop.set()
                thread.join()
            c.check('compared while it is cut', statuses <= {200, 400, 404, 500} and server.proc.poll() is None, str(statuses))


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument('--bin', default='build/stepscope')
    ap.add_argument('--only', help='one part, by its name')
    args = ap.parse_args()
    c = Checks(os.path.abspath(args.bin))
    for part in (links_within, host_headers, ambiguous_lengths, capture_requests, claims_of_two_minds, swapped_links, slow_requests,
                 expensive_questions, changed_while_compared):
        if args.only and part.__name__ != args.only:
            continue
        try:
            part(c)
        except Exception as e:              # one broken part must not hide the others
            c.check(part.__name__, False, f'{type(e).__name__}: {e}')
    print(f'{c.passed} passed, {c.failed} failed')
    return 1 if c.failed else 0


if __name__ == '__main__':
    sys.exit(main())
