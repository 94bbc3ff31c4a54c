#!/usr/bin/env python3
"""The corpus of a fuzz target as one archive, the same for the same files: the smallest first, until it is as large as it may be.

    tests/fuzz/pack.py FOLDER FILE.zip MAX_BYTES
"""
import hashlib
import os
import sys
import zipfile


def main():
    folder, out, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
    inputs = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), 'rb') as f:
            data = f.read()
        inputs[hashlib.sha1(data).hexdigest()[:12]] = data
    kept = 0
    with zipfile.ZipFile(out + '.part', 'w') as z:
        for name, data in sorted(inputs.items(), key=lambda e: (len(e[1]), e[0])):
            if z.fp.tell() + len(data) // 2 + 100 * (kept + 1) > most:
                break
            z.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED, 9)
            kept += 1
    os.rename(out + '.part', out)
    print(f'{out}: {kept} of {len(inputs)} inputs, {os.path.getsize(out)} bytes')


if __name__ == '__main__':
    main()
