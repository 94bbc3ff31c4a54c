#!/usr/bin/env python3
"""s3:// as PATH, against a server of our own that checks every signature, lists in pages, and can do everything wrong; credentials from everywhere."""
import hashlib
import hmac
import http.server
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
import urllib.parse
import xml.sax.saxutils

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import checks
import profiles
sys.path.insert(0, HERE)
import served_bucket

SAMPLE = os.path.join(profiles.ROOT, 'synth_tpu_3hosts')
RUN = 'plugins/profile/run'
KEY, SECRET, SESSION = 'AKIDEXAMPLE', 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', 'FwoGZXIvYXdzEBYaDHqa0AP//tokenEXAMPLE=='
BASE, SIGNED_ON = ('AKIDBASE', 'secret/of+the/base'), 'signed-on-token'    # who may assume the role, and the token of a single sign-on
STAMP = 'Mon, 23 Nov 2026 10:00:00 GMT'


def sample():
    out = {}
    for d, _, names in os.walk(SAMPLE):
        for n in names:
            with open(os.path.join(d, n), 'rb') as f:
                out[os.path.relpath(os.path.join(d, n), SAMPLE)] = f.read()
    return out


FILES = sample()


def signature(secret, handler, words, body=b''):
    """What the signature has to be, by the definition of version 4."""
    credential, signed = words['Credential'].split('/'), words['SignedHeaders'].split(';')
    path, _, query = handler.path.partition('?')
    lines = [handler.command, path, '&'.join(sorted(query.split('&'))) if query else '']
    lines += [f'{name}:{" ".join(handler.headers.get(name, "").split())}' for name in signed] + ['', words['SignedHeaders']]
    lines.append(handler.headers.get('x-amz-content-sha256', hashlib.sha256(body).hexdigest()))
    scope = '/'.join(credential[1:])
    text = '\n'.join(['AWS4-HMAC-SHA256', handler.headers['x-amz-date'], scope, hashlib.sha256('\n'.join(lines).encode()).hexdigest()])
    key = ('AWS4' + secret).encode()
    for part in credential[1:]:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest(), credential


