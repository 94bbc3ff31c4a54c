"""Read and write XSpace files (the protobuf messages of xplane.proto) with nothing but Python.

A message is a list of [field number, wire type, value]; values of sub-messages that we look into are such lists again. What is not known
stays as it was, so that reading and writing gives the same bytes, but for lengths that were written wider than needed.
"""
import struct

# Which fields are messages: {message: {field: message}}; the maps are entries {1: key, 2: value}
MESSAGES = {
    'space': {1: 'plane'},
    'plane': {3: 'line', 4: 'event_meta_entry', 5: 'stat_meta_entry', 6: 'stat'},
    'line': {4: 'event'},
    'event': {4: 'stat'},
    'event_meta_entry': {2: 'event_meta'},
    'event_meta': {5: 'stat'},
    'stat_meta_entry': {2: 'stat_meta'},
    'stat': {},
    'stat_meta': {},
}


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def parse(data, kind='space'):
    known, fields, at = MESSAGES[kind], [], 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = read_varint(data, at)
        elif wire == 1:
            value, at = data[at:at + 8], at + 8
        elif wire == 5:
            value, at = data[at:at + 4], at + 4
        elif wire == 2:
            n, at = read_varint(data, at)
            value, at = data[at:at + n], at + n
            if number in known:
                value = parse(value, known[number])
        else:
            raise ValueError(f'wire type {wire} at byte {at}')
        fields.append([number, wire, value])
    return fields


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """One field: a number, or a text or message as bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def serialize(fields):
    out = bytearray()
    for number, wire, value in fields:
        out += varint(number << 3 | wire)
        if wire == 0:
            out += varint(value)
        elif wire == 2:
            body = serialize(value) if isinstance(value, list) else value
            out += varint(len(body)) + body
        else:
            out += value
    return bytes(out)


def get(fields, number, default=None):
    """The last value of a field, as readers take it."""
    for n, _, value in reversed(fields):
        if n == number:
            return value
    return default


def get_all(fields, number):
    return [value for n, _, value in fields if n == number]


def put(fields, number, value):
    """Set a number or text, in place where the field stands already."""
    wire = 0 if isinstance(value, int) else 2
    for f in fields:
        if f[0] == number:
            f[2] = value
            return
    fields.append([number, wire, value])


def text(fields, number):
    return get(fields, number, b'').decode('utf-8', 'replace')


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def double(value):
    return struct.unpack('<d', value)[0]
