"""Comparing answers of XProf's command line with ours: values, not words."""
import math
import re

# Sentences: ours differ, but must be there where XProf has one.
WORDS = {'message', 'guidance', 'note', 'notes', 'reasons', 'recommendations', 'warnings', 'error', 'remediation', 'reason_text',
         'metric_semantics', 'navigation_hints', 'summary_markdown', 'markdown_summary', 'step_time_warning', 'custom_call_warning',
         'info', 'description', 'peak_sample_percent_note'}
# Not to be compared: paths of this machine, what only a cache has.
FREE = {'traceback', '__cached__', '__cache_age_s__', 'file_path', 'saved_to_path', 'input', 'session_id', 'path', 'step_time_scope'}
COPY = re.compile(r'\.\d+( and its duplicate\(s\))?(?=/|$)')     # which of several copies stands for all


def close(want, got):
    if isinstance(want, bool) or isinstance(got, bool):
        return want is got
    if want == got or abs(want - got) <= max(1e-9, 1e-6 * max(abs(want), abs(got))):
        return True
    if isinstance(want, float) and math.isfinite(want):
        digits = len(repr(want).partition('.')[2])
        return 2 <= digits <= 6 and abs(want - got) <= 1.001 * 10 ** -digits
    return False


def sort_key(v):
    """Equal ranks may stand in any order: lists of objects are compared by what names them."""
    names = ('kernel_name', 'op_name', 'module_name', 'instruction', 'opcode', 'counter', 'hostname', 'event', 'name', 'step_num', 'category')
    return tuple(str(v[k]) for k in names if k in v) if isinstance(v, dict) else ()


def differences(want, got, path='$'):
    """What differs, as a list of sentences."""
    if isinstance(want, dict):
        if not isinstance(got, dict):
            return [f'{path}: {got!r} is no object']
        out = []
        for k, v in want.items():
            if k in FREE:
                continue
            if (k in WORDS or (k == 'reason' and want.get('status') not in ('ERROR', 'UNAVAILABLE'))) and not isinstance(v, (int, float)):
                if bool(v) != bool(got.get(k)):
                    out.append(f'{path}.{k}: {"a sentence" if v else "nothing"} is expected, not {got.get(k)!r}')
            elif k not in got:
                out.append(f'{path}.{k} is missing')
            else:
                out += differences(v, got[k], f'{path}.{k}')
        return out
    if isinstance(want, list):
        if not isinstance(got, list) or len(want) != len(got):
            return [f'{path}: {len(got) if isinstance(got, list) else got!r} values, not {len(want)}']
        a, b = sorted(want, key=sort_key), sorted(got, key=sort_key)
        return [d for i, (x, y) in enumerate(zip(a, b)) for d in differences(x, y, f'{path}[{i}]')]
    if isinstance(want, (int, float)) and not isinstance(want, bool) and isinstance(got, (int, float)):
        return [] if close(want, got) else [f'{path}: {got!r}, not {want!r}']
    if isinstance(want, str) and isinstance(got, str):
        if '\n' in want:
            return [] if lines(want) == lines(got) else [f'{path}: the texts differ']
        same = want == got or ('duplicate(s)' in want and COPY.sub('', want) == COPY.sub('', got))
        return [] if same or path.endswith('.top_op') else [f'{path}: {got!r}, not {want!r}']
    return [] if want == got else [f'{path}: {got!r}, not {want!r}']


def lines(text):
    """A text's lines without what stands for others that were left out."""
    return sorted(x.rstrip() for x in text.splitlines() if x.strip() and not x.lstrip().startswith('...') and not x.startswith('>')
                  and not x.startswith('Showing ') and 'kernels are shown' not in x)