class Answering(http.server.BaseHTTPRequestHandler):
    """An answer with its length, and no log."""
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def send(self, status, body=b'', *headers):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Handler(Answering):
    """Buckets are named after what they do wrong."""

    def refuse(self, status, code, more='', *headers):
        self.send(status, f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>no</Message>{more}</Error>'.encode(), *headers)

    def allowed(self, bucket):
        """The refusal that was sent, if any."""
        s, given = self.server, self.headers.get('Authorization', '')
        if bucket.startswith('public'):
            return not given or self.refuse(400, 'NotWanted')
        if not given:
            return self.refuse(403, 'AccessDenied')
        words = dict(w.strip().split('=', 1) for w in given.partition(' ')[2].split(','))
        want, credential = signature(SECRET, self, words)
        if credential[0] != KEY:
            return self.refuse(403, 'InvalidAccessKeyId')
        if s.session and self.headers.get('x-amz-security-token') != s.session:
            return self.refuse(400, 'InvalidToken')
        if s.session and 'x-amz-security-token' not in words['SignedHeaders']:
            return self.refuse(403, 'AccessDenied')
        if not hmac.compare_digest(want, words['Signature']) or 'host' not in words['SignedHeaders'].split(';'):
            return self.refuse(403, 'SignatureDoesNotMatch')
        if credential[2] != s.regions.get(bucket, 'us-east-1'):
            region = s.regions.get(bucket, 'us-east-1')
            return self.refuse(400, 'AuthorizationHeaderMalformed', f'<Region>{region}</Region>')
        return True

    def do_GET(self):
        s = self.server
        path, _, query = self.path.partition('?')
        bucket, _, key = urllib.parse.unquote(path)[1:].partition('/')
        q = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        with s.lock:
            s.seen.append((bucket, key, self.headers.get('Range'), self.headers.get('Authorization')))
            n = sum(1 for b, *_ in s.seen if b == bucket)
        codes = {'expired': (400, 'ExpiredToken'), 'denied': (403, 'AccessDenied'), 'skewed': (403, 'RequestTimeTooSkewed'), 'nobucket': (404, 'NoSuchBucket'),
                 'teapot': (418, 'Te<a>pot'), 'slow': (503, 'SlowDown')}
        if not self.allowed(bucket):
            return None
        if bucket in s.expired:
            return self.refuse(*codes['expired'])
        if bucket in codes and not (bucket == 'slow' and n > 2):
            return self.refuse(*codes[bucket])
        if bucket == 'elsewhere':
            return self.refuse(307, 'TemporaryRedirect', '<Endpoint>127.0.0.1</Endpoint>', ('Location', f'http://127.0.0.1:{s.other}/x'))
        if q.get('list-type') == '2' and not key:
            return self.list(bucket, q)
        return self.get(bucket, key)

    def objects(self, bucket):
        s = self.server
        if bucket == 'hostile':
            names = ['../up.xplane.pb', 'a//b.xplane.pb', './x.xplane.pb', 'a/../../y.xplane.pb', '/root.xplane.pb', 'n\x01l.xplane.pb', 'x' * 300 + '.xplane.pb', RUN + '/h&<>"\' é.xplane.pb',
                     'twice', 'twice/a.xplane.pb', RUN + '.xplane.pb/z.xplane.pb', RUN + '.xplane.pb']
            return {'logs/' + n: (FILES[RUN + '/host0.xplane.pb'], '"h"') for n in names}
        return s.objects.get(bucket, {})

    def list(self, bucket, q):
        bad = {'notxml': b'{"a": 1}', 'doctype': b'<!DOCTYPE x [<!ENTITY a "b">]><ListBucketResult>&a;</ListBucketResult>', 'unclosed': b'<ListBucketResult><Contents><Key>a',
               'deep': b'<ListBucketResult>' + b'<a>' * 100000, 'entity': b'<ListBucketResult><Contents><Key>&x;</Key><Size>1</Size></Contents></ListBucketResult>',
               'nosize': b'<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>', 'html': b'<html><body>Sign in</body></html>',
               'nonext': b'<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>', 'huge': b'<ListBucketResult>' + b' ' * (17 << 20),
               'endless': b'<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>'}
        if bucket in bad:
            return self.send(200, bad[bucket])
        names = [k for k in sorted(self.objects(bucket), key=str.encode) if k.startswith(q['prefix'])]
        begin = int(q.get('continuation-token', '0').split('=')[0])
        some, more = names[begin:begin + self.server.page], begin + self.server.page < len(names)
        escape = xml.sax.saxutils.escape
        body = ''.join(f'<Contents><Key>{escape(k)}</Key><LastModified>2026-11-23T10:00:00.000Z</LastModified><ETag>{escape(self.objects(bucket)[k][1], {chr(34): "&quot;"})}'
                       f'</ETag><Size>{len(self.objects(bucket)[k][0]) + (bucket == "longer")}</Size><StorageClass>STANDARD</StorageClass></Contents>' for k in some)
        token = f'<NextContinuationToken>{begin + len(some)}=+/&amp;</NextContinuationToken>' if more else ''
        return self.send(200, f'<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>{bucket}</Name>'
                              f'<IsTruncated>{str(more).lower()}</IsTruncated>{body}{token}</ListBucketResult>'.encode())

    def get(self, bucket, key):
        if self.server.held == key:
            self.server.go_on.wait(300)
        held = self.objects(bucket).get(key)
        if not held:
            return self.refuse(404, 'NoSuchKey')
        data, tag = held
        if bucket == 'changed':
            tag = '"another"'
        if self.headers.get('If-None-Match') == tag:
            return self.send(304, b'', ('ETag', tag))
        asked = re.match(r'bytes=(\d+)-(\d+)$', self.headers.get('Range', ''))
        headers = [('ETag', tag), ('Last-Modified', STAMP)]
        if not asked or bucket == 'noranges':
            return self.send(200, data, *headers)
        first, last = int(asked[1]), min(int(asked[2]), len(data) - 1)
        part = data[first:last + 1]
        headers.append(('Content-Range', f'bytes {first}-{last}/{len(data)}'))
        if bucket == 'cut':
            self.send_response(206)
            for h in headers + [('Content-Length', str(len(part)))]:
                self.send_header(*h)
            self.end_headers()
            self.wfile.write(part[:len(part) // 2])
            self.close_connection = True
            return None
        return self.send(206, part, *headers)


class Roles(http.server.BaseHTTPRequestHandler):
    """What gives credentials: a machine's metadata, a container's, the token service."""
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def answer(self, body, status=200):
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def credentials(self):
        self.server.given += 1
        end = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + 3600))
        return json.dumps({'AccessKeyId': KEY, 'SecretAccessKey': SECRET, 'Token': SESSION, 'Expiration': end})

    def do_PUT(self):
        self.answer('TOKEN' if self.headers.get('X-aws-ec2-metadata-token-ttl-seconds') else '', 200)

    def do_POST(self):
        """The token service."""
        text = self.rfile.read(int(self.headers['Content-Length']))
        body, given = {k: v[0] for k, v in urllib.parse.parse_qs(text.decode()).items()}, self.headers.get('Authorization', '')
        if body.get('Action') == 'AssumeRole':
            words = dict(w.strip().split('=', 1) for w in given.partition(' ')[2].split(','))
            want, credential = signature(BASE[1], self, words, text)
            good = credential[0] == BASE[0] and credential[2:] == ['eu-west-1', 'sts', 'aws4_request'] and hmac.compare_digest(want, words['Signature'])
            good &= not self.headers.get('x-amz-security-token') or 'x-amz-security-token' in words['SignedHeaders'].split(';')
        else:
            good = body.get('Action') == 'AssumeRoleWithWebIdentity' and body.get('WebIdentityToken') == 'web/token+1' and not given
        if not good or body['RoleArn'].endswith('no'):
            return self.answer('<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code></Error></ErrorResponse>', 403)
        self.server.given += 1
        self.server.roles.append((body['RoleArn'], body['RoleSessionName'], body.get('ExternalId'), body.get('DurationSeconds')))
        end = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + self.server.life))
        return self.answer(f'<R><Credentials><AccessKeyId>{KEY}</AccessKeyId><SecretAccessKey>{SECRET}</SecretAccessKey><SessionToken>{SESSION}</SessionToken>'
                           f'<Expiration>{end}</Expiration></Credentials></R>')

    def sign_on(self):
        q = dict(urllib.parse.parse_qsl(self.path.partition('?')[2]))
        if self.headers.get('x-amz-sso_bearer_token') != SIGNED_ON:
            return self.answer('{}', 401)
        if q != {'role_name': 'Reader+x', 'account_id': '123'}:
            return self.answer('{}', 403)
        return self.answer(json.dumps({'roleCredentials': {'accessKeyId': KEY, 'secretAccessKey': SECRET, 'sessionToken': SESSION, 'expiration': int(time.time() + 3600) * 1000}}))

    def do_GET(self):
        machine = '/latest/meta-data/iam/security-credentials/'
        if self.path.startswith('/federation/credentials?'):
            return self.sign_on()
        if self.path == '/container':
            return self.answer(self.credentials(), 200 if self.headers.get('Authorization') == 'Bearer c' else 401)
        if self.headers.get('X-aws-ec2-metadata-token') != 'TOKEN':
            return self.answer('', 401)
        return self.answer('role' if self.path == machine else self.credentials() if self.path == machine + 'role' else 'eu-west-3')


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, handler):
        super().__init__(('127.0.0.1', 0), handler)
        self.lock = threading.Lock()
        self.seen, self.session, self.page, self.given, self.regions = [], None, 1000, 0, {}
        self.roles, self.life = [], 3600
        self.port = self.server_address[1]
        self.url = f'http://127.0.0.1:{self.port}'
        self.objects, self.expired = {}, set()
        self.held, self.go_on = None, threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *args):
        pass

    def put(self, bucket, key, data, tag=None):
        self.objects.setdefault(bucket, {})[key] = (data, tag or f'"{hashlib.md5(data).hexdigest()}"')


