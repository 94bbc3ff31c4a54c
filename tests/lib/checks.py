"""The frame of a test of the command line: --bin, a scratch directory, and the counts at the end."""
import argparse
import os
import shutil
import tempfile


def main(name, checks):
    """Call checks(binary, scratch), which returns what counts `passed` and `failed`. Returns the exit status."""
    a = argparse.ArgumentParser()
    a.add_argument('--bin', default='build/stepscope')
    binary = os.path.abspath(a.parse_args().bin)
    scratch = tempfile.mkdtemp(prefix=f'{name}-')
    try:
        c = checks(binary, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f'{c.passed} passed, {c.failed} failed')
    return c.failed > 0
