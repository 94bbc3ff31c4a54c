#!/usr/bin/env python3
"""The examples for continuous integration (docs/ci), run as a runner does: their scripts, line by line, in a repository made here."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'lib'))
import checks

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAIRS = os.path.join(ROOT, 'tests', 'data', 'pairs')


def github_steps(path):
    """The `run: |` blocks, without their indent."""
    with open(path) as f:
        text = f.read()
    return [re.sub(r'(?m)^ {10}', '', b) for b in re.findall(r'(?m)^ {8}run: \|\n((?: {10}.*\n)+)', text)]


def gitlab_steps(path):
    """The items of `script:`."""
    with open(path) as f:
        text = f.read()
    return re.findall(r'(?m)^    - (.*)$', re.search(r'(?m)^  script:\n((?:    - .*\n)+)', text)[1])


def git(repository, *args):
    return subprocess.run(['git', '-c', 'user.name=t', '-c', 'user.email=t@example.org', '-c', 'commit.gpgsign=false', *args], cwd=repository,
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout.strip()


def commit(repository, side):
    """profile.sh of this commit: the next of the recorded runs of a side."""
    with open(os.path.join(repository, 'profile.sh'), 'w') as f:
        f.write(f'#!/bin/sh\nset -e\nmkdir -p "$1"\ncp -r {PAIRS}/{side}/plugins/profile/run$(basename "$1")/. "$1"\n')
    os.chmod(os.path.join(repository, 'profile.sh'), 0o755)
    git(repository, 'add', '.')
    git(repository, 'commit', '-q', '--allow-empty', '-m', side)
    return git(repository, 'rev-parse', 'HEAD')


def repository_of(where, base, new):
    repository = os.path.join(where, 'repository')
    os.makedirs(repository)
    git(repository, 'init', '-q', '-b', 'main')
    sha = commit(repository, base)
    git(repository, 'update-ref', 'refs/remotes/origin/main', sha)
    commit(repository, new)
    return repository, sha


def play(steps, repository, env, shell):
    """(status, output): as a runner, the first step that fails ends the job."""
    out = ''
    for step in steps:
        done = subprocess.run([*shell, step], cwd=repository, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        out += done.stdout
        if done.returncode:
            return done.returncode, out
    return 0, out


def check_all(binary, scratch):
    c = checks.Counts()
    for new, status in (('base', 0), ('new', 1)):
        with tempfile.TemporaryDirectory(dir=scratch) as where:
            repository, sha = repository_of(where, 'base', new)
            page = os.path.join(where, 'summary.md')
            env = {**os.environ, 'PATH': os.path.dirname(binary) + os.pathsep + os.environ['PATH'], 'GITHUB_STEP_SUMMARY': page,
                   'GITHUB_BASE_REF': 'main', 'CI_MERGE_REQUEST_DIFF_BASE_SHA': sha}
            steps = github_steps(os.path.join(ROOT, 'docs', 'ci', 'github.yml'))
            got, out = play(steps, repository, env, ['bash', '--noprofile', '--norc', '-eo', 'pipefail', '-c'])
            c.check(f'GitHub, {new}', len(steps) == 2 and got == status and f'::{"error" if status else "notice"} title=step_time' in out, out)
            with open(page) as f:
                text = f.read()
            c.check(f'its summary page, {new}', ('regression' if status else 'pass') in text and '|---|' in text, text)
            git(repository, 'worktree', 'remove', '--force', 'base')
            shutil.rmtree(os.path.join(repository, 'profiles'))
            steps = gitlab_steps(os.path.join(ROOT, 'docs', 'ci', 'gitlab.yml'))
            # GitLab joins the lines to one script of one shell.
            got, out = play(['\n'.join(steps)], repository, env, ['bash', '-eo', 'pipefail', '-c'])
            report = os.path.join(repository, 'gate.xml')
            cases = list(ET.parse(report).iter('testcase')) if os.path.exists(report) else []
            c.check(f'GitLab, {new}', len(steps) == 5 and got == status and len(cases) == 2, out)
            c.check(f'its report, {new}', len([c for c in cases if c.find('failure') is not None]) == 2 * status, out)
            with open(os.path.join(repository, 'difference.md')) as f:
                c.check(f'its tables, {new}', '|---|' in f.read())
    return c


if __name__ == '__main__':
    sys.exit(checks.main('runner', check_all))
