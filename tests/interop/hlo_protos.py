"""Programs as XLA writes them: hlo_protos.py IN OUT, run by the python that has jax.

IN is JSON: a list of HLO texts; OUT gets a list of HloProto messages in base64, null where XLA does not take the text (the reason goes to stderr).
"""
import base64
import json
import sys


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def main():
    from jaxlib import _hlo
    with open(sys.argv[1]) as f:
        texts = json.load(f)
    protos = []
    for text in texts:
        try:
            raw = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
            protos.append(base64.b64encode(b'\x0a' + varint(len(raw)) + raw).decode())
        except Exception as e:          # the caller counts them
            print(str(e)[:400], file=sys.stderr)
            protos.append(None)
    with open(sys.argv[2], 'w') as f:
        json.dump(protos, f)


if __name__ == '__main__':
    main()
