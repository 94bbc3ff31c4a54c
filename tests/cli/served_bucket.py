"""stepscope serve of a bucket, for the tests of S3 and of Google Cloud Storage: files come when they are opened, and the list is made anew."""
import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request

PATIENCE_S = 120        # until something that has to happen has happened
OVERVIEW = '/data/plugin/profile/data?run={run}&tag=overview_page&host={host}'


class Live:
    """A server. It looks anew at every second; what is asked for is asked again until it is as it has to be."""

    all = []

    def __init__(self, c, url, *args, **env):
        self.c, self.text = c, b''
        Live.all.append(self)
        self.p = subprocess.Popen([c.binary, 'serve', '--port', '0', '--logdir', url, *args], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  env={**c.env, **c.keys, 'STEPSCOPE_REFRESH_S': '1', 'STEPSCOPE_FETCH_WAIT_S': '60', **env})
        for line in self.p.stderr:
            self.text += line
            if b'Ctrl-C' in line:
                break
        found = re.search(rb'http://127\.0\.0\.1:(\d+)/ \(Ctrl', self.text)
        if not found:
            raise RuntimeError(self.text)
        self.url = f'http://127.0.0.1:{int(found[1])}'

    def get(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=PATIENCE_S) as r:
                return r.status, r.read().decode('utf-8', 'replace')
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode('utf-8', 'replace')

    def until(self, what, path, good):
        """The answer, once it is good."""
        end = time.monotonic() + PATIENCE_S
        while True:
            status, text = self.get(path)
            if good(status, text) or time.monotonic() > end:
                self.c.check(what, good(status, text), (status, text[:600]))
                return text
            time.sleep(0.1)

    def runs(self):
        return json.loads(self.get('/api/runs')[1])

    def helpers(self):
        """Processes that it has started."""
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/stat') as f:
                    state, parent = f.read().rpartition(')')[2].split()[:2]
            except OSError:
                continue
            if int(parent) == self.p.pid and state != 'Z':
                found.append(int(pid))
        return found

    def descriptors(self):
        return [len(os.listdir(f'/proc/{pid}/fd')) for pid in (self.p.pid, *self.helpers())]

    def end(self, how=signal.SIGTERM):
        self.p.send_signal(how)
        self.p.wait(60)
        # The other end of this pipe is the helper's, too: it is closed when both are gone.
        self.text += self.p.stderr.read()
        self.p.stderr.close()


def is_gone(pid):
    try:
        with open(f'/proc/{pid}/stat') as f:
            return f.read().rpartition(')')[2].split()[0] == 'Z'
    except OSError:
        return True


def left_open(c):
    return os.listdir(f'{c.cache}/open')


def refreshed(c, live, bucket):
    """What is added, changed and taken away is seen; and nothing is fetched that nobody opens."""
    first = live.runs()
    c.check('the runs are there', [(r['run'], r['hosts']) for r in first['runs']] == [('run', ['host0', 'host1', 'host2'])], first)
    c.check('no file was fetched for that', not bucket.fetched(), bucket.fetched())
    cost = first['bucket']
    c.check('requests are shown', cost['requests'] >= 1 and cost['fetched_bytes'] == 0 and cost['fetched_files'] == 0 and cost['objects'] == 4, cost)
    one = OVERVIEW.format(run='run', host='host1')
    status, _ = live.get(one)
    c.check('a host is fetched when a tool opens it', status == 200 and {k for k in bucket.fetched()} == {bucket.key('run/host1.xplane.pb')}, (status, bucket.fetched()))
    status, before = live.get(OVERVIEW.format(run='run', host='ALL_HOSTS'))
    gets = len(bucket.fetched())
    c.check('all of them', status == 200 and len(set(bucket.fetched())) == 3, (status, bucket.fetched()))
    live.get(OVERVIEW.format(run='run', host='ALL_HOSTS').replace('overview_page', 'hlo_stats'))
    c.check('and each once', len(bucket.fetched()) == gets == 3, bucket.fetched())
    cost = live.runs()['bucket']
    c.check('their bytes are shown', cost['fetched_files'] == 3 and cost['fetched_bytes'] == sum(len(v) for v in bucket.files.values()), cost)

    bucket.put('later/host7.xplane.pb', bucket.files['run/host1.xplane.pb'])
    live.until('a run that is added is shown', '/api/runs', lambda status, text: '"host7"' in text)
    c.check('without fetching it', len(bucket.fetched()) == gets, bucket.fetched())
    status, text = live.get(OVERVIEW.format(run='later', host='host7'))
    c.check('and can be opened', status == 200 and len(bucket.fetched()) == gets + 1, (status, text[:300], bucket.fetched()))

    # Of the same length and time: its tag alone tells that it is another.
    old = bucket.files['run/host0.xplane.pb']
    name = re.search(rb'loop_fusion|fusion|convolution', old)[0]
    new = old.replace(name, name[:-1] + b'Z')
    assert len(new) == len(old) and new != old
    hlo = '/api/tool/hlo_stats?run=run&host=host0'
    status, was = live.get(hlo)
    bucket.put('run/host0.xplane.pb', new)
    live.until('a file that changed has a new answer', hlo, lambda status, text: status == 200 and text != was and (name[:-1] + b'Z').decode() in text)
    c.check('of the new version', bucket.fetched().count(bucket.key('run/host0.xplane.pb')) == 2, bucket.fetched())

    bucket.drop('later/host7.xplane.pb')
    live.until('a run that is gone is not shown', '/api/runs', lambda status, text: status == 200 and '"host7"' not in text)
    return before


