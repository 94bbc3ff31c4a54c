#!/usr/bin/env python3
"""The table of where bytes come in (docs/security.md) names every fuzz target, and none that does not exist; the tests that it names exist."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def section():
    with open(os.path.join(ROOT, 'docs', 'security.md'), encoding='utf-8') as f:
        return re.search(r'(?ms)^## Where bytes come in$(.*?)^## ', f.read())[1]


def run():
    """(passed, failed)"""
    text = section()
    with open(os.path.join(ROOT, 'tests', 'fuzz', 'targets'), encoding='utf-8') as f:
        targets = {line.split()[0] for line in f if line.strip() and not line.startswith('#')}
    rows = [row.strip('|').split('|') for row in re.findall(r'(?m)^\|.*\|$', text)][2:]
    named = {name for row in rows for name in re.findall(r'`([a-z_]+)`', row[1])}
    wrong = [f'docs/security.md: no row names the fuzz target {n}' for n in sorted(targets - named)]
    wrong += [f'docs/security.md: there is no fuzz target {n}' for n in sorted(named - targets)]
    wrong += [f'docs/security.md: there is no {n}' for n in re.findall(r'`(tests/[a-z_/.]+)`', text) if not os.path.exists(os.path.join(ROOT, n))]
    print('\n'.join(wrong), end='\n' if wrong else '')
    return (len(targets) - len(wrong), len(wrong)) if targets else (0, 1)
