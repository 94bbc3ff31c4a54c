#!/usr/bin/env python3
"""Output that is shown in README.md is what the program prints.

    readme.py [--bin build/stepscope]       compare
    readme.py --rewrite                     show what is printed now; review the diff

A block of which the first line is "$ stepscope ..." is run by a shell, from the top of the repository; the rest of it is the output.
"""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
README = os.path.join(ROOT, 'README.md')
BLOCK = re.compile(r'(?m)^```\n\$ (stepscope .*)\n((?:(?!```).*\n)*)```$')


def output(binary, command):
    env = {**os.environ, 'PATH': os.path.dirname(os.path.abspath(binary)) + os.pathsep + os.environ['PATH']}
    done = subprocess.run(command, shell=True, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    return done.stdout if done.returncode == 0 else None


def run(binary, rewrite=False):
    """(passed, failed)"""
    with open(README, encoding='utf-8') as f:
        text = f.read()
    counts = [0, 0]

    def look(block):
        got = output(binary, block[1])
        good = got == block[2]
        counts[not good and not (rewrite and got is not None)] += 1
        if not good and not rewrite:
            print(f'README.md: `{block[1]}` prints something else now: ./dev golden shows it there')
        if got is None:
            print(f'README.md: `{block[1]}` fails')
            return block[0]
        return f'```\n$ {block[1]}\n{got}```'

    new = BLOCK.sub(look, text)
    if rewrite and new != text:
        with open(README, 'w', encoding='utf-8') as f:
            f.write(new)
    return counts if sum(counts) else (0, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--bin', default=os.path.join(ROOT, 'build', 'stepscope'))
    parser.add_argument('--rewrite', action='store_true')
    args = parser.parse_args()
    passed, failed = run(args.bin, args.rewrite)
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
