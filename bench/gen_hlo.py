#!/usr/bin/env python3
"""gen_hlo.py OUT.xplane.pb INSTRUCTIONS: a profile that holds one compiled program of so many instructions.

Each instruction allocates a buffer and frees the one of three instructions before, as a chain of ops does; every eighth shares the
memory of its operand instead. What the compiler would write down of that stands beside the module: buffers, one allocation, and the
heap simulator's trace.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'tests', 'lib'))
from xspace import varint


def num(field, v):
    return varint(field << 3) + varint(v)


def msg(field, *parts):
    body = b''.join(p.encode() if isinstance(p, str) else p for p in parts)
    return varint(field << 3 | 2) + varint(len(body)) + body


F32, ALLOC, FREE, SHARE = 11, 0, 1, 2
LIFE, SHARES, MOST = 3, 8, 64           # instructions a buffer lives, every how many shares, different sizes


def elements(i):
    return 128 * (1 + i % MOST)


def instruction(i):
    shape = num(2, F32) + msg(3, varint(elements(i))) + msg(5, msg(1, varint(0)))
    operands = msg(36, varint(i - 1)) if i > 1 else b''
    opcode = 'negate' if i > 1 else 'constant'
    return msg(2, msg(1, f'{opcode}.{i}'), msg(2, opcode), msg(3, shape), num(35, i), operands)


def shares(i):
    return i % SHARES == 0 and i > 1


def trace(n):
    def event(kind, buffer, at, *more):
        return msg(1, num(1, kind), num(2, buffer), msg(3, 'main'), msg(4, f'{"negate" if at > 1 else "constant"}.{at}'), *more)
    for i in range(1, n + 1):
        yield event(SHARE, i, i, num(5, i - 1)) if shares(i) else event(ALLOC, i, i)
        if i > LIFE:
            yield event(FREE, i - LIFE, i)
    for i in range(max(1, n - LIFE + 1), n + 1):
        yield event(FREE, i, n)


def program(n):
    computation = msg(3, msg(1, 'main'), *(instruction(i) for i in range(1, n + 1)), num(5, 1), num(6, n))
    module = msg(1, msg(1, 'bench'), msg(2, 'main'), computation, num(5, 1), num(6, 1))
    buffers = [msg(1, num(1, i), num(2, 4 * elements(i)), msg(3, msg(2, f'{"negate" if i > 1 else "constant"}.{i}'), num(4, i)))
               for i in range(1, n + 1)]
    assigned = [msg(9, num(1, i), num(2, 4 * 128 * MOST * (i % (LIFE + 1))), num(3, 4 * elements(i))) for i in range(1, n + 1)]
    allocation = msg(3, num(1, 0), num(2, 4 * 128 * MOST * (LIFE + 1)), *assigned)
    return module + msg(3, *buffers, allocation, msg(4, *trace(n), num(2, 1), num(3, 0)))


def main():
    path, n = sys.argv[1], int(sys.argv[2])
    meta = num(1, 1) + msg(2, 'bench(1)') + msg(5, num(1, 1), msg(6, program(n)))
    plane = msg(2, '/host:metadata') + msg(4, num(1, 1), msg(2, meta)) + msg(5, num(1, 1), msg(2, num(1, 1), msg(2, 'Hlo Proto')))
    with open(path, 'wb') as f:
        f.write(msg(1, plane) + msg(4, 'vm'))


if __name__ == '__main__':
    main()
