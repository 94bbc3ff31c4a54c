"""Random HLO programs as text: all shapes fit, most kinds of instructions occur, and fusions hold whole computations.

They compute nothing sensible. They are what a cost model is asked about: products, convolutions, reductions, slices, sorts, scatters, loops,
branches, collectives, library calls; values used once, twice, through a transpose, and not at all. Everything is drawn from the `random.Random`.
"""
UNARY = ('negate', 'abs', 'exponential', 'exponential-minus-one', 'log', 'log-plus-one', 'logistic', 'tanh', 'sine', 'cosine', 'sqrt',
         'rsqrt', 'cbrt', 'floor', 'sign', 'copy')
BINARY = ('add', 'subtract', 'multiply', 'divide', 'maximum', 'minimum', 'power', 'atan2')
INT_UNARY = ('negate', 'abs', 'sign', 'not', 'copy', 'popcnt')
INT_BINARY = ('add', 'subtract', 'multiply', 'divide', 'maximum', 'minimum', 'and', 'or', 'remainder', 'shift-left')
FLOATS = ('f32', 'f32', 'f32', 'bf16', 'f16', 'f64')
TYPES = FLOATS + ('s32', 's8', 'u8', 's64', 'pred', 'f8e4m3fn', 's4', 'c64')
SCOPES = ('jit(step)/jvp(dense)/', 'jit(step)/transpose(jvp(dense))/', 'jit(step)/while/body/', 'jit(step)/rematted_computation/', 'model/dense_1/',
          'gradient_tape/model/', '')
CALLS = ('__cublas$gemm', '__cublas$lt$matmul', '__cudnn$convForward', '__cudnn$softmax', 'triton_kernel', '__cub$DeviceRadixSort', 'TopK')


def is_float(t):
    return t[0] in ('f', 'b')


def shape_text(shape, rnd=None):
    if isinstance(shape, list):
        return '(' + ', '.join(shape_text(s, rnd) for s in shape) + ')'
    kind, dims = shape
    order = list(range(len(dims)))[::-1]
    if rnd and rnd.random() < 0.1:
        rnd.shuffle(order)
    layout = f'{{{",".join(map(str, order))}}}' if dims else ''
    return f'{kind}[{",".join(map(str, dims))}]{layout}'


def elements(dims):
    n = 1
    for d in dims:
        n *= d
    return n


class Program:
    def __init__(self, rnd, name):
        # Names of different programs differ: XProf counts kernels in a row of one name to the first's program (docs/parity.md)
        self.rnd, self.name, self.done, self.count = rnd, name, [], 1000 * rnd.randrange(1000)
        self.launched = []      # instructions that kernels name: (name, way of calls around it)
        self.entry = None

    def fresh(self, stem):
        self.count += 1
        return f'{stem}.{self.count}' if self.rnd.random() < 0.9 else f'{stem}_{self.count}'

    def text(self):
        return f'HloModule {self.name}\n\n' + '\n\n'.join(self.done + ['ENTRY ' + self.entry]) + '\n'


