"""Commands that the documentation shows are run: those in blocks that ask a profile below logs/ or LOGDIR. Each must end well and say something
about one of the samples."""
import glob
import os
import re
import subprocess
import tempfile

import profiles

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLES = ('synth_tpu_2cores', 'jax_mlp_train', 'gpu_mi300_gemm')
BLOCK = re.compile(r'(?m)^```(?:sh|bash)?\n((?:(?!```).*\n)*)```$')
ASKS = re.compile(r'^stepscope (?:tool|sql|export|xprof) ')
PLACE = re.compile(r'(?<=\s)(?:logs/|LOGDIR)(?=\s|$)')


def commands(text):
    """Of several lines each, where a quotation goes on."""
    for block in BLOCK.findall(text):
        held = ''
        for line in block.replace('\\\n', ' ').splitlines():
            held = f'{held}\n{line}' if held else line
            if held.count('"') % 2 == 0 and held.count("'") % 2 == 0:
                if ASKS.match(held) and PLACE.search(held):
                    yield held
                held = ''


def says(binary, command, sample, scratch):
    env = {**os.environ, 'PATH': os.path.dirname(os.path.abspath(binary)) + os.pathsep + os.environ['PATH']}
    command = PLACE.sub(profiles.logdir(sample, scratch), command)
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run(['bash', '-o', 'pipefail', '-c', command], cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120)
        written = any(os.path.getsize(p) for p in glob.glob(os.path.join(work, '*')))
        return done.returncode == 0 and (done.stdout.strip() or written), done.stderr.decode(errors='replace')[:300]


def run(binary):
    """(passed, failed)"""
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        for page in (os.path.join(ROOT, 'README.md'), *sorted(glob.glob(os.path.join(ROOT, 'docs', '**', '*.md'), recursive=True))):
            with open(page, encoding='utf-8') as f:
                found = list(commands(f.read()))
            for command in found:
                answers = []
                while len(answers) < len(SAMPLES) and not (answers and answers[-1][0]):
                    answers.append(says(binary, command, SAMPLES[len(answers)], scratch))
                good = bool(answers[-1][0])
                passed, failed = passed + good, failed + (not good)
                if not good:
                    print(f'{os.path.relpath(page, ROOT)}: `{command}` gives no answer for {", ".join(SAMPLES)}: {[why for _, why in answers]}')
    return (passed, failed) if passed else (0, failed + 1)
