#!/usr/bin/env python3
"""The lines of README.md that make a profile, run as they stand there by today's JAX and TensorFlow, and what they leave opened."""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import against_xprof

# What a reader's program has before these lines.
BEFORE = {
    'jax': 'import jax, jax.numpy as jnp\ntrain_step = jax.jit(lambda s: jnp.tanh(s @ s))\nstate = train_step(jnp.ones((256, 256)))\n',
    'tf': 'import tensorflow as tf\ntrain_step = tf.function(lambda s: tf.tanh(s @ s))\nstate = train_step(tf.ones((256, 256)))\n',
}


def main():
    with open(os.path.join(HERE, '..', '..', 'README.md'), encoding='utf-8') as f:
        blocks = re.findall(r'(?ms)^```python\n(.*?)^```', f.read())
    passed = failed = 0
    for module, before in BEFORE.items():
        code = [b for b in blocks if re.search(rf'\b{module}\.', b) and 'torch' not in b]
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([against_xprof.RECORD, '-c', before + ''.join(code)], cwd=folder, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=300)
            shown = subprocess.run([against_xprof.BIN, 'summary', os.path.join(folder, 'logs')], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, timeout=60)
        good = len(code) == 1 and done.returncode == 0 and shown.returncode == 0 and re.search(r'\b[0-9]+ steps\b', shown.stdout)
        passed, failed = passed + bool(good), failed + (not good)
        if not good:
            print(f'{module}: {len(code)} blocks of code\n{done.stdout[-2000:]}\n{shown.stdout}')
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
