#!/usr/bin/env python3
"""What ./dev and the scripts behind it say and do when something is missing, unknown or old. Nothing is installed: the system is made up."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'lib'))
import checks

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLS = '''awk basename cat cut date dirname env find grep head id kill ls mkdir mv nproc printf rm sed sh sha256sum sleep sort tail
touch tr uname wc xargs'''.split()
APT = '''#!/bin/sh
echo "$@" >>"$MARKS/apt"
case $* in
*--assume-no*)
	echo "0 upgraded, 85 newly installed, 0 to remove and 0 not upgraded."
	echo "Need to get 84.5 MB of archives."
	echo "After this operation, 316 MB of additional disk space will be used."
	;;
*) exit ${APT_STATUS:-0} ;;
esac
'''


class System:
    """A copy of the scripts, and a PATH with no package but those named; each fake command notes that it was called."""

    def __init__(self, folder, fakes):
        self.tree, self.bin, self.marks = (os.path.join(folder, d) for d in ('tree', 'bin', 'marks'))
        for d in (self.bin, self.marks):
            os.makedirs(d)
        shutil.copytree(os.path.join(ROOT, 'scripts'), os.path.join(self.tree, 'scripts'))
        shutil.copytree(os.path.join(ROOT, 'web'), os.path.join(self.tree, 'web'), ignore=shutil.ignore_patterns('node_modules', 'dist', 'build'))
        shutil.copy(os.path.join(ROOT, 'dev'), self.tree)
        for tool in TOOLS:
            os.symlink(shutil.which(tool) or f'/usr/bin/{tool}', os.path.join(self.bin, tool))
        for name, text in {'cmake': '', **fakes}.items():
            path = os.path.join(self.bin, name)
            if os.path.lexists(path):
                os.unlink(path)
            with open(path, 'w') as f:
                f.write(text or f'#!/bin/sh\necho "$@" >>"$MARKS/{name}"\n')
            os.chmod(path, 0o755)

    def run(self, *args, **env):
        return subprocess.run(args, cwd=self.tree, env={'PATH': self.bin, 'HOME': self.marks, 'MARKS': self.marks, **env},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)

    def called(self, name):
        return os.path.exists(os.path.join(self.marks, name))


def nobody(check):
    """Without root and without sudo: the command to type, and nothing is built."""
    for sudo in ({}, {'sudo': '#!/bin/sh\nexit 1\n'}):
        with tempfile.TemporaryDirectory() as folder:
            s = System(folder, {'id': '#!/bin/sh\necho 1000\n', 'apt-get': APT, **sudo})
            for verb in ('build', 'demo'):
                done = s.run('./dev', verb)
                typed = re.search(r'^ +sudo apt-get update && sudo apt-get install -y --no-install-recommends (.*)$', done.stdout, re.M)
                check(f'{verb} without root', done.returncode == 1 and typed and 'libmicrohttpd-dev' in typed[1].split() and
                      'cmake' not in typed[1].split() and not s.called('cmake') and not s.called('apt'), done)


def root(check):
    """As root: how much comes, and where the log is; a failure ends it."""
    for status in ('0', '100'):
        with tempfile.TemporaryDirectory() as folder:
            s = System(folder, {'id': '#!/bin/sh\necho 0\n', 'apt-get': APT})
            done = s.run('./dev', 'build', APT_STATUS=status)
            if status == '0':
                check('how much is installed', re.search(r'85 packages, 84\.5 MB to fetch, 316 MB on the disk .*apt-install\.log', done.stdout) and
                      s.called('cmake'), done)
            else:
                check('a failed installation ends it', done.returncode != 0 and 'apt-update.log' in done.stdout and not s.called('cmake'), done)


def page(check):
    with tempfile.TemporaryDirectory() as folder:
        s = System(folder, {})
        check('the page is fresh', s.run('scripts/page', '--fresh').returncode == 0)
        out = os.path.join(folder, 'page.c')
        done = s.run('scripts/embed-page', 'web/page.bin', out)
        check('the page is embedded', done.returncode == 0 and '{ "/", "text/html; charset=utf-8"' in open(out).read(), done)
        with open(os.path.join(s.tree, 'web', 'src', 'main.tsx'), 'a') as f:
            f.write('// more\n')
        check('changed sources make it older', s.run('scripts/page', '--fresh').returncode == 1)
        done = s.run('scripts/check-style', 'dev')
        check('style says so', done.returncode == 1 and './dev page' in done.stdout, done)
        path = os.path.join(s.tree, 'web', 'page.bin')
        whole = open(path, 'rb').read()
        for damaged in (whole[:-1], whole + b'x', b'\n' + whole, b''):
            with open(path, 'wb') as f:
                f.write(damaged)
            done = s.run('scripts/embed-page', 'web/page.bin', out)
            check(f'a damaged page of {len(damaged)} bytes', done.returncode == 1 and 'web/page.bin' in done.stdout, done)


def unknown(check):
    for args, said in ((['scripts/test', 'golden', 'frob'], r"unknown stage 'frob'; the stages are: .*\bgolden\b.*\bpeers-xprof\b"),
                       (['./dev', 'frob'], "unknown verb 'frob'"), (['scripts/bootstrap', 'frob'], "unknown part 'frob'"),
                       (['./dev', 'check', 'no/such.c'], 'no file no/such.c'), (['./dev', 'page', 'x'], 'page takes nothing')):
        done = subprocess.run(args, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        check(' '.join(args), done.returncode == 1 and re.search(said, done.stdout), done)


def check_all(_binary, _scratch):
    c = checks.Counts()

    def check(what, good, done=None):
        c.check(what, good, done and (done.returncode, done.stdout[-800:]))

    for case in (nobody, root, page, unknown):
        case(check)
    return c


if __name__ == '__main__':
    sys.exit(checks.main('scripts', check_all))
