"""Memory out of nothing: buffer assignments and heap traces at random, for programs that exist.

They reach what compilers seldom write: sharing in chains, memory that is freed and comes back under another name, allocations of every kind and
memory space, buffers without a byte, elements of tuples that are not there. One in a dozen traces frees what is not allocated.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'lib'))
import xspace

SIZES = (0, 1, 100, 16383, 16384, 16385, 40000, 1 << 20, 3 << 20)
SPACES = (0, 0, 0, 1, 5)
ALLOC, FREE, SHARE = range(3)
MOST_EVENTS = 90


def number(field, value):
    return [field, 0, value]


def message(field, value):
    return [field, 2, value]


def tuple_size(shape):
    return sum(f[0] == 4 for f in xspace.parse(shape, 'stat'))


def logical_buffers(rnd, instrs):
    """[(id, size, fields of its Location)]; instrs: [(name, id, shape)]"""
    out = []
    for ident in rnd.sample(range(rnd.choice((0, 1, 1, 1)), 500), rnd.randrange(1, 40)):
        name, instr, shape = rnd.choice(instrs)
        where = [message(2, name.encode())] if rnd.random() < 0.9 else []
        where.append(number(4, instr))
        elements = tuple_size(shape)
        if (elements and rnd.random() < 0.8) or rnd.random() < 0.05:
            index = [rnd.randrange(elements + 1) for _ in range(rnd.choice((1, 1, 2)))]
            where.append(message(3, b''.join(xspace.varint(k) for k in index)))
        out.append((ident, rnd.choice(SIZES + (rnd.randrange(1, 1 << 22),)), where))
    return out


def kind_of(rnd, n, at):
    """Fields that say what an allocation is for; of many buffers it is temporary."""
    kind = 'temporary' if n > 4 else rnd.choice(('temporary',) * 3 + ('parameter', 'constant', 'result', 'thread', 'mixed'))
    mixed = kind == 'mixed'
    fields = []
    if kind == 'parameter' or (mixed and rnd.random() < 0.5):
        fields += [number(5, 1), number(6, at)]
    for name, field, share in (('constant', 12, 0), ('result', 7, 0.5), ('thread', 3, 0.3), ('', 13, 0.2)):
        if kind == name or (mixed and rnd.random() < share):
            fields.append(number(field, 1))
    return fields + ([number(11, 1)] if rnd.random() < 0.1 else [])


class Trace:
    """Buffers of one allocation as they come, share and go."""

    def __init__(self, rnd, ids, instrs):
        self.rnd, self.instrs, self.events = rnd, instrs, []
        self.owner, self.users, self.here = {}, {}, []
        self.wild = rnd.random() < 0.08
        self.waiting = rnd.sample(ids, len(ids))

    def root(self, ident):
        while ident in self.owner:
            ident = self.owner[ident]
        return ident

    def say(self, kind, ident, shared=None):
        fields = [number(1, kind)] if kind or self.rnd.random() < 0.5 else []
        fields += [number(2, ident), message(3, b'c'), message(4, self.rnd.choice(self.instrs)[0].encode())]
        self.events.append(fields + ([number(5, shared)] if shared is not None else []))

    def come(self):
        ident, rnd = self.waiting.pop(), self.rnd
        shared = rnd.choice(self.here) if self.here and rnd.random() < 0.35 else None
        if shared is not None:
            self.owner[ident] = shared
        self.users[self.root(ident)] = self.users.get(self.root(ident), 0) + 1
        self.say(ALLOC if shared is None else SHARE, ident, shared)
        self.here.append(ident)

    def go(self):
        among = [b for b in self.here if self.wild or self.users.get(self.root(b), 0) > 0]
        if not among:
            return False
        ident = self.rnd.choice(among)
        self.users[self.root(ident)] -= 1
        self.say(FREE, ident)
        return True

    def play(self):
        while len(self.events) < MOST_EVENTS and (self.waiting or (self.here and self.rnd.random() < 0.9)):
            if self.waiting and (not self.here or self.rnd.random() < 0.5):
                self.come()
            elif not self.go() and not self.waiting:
                break
        return [message(1, e) for e in self.events]


def assignment(rnd, instrs):
    """The fields of a BufferAssignmentProto. A memory space has one trace: of several XProf takes any."""
    buffers, fields, traces, space_of = logical_buffers(rnd, instrs), [], [], {}
    left, at = rnd.sample(buffers, len(buffers)), 0
    while left:
        group = [left.pop() for _ in range(min(len(left), rnd.choice((1, 1, 1, 2, 5, 12))))]
        space, kind, offset, parts = rnd.choice(SPACES), kind_of(rnd, len(group), at), 0, []
        for ident, size, _ in group:
            space_of.setdefault(ident, space)
            parts.append(message(9, [number(1, ident), number(2, offset), number(3, size)]))
            offset += rnd.choice((0, size))
        size = max(offset, max(s for _, s, _ in group)) + rnd.choice((0, 64, 1000))
        fields.append(message(3, [number(1, at), number(2, size), *kind, *([number(8, space)] if space else []), *parts]))
        temporary = not any(f[0] in (3, 5, 7, 12) for f in kind)
        if temporary and space not in {s for s, _ in traces} and rnd.random() < 0.9:
            events = Trace(rnd, [ident for ident, _, _ in group], instrs).play()
            traces.append((space, message(4, events + ([number(3, at)] if rnd.random() < 0.9 else []))))
        at += 1
    heads = [message(1, [number(1, i), number(2, s), message(3, w), *([number(4, space_of[i])] if space_of[i] else [])])
             for i, s, w in buffers]
    return heads + fields + [t for _, t in traces]
