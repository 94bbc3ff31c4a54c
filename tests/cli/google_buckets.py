#!/usr/bin/env python3
"""gs:// as PATH, against a server of our own that wants a token, lists in pages and keeps generations; tokens from everywhere, claims checked by openssl."""
import base64
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
sys.path.insert(0, HERE)
import buckets
import checks

RUN, FILES = buckets.RUN, buckets.FILES
TOKEN, REFRESH = 'ya29.a0-SECRETTOKEN', '1//0-SECRETREFRESH'
SUBJECT, ACTING = 'eyJ.SUBJECT/+.x', 'ya29.ACTING'


class Handler(buckets.Answering):
    def json(self, status, value):
        self.send(status, json.dumps(value).encode(), ('Content-Type', 'application/json'))

    def do_POST(self):
        """The token service, and what lets others act as a service account."""
        s, body = self.server, self.rfile.read(int(self.headers['Content-Length'])).decode()
        q = dict(urllib.parse.parse_qsl(body))
        if self.path.endswith(':generateAccessToken'):
            return self.act(json.loads(body))
        if 'token-exchange' in q.get('grant_type', '') or self.path == '/others':
            return self.federate(q)
        good = q.get('grant_type') == 'refresh_token' and q.get('refresh_token') == REFRESH and q.get('client_secret') == 'c/s+'
        if q.get('grant_type', '').endswith('jwt-bearer'):
            good = self.claim(q['assertion'])
        if not good:
            return self.json(400, {'error': 'invalid_grant', 'error_description': 'Token has been expired or revoked.'})
        s.given += 1
        return self.json(200, {'access_token': TOKEN, 'expires_in': s.life, 'token_type': 'Bearer'})

    def act(self, q):
        s = self.server
        good = self.headers.get('Authorization') == f'Bearer {TOKEN}' and self.headers['Content-Type'] == 'application/json' and q['scope'][0].endswith('devstorage.read_only')
        if not good or 'denied' in self.path:
            return self.json(403, {'error': {'code': 403}})
        s.acted.append((q['lifetime'], q['delegates']))
        return self.json(200, {'accessToken': ACTING, 'expireTime': '2199-01-01T00:00:00Z'})

    def federate(self, q):
        s = self.server
        basic = 'Basic ' + base64.b64encode(b'c:d/e').decode()
        if self.path == '/others':      # a person's, to be renewed
            good = q == {'grant_type': 'refresh_token', 'refresh_token': REFRESH} and self.headers.get('Authorization') == basic
        else:
            good = q.get('audience') == '//iam.googleapis.com/p' and q.get('subject_token') == SUBJECT and q.get('subject_token_type') == 'urn:ietf:params:oauth:token-type:jwt' and \
                q.get('requested_token_type', '').endswith(':access_token') and not q.get('grant_type', '').strip('abcdefghijklmnopqrstuvwxyz:-')
        s.federated.append((q.get('scope', '').rpartition('/')[2], q.get('options'), self.headers.get('Authorization')))
        if not good:
            return self.json(400, {'error': 'invalid_grant'})
        s.given += 1
        return self.json(200, {'access_token': TOKEN, 'expires_in': 3599, 'token_type': 'Bearer'})

    def claim(self, text):
        s = self.server
        head, claims, signature = text.split('.')

        def plain(part):
            return base64.urlsafe_b64decode(part + '=' * (-len(part) % 4))
        with open(os.path.join(s.scratch, 'signature'), 'wb') as f:
            f.write(plain(signature))
        done = subprocess.run(['openssl', 'dgst', '-sha256', '-verify', f'{s.scratch}/public.pem', '-signature', f'{s.scratch}/signature'], input=f'{head}.{claims}'.encode(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        c = json.loads(plain(claims))
        return done.returncode == 0 and json.loads(plain(head))['alg'] == 'RS256' and c['iss'] == 'a"b@x' and c['aud'] == s.url + '/token' and \
            c['scope'].endswith(('devstorage.read_only', 'cloud-platform')) and abs(c['iat'] - time.time()) < 600 and c['exp'] - c['iat'] == 3600

    def do_GET(self):
        s = self.server
        path, _, query = self.path.partition('?')
        q = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        with s.lock:
            s.seen.append((path, self.headers.get('Range'), self.headers.get('Authorization'), q))
        if path == '/subject':
            return self.send(200 if self.headers.get('X-Name') == 'a value' else 403, SUBJECT.encode() if 'json' not in q else json.dumps({'t': {'x': 1}, 'value': SUBJECT}).encode())
        if path.startswith('/computeMetadata/'):
            good = self.headers.get('Metadata-Flavor') == 'Google'
            return self.json(200 if good else 403, {'access_token': TOKEN, 'expires_in': 3599})
        bucket, _, name = urllib.parse.unquote(path)[len('/storage/v1/b/'):].partition('/o')
        if self.headers.get('Accept-Encoding') != 'gzip':
            return self.json(500, {})
        if bucket in s.expired:
            return self.json(401, {'error': {'code': 401, 'message': 'no'}})
        if s.token and self.headers.get('Authorization') != f'Bearer {s.token}':
            return self.json(401, {'error': {'code': 401, 'message': 'no'}})
        codes = {'denied': 403, 'none': 404, 'teapot': 418, 'moved': 302}
        if bucket in codes:
            return self.send(codes[bucket], b'{}', *([('Location', s.other)] if bucket == 'moved' else []))
        bad = {'notjson': b'<html>', 'error': b'{"error": {}}', 'items': b'{"items": {}}', 'nosize': b'{"items": [{"name": "a", "generation": "1"}]}',
               'endless': b'{"nextPageToken": "t"}', 'deep': b'{"items": ' + b'[' * 100000}
        if bucket in bad:
            return self.send(200, bad[bucket])
        return self.get(bucket, name[1:], q) if name else self.list(bucket, q)

    def list(self, bucket, q):
        s = self.server
        names = [k for k in sorted(s.objects.get(bucket, {}), key=str.encode) if k.startswith(q['prefix'])]
        begin = int(q.get('pageToken', '0').rstrip('=/+'))
        items = [{'name': k, 'size': str(len(s.objects[bucket][k][0])), 'generation': s.objects[bucket][k][1], 'updated': '2026-11-23T10:00:00.123Z'}
                 for k in names[begin:begin + s.page]]
        more = {'nextPageToken': f'{begin + s.page}=/+'} if begin + s.page < len(names) else {}
        self.json(200, {'kind': 'storage#objects', **({'items': items} if items else {}), **more})

    def get(self, bucket, key, q):
        if self.server.held == key:
            self.server.go_on.wait(300)
        held = self.server.objects.get(bucket, {}).get(key)
        if not held or q.get('alt') != 'media' or q.get('generation', held[1]) != held[1]:
            return self.json(404, {'error': {'code': 404}})
        data, generation = held
        if self.headers.get('If-None-Match') == f'"C{generation}"':
            return self.send(304, b'', ('ETag', f'"C{generation}"'))
        asked = re.match(r'bytes=(\d+)-(\d+)$', self.headers.get('Range', ''))
        headers = [('ETag', f'"C{generation}"'), ('x-goog-generation', generation)]
        if not asked:
            return self.send(200, data, *headers)
        first, last = int(asked[1]), min(int(asked[2]), len(data) - 1)
        return self.send(206, data[first:last + 1], ('Content-Range', f'bytes {first}-{last}/{len(data)}'), *headers)


class Checks(buckets.Checks):
    def __init__(self, binary, scratch, s):
        super().__init__(binary, scratch, s)
        self.env = {k: v for k, v in self.env.items() if not k.startswith(('GOOGLE', 'CLOUDSDK', 'STORAGE', 'GCE'))}
        self.env.update(NO_GCE_CHECK='true', GCE_METADATA_TIMEOUT='60')
        self.keys = {'STORAGE_EMULATOR_HOST': s.url}
        self.secrets = (TOKEN, REFRESH, SUBJECT, ACTING, 'PRIVATE KEY')


def reading(c, s):
    for name, data in FILES.items():
        s.objects.setdefault('logs', {})['exp 1/größe+ü/' + name] = (data, '7')
    s.objects['logs']['exp 1/größe+ü/ckpt/model.bin'] = (b'x' * 1000, '7')
    url = 'gs://logs/exp 1/größe+ü'
    want = json.loads(c.run('tool', 'overview_page', buckets.SAMPLE, '--format', 'json').stdout)['tables']
    c.case('runs are listed', ['runs', url], 0, r'4 objects, 3 of them may be read \(1 request\).*0\.00 MiB in 1 request\n')
    got = c.case('a directory', ['tool', 'overview_page', url, '--format', 'json'], 0, r'3 files fetched, 0 from the cache: 0\.04 MiB in 4 requests\n')
    c.check('its answer is that of the directory', json.loads(got)['tables'] == want)
    c.check('in its generation', all(q.get('generation') == '7' for path, _, _, q in s.seen if path.endswith('.pb')), s.seen)
    c.case('again', ['summary', url], 0, r'0 files fetched, 3 from the cache: 0\.00 MiB in 1 request\n')
    c.case('one file', ['summary', f'{url}/{RUN}/host0.xplane.pb'], 0, r'0\.01 MiB in 1 request\n')
    c.case('one file again', ['summary', f'{url}/{RUN}/host0.xplane.pb'], 0, r'has not changed: read from the cache \(1 request\)\n')
    c.case('which does not take the place of the other', ['summary', url], 0, '0 files fetched, 3 from the cache')
    s.objects['logs'][f'exp 1/größe+ü/{RUN}/host0.xplane.pb'] = (FILES[f'{RUN}/host0.xplane.pb'], '8')
    c.case('another generation', ['summary', url], 0, '1 file fetched, 2 from the cache')
    s.page = 2
    c.case('several pages', ['runs', url], 0, r'4 objects, 3 of them may be read \(2 requests\)')
    s.page = 1000
    done = c.run('tools', url, **c.keys)
    c.check('nothing is sent to an emulator', done.returncode == 0 and all(a is None for _, _, a, _ in s.seen), done.stderr)


class Bucket(buckets.Bucket):
    """The same here: each version of an object has a generation of its own."""
    generation = 100

    def put(self, name, data):
        Bucket.generation += 1
        self.s.objects.setdefault('live', {})[self.key(name)] = (data, str(Bucket.generation))

    def fetched(self):
        with self.s.lock:
            paths = [urllib.parse.unquote(path) for path, *_ in self.s.seen if path.startswith('/storage/v1/b/live/o/')]
        return [path[len('/storage/v1/b/live/o/'):] for path in paths]


def faults(c, s):
    for path, said in {'denied/l': r'may not be read without credentials', 'none/l': "there is no bucket 'none'", 'teapot/l': 'answered with status 418', 'moved/l': 'redirected to another host',
                       'logs/none': "there is no 'gs://logs/none'", 'logs/none.tar': "there is no 'gs://logs/none.tar'", 'notjson/l': 'does not have the format of Google', 'error/l': 'does not have the format of Google',
                       'items/l': 'does not have the format of Google', 'nosize/l': 'does not have the format of Google', 'endless/l': 'does not end', 'deep/l': 'does not have the format of Google'}.items():
        c.case(path, ['runs', 'gs://' + path], 1, said)
    c.case('no bucket', ['runs', 'gs://'], 1, 'names no bucket')
    c.case('an endpoint without encryption', ['runs', 'gs://logs/x'], 1, 'is not encrypted', keys={'STORAGE_EMULATOR_HOST': '192.0.2.1:80'})


def tokens(c, s):
    """Google's own host is asked with a token alone; who gives one is our server, so that what it wants is checked."""
    def file(name, value):
        path = os.path.join(c.scratch, name)
        with open(path, 'w') as f:
            json.dump(value, f) if not isinstance(value, str) else f.write(value)
        return path
    # A proxy that refuses shows that all is ready and goes to Google; nothing leaves this machine.
    dead = {'https_proxy': 'http://127.0.0.1:1', 'HTTPS_PROXY': 'http://127.0.0.1:1', 'no_proxy': '', 'NO_PROXY': ''}
    user = {'type': 'authorized_user', 'client_id': 'i', 'client_secret': 'c/s+', 'refresh_token': REFRESH, 'token_uri': s.url + '/token'}
    with open(f'{c.scratch}/key.pem') as f:
        account = {'type': 'service_account', 'client_email': 'a"b@x', 'private_key': f.read(), 'token_uri': s.url + '/token'}
    ready = r'no answer from gs://logs/x'
    for what, value, said in (
            ('a user', user, ready), ('a service account', account, ready), ('one that was revoked', {**user, 'refresh_token': 'x'}, r'have expired or were revoked \(invalid_grant\)'),
            ('a key that is none', {**account, 'private_key': 'x'}, 'is not an RSA key in PEM'), ('another kind', {'type': 'gdch_service_account'}, 'are not of a kind that stepscope knows'), ('no JSON', 'x', 'are not of a kind that stepscope knows'),
            ('a token service without encryption', {**user, 'token_uri': 'http://192.0.2.1/'}, 'is not encrypted'), ('a token service that is no URL', {**user, 'token_uri': 'file:///etc/passwd'}, 'is not encrypted')):
        before = s.given
        c.case(what, ['runs', 'gs://logs/x'], 1, said, keys={'GOOGLE_APPLICATION_CREDENTIALS': file('adc.json', value), **dead})
        c.check(f'{what}: a token is given once', s.given - before == (said == ready), s.given - before)
    c.case('a file that is not there', ['runs', 'gs://logs/x'], 1, 'cannot read', keys={'GOOGLE_APPLICATION_CREDENTIALS': '/none', **dead})
    os.makedirs(f'{c.home}/.config/gcloud')
    shutil.copy(file('adc.json', user), f'{c.home}/.config/gcloud/application_default_credentials.json')
    before = s.given
    c.case('the usual file', ['runs', 'gs://logs/x'], 1, ready, keys=dead)
    c.check('the usual file is read', s.given == before + 1, s.given)
    shutil.rmtree(f'{c.home}/.config')
    c.case('the environment', ['runs', 'gs://logs/x'], 1, ready, keys={'CLOUDSDK_AUTH_ACCESS_TOKEN': TOKEN, **dead})
    before = len(s.seen)
    c.case('a machine', ['runs', 'gs://logs/x'], 1, ready, keys={'NO_GCE_CHECK': '', 'GCE_METADATA_HOST': f'127.0.0.1:{s.port}', **dead})
    c.check('a machine is asked', [p for p, *_ in s.seen[before:]] == ['/computeMetadata/v1/instance/service-accounts/default/token'], s.seen[before:])
    c.case('nobody', ['runs', 'gs://logs/x'], 1, ready, keys=dead)


def federated(c, s):
    """Identities of other providers, and service accounts that act for others."""
    subject = os.path.join(c.scratch, 'subject')
    with open(subject, 'w') as f:
        f.write(SUBJECT + '\n')
    with open(subject + '.json', 'w') as f:
        json.dump({'t': SUBJECT}, f)
    dead = {'https_proxy': 'http://127.0.0.1:1', 'HTTPS_PROXY': 'http://127.0.0.1:1', 'no_proxy': '', 'NO_PROXY': ''}
    external = {'type': 'external_account', 'audience': '//iam.googleapis.com/p', 'subject_token_type': 'urn:ietf:params:oauth:token-type:jwt', 'token_url': s.url + '/token', 'credential_source': {'file': subject}}
    user = {'type': 'authorized_user', 'client_id': 'i', 'client_secret': 'c/s+', 'refresh_token': REFRESH, 'token_uri': s.url + '/token'}
    others = {'type': 'external_account_authorized_user', 'client_id': 'c', 'client_secret': 'd/e', 'refresh_token': REFRESH, 'token_url': s.url + '/others'}
    act, field, headers = s.url + '/v1/x@y:generateAccessToken', {'type': 'json', 'subject_token_field_name': 'value'}, {'X-Name': 'a value'}
    acting = {'type': 'impersonated_service_account', 'service_account_impersonation_url': act, 'source_credentials': user}
    ready, cannot = r'no answer from gs://logs/x', 'stepscope reads one from a file or an address'
    nested = user
    for _ in range(6):
        nested = {**acting, 'source_credentials': nested}

    def source(**value):
        return {**external, 'credential_source': value}
    for what, value, said, given, acted in (
            ('a file', external, ready, 1, None), ('a file of JSON', source(file=subject + '.json', format={**field, 'subject_token_field_name': 't'}), ready, 1, None),
            ('an address', source(url=s.url + '/subject', headers=headers), ready, 1, None), ('an address of JSON', source(url=s.url + '/subject?json=1', headers=headers, format=field), ready, 1, None),
            ('with an account', {**external, 'service_account_impersonation_url': act, 'service_account_impersonation': {'token_lifetime_seconds': 900}}, ready, 1, ('900s', [])),
            ('a person', others, ready, 1, None), ('a person with another secret', {**others, 'client_secret': 'x'}, r'have expired or were revoked \(invalid_grant\)', 0, None),
            ('of a workforce', {**external, 'workforce_pool_user_project': 'p"1'}, ready, 1, None), ('with a client', {**external, 'client_id': 'c', 'client_secret': 'd/e', 'workforce_pool_user_project': '1'}, ready, 1, None),
            ('no such file', source(file='/none'), "cannot read the token in '/none'", 0, None), ('no field', source(file=subject + '.json', format=field), 'holds no token', 0, None),
            ('not JSON', source(file=subject, format=field), 'holds no token', 0, None), ('an address that refuses', source(url=s.url + '/subject'), 'answers with status 403', 0, None),
            ('an address without encryption', source(url='http://192.0.2.1/x'), 'is not encrypted', 0, None), ('a header of two lines', source(url=s.url + '/subject', headers={'X-Name': 'a\r\nb: c'}), 'cannot be sent', 0, None),
            ('headers without end', source(url=s.url + '/subject', headers={f'X-{i}': '' for i in range(20)}), 'cannot be sent', 0, None),
            ('AWS', source(environment_id='aws1', url='http://169.254.169.254/x'), 'take their token from AWS, and ' + cannot, 0, None), ('a program', source(executable={'command': 'x'}), 'from a program, and ' + cannot, 0, None),
            ('no source', source(), 'of an unknown kind, and ' + cannot, 0, None), ('another audience', {**external, 'audience': 'x'}, r'refuses the credentials of .* \(status 400\)', 0, None),
            ('for a user', {**acting, 'delegates': ['a"b', 'c']}, ready, 1, ('3600s', ['a"b', 'c'])), ('for an external account', {**acting, 'source_credentials': external}, ready, 1, ('3600s', [])),
            ('that it may not', {**acting, 'service_account_impersonation_url': act.replace('x@y', 'denied')}, 'may not act as their service account', 1, None),
            ('without encryption', {**acting, 'service_account_impersonation_url': 'http://192.0.2.1/'}, 'is not encrypted', 1, None), ('for nobody', {**acting, 'source_credentials': None}, 'are not of a kind', 0, None),
            ('for itself', nested, 'are not of a kind', 0, None)):
        before, s.acted = s.given, []
        path = os.path.join(c.scratch, 'adc.json')
        with open(path, 'w') as f:
            json.dump(value, f)
        c.case(f'federated: {what}', ['runs', 'gs://logs/x'], 1, said, keys={'GOOGLE_APPLICATION_CREDENTIALS': path, **dead})
        c.check(f'federated: {what}: what was given', s.given - before == given and s.acted == ([acted] if acted else []), (s.given - before, s.acted))
    seen = set(s.federated)
    basic = 'Basic ' + base64.b64encode(b'c:d/e').decode()
    c.check('federated: scopes, options and clients', {('devstorage.read_only', None, None), ('cloud-platform', None, None), ('devstorage.read_only', '{"userProject":"p\\"1"}', None),
                                                       ('devstorage.read_only', None, basic)} <= seen, seen)


def check_all(binary, scratch):
    subprocess.run(['openssl', 'genrsa', '-out', f'{scratch}/key.pem', '2048'], check=True, stderr=subprocess.DEVNULL)
    subprocess.run(['openssl', 'rsa', '-in', f'{scratch}/key.pem', '-pubout', '-out', f'{scratch}/public.pem'], check=True, stderr=subprocess.DEVNULL)
    s = buckets.Server(Handler)
    s.scratch, s.token, s.life, s.other = scratch, None, 3599, 'http://127.0.0.1:1/'
    s.acted, s.federated = [], []
    c = Checks(binary, scratch, s)
    reading(c, s)
    faults(c, s)
    tokens(c, s)
    federated(c, s)
    buckets.served_bucket.check(c, Bucket(s), 'gs://live/l')
    return c


if __name__ == '__main__':
    sys.exit(checks.main('google-buckets', check_all))