class Checks(checks.Counts):
    def __init__(self, binary, scratch, s):
        self.binary, self.scratch, self.s = binary, scratch, s
        self.cache, self.home = os.path.join(scratch, 'cache'), os.path.join(scratch, 'home')
        os.mkdir(self.home)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith('AWS_')}
        self.env.update(HOME=self.home, STEPSCOPE_CACHE=self.cache, STEPSCOPE_FETCH_TIMEOUT_S='60', AWS_METADATA_SERVICE_TIMEOUT='60', AWS_ENDPOINT_URL=s.url, AWS_EC2_METADATA_DISABLED='true')
        self.keys = {'AWS_ACCESS_KEY_ID': KEY, 'AWS_SECRET_ACCESS_KEY': SECRET}
        self.secrets = (SECRET, SESSION, BASE[1], SIGNED_ON, 'web/token+1')

    def run(self, *args, keys=None, **env):
        return subprocess.run([self.binary, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, stdin=subprocess.DEVNULL,
                              env={**self.env, **(self.keys if keys is None else keys), **env})

    def case(self, what, args, status, err, keys=None, **env):
        before = self.kept()
        done = self.run(*args, keys=keys, **env)
        said = done.stderr.decode('utf-8', 'replace')
        self.check(what, done.returncode == status and re.search(err, said, re.S), f'status {done.returncode}, {said[:700]!r}, {done.stdout[-200:]!r}')
        self.check(f'{what}: no secret', not any(s in said or s.encode() in done.stdout for s in self.secrets), said)
        if status:
            self.check(f'{what}: nothing half-written is kept', self.kept() == before, self.kept())
        self.check(f'{what}: nothing is left open', not os.path.isdir(f'{self.cache}/open') or not os.listdir(f'{self.cache}/open'), '')
        return done.stdout

    def kept(self):
        return sorted((n, os.path.getsize(os.path.join(d, n))) for d, _, names in os.walk(self.cache) for n in names if n != 'lock')


def reading(c, s):
    for name, data in FILES.items():
        s.put('logs', 'exp 1/größe+ü/' + name, data)
    s.put('logs', 'exp 1/größe+ü/ckpt/model.bin', b'x' * 1000)
    s.put('logs', 'exp 1/größe+ü2/plugins/profile/run/other.xplane.pb', b'not asked for')
    url = 's3://logs/exp 1/größe+ü'
    want = json.loads(c.run('tool', 'overview_page', SAMPLE, '--format', 'json').stdout)['tables']
    runs = c.case('runs are listed', ['runs', url], 0, r'4 objects, 3 of them may be read \(1 request\).* 0 files fetched, 0 from the cache: 0.00 MiB in 1 request\n')
    c.check('without a file', b'host0 host1 host2' in runs and b'not fetched: --steps' in runs and b'2026-11-23' in runs, runs)
    got = c.case('a directory', ['tool', 'overview_page', url, '--format', 'json'], 0, r'3 files fetched, 0 from the cache: 0\.04 MiB in 4 requests\n')
    c.check('its answer is that of the directory', json.loads(got)['tables'] == want)
    c.check('nothing else is fetched', not any('model.bin' in k or 'other' in k for _, k, *_ in s.seen), s.seen)
    got = c.case('again', ['tool', 'overview_page', url + '/', '--format', 'json'], 0, r'0 files fetched, 3 from the cache: 0\.00 MiB in 1 request\n')
    c.check('from the cache it is the same', json.loads(got)['tables'] == want)
    c.case('as XProf is asked', ['xprof', 'get_overview', url], 0, r'4 objects, 3 of them may be read \(1 request\).*0 files fetched, 3 from the cache: 0\.00 MiB in 1 request\n')
    c.case('an agent that asks nothing', ['mcp', url], 0, r'4 objects, 3 of them may be read \(1 request\).* 0 files fetched, 0 from the cache: 0\.00 MiB in 1 request\n')
    c.case('what is wrong', ['doctor', url], 0, r'4 objects, 3 of them may be read \(1 request\).*0 files fetched, 3 from the cache: 0\.00 MiB in 1 request\n')
    c.case('one host of it', ['tool', 'overview_page', url, '--host', 'host1'], 0, '0 files fetched, 1 from the cache')
    c.case('the run itself', ['summary', f'{url}/{RUN}'], 0, '3 objects, 3 of them')
    c.check('it keeps its name', c.run('runs', f'{url}/{RUN}').stdout.startswith(b'run '), '')
    c.case('one file', ['summary', f'{url}/{RUN}/host0.xplane.pb'], 0, r'has not changed: read from the cache \(1 request\)\n')
    c.case('the whole bucket', ['runs', 's3://logs'], 0, '5 objects, 4 of them')
    s.put('logs', f'exp 1/größe+ü/{RUN}/host0.xplane.pb', FILES[f'{RUN}/host0.xplane.pb'], '"new"')
    c.case('a file that changed is fetched again', ['summary', url], 0, '1 file fetched, 2 from the cache')
    s.page = 2
    c.case('a list of several pages', ['runs', url], 0, r'4 objects, 3 of them may be read \(2 requests\)')
    s.page = 1000
    done = c.run('doctor', url)
    c.check('doctor', done.returncode == 0 and b'host2' in done.stdout, done.stdout + done.stderr)
    archive = os.path.join(c.scratch, 'a.tar')
    subprocess.run(['tar', '-C', SAMPLE, '-cf', archive, '.'], check=True)
    with open(archive, 'rb') as f:
        s.put('logs', 'a.tar', f.read())
    c.case('an archive', ['summary', 's3://logs/a.tar'], 0, 'MiB in 1 request\n')
    c.case('two addresses', ['diff', url, 's3://logs/a.tar'], 0, 'from the cache')
    c.case('no cache', ['summary', url], 0, '3 files fetched, 0 from the cache', STEPSCOPE_CACHE_MB='0', STEPSCOPE_CACHE=os.path.join(c.scratch, 'none'))
    c.check('keeps nothing', not any(n.endswith('.pb') for _, _, names in os.walk(os.path.join(c.scratch, 'none')) for n in names))
    c.case('without ranges', ['summary', 's3://noranges/l'], 0, '3 files fetched')
    small = c.run('tool', 'overview_page', url, '--format', 'json', STEPSCOPE_CACHE=os.path.join(c.scratch, 'other'))
    c.check('another cache', json.loads(small.stdout)['tables'] == want, small.stderr)


def heads(c, s):
    """Of JSON and event files the begin is read while listing."""
    s.put('heads', f'l/{RUN}/host0.xplane.pb', FILES[f'{RUN}/host0.xplane.pb'])
    s.put('heads', f'l/{RUN}/config.json', b'{"a": "' + b'x' * 200000 + b'"}')
    s.put('heads', f'l/{RUN}/rank.json', b'{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [' + b' ' * 300000 + b']}')
    before = len(s.seen)
    c.case('the begin of JSON', ['runs', 's3://heads/l'], 0, r'3 objects, 3 of them.*0 files fetched, 0 from the cache: 0.03 MiB in 3 requests')
    asked = sorted(r for _, k, r, _ in s.seen[before:] if k)
    c.check('is 16 KiB', asked == ['bytes=0-16383'] * 2, asked)
    c.case('which the cache keeps', ['runs', 's3://heads/l'], 0, '0.00 MiB in 1 request')


def many_names(c, s):
    """Of files that differ in their numbers a few are looked into, and all where one is a trace; the rest is told of."""
    trace = b'{"schemaVersion": 1, "deviceProperties": [], "traceEvents": []}'
    s.put('many', f'l/{RUN}/host0.xplane.pb', FILES[f'{RUN}/host0.xplane.pb'])
    for i in range(3000):
        s.put('many', f'l/data/{hashlib.md5(str(i).encode()).hexdigest()}.json', b'[]')
    for i in range(1500):
        s.put('many', f'l/data/{chr(103 + i % 20)}{chr(103 + i // 20 % 20)}{chr(103 + i // 400)}.json', b'{}')
    for i in range(40):
        s.put('many', f'l/traces/rank-{i}.json', trace if i else b'{}')
    c.case('what is not looked into is told', ['runs', 's3://many/l'], 0, 'stepscope: 4436 JSON files were not read: --all says why')
    before = len(s.seen)
    shutil.rmtree(c.cache)
    runs = c.case('thousands of JSON files', ['runs', '--all', 's3://many/l'], 0, r'4541 objects, 4541 of them may be read \(5 requests\)')
    asked = [k for _, k, r, _ in s.seen[before:] if k]
    c.check('are not all asked for', len(asked) == 64 + 40 and sum(len(os.path.basename(k)) == 37 for k in asked) == 8, len(asked))
    c.check('traces are', sum('rank-' in k for k in asked) == 40, asked)
    told = ('2992 JSON files that were not read: none of the files with similar names that were read is a trace. To open one, give its path',
            '1444 JSON files that were not read: too many other files were read. To open one, give its path')
    c.check('and it is told', all(f's3://many/l holds {t}\n' in runs.decode() for t in told), runs[:900])


def faults(c, s):
    for bucket in ('cut', 'changed', 'longer', 'noranges'):
        for name, data in FILES.items():
            s.put(bucket, 'l/' + name, data)
    cases = {
        'expired/l': r'\(ExpiredToken\): the credentials of the environment have expired: get new ones', 'denied/l': r'\(AccessDenied\): the credentials of the environment do not allow it',
        'skewed/l': 'the clock of this machine is wrong', 'nobucket/l': "there is no bucket 'nobucket'", 'teapot/l': 'answered with status 418', 'elsewhere/l': 'redirected to another host',
        'logs/none': "there is no 's3://logs/none'", 'logs/none.tar': "there is no 's3://logs/none.tar'", 'notxml/l': 'does not have the format of S3', 'doctype/l': 'does not have the format of S3',
        'unclosed/l': 'does not have the format of S3', 'deep/l': 'does not have the format of S3', 'entity/l': 'does not have the format of S3', 'nosize/l': 'does not have the format of S3', 'html/l': 'does not have the format of S3',
        'nonext/l': 'does not have the format of S3', 'huge/l': 'is too long', 'endless/l': 'does not end',
    }
    for path, said in cases.items():
        c.case(path, ['runs', 's3://' + path], 1, said)
    c.case('busy, and asked again', ['runs', 's3://slow'], 1, 'no profile in')
    c.case('a body that is cut', ['summary', 's3://cut/l'], 1, r'is incomplete: the server ended the connection after \d+ bytes')
    c.case('another ETag than the list has', ['summary', 's3://changed/l'], 1, 'changed after it was listed: try again')
    c.case('another length than the list has', ['summary', 's3://longer/l'], 1, 'changed after it was listed: try again')
    c.case('nobody listens', ['runs', 's3://logs/x'], 1, 'no answer from s3://logs/x', AWS_ENDPOINT_URL='http://127.0.0.1:1')
    c.case('an endpoint with a password', ['runs', 's3://logs/x'], 1, 'the endpoint of S3 .AWS_ENDPOINT_URL .* has a name or a password: leave them out',
           AWS_ENDPOINT_URL='https://u:secret@192.0.2.1')
    c.case('an endpoint without encryption', ['runs', 's3://logs/x'], 1, 'is not encrypted', AWS_ENDPOINT_URL='http://192.0.2.1')
    for address, said in (('s3://', 'names no bucket'), ('s3://a:b/c', 'names no bucket'), ('s3://a@b/c', 'names no bucket'), ('s3:///x', 'names no bucket'),
                          ('s3://logs/a/../b', 'cannot be shown as a directory'), ('s3://logs/a\nb', 'is not an address')):
        c.case(address, ['runs', address], 1, said)
    said = c.run('runs', 's3://hostile/logs')
    c.check('hostile names', said.returncode == 0 and said.stderr.count(b'its name is not a valid file path') == 7 and b'hostile/logs/plugins/profile/run.xplane.pb/z.xplane.pb\' is not read: its name collides' in said.stderr and 'h&<>"\' é'.encode() in said.stdout,
            said.stdout + said.stderr)
    c.check('nothing outside', not os.path.exists(os.path.join(c.cache, 'open', 'up.xplane.pb')) and not os.path.exists('/root.xplane.pb'))


def regions(c, s):
    for name, data in FILES.items():
        s.put('west', 'l/' + name, data)
    s.regions['west'] = 'eu-west-1'
    c.case('another region', ['runs', 's3://west/l'], 0, r"the bucket is in the region eu-west-1, not in us-east-1: AWS_REGION=eu-west-1 saves requests")
    c.case('of one file', ['runs', f's3://west/l/{RUN}/host1.xplane.pb'], 0, 'is in the region eu-west-1')
    c.case('which is set', ['runs', 's3://west/l'], 0, r'\(1 request\)', AWS_REGION='eu-west-1')
    s.regions['west'] = 'nowhere/../'
    c.case('a region that is none', ['runs', 's3://west/l'], 1, 'AuthorizationHeaderMalformed')
    c.case('a region of ours that is none', ['runs', 's3://west/l'], 1, 'is not a region', AWS_REGION='a/b')
    s.regions['west'] = 'eu-west-1'


def credentials(c, s, roles):
    def write(name, text):
        path = os.path.join(c.home, '.aws', name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as f:
            f.write(text)
        return path
    c.case('nobody', ['runs', 's3://logs/x'], 1, 'may not be read without credentials, and none were found', keys={})
    for name, data in FILES.items():
        s.put('public', 'l/' + name, data)
    c.case('nobody, in a public bucket', ['summary', 's3://public/l'], 0, '3 files fetched', keys={})
    c.case('a wrong secret', ['runs', 's3://logs/x'], 1, 'the secret does not belong to the key', AWS_SECRET_ACCESS_KEY='x')
    c.case('a wrong key', ['runs', 's3://logs/x'], 1, 'are not known there', AWS_ACCESS_KEY_ID='x')
    c.case('half of them', ['runs', 's3://logs/x'], 1, 'AWS_SECRET_ACCESS_KEY is not: set both', keys={'AWS_ACCESS_KEY_ID': KEY})
    s.session = SESSION
    c.case('a session', ['runs', 's3://logs/exp 1'], 0, 'objects', AWS_SESSION_TOKEN=SESSION)
    s.session = None
    write('credentials', f'# c\n[default]\naws_access_key_id = wrong\naws_secret_access_key=x\n[ work ]\naws_access_key_id={KEY}\n'
                         f'aws_secret_access_key = {SECRET}\n')
    write('config', '[default]\nregion = us-east-1\n[profile work]\nregion=us-east-1\ns3 =\n  region = nowhere\n')
    c.case('the default profile', ['runs', 's3://logs/exp 1'], 1, "the credentials of the profile 'default' are not known", keys={})
    c.case('a profile', ['runs', 's3://logs/exp 1'], 0, 'objects', keys={}, AWS_PROFILE='work')
    c.case('one that there is not', ['runs', 's3://logs/exp 1'], 1, "the profile 'nowhere' is in no file of the AWS tools", AWS_PROFILE='nowhere')
    moved = write('elsewhere', f'[work]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\naws_session_token = {SESSION}\n')
    s.session = SESSION
    c.case('a file elsewhere', ['runs', 's3://logs/exp 1'], 0, 'objects', keys={}, AWS_PROFILE='work', AWS_SHARED_CREDENTIALS_FILE=moved)
    shutil.rmtree(os.path.join(c.home, '.aws'))
    token = os.path.join(c.scratch, 'token')
    with open(token, 'w') as f:
        f.write('web/token+1\n')
    c.case('a web identity', ['runs', 's3://logs/exp 1'], 0, 'objects', keys={}, AWS_WEB_IDENTITY_TOKEN_FILE=token, AWS_ROLE_ARN='arn:aws:iam::1:role/r', AWS_ENDPOINT_URL_STS=roles.url)
    c.case('a web identity without a token', ['runs', 's3://logs/exp 1'], 1, 'cannot read the token', keys={}, AWS_WEB_IDENTITY_TOKEN_FILE='/none', AWS_ROLE_ARN='r')
    c.case('a container', ['runs', 's3://logs/exp 1'], 0, 'objects', keys={}, AWS_CONTAINER_CREDENTIALS_FULL_URI=roles.url + '/container', AWS_CONTAINER_AUTHORIZATION_TOKEN='Bearer c')
    c.case('a container that refuses', ['runs', 's3://logs/exp 1'], 1, 'answered with status 401', keys={}, AWS_CONTAINER_CREDENTIALS_FULL_URI=roles.url + '/container')
    c.case('a container elsewhere', ['runs', 's3://logs/exp 1'], 1, 'is not encrypted', keys={}, AWS_CONTAINER_CREDENTIALS_FULL_URI='http://192.0.2.1/container')
    s.regions['logs'] = 'eu-west-3'
    c.case('a machine', ['runs', 's3://logs/exp 1'], 0, 'objects', keys={}, AWS_EC2_METADATA_DISABLED='', AWS_EC2_METADATA_SERVICE_ENDPOINT=roles.url)
    s.session, s.regions = None, {}
    c.check('no credential is written down', not any(x.encode() in open(os.path.join(d, n), 'rb').read() for d, _, names in os.walk(c.cache) for n in names
                                                     for x in (SECRET, SESSION)))


def sources(c, s, roles):
    """Profiles whose credentials others give: roles, a single sign-on, programs."""
    home = os.path.join(c.home, '.aws')
    os.makedirs(os.path.join(home, 'sso', 'cache'))

    def write(name, text):
        with open(os.path.join(home, name), 'w') as f:
            f.write(text)

    def ask(what, profile, status, said, **env):
        c.case(what, ['runs', 's3://logs/exp 1'], status, said, keys={}, **{'AWS_ENDPOINT_URL_STS': roles.url, 'AWS_ENDPOINT_URL_SSO': roles.url, 'AWS_PROFILE': profile, **env})

    def program(name, text):
        path = os.path.join(c.scratch, name)
        with open(path, 'w') as f:
            f.write(f'#!{sys.executable}\n{text}\n')
        os.chmod(path, 0o755)
        return shlex.quote(path)
    given = {'Version': 1, 'AccessKeyId': KEY, 'SecretAccessKey': SECRET, 'SessionToken': SESSION, 'Expiration': '2199-01-01T00:00:00Z'}
    good = program('gives "it"', f'import sys\nassert sys.argv[1:] == ["a b", "$HOME", "c\\\\d"] and not sys.stdin.read()\nprint({json.dumps(json.dumps(given))})')
    prints = {k: program(k, f'print({json.dumps(v)})') for k, v in {
        'expired': json.dumps({**given, 'Expiration': '2020-01-01T00:00:00Z'}), 'version': json.dumps({**given, 'Version': 2}), 'empty': json.dumps({'Version': 1}), 'text': 'no JSON',
        'long': json.dumps({**given, 'more': 'x' * 70000})}.items()}
    write('credentials', f'[base]\naws_access_key_id = {BASE[0]}\naws_secret_access_key = {BASE[1]}\naws_session_token = s/1+\n')
    write('config', f"""[profile base]
region = eu-west-1
[profile role]
region = eu-west-1
role_arn = arn:aws:iam::1:role/r+x
source_profile = base
external_id = e&1
role_session_name = me@here
duration_seconds = 900
[profile "plain role"]
    region: eu-west-1
    role_arn = arn:aws:iam::1:role/p
    credential_source = EcsContainer
[profile refused]
region = eu-west-1
role_arn = arn:aws:iam::1:role/no
source_profile = base
[profile mfa]
role_arn = r
source_profile = base
mfa_serial = m
[profile both]
role_arn = r
source_profile = base
credential_source = Environment
[profile neither]
role_arn = r
[profile source]
role_arn = r
credential_source = Nothing
[profile absent]
role_arn = r
source_profile = none
[profile ring]
role_arn = r
source_profile = ring2
[profile ring2]
role_arn = r
source_profile = ring
[profile keyless]
region = eu-west-1
[profile of keyless]
[profile 'of keyless']
role_arn = r
source_profile = keyless
[profile web]
role_arn = arn:aws:iam::1:role/w
web_identity_token_file = {c.scratch}/token
[profile roleless]
web_identity_token_file = {c.scratch}/token
[profile sso]
sso_session = mine
sso_account_id = 123
sso_role_name = Reader+x
[sso-session mine]
sso_start_url = https://x.awsapps.com/start
sso_region = eu-west-1
[profile old]
sso_start_url = https://y.awsapps.com/start
sso_region = eu-west-1
sso_account_id = 123
sso_role_name = Reader+x
[profile other]
sso_session = mine
sso_account_id = 123
sso_role_name = Writer
[profile half]
sso_session = mine
sso_role_name = Writer
[profile nosession]
sso_session = none
sso_role_name = Writer
[profile process]
credential_process = {good} 'a b' "$HOME"
  c\\\\d
[profile failing]
credential_process = {program('failing', 'import sys; sys.stderr.write("log in first"); sys.exit(3)')} --password=x
[profile sleeping]
credential_process = {program('sleeping', 'import time; time.sleep(600)')}
[profile nobody]
credential_process = /none/at/all
[profile quote]
credential_process = a 'b
[profile "it's me"]
login_session = arn:aws:iam::1:user/me
credential_process = /none/at/all
[profile of login]
role_arn = arn:aws:iam::1:role/r
source_profile = it's me
[profile services]
services = local
role_arn = arn:aws:iam::1:role/w
web_identity_token_file = {c.scratch}/token
[services local]
s3 =
  endpoint_url = {s.url}
sts =
  # where roles are
  endpoint_url = {roles.url}/
""" + ''.join(f'[profile {k}]\ncredential_process = {v}\n' for k, v in prints.items()))

    def token(of, **more):
        text = json.dumps({'accessToken': SIGNED_ON, 'expiresAt': '2199-01-01T00:00:00Z', **more})
        write(f'sso/cache/{hashlib.sha1(of.encode()).hexdigest()}.json', text)
    s.session = SESSION
    ask('a role', 'role', 0, 'objects')
    c.check('a role as the profile has it', roles.roles[-1:] == [('arn:aws:iam::1:role/r+x', 'me@here', 'e&1', '900')], roles.roles)
    ask('a role that is refused', 'refused', 1, r"refuses the role 'arn:aws:iam::1:role/no' to the credentials of the profile 'base': AccessDenied, status 403")
    for profile, said in {'mfa': r'second factor.*export-credentials --profile mfa', 'both': 'both source_profile and credential_source', 'neither': 'neither source_profile nor', 'source': 'must be Environment',
                          'absent': 'is in no file', 'ring': 'from itself', 'of keyless': "the profile 'keyless', the source_profile of 'of keyless', has no credentials"}.items():
        ask(profile, profile, 1, said)
    ask('a role for a container', 'plain role', 1, 'takes its credentials from credential_source = EcsContainer, which has none')
    ask('a web identity of a profile', 'web', 0, 'objects')
    c.check('its session has a name', roles.roles[-1:] == [('arn:aws:iam::1:role/w', 'stepscope', None, None)], roles.roles)
    ask('a web identity without a role', 'roleless', 1, 'is set, but no role')
    ask('servers of a profile', 'services', 0, 'objects', AWS_ENDPOINT_URL_STS='', AWS_ENDPOINT_URL='')
    roles.life = -10
    ask('a role that is over', 'web', 1, 'have expired')
    roles.life, before = 60, roles.given
    ask('a role that is over soon', 'web', 0, 'objects')
    c.check('is assumed again', roles.given > before + 1, roles.given - before)
    roles.life = 3600
    ask('a single sign-on before it', 'sso', 1, "has no token: run 'aws sso login --profile sso'")
    token('mine', expiresAt='2020-01-01T00:00:00Z')
    ask('a single sign-on that has expired', 'sso', 1, "has expired: run 'aws sso login --profile sso'")
    token('mine', accessToken='x')
    ask('a single sign-on that is over', 'sso', 1, "is over: run 'aws sso login --profile sso'")
    token('mine', accessToken='x\r\nY: z')
    ask('a token that is none', 'sso', 1, 'has no token')
    token('mine')
    token('https://y.awsapps.com/start', expiresAt='2199-01-01T00:00:00UTC')
    ask('a single sign-on', 'sso', 0, 'objects')
    ask('one of the old form', 'old', 0, 'objects')
    ask('another role of it', 'other', 1, r'gives no credentials for the profile .other. \(status 403\)')
    ask('half of one', 'half', 1, 'without sso_account_id')
    ask('one of no session', 'nosession', 1, "names the sso-session 'none', which is not")
    ask('a program', 'process', 0, 'objects')
    for profile, said in {'expired': 'have expired', 'version': 'prints no credentials', 'empty': 'holds none', 'text': 'prints no credentials', 'long': 'prints more than 64 KiB',
                          'nobody': "cannot run '/none/at/all'", 'quote': 'is not closed'}.items():
        ask(f'a program, {profile}', profile, 1, said)
    done = c.run('runs', 's3://logs/exp 1', keys={}, AWS_PROFILE='failing')
    c.check('a program that fails', done.returncode == 1 and b'log in first' in done.stderr and b'(status 3)' in done.stderr and b'password' not in done.stderr, done.stderr)
    ask('a program that does not end', 'sleeping', 1, r'was ended after 1 s \(STEPSCOPE_FETCH_TIMEOUT_S\)', STEPSCOPE_FETCH_TIMEOUT_S='1')
    logins(c, ask, given)
    ask('keys before it', 'process', 1, 'are not known there', AWS_ACCESS_KEY_ID='x', AWS_SECRET_ACCESS_KEY='y')
    s.session = None
    shutil.rmtree(home)


def logins(c, ask, given):
    """A session of 'aws login', which the AWS command line renews and prints."""
    bin = os.path.join(c.scratch, 'bin')
    os.makedirs(bin)

    def aws(text):
        path = os.path.join(bin, 'aws')
        with open(path, 'w') as f:
            f.write(f'#!{sys.executable}\nimport sys\nassert sys.argv[1:] == ["configure", "export-credentials", "--profile", "it\'s me", "--format", "process"] and not sys.stdin.read()\n{text}\n')
        os.chmod(path, 0o755)
    ask("'aws login' without its program", "it's me", 1, r"cannot run 'aws', .* of 'aws login' for the profile 'it's me': No such file.*; .*'aws login --profile it's me'", PATH=bin)
    aws(f'print({json.dumps(json.dumps(given))})')
    ask("'aws login'", "it's me", 0, 'objects', PATH=bin)
    ask("a role of 'aws login'", 'of login', 1, r"refuses the role .* to the credentials of the program of 'aws login' for the profile 'it's me'", PATH=bin)
    aws('sys.exit("Your session has expired")')
    ask("an 'aws login' that has expired", "it's me", 1, r"Your session has expired\n.*failed \(status 1\): 'aws'; .*'aws login --profile it's me'", PATH=bin)
    aws(f'print({json.dumps(json.dumps({**given, "Expiration": "2020-01-01T00:00:00Z"}))})')
    ask("keys of 'aws login' that have expired", "it's me", 1, 'have expired', PATH=bin)


class Bucket:
    """The runs of the sample, as served_bucket wants them."""

    def __init__(self, s, files=None):
        self.s, self.at = s, f'l/{os.path.dirname(RUN)}/'
        self.files = files or {os.path.relpath(k, os.path.dirname(RUN)): v for k, v in FILES.items()}
        for name, data in self.files.items():
            self.put(name, data)
        self.put('../../ckpt/model.bin', b'x' * 1000)

    def key(self, name):
        return os.path.normpath(self.at + name)

    def put(self, name, data):
        self.s.put('live', self.key(name), data)

    def drop(self, name):
        self.s.objects['live'].pop(self.key(name))

    def fetched(self):
        with self.s.lock:
            return [key for bucket, key, *_ in self.s.seen if bucket == 'live' and key]

    def refuse(self, refuses):
        self.s.expired = {'live'} if refuses else set()

    def hold(self, key):
        self.s.held = key
        self.s.go_on.set() if key is None else self.s.go_on.clear()


def check_all(binary, scratch):
    s, other, roles = Server(Handler), Server(Handler), Server(Roles)
    s.other = other.port
    c = Checks(binary, scratch, s)
    for name, data in FILES.items():
        s.put('noranges', 'l/' + name, data)
    reading(c, s)
    heads(c, s)
    many_names(c, s)
    faults(c, s)
    regions(c, s)
    credentials(c, s, roles)
    sources(c, s, roles)
    served_bucket.check(c, Bucket(s), 's3://live/l')
    c.check('a server that was not to be asked was not', not other.seen, other.seen)
    return c


if __name__ == '__main__':
    sys.exit(checks.main('buckets', check_all))
