"""Read a perfetto.protos.Trace, as far as traces of transfers between slices use it, into what can be compared."""
import collections
import gzip
import struct

import xspace


def fields(data):
    at = 0
    while at < len(data):
        key, at = xspace.read_varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = xspace.read_varint(data, at)
        elif wire == 2:
            n, at = xspace.read_varint(data, at)
            value, at = data[at:at + n], at + n
        else:
            n = 8 if wire == 1 else 4
            value, at = data[at:at + n], at + n
        yield key >> 3, value


def first(data, number, default=None):
    return next((v for n, v in fields(data) if n == number), default)


class Trace:
    """tracks: {path: counter's unit or ''}; events: a count of (track, time, type, name or value, arguments), flows by what they tie."""

    def __init__(self, data):
        self.names, self.tracks, self.events, self.flows = {}, {}, collections.Counter(), collections.defaultdict(list)
        packets = [p for n, p in fields(gzip.decompress(data)) if n == 1]
        self.describe(packets)
        for packet in packets:
            self.intern(packet)
            event = first(packet, 11)
            if event is not None:
                self.event(first(packet, 8, 0), event)
        self.ties = collections.Counter(tuple(sorted(v)) for v in self.flows.values())

    def describe(self, packets):
        found = {}
        for packet in packets:
            track = first(packet, 60)
            if track is not None:
                counter = first(track, 8)
                found[first(track, 1)] = first(track, 2, b'').decode(), first(track, 5), counter
        self.path = {}
        for uuid, (name, parent, counter) in found.items():
            path = [name]
            while parent:
                name, parent, _ = found[parent]
                path.append(name)
            self.path[uuid] = '/'.join(reversed(path))
            unit = first(counter, 6, b'').decode() + ' ' + first(counter, 7, b'').decode() if counter is not None else ''
            self.tracks[self.path[uuid]] = unit

    def intern(self, packet):
        interned = first(packet, 12)
        for kind, entry in fields(interned) if interned is not None else ():
            self.names[kind, first(entry, 1)] = first(entry, 2, b'').decode('utf-8', 'replace')

    def argument(self, note):
        value = None
        for number, v in fields(note):
            if number in (3, 4):
                value = v
            elif number == 5:
                value = struct.unpack('<d', v)[0]
            elif number == 17:
                value = self.names.get((29, v))
            elif number == 12:
                value = (value or ()) + (self.argument(v)[1],)
        return self.names.get((3, first(note, 1)), ''), value

    def event(self, time, event):
        where, kind = self.path.get(first(event, 11)), first(event, 9)
        name = self.names.get((2, first(event, 10)))
        if kind == 4:
            name = first(event, 30)
            if name is None:
                name = round(struct.unpack('<d', first(event, 44, bytes(8)))[0], 9)
        notes = [self.argument(v) for n, v in fields(event) if n == 4]
        arguments = tuple(sorted((k, str(v)) for k, v in notes if k not in ('flow_in', 'flow_out')))
        self.events[where, time, kind, name, arguments] += 1
        for number, ident in fields(event):
            if number in (47, 48):
                self.flows[ident].append((where, time, kind))


def differences(ref, got):
    """Lines that say what is in one trace only."""
    for path in ref.tracks.keys() | got.tracks.keys():
        if ref.tracks.get(path) != got.tracks.get(path):
            yield f'track {path}: {ref.tracks.get(path)!r} instead of {got.tracks.get(path)!r} here'
    for what, a, b in (('event', ref.events, got.events), ('tie', ref.ties, got.ties)):
        for key, n in (a - b).items():
            yield f'{what} {key} x{n}: only in XProf'
        for key, n in (b - a).items():
            yield f'{what} {key} x{n}: only here'