class Computation:
    """One computation in the making: values by name, lines of text."""

    def __init__(self, program, depth):
        self.p, self.rnd, self.depth = program, program.rnd, depth
        self.lines, self.values, self.params, self.names = [], {}, [], []

    def metadata(self, opcode):
        if self.rnd.random() < 0.3:
            return ''
        kind = self.rnd.choice((opcode.replace('-', '_'), 'dot_general', 'MatMul', 'conv_general_dilated', 'Relu', ''))
        name = self.rnd.choice(SCOPES) + (kind or 'add')
        where = f' source_file="/src/m{self.rnd.randrange(3)}.py" source_line={self.rnd.randrange(90)}' if self.rnd.random() < 0.6 else ''
        return f', metadata={{op_type="{kind}" op_name="{name}"{where}}}'

    def emit(self, shape, opcode, operands, attrs='', stem=None):
        name = self.p.fresh(stem or opcode)
        shown = ', '.join('%' + o if o in self.values else o for o in operands)
        self.lines.append(f'%{name} = {shape_text(shape, self.rnd)} {opcode}({shown})' + (f', {attrs}' if attrs else '') + self.metadata(opcode))
        self.values[name] = shape
        self.names.append((name, opcode))
        return name

    def parameter(self, shape):
        name = self.p.fresh('param')
        self.lines.append(f'%{name} = {shape_text(shape)} parameter({len(self.params)})')
        self.values[name] = shape
        self.params.append((name, shape))
        return name

    def arrays(self, test=lambda s: True):
        return [n for n, s in self.values.items() if isinstance(s, tuple) and test(s)]

    def any(self, test=lambda s: True):
        found = self.arrays(test)
        if not found:
            return None
        return self.rnd.choice(found[-6:] if self.rnd.random() < 0.5 else found)

    def number(self, kind, value=None):
        if value is None:
            value = 'true' if kind == 'pred' else '(1, 0)' if kind[0] == 'c' else '1'
        return self.emit((kind, ()), 'constant', [str(value)])

    def like(self, shape):
        """A second operand of this shape."""
        found = [n for n in self.arrays() if self.values[n] == shape]
        if found and self.rnd.random() < 0.8:
            return self.rnd.choice(found)
        return self.emit(shape, 'broadcast', [self.number(shape[0])], 'dimensions={}')

    def finish(self, root):
        head = ', '.join(f'{n}: {shape_text(s)}' for n, s in self.params)
        name = self.p.fresh('computation')
        shape = shape_text(self.values[root])
        body = '\n'.join('  ' + ('ROOT ' if line.startswith(f'%{root} = ') else '') + line for line in self.lines)
        return name, f'%{name} ({head}) -> {shape} {{\n{body}\n}}'

    def close(self, root):
        name, text = self.finish(root)
        self.p.done.append(text)
        return name


def reducer(program, kind):
    c = Computation(program, 9)
    a, b = c.parameter((kind, ())), c.parameter((kind, ()))
    ops = ('and', 'or') if kind == 'pred' else ('add', 'add', 'maximum', 'multiply') if kind[0] != 'c' else ('add', 'multiply')
    root = c.emit((kind, ()), c.rnd.choice(ops), [a, b])
    if is_float(kind) and c.rnd.random() < 0.15:
        root = c.emit((kind, ()), 'tanh', [root])
    return c.close(root)


# Each maker adds one instruction (with what it needs) and returns its name, or None where nothing fits.

def elementwise(c):
    x = c.any()
    kind, dims = c.values[x]
    if kind == 'pred':
        return c.emit((kind, dims), 'not', [x])
    if c.rnd.random() < 0.5 or kind == 'c64':
        ops = UNARY[2:7] if kind == 'c64' else UNARY if is_float(kind) else INT_UNARY
        return c.emit((kind, dims), c.rnd.choice(ops), [x])
    return c.emit((kind, dims), c.rnd.choice(BINARY if is_float(kind) else INT_BINARY), [x, c.like((kind, dims))])


def compare(c):
    x = c.any(lambda s: s[0] != 'c64')
    if not x:
        return None
    kind, dims = c.values[x]
    p = c.emit(('pred', dims), 'compare', [x, c.like((kind, dims))], 'direction=' + c.rnd.choice(('LT', 'EQ', 'GE')))
    if c.rnd.random() < 0.5:
        return p
    return c.emit((kind, dims), 'select', [p, x, c.like((kind, dims))])


def convert(c):
    x = c.any(lambda s: s[0] != 'c64')
    return x and c.emit((c.rnd.choice(TYPES[:-1]), c.values[x][1]), 'convert', [x])


def clamp(c):
    x = c.any(lambda s: is_float(s[0]))
    if not x:
        return None
    low, high = c.number(c.values[x][0]), c.number(c.values[x][0])
    return c.emit(c.values[x], 'clamp', [low, x, high])


