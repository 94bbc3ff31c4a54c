"""How far does an answer agree with a reference answer?  Value by value, as a share.

Every leaf of the reference counts once: it is equal, different or lost. What the answer has beyond
the reference is free. Two leaves are equal when

  * both are numbers within 1e-6 relative or 1e-9 absolute;
  * both are printed numbers with the same unit ("12.3%", "4.50 ms") within one step of the last
    digit that the reference prints;
  * the reference is TEXT, the mark that stands for prose in stored references (see `mask`), and the
    answer holds some text: what is said is ours, that something is said is not;
  * otherwise, when they are the same value.

Containers are matched by what their elements are, not by where they stand: rows of a DataTable by
their names, tree nodes by name and time, steps by number, trace events as a multiset of
(pid, tid, name, begin, duration). Orders that hash tables decide are thus free; an order that means
something (the rank of an op) is a column of its own.
"""
import collections
import json
import re

TEXT = '<text>'                 # stands for any text that is not empty
PRINTED = re.compile(r'\s*(-?\d+(?:\.(\d+))?(?:[eE][-+]?\d+)?)\s*(%|ms|us|ns|GiB|MiB|GB|MB)?\s*')
# "fusion.12 and its duplicate(s)": which of several equal ops lends its name to all is not stable
COPY = re.compile(r'\.\d+( and its duplicate\(s\))?$')
WORD = re.compile(r"[A-Za-z'\"(),.:;/-]+")
# Looks and tooltips: they repeat other cells as words or pick a colour
COSMETIC = frozenset(('tooltip', 'style', 'color', 'summary_color', 'remark_color', 'link', 'provenance_html'))
LOST = object()


def is_prose(text):
    """Markup, or five words and more of which three quarters are plain: a sentence, not a name."""
    words = text.split()
    plain = sum(1 for w in words if WORD.fullmatch(w))
    return '</' in text or (len(words) >= 5 and plain >= 0.75 * len(words))


def mask(value):
    """The value as a reference to keep: cosmetic keys dropped, prose replaced by TEXT."""
    if isinstance(value, str):
        return TEXT if is_prose(value) else value
    if isinstance(value, list):
        return [mask(v) for v in value]
    if not isinstance(value, dict):
        return value
    if 'traceEvents' in value:
        return {'traceEvents': [slim_event(e) for e in value['traceEvents'] if e.get('ph') in ('X', 'M')]}
    kept = {k: mask(v) for k, v in value.items() if k not in COSMETIC}
    if is_table(value):         # labels of columns are words; the comparison goes by id and type
        kept['cols'] = [{k: c[k] for k in ('id', 'type') if k in c} for c in value['cols']]
        # with the columns known, cosmetic cells can go as well
        for row in kept['rows']:
            for col, cell in zip(kept['cols'], row.get('c', [])):
                if col.get('id') in COSMETIC and isinstance(cell, dict):
                    cell.clear()
    return kept


def slim_event(event):
    keys = ('ph', 'pid', 'tid', 'name', 'ts', 'dur')
    slim = {k: event[k] for k in keys if k in event}
    if event['ph'] == 'M':
        slim['args'] = event.get('args', {})
    return slim


class Tally:
    """The running count of one comparison, with a line for each difference."""

    def __init__(self):
        self.total = 0
        self.equal = 0
        self.notes = []

    @property
    def share(self):
        return self.equal / self.total if self.total else 1.0

    @property
    def whole(self):
        return self.equal == self.total

    def leaf(self, where, ref, got):
        self.total += 1
        if got is not LOST and leaf_equal(ref, got):
            self.equal += 1
        else:
            self.notes.append(f'{where}: expected {clip(ref)}, got {"nothing" if got is LOST else clip(got)}')

    def forgive(self, known):
        """Differences whose place matches count as equal: there the reference is known to be wrong."""
        left = [n for n in self.notes if not known.search(n.split(': ')[0])]
        self.equal += len(self.notes) - len(left)
        self.notes = left

    def lost(self, where, ref):
        n = count_leaves(ref)
        self.total += n
        if n:
            self.notes.append(f'{where}: lost {n} value(s): {clip(ref)}')


