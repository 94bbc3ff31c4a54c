"""The frame of a test of the command line: what was checked, --bin or --build, a scratch directory, and the counts at the end."""
import argparse
import os
import shutil
import tempfile


class Counts:
    """What was checked; a class of a test adds its program and its questions."""
    passed = failed = 0

    def check(self, what, good, shown=''):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print(f'{what}: {str(shown)[:800]}')


def main(name, checks, option='bin', default='build/stepscope'):
    """Call checks(path of --bin, scratch), which returns what counts `passed` and `failed`. Returns the exit status."""
    a = argparse.ArgumentParser()
    a.add_argument(f'--{option}', default=default)
    path = os.path.abspath(getattr(a.parse_args(), option))
    scratch = tempfile.mkdtemp(prefix=f'{name}-')
    try:
        c = checks(path, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f'{c.passed} passed, {c.failed} failed')
    return c.failed > 0 or not c.passed