def broadcast(c):
    x = c.any(lambda s: elements(s[1]) <= 1 << 14)
    if not x:
        return None
    kind, dims = c.values[x]
    at = sorted(c.rnd.sample(range(len(dims) + 1), len(dims)))
    out, it = [], iter(dims)
    for i in range(len(dims) + 1):
        out.append(next(it) if i in at else c.rnd.choice((1, 2, 8, 32)))
    return c.emit((kind, tuple(out)), 'broadcast', [x], f'dimensions={{{",".join(map(str, at))}}}')


def reshape(c):
    x = c.any(lambda s: len(s[1]) >= 2)
    if not x:
        return None
    kind, dims = c.values[x]
    flat = (dims[0] * dims[1],) + dims[2:]
    return c.emit((kind, flat), c.rnd.choice(('reshape', 'reshape', 'bitcast')), [x])


def transpose(c):
    x = c.any(lambda s: len(s[1]) >= 2)
    if not x:
        return None
    kind, dims = c.values[x]
    order = list(range(len(dims)))
    c.rnd.shuffle(order)
    return c.emit((kind, tuple(dims[i] for i in order)), 'transpose', [x], f'dimensions={{{",".join(map(str, order))}}}')


def slicing(c):
    x = c.any(lambda s: s[1] and max(s[1]) >= 2)
    if not x:
        return None
    kind, dims = c.values[x]
    small = tuple(max(1, d // c.rnd.choice((1, 2, 3))) for d in dims)
    what = c.rnd.choice(('slice', 'dynamic-slice', 'dynamic-update-slice', 'pad', 'reverse'))
    if what == 'slice':
        parts = ', '.join(f'[0:{s}]' for s in small)
        return c.emit((kind, small), 'slice', [x], f'slice={{{parts}}}')
    if what == 'pad':
        grown = tuple(d + 3 for d in dims)
        return c.emit((kind, grown), 'pad', [x, c.number(kind)], 'padding=' + 'x'.join('1_2' for _ in dims))
    if what == 'reverse':
        return c.emit((kind, dims), 'reverse', [x], 'dimensions={0}')
    index = c.number('s32', 0)
    if what == 'dynamic-slice':
        return c.emit((kind, small), what, [x] + [index] * len(dims), f'dynamic_slice_sizes={{{",".join(map(str, small))}}}')
    return c.emit((kind, dims), what, [x, c.like((kind, small))] + [index] * len(dims))


def concatenate(c):
    x = c.any(lambda s: len(s[1]) >= 1)
    if not x:
        return None
    kind, dims = c.values[x]
    at = c.rnd.randrange(len(dims))
    parts = [x] + [c.like((kind, dims)) for _ in range(c.rnd.choice((1, 1, 2)))]
    shape = dims[:at] + (dims[at] * len(parts),) + dims[at + 1:]
    return c.emit((kind, shape), 'concatenate', parts, f'dimensions={{{at}}}')


def iota(c):
    dims = c.rnd.choice(((64,), (32, 16), (8, 8, 4)))
    return c.emit((c.rnd.choice(('s32', 'f32', 'u8')), dims), 'iota', [], f'iota_dimension={c.rnd.randrange(len(dims))}')


def dot(c):
    x = c.any(lambda s: len(s[1]) == 2 and s[0] not in ('pred', 's4'))
    if not x:
        return None
    kind, (m, k) = c.values[x]
    n = c.rnd.choice((1, 16, 64, 200))
    if c.rnd.random() < 0.5:
        y, right = c.like((kind, (k, n))), 0
    else:
        y, right = c.like((kind, (n, k))), 1
    out = 's32' if kind in ('s8', 'u8') else 'f32' if kind[0:2] == 'f8' else kind
    return c.emit((out, (m, n)), 'dot', [x, y], f'lhs_contracting_dims={{1}}, rhs_contracting_dims={{{right}}}')


def batched_dot(c):
    x = c.any(lambda s: len(s[1]) == 3 and is_float(s[0]) and s[0][:2] != 'f8')
    if not x:
        return None
    kind, (b, m, k) = c.values[x]
    n = c.rnd.choice((4, 32))
    return c.emit((kind, (b, m, n)), 'dot', [x, c.like((kind, (b, k, n)))],
                  'lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}')


def convolution(c):
    kind = c.rnd.choice(('f32', 'f16', 'bf16'))
    b, h, w, i, o = (c.rnd.choice(v) for v in ((1, 4), (8, 15), (8, 16), (4, 8), (4, 16)))
    groups = c.rnd.choice((1, 1, 1, 2, i))
    k, stride, low = c.rnd.choice((1, 3, 5)), c.rnd.choice((1, 2)), c.rnd.choice((0, 1, 2))
    dilate = c.rnd.choice((1, 1, 2))
    reach = (k - 1) * dilate + 1
    if h + 2 * low < reach or w + 2 * low < reach or o % groups:
        return None
    out = tuple((d + 2 * low - reach) // stride + 1 for d in (h, w))
    x, f = c.like((kind, (b, h, w, i))), c.like((kind, (k, k, i // groups, o)))
    window = f'size={k}x{k} stride={stride}x{stride} pad={low}_{low}x{low}_{low}' + (f' rhs_dilate={dilate}x{dilate}' if dilate > 1 else '')
    return c.emit((kind, (b, *out, o)), 'convolution', [x, f],
                  f'window={{{window}}}, dim_labels=b01f_01io->b01f' + (f', feature_group_count={groups}' if groups > 1 else ''))


def reduce(c):
    x = c.any(lambda s: len(s[1]) >= 1 and s[0] not in ('s4', 'f8e4m3fn'))
    if not x:
        return None
    kind, dims = c.values[x]
    gone = sorted(c.rnd.sample(range(len(dims)), c.rnd.randrange(1, len(dims) + 1)))
    kept = tuple(d for i, d in enumerate(dims) if i not in gone)
    return c.emit((kind, kept), 'reduce', [x, c.number(kind)],
                  f'dimensions={{{",".join(map(str, gone))}}}, to_apply=%{reducer(c.p, kind)}')


def reduce_window(c):
    x = c.any(lambda s: len(s[1]) == 2 and is_float(s[0]) and min(s[1]) >= 4 and s[0][:2] != 'f8')
    if not x:
        return None
    kind, (h, w) = c.values[x]
    return c.emit((kind, (h - 2, (w - 2) // 2 + 1)), 'reduce-window', [x, c.number(kind)],
                  f'window={{size=3x2 stride=1x2}}, to_apply=%{reducer(c.p, kind)}')


def sort(c):
    x = c.any(lambda s: len(s[1]) >= 1 and s[0] in ('f32', 's32', 'f64', 'bf16'))
    if not x:
        return None
    kind, dims = c.values[x]
    k = Computation(c.p, 9)
    a, b = k.parameter((kind, ())), k.parameter((kind, ()))
    order = k.close(k.emit(('pred', ()), 'compare', [a, b], 'direction=LT'))
    return c.emit((kind, dims), 'sort', [x], f'dimensions={{{len(dims) - 1}}}, to_apply=%{order}')


def gather(c):
    x = c.any(lambda s: len(s[1]) == 2 and s[0] != 's4')
    if not x:
        return None
    kind, (_, w) = c.values[x]
    n = c.rnd.choice((4, 40))
    rows = c.like(('s32', (n, 1)))
    return c.emit((kind, (n, w)), 'gather', [x, rows],
                  f'offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,{w}}}')


def scatter(c):
    x = c.any(lambda s: len(s[1]) == 2 and s[0] in ('f32', 's32', 'bf16', 'f64'))
    if not x:
        return None
    kind, (h, w) = c.values[x]
    n = c.rnd.choice((4, 40))
    return c.emit((kind, (h, w)), 'scatter', [x, c.like(('s32', (n, 1))), c.like((kind, (n, w)))],
                  'update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, '
                  f'to_apply=%{reducer(c.p, kind)}')


def fft(c):
    x = c.any(lambda s: s[0] == 'c64' and s[1])
    return x and c.emit(c.values[x], 'fft', [x], f'fft_type=FFT, fft_length={{{c.values[x][1][-1]}}}')


def tuples(c):
    parts = [c.any() for _ in range(c.rnd.choice((2, 2, 3)))]
    t = c.emit([c.values[p] for p in parts], 'tuple', parts)
    i = c.rnd.randrange(len(parts))
    return c.emit(c.values[parts[i]], 'get-tuple-element', [t], f'index={i}')


def random_bits(c):
    dims = c.rnd.choice(((64,), (16, 16)))
    return c.emit(('f32', dims), 'rng', [c.number('f32', 0), c.number('f32', 1)], 'distribution=rng_uniform')


INNER = (elementwise,) * 8 + (compare, compare, convert, clamp, broadcast, broadcast, reshape, transpose, slicing, slicing, concatenate, iota,
                              reduce, reduce, tuples, gather)
FUSED_KINDS = ('kLoop', 'kLoop', 'kInput', 'kOutput', 'kCustom')


def fusion(c):
    body = Computation(c.p, c.depth + 1)
    operands = [c.any() for _ in range(c.rnd.randrange(1, 4))]
    for o in operands:
        body.parameter(c.values[o])
    makers = INNER + (dot, scatter, sort, batched_dot, convolution) + ((fusion,) if c.depth < 2 and c.rnd.random() < 0.1 else ())
    last = fill(body, makers, c.rnd.randrange(1, 12))
    if c.rnd.random() < 0.25:
        parts = [last] + [body.any() for _ in range(c.rnd.choice((1, 2)))]
        last = body.emit([body.values[p] for p in parts], 'tuple', parts)
    shape = body.values[last]
    stem = c.rnd.choice(('fusion', 'loop_fusion', 'input_reduce_fusion', 'gemm_fusion_dot', 'wrapped_add'))
    whole = c.emit(shape, 'fusion', operands, f'kind={c.rnd.choice(FUSED_KINDS)}, calls=%{body.close(last)}', stem)
    if isinstance(shape, list):
        return c.emit(shape[0], 'get-tuple-element', [whole], 'index=0')
    return whole


def call(c):
    body = Computation(c.p, c.depth + 1)
    x = c.any()
    body.parameter(c.values[x])
    last = fill(body, INNER, 3)
    return c.emit(body.values[last], 'call', [x], f'to_apply=%{body.close(last)}')


def loop(c):
    x = c.any(lambda s: s[0] in ('f32', 'bf16', 's32'))
    if not x or c.depth > 1:
        return None
    state = [('s32', ()), c.values[x]]
    test = Computation(c.p, c.depth + 1)
    arg = test.parameter(state)
    i = test.emit(state[0], 'get-tuple-element', [arg], 'index=0')
    test = test.close(test.emit(('pred', ()), 'compare', [i, test.number('s32', 5)], 'direction=LT'))
    body = Computation(c.p, c.depth + 1)
    arg = body.parameter(state)
    i = body.emit(state[0], 'get-tuple-element', [arg], 'index=0')
    v = body.emit(state[1], 'get-tuple-element', [arg], 'index=1')
    nxt = body.emit(state[0], 'add', [i, body.number('s32', 1)])
    fill(body, INNER + (dot, fusion), 4)
    v = body.emit(state[1], 'add', [v, body.like(state[1])])
    inside = list(body.names)
    body = body.close(body.emit(state, 'tuple', [nxt, v]))
    start = c.emit(state, 'tuple', [c.number('s32', 0), x])
    whole = c.emit(state, 'while', [start], f'condition=%{test}, body=%{body}')
    c.p.launched += [(f'{whole}::{name}', op) for name, op in inside]
    return c.emit(state[1], 'get-tuple-element', [whole], 'index=1')


def conditional(c):
    x = c.any()
    shape = c.values[x]
    sides = []
    for _ in range(2):
        side = Computation(c.p, c.depth + 1)
        v = side.parameter(shape)
        fill(side, INNER, 2)
        sides.append(side.close(side.emit(shape, 'not' if shape[0] == 'pred' else 'negate', [v])))
    return c.emit(shape, 'conditional', [c.number('pred'), x, x], f'true_computation=%{sides[0]}, false_computation=%{sides[1]}')


def collective(c):
    x = c.any(lambda s: s[0] in ('f32', 'bf16', 'f16') and len(s[1]) >= 1 and s[1][0] % 2 == 0)
    if not x:
        return None
    kind, dims = c.values[x]
    groups = c.rnd.choice(('replica_groups={}', 'replica_groups={{0,1}}', 'replica_groups={{0,1},{2,3}}, channel_id=1, use_global_device_ids=true'))
    what = c.rnd.choice(('all-reduce', 'all-reduce', 'all-gather', 'reduce-scatter', 'collective-permute', 'all-reduce-start', 'tuple'))
    if what == 'tuple':
        y = c.any(lambda s: s[0] == kind)
        t = c.emit([c.values[x], c.values[y]], 'all-reduce', [x, y], f'{groups}, to_apply=%{reducer(c.p, kind)}')
        return c.emit(c.values[x], 'get-tuple-element', [t], 'index=0')
    if what == 'all-reduce-start':
        s = c.emit((kind, dims), what, [x], f'{groups}, to_apply=%{reducer(c.p, kind)}')
        return c.emit((kind, dims), 'all-reduce-done', [s])
    if what == 'all-reduce':
        return c.emit((kind, dims), what, [x], f'{groups}, to_apply=%{reducer(c.p, kind)}')
    if what == 'all-gather':
        return c.emit((kind, (dims[0] * 2,) + dims[1:]), what, [x], 'replica_groups={{0,1}}, dimensions={0}')
    if what == 'reduce-scatter':
        return c.emit((kind, (dims[0] // 2,) + dims[1:]), what, [x],
                      f'replica_groups={{{{0,1}}}}, dimensions={{0}}, to_apply=%{reducer(c.p, kind)}')
    return c.emit((kind, dims), what, [x], 'source_target_pairs={{0,1},{1,0}}')


def library(c):
    x = c.any(lambda s: len(s[1]) == 2 and s[0] in ('f32', 'bf16', 'f16'))
    if not x:
        return None
    kind, (m, k) = c.values[x]
    y = c.like((kind, (k, 32)))
    out = (kind, (m, 32))
    shape = out if c.rnd.random() < 0.5 else [out, ('s8', (c.rnd.choice((0, 1024)),))]
    target = c.rnd.choice(CALLS)
    config = ''
    if 'cublas' in target:
        config = (', backend_config={"gemm_backend_config":{"alpha_real":1,"beta":0,"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],'
                  '"rhs_contracting_dimensions":["0"],"lhs_batch_dimensions":[],"rhs_batch_dimensions":[]}}}')
    if 'conv' in target:
        return None
    whole = c.emit(shape, 'custom-call', [x, y], f'custom_call_target="{target}"{config}', 'cublas-gemm' if config else None)
    if isinstance(shape, list):
        return c.emit(out, 'get-tuple-element', [whole], 'index=0')
    return whole


def copies(c):
    x = c.any()
    s = c.emit([c.values[x], c.values[x], ('u32', ())], 'copy-start', [x])
    return c.emit(c.values[x], 'copy-done', [s])


OUTER = (fusion,) * 10 + INNER + (dot, dot, batched_dot, convolution, reduce_window, sort, scatter, fft, random_bits, call, loop, conditional, collective,
                                  collective, library, library, copies)


def fill(c, makers, n):
    last = None
    for _ in range(n):
        if len(c.values) > 300:
            break
        made = c.rnd.choice(makers)(c)
        if made and elements(c.values[made][1]) <= 1 << 22:
            last = made
        elif made:
            del c.values[made]          # too large to go on with
    return last or elementwise(c)


def program(rnd, name):
    p = Program(rnd, name)
    c = Computation(p, 0)
    for _ in range(rnd.randrange(2, 5)):
        dims = rnd.choice(((), (64,), (128, 256), (32, 32), (8, 16, 32), (2, 9, 9, 4), (100, 7), (1, 1), (0, 4)))
        c.parameter((rnd.choice(TYPES), dims))
    root = fill(c, OUTER, rnd.randrange(5, 40))
    p.launched += c.names
    p.entry = c.finish(root)[1].replace('%computation', '%main', 1)
    return p