def clip(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else text[:97] + '...'


def count_leaves(value):
    if isinstance(value, dict):
        return sum(count_leaves(v) for k, v in value.items() if k not in COSMETIC)
    if isinstance(value, list):
        return sum(count_leaves(v) for v in value)
    return 1


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def near(a, b):
    return abs(a - b) <= max(1e-9, 1e-6 * max(abs(a), abs(b)))


def leaf_equal(ref, got):
    if is_number(ref) and is_number(got):
        return near(ref, got)
    if isinstance(ref, str) and isinstance(got, str):
        return text_equal(ref, got)
    for number, text in ((ref, got), (got, ref)):
        if is_number(number) and isinstance(text, str):
            try:
                return near(number, float(text))
            except ValueError:
                return False
    return type(ref) is type(got) and ref == got


def text_equal(ref, got):
    if ref == got:
        return True
    if ref == TEXT or is_prose(ref):
        return bool(got.strip())
    if 'duplicate(s)' in ref:
        return COPY.sub('', ref) == COPY.sub('', got)
    a, b = PRINTED.fullmatch(ref), PRINTED.fullmatch(got)
    if not a or not b or (a[3] or '') != (b[3] or ''):
        return False
    return abs(float(a[1]) - float(b[1])) <= 1.001 * 10 ** -len(a[2] or '')


def compare(ref, got):
    tally = Tally()
    walk(tally, '$', ref, got)
    return tally


def walk(tally, where, ref, got):
    if is_table(ref):
        walk_table(tally, where, ref, got)
    elif isinstance(ref, dict) and 'traceEvents' in ref:
        walk_trace(tally, where, ref, got)
    elif isinstance(ref, dict):
        walk_object(tally, where, ref, got)
    elif isinstance(ref, list):
        walk_list(tally, where, ref, got)
    else:
        tally.leaf(where, ref, got)


def walk_object(tally, where, ref, got):
    if not isinstance(got, dict):
        return tally.lost(where, ref)
    for key, value in ref.items():
        if key in COSMETIC:
            continue
        if key in got:
            walk(tally, f'{where}.{key}', value, got[key])
        else:
            tally.lost(f'{where}.{key}', value)


# --- DataTables ---------------------------------------------------------------------------------

def is_table(value):
    return isinstance(value, dict) and isinstance(value.get('cols'), list) and isinstance(value.get('rows'), list)


def read_rows(table):
    ids = [c.get('id', str(i)) for i, c in enumerate(table['cols'])]
    rows = []
    for row in table['rows']:
        cells = row.get('c', []) if isinstance(row, dict) else []
        rows.append({i: c.get('v') if isinstance(c, dict) else c for i, c in zip(ids, cells)})
    return ids, rows


def row_name(row):
    """The cells that tell a row from its neighbours: names; neither numbers, nor prose, nor HLO text."""
    return tuple(sorted((k, v) for k, v in row.items()
                        if isinstance(v, str) and k not in COSMETIC and v != TEXT
                        and not v.startswith('%') and not PRINTED.fullmatch(v) and not is_prose(v)))


def match_rows(ref, got):
    """Rows side by side when all names agree in order, else by name; nameless rows by position."""
    names = [row_name(r) for r in ref]
    if names == [row_name(g) for g in got]:
        return list(got)
    pool = collections.defaultdict(collections.deque)
    for g in got:
        pool[row_name(g)].append(g)
    out = []
    for i, name in enumerate(names):
        if pool[name]:
            out.append(pool[name].popleft())
        else:
            out.append(got[i] if not name and i < len(got) else None)
    return out


def walk_table(tally, where, ref, got):
    if not is_table(got):
        return tally.lost(where, ref)
    types = {c.get('id'): c.get('type') for c in got['cols']}
    ids, rows = read_rows(ref)
    for cid, col in zip(ids, ref['cols']):
        tally.leaf(f'{where}.cols[{cid}].type', col.get('type'), types.get(cid, LOST))
    walk_object(tally, f'{where}.p', ref.get('p') or {}, got.get('p') or {})
    for i, (row, partner) in enumerate(zip(rows, match_rows(rows, read_rows(got)[1]))):
        shown = {k: v for k, v in row.items() if k not in COSMETIC}
        if partner is None:
            tally.lost(f'{where}.rows[{i}]', shown)
            continue
        for cid, value in shown.items():
            tally.leaf(f'{where}.rows[{i}].{cid}', value, partner.get(cid))


# --- Traces -------------------------------------------------------------------------------------

def event_key(e):
    ts, dur = float(e.get('ts', 0)), float(e.get('dur', 0))
    return e.get('pid'), e.get('tid'), e.get('name'), round(ts, 3), round(dur, 3)


def track_names(trace):
    named = ('process_name', 'thread_name')
    return {(e.get('pid'), e.get('tid', 0), e['name']): e.get('args', {}).get('name')
            for e in trace['traceEvents'] if e.get('ph') == 'M' and e.get('name') in named}


def walk_trace(tally, where, ref, got):
    if not isinstance(got, dict) or not isinstance(got.get('traceEvents'), list):
        return tally.lost(where, ref)
    want = collections.Counter(event_key(e) for e in ref['traceEvents'] if e.get('ph') == 'X')
    have = collections.Counter(event_key(e) for e in got['traceEvents'] if e.get('ph') == 'X')
    absent = want - have
    tally.total += sum(want.values())
    tally.equal += sum(want.values()) - sum(absent.values())
    for key, n in list(absent.items())[:50]:
        tally.notes.append(f'{where}: no event {key} (x{n})')
    for key, n in list((have - want).items())[:10]:
        if absent:
            tally.notes.append(f'{where}: instead, or too much: {key} (x{n})')
    names = track_names(got)
    for key, name in track_names(ref).items():
        tally.leaf(f'{where}.{key[2]}[{key[0]}/{key[1]}]', name, names.get(key, LOST))


# --- Lists and trees ----------------------------------------------------------------------------

def element_keys(value):
    """What to look an element's partner up by, best first; empty where only its position tells."""
    if isinstance(value, str):
        return [] if value == TEXT or is_prose(value) else [value]
    if not isinstance(value, dict):
        return []
    if 'stepNum' in value:
        return [('step', value['stepNum'])]
    name = value.get('name')
    if isinstance(name, str):
        metrics = value.get('metrics')
        time = metrics.get('rawTime') if isinstance(metrics, dict) else None
        plain = COPY.sub(r'\1', name)
        return [('node', name, plain, time), ('node', plain, time), ('node', name)]
    if 'hostname' in value:
        return [('host', value['hostname'])]
    return []


def match_elements(ref, got):
    """Partners by the best key first: nobody loses an exact partner to a merely similar element."""
    wanted = [element_keys(v) for v in ref]
    if not ref or not all(wanted):
        return [got[i] if i < len(got) else LOST for i in range(len(ref))]
    offered = [element_keys(v) for v in got]
    out, free = [LOST] * len(ref), set(range(len(got)))
    for rank in range(max(map(len, wanted))):
        pool = collections.defaultdict(collections.deque)
        for j in sorted(free):
            if rank < len(offered[j]):
                pool[offered[j][rank]].append(j)
        for i, keys in enumerate(wanted):
            if out[i] is LOST and rank < len(keys) and pool[keys[rank]]:
                j = pool[keys[rank]].popleft()
                out[i] = got[j]
                free.discard(j)
    return out


def walk_list(tally, where, ref, got):
    if not isinstance(got, list):
        return tally.lost(where, ref)
    for i, (value, partner) in enumerate(zip(ref, match_elements(ref, got))):
        if partner is LOST:
            tally.lost(f'{where}[{i}]', value)
        else:
            walk(tally, f'{where}[{i}]', value, partner)
