#!/usr/bin/env python3
"""What `./dev install` installs: complete, usable from any place, and programs compile with the lines of docs/libsstrace.md and docs/python.md."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'lib'))
import checks

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLE = os.path.join(ROOT, 'tests', 'data', 'profiles', 'synth_tpu1')
FILES = '''bin/stepscope bin/capture_tpu_profile lib/libstepscope.so lib/libsstrace.so lib/libsstrace.a lib/libsstrace_server.so
lib/libsstrace_server.a lib/stepscope/libsstrace_inject.so include/ss_trace.h include/ss_trace_server.h include/stepscope/stepscope.h
lib/pkgconfig/stepscope.pc lib/pkgconfig/sstrace.pc lib/pkgconfig/sstrace_server.pc share/man/man1/stepscope.1 share/stepscope/sstrace.py'''.split()
PROGRAMS = {
    'traced.c': '''#include <stdio.h>
#include "ss_trace.h"
int main(int argc, char **argv)
{
	struct ss_trace_options options = { sizeof(options) };
	options.logdir = argv[argc - 1];
	ss_trace_start(&options);
	{
		SS_TRACE("work");
		puts("working");
	}
	return ss_trace_stop() ? 0 : 1;
}
''',
    'served.c': '''#include "ss_trace.h"
#include "ss_trace_server.h"
int main(int argc, char **argv)
{
	struct ss_trace_options options = { sizeof(options) };
	options.logdir = argv[argc - 1];
	ss_trace_start(&options);
	{
		SS_TRACE("work");
	}
	return ss_trace_stop() && ss_trace_server_start ? 0 : 1;
}
''',
    'asked.c': '''#include <stdio.h>
#include <stepscope/stepscope.h>
int main(void)
{
	puts(stepscope_version());
	return 0;
}
''',
}


def shell(command, cwd, **env):
    return subprocess.run(['sh', '-c', command], cwd=cwd, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True, timeout=120)


def lines_of(page):
    """Lines of code of a page that compile a program."""
    with open(os.path.join(ROOT, 'docs', page)) as f:
        return re.findall(r'^(?:cc|c\+\+) .*pkg-config.*$', f.read(), re.M)


def compiled(c, scratch, prefix):
    """Each line, as it stands in the documents; then the program runs and what it wrote is a profile."""
    env = {'PKG_CONFIG_PATH': os.path.join(prefix, 'lib', 'pkgconfig'), 'LD_LIBRARY_PATH': os.path.join(prefix, 'lib')}
    lines = [(p, line) for p in ('libsstrace.md', 'python.md') for line in lines_of(p)]
    c.check('lines in the documents', len(lines) >= 5, lines)
    for i, (page, line) in enumerate(lines):
        folder = os.path.join(scratch, str(i))
        os.makedirs(folder)
        for name, text in PROGRAMS.items():
            with open(os.path.join(folder, name), 'w') as f:
                f.write(text)
        if line.startswith('c++') and not shutil.which('c++'):
            continue
        done = shell(line.partition(' #')[0], folder, **env)
        c.check(f'{page}: {line}', done.returncode == 0, done.stdout)
        out = re.search(r'-o (\w+)', line).group(1)
        ran = shell(f'./{out} {folder}/log', folder, **env)
        c.check(f'{page}: {line}: runs', ran.returncode == 0, ran.stdout)
        if page == 'libsstrace.md':
            said = shell(f'{prefix}/bin/stepscope doctor {folder}/log', folder)
            c.check(f'{page}: {line}: its profile', said.returncode == 0, said.stdout)
        if '.a' in line and out != 'asked':
            c.check('linked in', 'libsstrace' not in shell(f'ldd {out}', folder).stdout, line)


def check_all(build, scratch):
    c = checks.Counts()
    first, prefix = os.path.join(scratch, 'first'), os.path.join(scratch, 'a place')
    done = shell(f'cmake --install {build} --prefix {first}', ROOT)
    c.check('installs', done.returncode == 0, done.stdout[-500:])
    os.rename(first, prefix)        # whatever was installed works elsewhere, too
    for file in FILES:
        c.check(file, os.path.exists(os.path.join(prefix, file)), 'is missing')
    done = subprocess.run([os.path.join(prefix, 'bin', 'stepscope'), 'summary', SAMPLE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    c.check('the installed program', done.returncode == 0 and b'stepscope serve' in done.stdout, done.stdout[-300:])
    os.rename(prefix, os.path.join(scratch, 'place'))
    compiled(c, scratch, os.path.join(scratch, 'place'))
    return c


if __name__ == '__main__':
    sys.exit(checks.main('install', check_all, 'build', 'build'))
