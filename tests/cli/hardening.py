#!/usr/bin/env python3
"""What was built has the protections that cmake/hardening.cmake asks for: read from the files, not from the options.

    tests/cli/hardening.py --build build
"""
import argparse
import os
import re
import subprocess
import sys

BINARIES = ['stepscope', 'libstepscope.so', 'instrument/libsstrace.so', 'instrument/libsstrace_inject.so',
            'instrument/libsstrace_server.so']
# How functions begin that may be jumped to: endbr64; paciasp or bti c.
LANDINGS = {'X86-64': {'f30f1efa'}, 'AArch64': {'3f2303d5', '5f2403d5'}}


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def holds(self, what, good, got=''):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print(f'{what}: missing. {got}')


def readelf(*args):
    return subprocess.run(['readelf', '-W', *args], stdout=subprocess.PIPE, text=True, check=True).stdout


def compiles(build, flag):
    """Did CMake find that the compiler has it?"""
    name = 'SS_HAS' + re.sub('[^a-zA-Z0-9]', '_', flag)
    with open(os.path.join(build, 'CMakeCache.txt'), encoding='utf-8') as f:
        return re.search(f'^{name}:INTERNAL=1$', f.read(), re.M) is not None


def exported_functions(path):
    """Name, address of the functions that others call."""
    for line in readelf('--dyn-syms', path).splitlines():
        words = line.split()
        if len(words) > 7 and words[3] == 'FUNC' and words[4] == 'GLOBAL' and words[6] not in ('UND', 'ABS') and int(words[1], 16):
            yield words[7], int(words[1], 16)


def offset_of(path, address):
    for line in readelf('--segments', path).splitlines():
        words = line.split()
        if words and words[0] == 'LOAD' and int(words[2], 16) <= address < int(words[2], 16) + int(words[4], 16):
            return address - int(words[2], 16) + int(words[1], 16)
    return None


def landing(path, machine):
    """A function that does not begin as one that may be jumped to, or None."""
    with open(path, 'rb') as f:
        for name, address in exported_functions(path):
            f.seek(offset_of(path, address))
            if f.read(4).hex() not in LANDINGS[machine]:
                return name
    return None


def check(c, build, name):
    path = os.path.join(build, name)
    header, segments, dynamic = readelf('-h', path), readelf('-l', path), readelf('-d', path)
    called = {line.split()[7].split('@')[0] for line in readelf('--dyn-syms', path).splitlines() if ' UND ' in line and len(line.split()) > 7}
    flags = [(words[0], ''.join(words[6:-1])) for words in map(str.split, segments.splitlines()) if len(words) > 7]
    stack = [flag for kind, flag in flags if kind == 'GNU_STACK']
    machine = 'X86-64' if 'X86-64' in header else 'AArch64' if 'AArch64' in header else None
    c.holds(f'{name}: code at any address', re.search(r'Type: +DYN', header))
    c.holds(f'{name}: relocations are read-only', 'GNU_RELRO' in segments)
    c.holds(f'{name}: all are made at the start', 'BIND_NOW' in dynamic or re.search(r'FLAGS_1\).* NOW', dynamic))
    c.holds(f'{name}: no text relocations', 'TEXTREL' not in dynamic)
    c.holds(f'{name}: the stack is not code', stack == ['RW'], stack)
    c.holds(f'{name}: nothing is writable and code', all(flag in ('R', 'RE', 'RW') for kind, flag in flags if kind == 'LOAD'), flags)
    c.holds(f'{name}: no path to libraries but its own', not re.search(r'R(UN)?PATH.*\[(?!\$ORIGIN)', dynamic), dynamic)
    c.holds(f'{name}: stack protector', '__stack_chk_fail' in called)
    if machine and (compiles(build, '-fcf-protection=full') or compiles(build, '-mbranch-protection=standard')):
        bad = landing(path, machine)
        c.holds(f'{name}: indirect jumps land where functions begin', bad is None, bad)
    return called


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--build', default='build')
    a = p.parse_args()
    c = Checks()
    called = {}
    for name in BINARIES:
        called[name] = check(c, a.build, name)
    # The C library's checked functions: which of them a binary needs depends on what it calls.
    for name in ('stepscope', 'libstepscope.so', 'instrument/libsstrace.so'):
        checked = [f for f in called[name] if f.endswith('_chk') and f != '__stack_chk_fail']
        c.holds(f'{name}: FORTIFY', checked)
    print(f'{c.passed} passed, {c.failed} failed')
    return c.failed > 0


if __name__ == '__main__':
    sys.exit(main())