def refused(c, live, bucket):
    """Credentials that expire meanwhile."""
    bucket.refuse(True)
    live.until('that the list is refused is told', '/api/runs', lambda status, text: status == 200 and 'is shown as it was' in text and '"host1"' in text)
    bucket.put('run/host9.xplane.pb', bucket.files['run/host1.xplane.pb'])
    bucket.refuse(False)
    live.until('and then it goes on', '/api/runs', lambda status, text: 'is shown as it was' not in text and '"host9"' in text)
    bucket.refuse(True)
    status, text = live.get(OVERVIEW.format(run='run', host='host9'))
    c.check('a file that is refused', status == 500 and re.search('expired|may not be read', text), (status, text))
    bucket.refuse(False)
    status, text = live.get(OVERVIEW.format(run='run', host='host9'))
    c.check('and then is not', status == 200, (status, text[:300]))


def slow(c, bucket, url):
    """A file that takes long holds up nobody else."""
    live = Live(c, url, STEPSCOPE_FETCH_WAIT_S='1', STEPSCOPE_CACHE=os.path.join(c.scratch, 'slow'))
    bucket.hold(bucket.key('run/host2.xplane.pb'))
    try:
        status, text = live.get(OVERVIEW.format(run='run', host='host2'))
        c.check('what takes long is told', status == 503 and 'is being fetched' in text and 'host2' in text and '"fetching":true' in text, (status, text))
        live.until('others go on', OVERVIEW.format(run='run', host='host1'), lambda status, text: status == 200)
        c.check('and the list', live.get('/api/runs')[0] == 200)
    finally:
        bucket.hold(None)
    live.until('then it is there', OVERVIEW.format(run='run', host='host2'), lambda status, text: status == 200)
    live.end()


def killed(c, live, bucket, before):
    """The helper goes: what is there stays readable, and the rest says why not."""
    bucket.put('run/host8.xplane.pb', bucket.files['run/host1.xplane.pb'])
    live.until('a host comes', '/api/runs', lambda status, text: '"host8"' in text)
    helpers = live.helpers()
    c.check('one process fetches', len(helpers) == 1, helpers)
    for pid in helpers:
        os.kill(pid, signal.SIGKILL)
    live.until('that it has ended is told', OVERVIEW.format(run='run', host='host8'), lambda status, text: status == 500 and 'has ended' in text)
    status, text = live.get(OVERVIEW.format(run='run', host='host1').replace('overview_page', 'hlo_stats'))
    c.check('what was fetched can be read', status == 200 and len(text) > 100, (status, text[:300]))
    live.until('the list tells it', '/api/runs', lambda status, text: status == 200 and 'has ended' in text and '"host1"' in text)


