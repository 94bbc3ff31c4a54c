#!/usr/bin/env python3
"""ssh://HOST/DIR as PATH, through a real sshd that is started here on the loopback address: answers are those of the files, and little moves."""
import getpass
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import checks
import profiles

ROOT = os.path.dirname(os.path.dirname(HERE))
SAMPLE = os.path.join(profiles.ROOT, 'synth_tpu_3hosts')


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Relay:
    """Between ssh and sshd: counts the bytes that move, both ways."""
    def __init__(self, port):
        self.to, self.bytes, self.lock = port, 0, threading.Lock()
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near = self.listener.accept()[0]
            except OSError:
                return
            far = socket.create_connection(('127.0.0.1', self.to))
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=(a, b), daemon=True).start()

    def pump(self, a, b):
        try:
            while data := a.recv(65536):
                with self.lock:
                    self.bytes += len(data)
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def taken(self):
        with self.lock:
            n, self.bytes = self.bytes, 0
        return n


class Checks(checks.Counts):
    def __init__(self, binary, scratch):
        self.binary, self.scratch = binary, scratch
        self.port = free_port()
        self.start_sshd()
        self.relay = Relay(self.port)
        # The user's ssh with a configuration of ours.
        wrapper = os.path.join(scratch, 'ssh')
        with open(wrapper, 'w') as f:
            f.write(f'#!/bin/sh\nexec ssh -F {scratch}/config "$@"\n')
        os.chmod(wrapper, 0o755)
        with open(os.path.join(scratch, 'config'), 'w') as f:
            f.write(f'Host far\n HostName 127.0.0.1\n Port {self.relay.port}\n User {getpass.getuser()}\n'
                    f'Host *\n IdentityFile {scratch}/key\n IdentitiesOnly yes\n UserKnownHostsFile {scratch}/known\n StrictHostKeyChecking accept-new\n'
                    ' BatchMode yes\n LogLevel ERROR\n')
        self.env = {**os.environ, 'STEPSCOPE_SSH': wrapper, 'STEPSCOPE_SSH_PROGRAM': binary}

    def start_sshd(self):
        for name in ('key', 'hostkey'):
            subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', os.path.join(self.scratch, name)], check=True)
        shutil.copy(os.path.join(self.scratch, 'key.pub'), os.path.join(self.scratch, 'authorized'))
        with open(os.path.join(self.scratch, 'sshd_config'), 'w') as f:
            f.write(f'Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.scratch}/hostkey\nPidFile {self.scratch}/pid\n'
                    f'AuthorizedKeysFile {self.scratch}/authorized\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n')
        if os.geteuid() == 0:
            os.makedirs('/run/sshd', exist_ok=True)
        self.sshd = subprocess.Popen([shutil.which('sshd', path=os.environ['PATH'] + ':/usr/sbin'), '-D', '-e', '-f', os.path.join(self.scratch, 'sshd_config')],
                                     stderr=open(os.path.join(self.scratch, 'sshd.log'), 'wb'))
        for _ in range(100):
            with socket.socket() as s:
                if s.connect_ex(('127.0.0.1', self.port)) == 0:
                    return
            time.sleep(0.05)
        raise SystemExit('sshd does not listen: ' + open(os.path.join(self.scratch, 'sshd.log')).read())

    def run(self, *args, **env):
        return subprocess.run([self.binary, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, env={**self.env, **env}, stdin=subprocess.DEVNULL)

    def case(self, what, args, status, err, **env):
        done = self.run(*args, **env)
        said = done.stderr.decode('utf-8', 'replace')
        self.check(what, done.returncode == status and (re.search(err, said, re.S) if err else said == ''),
                   f'status {done.returncode}, {said[:500]!r}, {done.stdout[:200]!r}')
        return done.stdout


def same_answers(c):
    odd = os.path.join(c.scratch, "it's $HOME; `echo` a \"dir\"")
    shutil.copytree(SAMPLE, odd)
    for where in (SAMPLE, odd):
        for command in (['runs'], ['tools'], ['tool', 'overview_page', '--format', 'json'], ['tool', 'stragglers', '--format', 'csv']):
            here = c.run(*command, where)
            far = c.run(*command, 'ssh://far' + where)
            c.check(f'{command} there as here', here.returncode == far.returncode == 0 and here.stdout == far.stdout, far.stderr[:300])
    query = "select count(*) as n, 'it''s' as t from events where name <> '; exit 3'"
    c.check('a query with quotes', c.run('sql', SAMPLE, query).stdout == c.run('sql', 'ssh://far' + SAMPLE, query).stdout != b'')
    direct = f'ssh://{getpass.getuser()}@127.0.0.1:{c.port}{SAMPLE}'
    c.check('user, address and port', c.run('runs', direct).stdout == c.run('runs', SAMPLE).stdout, c.run('runs', direct).stderr)
    for command in (['get_overview', SAMPLE], ['get_hlo_op_profile', SAMPLE, '--view=category'], ['no_such_subcommand', SAMPLE]):
        here, far = c.run('xprof', *command), c.run('xprof', command[0], 'ssh://far' + SAMPLE, *command[2:])
        c.check(f'xprof {command[0]} there as here', here.returncode == far.returncode and here.stdout == far.stdout, (far.returncode, far.stderr[:300]))
    c.case('a comparison', ['diff', 'ssh://far' + SAMPLE, 'ssh://far' + odd], 0, None)
    c.case('options with a path', ['diff', '--base=ssh://far' + SAMPLE, '--new', 'ssh://far' + odd], 0, None)
    c.check('an export to stdout', c.case('export', ['export', 'ssh://far' + SAMPLE, '--host', 'host0', '--to', 'chrome'], 0, None).startswith(b'{'))
    asked = subprocess.run([c.binary, 'mcp', 'ssh://far' + SAMPLE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, env=c.env,
                           input=b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"runs","arguments":{}}}\n')
    c.check('an agent', b'host2' in asked.stdout, asked)
    at_home = os.path.relpath(SAMPLE, os.path.expanduser('~'))
    c.check('the home directory', c.run('runs', 'ssh://far/~/' + at_home).stdout == c.run('runs', SAMPLE).stdout)


def refused(c):
    c.case('no such directory', ['runs', 'ssh://far/nowhere'], 1, "cannot open '/nowhere'")
    c.case('a status comes back', ['summary', 'ssh://far' + SAMPLE, '--nonsense'], 2, 'nonsense')
    c.case('no machine', ['runs', 'ssh://nowhere.invalid/logs'], 1, "no answer came from 'nowhere.invalid': .* ended with status 255")
    c.case('no directory', ['runs', 'ssh://far'], 1, 'names no directory')
    c.case('two machines', ['diff', 'ssh://a/x', 'ssh://b/x'], 2, 'are two machines')
    for bad in ('ssh://-oProxyCommand=touch%20x/logs', 'ssh://a@-x/logs', 'ssh://h:0/logs', 'ssh://h:x/logs', 'ssh:///logs', 'ssh://a b/logs', "ssh://$(x)/logs"):
        c.case(bad, ['runs', bad], 1, 'does not name a machine')
    c.case('no output there', ['export', 'ssh://far' + SAMPLE, '--to', 'html', '-o', 'x.html'], 1, 'stepscope writes nothing on another machine')
    c.check('indeed', not os.path.exists('x.html'))
    c.case('a subcommand that writes', ['xprof', 'create_events_db', 'ssh://far' + SAMPLE], 1, 'create_events_db.*it writes a file where it runs')
    for command in (['track', 'add', 'h.db'], ['reduce'], ['merge']):
        c.case(f'{command[0]}', [*command, 'ssh://far' + SAMPLE], 1, 'does not run on other machines')
    c.case('no program there', ['runs', 'ssh://far' + SAMPLE], 1, 'there is no stepscope-nowhere on far', STEPSCOPE_SSH_PROGRAM='stepscope-nowhere')
    c.case('no ssh here', ['runs', 'ssh://far' + SAMPLE], 1, "cannot run '/nowhere/ssh'", STEPSCOPE_SSH='/nowhere/ssh')
    other = os.path.join(c.scratch, 'older')
    with open(other, 'w') as f:
        f.write(f'#!/bin/sh\n[ "$1" = --version ] && {{ echo stepscope 0.0.1; exit; }}\nexec {c.binary} "$@"\n')
    os.chmod(other, 0o755)
    c.case('another version', ['runs', 'ssh://far' + SAMPLE], 0, 'the other machine answers with stepscope 0.0.1', STEPSCOPE_SSH_PROGRAM=other)


def no_answer(c):
    """A status of 1 of `gate` is a regression, so it has to be stepscope's own; nor is 0 a pass that somebody else says."""
    sides = ['ssh://far' + SAMPLE, 'ssh://far' + SAMPLE]
    limits = ['--max', 'step_time=+3%']
    c.case('a pass there', ['gate', *sides, *limits], 0, None)
    for command in ('gate', 'diff'):
        c.case(f'{command}: no program there', [command, *sides], 2, 'there is no /nosuch on far', STEPSCOPE_SSH_PROGRAM='/nosuch')
        c.case(f'{command}: no machine', [command, 'ssh://127.0.0.1:1/x', 'ssh://127.0.0.1:1/y'], 2, 'no answer came')
        c.case(f'{command}: no ssh here', [command, *sides], 2, "cannot run '/nowhere/ssh'", STEPSCOPE_SSH='/nowhere/ssh')
        for status, program in (('1', 'false'), ('0', 'true')):
            c.case(f'{command}: ssh says {program}', [command, *sides], 2, f'no answer came .* ended with status {status}', STEPSCOPE_SSH=program)
    c.case('summary: ssh says true', ['summary', sides[0]], 1, 'no answer came .* ended with status 0', STEPSCOPE_SSH='true')


def one_machine(c):
    """Both sides of a comparison are there: a path of this machine would be another file there."""
    far, here = 'ssh://far' + SAMPLE, SAMPLE
    for args in ([far, here], [here, far], [far, 's3://bucket/logs'], ['--base', far, '--new', here], ['--base=' + here, '--new', far],
                 ['--ne', here, '--base', far], ['--steps', '1-2', far, '--strict', here], [far, '--', here]):
        for command in ('diff', 'gate'):
            c.case(f'{command} {args}', [command, *args], 2, 'is not a path on the machine that ssh:// names')
    c.case('values of options are no paths', ['diff', far, '--format', 'json', '--by', 'op', '--strict', '--steps=10-16', far], 0, None)


def no_password(c):
    for address in ('root:SEKRET@127.0.0.1:22', 'root:SEKRET@far', 'root:SEK@RET@far'):
        for args in (['summary', f'ssh://{address}/x'], ['diff', 'ssh://far/x', f'ssh://{address}/x'], ['runs', f'ssh://{address}']):
            done = c.run(*args)
            c.check(f'{args}', done.returncode and b'contains a password' in done.stderr and b'SEK' not in done.stderr and b'RET' not in done.stderr, done)
    done = c.run('summary', 'ssh://root:SEK/RET@far/x')
    c.check('a password with a slash', b'does not name a machine' in done.stderr and b'SEK' not in done.stderr, done)


def signals(c):
    """A signal for this program is one for ssh, and this program ends by it."""
    waits = os.path.join(c.scratch, 'waits')
    with open(waits, 'w') as f:
        f.write('#!/bin/sh\necho $$\nexec sleep 600\n')
    os.chmod(waits, 0o755)
    p = subprocess.Popen([c.binary, 'runs', 'ssh://far/x'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                         env={**c.env, 'STEPSCOPE_SSH': waits})
    pid = int(p.stdout.readline())
    p.send_signal(signal.SIGTERM)
    said = p.communicate(timeout=60)[1]
    try:
        os.kill(pid, 0)
        gone = False
    except ProcessLookupError:
        gone = True
    c.check('SIGTERM', p.returncode == -signal.SIGTERM and gone and not said, (p.returncode, gone, said))


def listeners(path):
    """Processes that serve the directory."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as f:
                words = f.read().split(b'\0')
        except OSError:
            continue
        if b'serve' in words[1:2] and path.encode() in words and words[0].endswith(b'stepscope'):
            found.append(int(pid))
    return found


# What the page asks for until the overview is there.
FIRST_SCREEN = ('/', '/app.js', '/app.css', '/icon.svg', '/api/runs', '/api/tools?run={}', '/api/tool/overview_page?run={}')


def serve_far(c, path):
    """The server and its port. Both ports, here and there, are free when they are chosen; whoever takes one first has it, so there are three tries."""
    for _ in range(3):
        port, said = free_port(), []
        p = subprocess.Popen([c.binary, 'serve', '--port', str(port), '--logdir', 'ssh://far' + path], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=c.env)
        for line in p.stderr:
            said.append(line.decode(errors='replace'))
            if b'Ctrl-C' in line:
                return p, port
        p.wait(10)
        p.stderr.close()
    c.check('a server there', False, ''.join(said))
    raise SystemExit(f'{c.passed} passed, {c.failed} failed')


def first_screen(port, run):
    sizes = []
    for path in FIRST_SCREEN:
        h = http.client.HTTPConnection('127.0.0.1', port, timeout=60)
        h.request('GET', path.format(run), headers={'Accept-Encoding': 'gzip'})
        answer = h.getresponse()
        sizes.append(len(answer.read()) if answer.status == 200 else 0)
        h.close()
    return sizes


def end(p):
    p.send_signal(signal.SIGTERM)
    p.wait(60)
    p.stderr.close()


def bytes_moved(c):
    """What moves is the answer, whatever the profile's size: of 12 MB as of 0.4 MB."""
    generator = os.path.join(c.scratch, 'gen_xspace')
    subprocess.run(['cc', '-std=c11', '-D_DEFAULT_SOURCE', '-O2', os.path.join(ROOT, 'bench', 'gen_xspace.c'), '-o', generator, '-lm'], check=True)
    moved = {}
    for events in (10000, 300000):
        path = os.path.join(c.scratch, f'events{events}')
        os.mkdir(path)
        subprocess.run([generator, os.path.join(path, 'host.xplane.pb'), str(events)], check=True)
        c.relay.taken()
        c.case(f'summary of {events} events', ['summary', 'ssh://far' + path], 0, None)
        summary = c.relay.taken()
        p, port = serve_far(c, path)
        run = re.search(r'"run":"([^"]+)"', subprocess.run([c.binary, 'summary', path, '--format', 'json'], stdout=subprocess.PIPE).stdout.decode())
        sizes = first_screen(port, run[1] if run else os.path.basename(path))
        end(p)
        c.check(f'the page of {events} events', all(sizes), sizes)
        moved[events] = summary, c.relay.taken()
    (few, page), (many, large) = moved.values()
    c.check('a summary moves some kilobytes', many < 64 << 10 and many < few + (16 << 10), moved)
    c.check('the first screen moves less than 1 MB', large < 1 << 20 and large < page + (64 << 10), moved)


def served(c):
    path = os.path.join(c.scratch, 'served')    # nobody else serves it
    shutil.copytree(SAMPLE, path)
    p, port = serve_far(c, path)
    sizes = first_screen(port, 'run')
    c.check('the page comes through ssh', all(n > 0 for n in sizes), sizes)
    c.check('it runs there', len(listeners(path)) == 1, listeners(path))
    end(p)
    for _ in range(100):
        if not listeners(path):
            break
        time.sleep(0.1)
    c.check('the server there ends with the one here', not listeners(path), listeners(path))
    c.case('a wider address', ['serve', '--bind', '0.0.0.0', 'ssh://far' + SAMPLE], 1, 'does not apply to ssh://')
    c.case('no port', ['serve', '--port', '0', 'ssh://far' + SAMPLE], 1, 'is not a port')


def killed(c):
    """kill -9 leaves it no time to tell anybody."""
    path = os.path.join(c.scratch, 'killed')    # nobody else serves it
    shutil.copytree(SAMPLE, path)
    p, _ = serve_far(c, path)
    p.kill()
    p.wait(10)
    p.stderr.close()
    for _ in range(1000):
        if not listeners(path):
            break
        time.sleep(0.1)
    c.check('the server there ends with one that is killed here', not listeners(path), listeners(path))


def check_all(binary, scratch):
    c = Checks(binary, scratch)
    try:
        for part in (same_answers, refused, no_answer, one_machine, no_password, signals, served, killed, bytes_moved):
            part(c)
    finally:
        c.sshd.terminate()
        c.sshd.wait(10)
    return c


if __name__ == '__main__':
    sys.exit(checks.main('over-ssh', check_all))
