#!/usr/bin/env python3
"""What was built has the protections that cmake/hardening.cmake asks for: read from the files, not from the options.

    tests/cli/hardening.py --build build
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'lib'))
import checks

BINARIES = ['stepscope', 'libstepscope.so', 'instrument/libsstrace.so', 'instrument/libsstrace_inject.so',
            'instrument/libsstrace_server.so']
# How functions begin that may be jumped to: endbr64; paciasp or bti c.
LANDINGS = {'X86-64': {'f30f1efa'}, 'AArch64': {'3f2303d5', '5f2403d5'}}


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
    c.check(f'{name}: code at any address', re.search(r'Type: +DYN', header))
    c.check(f'{name}: relocations are read-only', 'GNU_RELRO' in segments)
    c.check(f'{name}: all are made at the start', 'BIND_NOW' in dynamic or re.search(r'FLAGS_1\).* NOW', dynamic))
    c.check(f'{name}: no text relocations', 'TEXTREL' not in dynamic)
    c.check(f'{name}: the stack is not code', stack == ['RW'], stack)
    c.check(f'{name}: nothing is writable and code', all(flag in ('R', 'RE', 'RW') for kind, flag in flags if kind == 'LOAD'), flags)
    c.check(f'{name}: no path to libraries but its own', not re.search(r'R(UN)?PATH.*\[(?!\$ORIGIN)', dynamic), dynamic)
    c.check(f'{name}: stack protector', '__stack_chk_fail' in called)
    if machine and (compiles(build, '-fcf-protection=full') or compiles(build, '-mbranch-protection=standard')):
        bad = landing(path, machine)
        c.check(f'{name}: indirect jumps land where functions begin', bad is None, bad)
    return called


def check_all(build, scratch):
    c = checks.Counts()
    called = {name: check(c, build, name) for name in BINARIES}
    # The C library's checked functions: which of them a binary needs depends on what it calls.
    for name in ('stepscope', 'libstepscope.so', 'instrument/libsstrace.so'):
        checked = [f for f in called[name] if f.endswith('_chk') and f != '__stack_chk_fail']
        c.check(f'{name}: FORTIFY', checked)
    return c


if __name__ == '__main__':
    sys.exit(checks.main('hardening', check_all, 'build', 'build'))
