"""Files of a wheel packed by libdeflate at its highest level: 3 % fewer bytes than zlib's highest, and the same ones on every machine."""
import ctypes
import functools
import hashlib
import os
import struct
import time
import zlib

from libraries import CACHE, HERE, ZIG, below, run

LEVEL = 12


@functools.cache
def library(sources):
    """Built for this machine of the sources that a release has it of; kept below the cache."""
    with open(os.path.join(HERE, 'libraries'), 'rb') as f:
        path = os.path.join(CACHE, 'release', f'deflate-{hashlib.sha256(f.read()).hexdigest()[:16]}.so')
    if not os.path.exists(path):
        root = os.path.join(sources, 'libdeflate')
        run(ZIG, '-m', 'ziglang', 'cc', '-shared', '-fPIC', '-O2', '-s', '-o', path + '.part', *below(root, 'lib'), 'lib/x86/cpu_features.c',
            'lib/arm/cpu_features.c', cwd=root)
        os.rename(path + '.part', path)
    made = ctypes.CDLL(path)
    made.libdeflate_alloc_compressor.restype = ctypes.c_void_p
    made.libdeflate_deflate_compress.restype = ctypes.c_size_t
    made.libdeflate_deflate_compress.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    made.libdeflate_free_compressor.argtypes = [ctypes.c_void_p]
    return made


def packed(data, sources):
    """`data` as a stream of deflate without a header; None: it does not get smaller."""
    lib = library(sources)
    compressor = lib.libdeflate_alloc_compressor(LEVEL)
    room = ctypes.create_string_buffer(max(len(data), 1))
    n = lib.libdeflate_deflate_compress(compressor, data, len(data), room, len(data))
    lib.libdeflate_free_compressor(compressor)
    if not n:
        return None
    if zlib.decompress(room.raw[:n], -15) != data:
        raise SystemExit('release: what libdeflate packed is not what zlib unpacks')
    return room.raw[:n]


def zip_file(path, entries, epoch, sources):
    """A zip archive of `entries`, (name, mode, data) each, all of the time `epoch`."""
    t = max(time.gmtime(epoch)[:6], (1980, 1, 1, 0, 0, 0))
    clock, date = t[3] << 11 | t[4] << 5 | t[5] // 2, t[0] - 1980 << 9 | t[1] << 5 | t[2]
    body, directory = bytearray(), bytearray()
    for name, mode, data in entries:
        small, encoded = packed(data, sources), name.encode()
        # version needed, UTF-8 names, method, time, date, CRC, lengths of data, of the name and of what follows it
        head = struct.pack('<5H3I2H', 20, 0x800, 8 if small else 0, clock, date, zlib.crc32(data), len(small or data), len(data), len(encoded), 0)
        directory += b'PK\1\2' + struct.pack('<H', 3 << 8 | 20) + head + struct.pack('<3H2I', 0, 0, 0, mode << 16, len(body)) + encoded
        body += b'PK\3\4' + head + encoded + (small or data)
    n = len(entries)
    with open(path, 'wb') as f:
        f.write(body + directory + b'PK\5\6' + struct.pack('<4H2IH', 0, 0, n, n, len(directory), len(body), 0))