def bounded(c, live, bucket):
    """Files that are opened one after the other leave nothing open."""
    names = [f'many/h{i}.xplane.pb' for i in range(40)]
    for name in names:
        bucket.put(name, bucket.files['run/host1.xplane.pb'])
    live.until('many hosts', '/api/runs', lambda status, text: '"h39"' in text)
    live.get(OVERVIEW.format(run='many', host='h0'))
    before = live.descriptors()
    for i in range(1, 40):
        status, text = live.get(f'/api/tool/overview_page?run=many&host=h{i}')
        c.check(f'host {i} of many', status == 200, (status, text[:300]))
    after = live.descriptors()
    c.check('descriptors do not grow with files', all(b - a < 20 for a, b in zip(before, after)), (before, after))
    for name in names:
        bucket.drop(name)


def check(c, bucket, url):
    """`bucket` holds what lies at `url`, and tells what was fetched of it."""
    try:
        all_of(c, bucket, url)
    finally:
        for live in Live.all:
            live.p.kill()


def limited(c, bucket, url):
    """Beyond the limit of the cache (64 MiB at least are held) what came first goes, and comes again when it is opened."""
    size = 30 << 20
    names = [f'large/h{i}.xplane.pb' for i in range(3)]
    for i, name in enumerate(names):     # field 15, which no reader knows: 30 MiB of zeros
        bucket.put(name, bucket.files[f'run/host{i}.xplane.pb'] + b'\x7a' + bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14 & 127 | 128, size >> 21]) + b'\0' * size)
    cache = os.path.join(c.scratch, 'limited')
    live = Live(c, url, '--memory-mb', '1', STEPSCOPE_CACHE_MB='1', STEPSCOPE_CACHE=cache)
    before = len(bucket.fetched())
    for i in range(3):
        status, text = live.get(OVERVIEW.format(run='large', host=f'h{i}'))
        c.check(f'large file {i}', status == 200, (status, text[:300]))
    c.check('large files come once', len(bucket.fetched()) - before == 3 * 4, bucket.fetched()[before:])     # ranges of 8 MiB
    whole = [p for d, _, found in os.walk(cache) for p in (os.path.join(d, n) for n in found) if os.stat(p).st_blocks * 512 >= size]
    c.check('the first is held no more', sorted(map(os.path.basename, whole)) == ['h1.xplane.pb', 'h2.xplane.pb'], whole)
    status, text = live.get('/api/tool/hlo_stats?run=large&host=h0')
    c.check('it comes again', status == 200 and len(bucket.fetched()) - before == 4 * 4, (status, text[:300], bucket.fetched()[before:]))
    live.end()
    for name in names:
        bucket.drop(name)


def all_of(c, bucket, url):
    live = Live(c, url)
    c.check('it starts without fetching', not bucket.fetched(), bucket.fetched())
    before = refreshed(c, live, bucket)
    refused(c, live, bucket)
    bounded(c, live, bucket)
    helpers = live.helpers()
    live.end()
    c.check('requests are told', re.search(rb"files? fetched, \d+ from the cache: 0\.\d\d MiB in \d+ requests", live.text), live.text[-600:])
    c.check('and tells no secret', not any(s.encode() in live.text for s in c.secrets), live.text)
    c.check('with the server its helper ends', len(helpers) == 1 and all(map(is_gone, helpers)), helpers)
    c.check('nothing is left open', not left_open(c), left_open(c))
    slow(c, bucket, url)
    limited(c, bucket, url)

    live = Live(c, url)
    live.get(OVERVIEW.format(run='run', host='host1'))
    helpers = live.helpers()
    live.end(signal.SIGKILL)
    end = time.monotonic() + PATIENCE_S
    while not all(map(is_gone, helpers)) and time.monotonic() < end:
        time.sleep(0.05)
    c.check('a server that is killed takes its helper with it', len(helpers) == 1 and all(map(is_gone, helpers)), helpers)
    c.check('which leaves nothing open', not left_open(c), left_open(c))

    live = Live(c, url)
    live.get(OVERVIEW.format(run='run', host='host1'))
    killed(c, live, bucket, before)
    live.end()
