#!/usr/bin/env python3
"""Who means the server ill: links that are swapped while it looks."""
import argparse
import http.client
import os
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import serving

PREFIX = '/data/plugin/profile'


def varint(v):
    out = b''
    while v > 127:
        out, v = out + bytes([v & 127 | 128]), v >> 7
    return out + bytes([v])


def field(number, data):
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    return varint(number << 3 | 2) + varint(len(data)) + data


def profile(event):
    """A profile of one thread with one event of this name."""
    line = field(1, 1) + field(2, b'thread') + field(4, field(1, 1) + field(2, 1000) + field(3, 900))
    meta = field(4, field(1, 1) + field(2, field(1, 1) + field(2, event.encode())))
    return field(1, field(2, b'/host:CPU') + field(3, line) + meta)


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(data)


class Checks:
    def __init__(self, binary):
        self.binary = binary
        self.passed = self.failed = 0

    def check(self, what, good, shown=''):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print(f'{what}: {shown}'[:400])

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
                thread = threading.Thread(target=swap, args=(link, (inside, outside), stop, f'{run}/h.xplane.pb'))
                thread.start()
                good = bad = 0
                try:
                    for _ in range(1000):
                        status, _, body = fetch(server, url)
                        good += status == 200
                        bad += b'secret' in body and b'log directory' not in body
                finally:
                    stop.set()
                    thread.join()
                c.check(f'{what}, swapped: what lies outside', bad == 0, f'{bad} answers of 1000')
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


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument('--bin', default='build/stepscope')
    ap.add_argument('--only', help='one part, by its name')
    args = ap.parse_args()
    c = Checks(os.path.abspath(args.bin))
    for part in (links_within, swapped_links):
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
