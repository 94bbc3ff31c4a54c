"""Drawings of XProf and of stepscope in one form, so that what differs is the drawing and not its writing.

Nodes and boxes are numbered as they come. Left out are comments and style sheets; entities are letters, backslashes stand once, blanks in
constants are one; the colour that XProf writes with a semicolon is one; callers, which XProf lists as a hash table has them, stand in order.
docs/parity.md says why each differs.
"""
import re

ENTITIES = (('&lt;', '<'), ('&gt;', '>'), ('&quot;', '"'), ('&amp;', '&'))
ID = r'(?:n\d+|root|cluster_\d+|\d{6,})'


class Numbers:
    def __init__(self):
        self.seen = {}

    def of(self, name):
        kind = 'box' if name.startswith(('cluster', 'root')) else 'node'
        return self.seen.setdefault(name, f'{kind}{len(self.seen)}')


def one_line(line, ids):
    m = re.match(rf'({ID}) -> ({ID}) (\[.*)', line, re.S)
    if m:
        tail = re.sub(r'ltail="(cluster_\d+)"', lambda k: f'ltail="{ids.of(k.group(1))}"', m.group(3))
        return f'{ids.of(m.group(1))} -> {ids.of(m.group(2))} {tail}'
    m = re.match(rf'(subgraph )?({ID}) (.*)', line, re.S)
    return f'{m.group(1) or ""}{ids.of(m.group(2))} {m.group(3)}' if m else line


def form(text):
    text = re.sub(r'^//.*\n', '', text, flags=re.M)
    text = re.sub(r'stylesheet=<.*?\n>\n', '', text, flags=re.S)
    text = re.sub(r'\}\s*// cluster_\d+', '}', text)
    text = re.sub(r'color="(#\w+);"', r'color="\1";', text)
    ids = Numbers()
    text = '\n'.join(one_line(line.rstrip(), ids) for line in text.split('\n') if line.strip())
    text = re.sub(r'(Caller instructions: )([^<]*)', lambda m: m.group(1) + ', '.join(sorted(m.group(2).split(', '))), text)
    for entity, letter in ENTITIES:
        text = text.replace(entity, letter)
    text = text.replace('\\\\', '\\')
    return re.sub(r'<b>operand[^<]*</b> = .*?(?=<br/>|>, shape)', lambda m: re.sub(r'\s+', ' ', m.group(0)), text, flags=re.S)
