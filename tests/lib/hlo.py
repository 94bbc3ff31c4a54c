"""Write HLO modules (the messages of hlo.proto) with nothing but Python: as much of them as made-up programs need.

A module is computations, called ones before their callers; an instruction refers to operands and computations that stand before it.
"""
import xspace

TYPES = {'pred': 1, 's8': 2, 's32': 4, 's64': 5, 'u8': 6, 'u32': 8, 'f16': 10, 'f32': 11, 'f64': 12, 'tuple': 13, 'bf16': 16, 'token': 17}
SIZES = {'pred': 1, 's8': 1, 'u8': 1, 'f16': 2, 'bf16': 2, 's32': 4, 'u32': 4, 'f32': 4, 's64': 8, 'f64': 8}


def packed(values):
    return b''.join(xspace.varint(v) for v in values)


class Shape:
    """An array, or a tuple of shapes."""

    def __init__(self, kind, dims=(), parts=(), order=None):
        self.kind, self.dims, self.parts = kind, tuple(dims), tuple(parts)
        self.order = tuple(order) if order is not None else tuple(reversed(range(len(self.dims))))

    def text(self):
        if self.kind == 'tuple':
            return '(' + ', '.join(p.text() for p in self.parts) + ')'
        layout = '{' + ','.join(map(str, self.order)) + '}' if self.dims else ''
        return f'{self.kind}[{",".join(map(str, self.dims))}]{layout}'

    def bytes(self):
        n = SIZES.get(self.kind, 0)
        for d in self.dims:
            n *= d
        return n + sum(p.bytes() for p in self.parts)

    def fields(self):
        out = [[2, 0, TYPES[self.kind]]]
        if self.dims:
            out += [[3, 2, packed(self.dims)], [6, 2, packed([0] * len(self.dims))]]
        out += [[4, 2, p.fields()] for p in self.parts]
        if self.kind not in ('tuple', 'token'):
            out.append([5, 2, [[1, 2, packed(self.order)]] if self.dims else []])
        return out


class Instruction:
    def __init__(self, ident, name, opcode, shape, operands, fields):
        self.ident, self.name, self.opcode, self.shape, self.operands, self.extra = ident, name, opcode, shape, operands, fields

    def text(self):
        """As TPU profiles name an operation."""
        operands = ', '.join(f'{o.shape.text()} %{o.name}' for o in self.operands)
        return f'%{self.name} = {self.shape.text()} {self.opcode}({operands})'

    def fields(self):
        out = [[1, 2, self.name.encode()], [2, 2, self.opcode.encode()], [3, 2, self.shape.fields()]]
        out += self.extra
        out.append([35, 0, self.ident])
        if self.operands:
            out.append([36, 2, packed(o.ident for o in self.operands)])
        return out


class Computation:
    def __init__(self, module, name):
        self.module, self.name, self.instructions = module, name, []
        self.ident = len(module.computations) + 1

    def add(self, name, opcode, shape, operands=(), called=(), op_name='', op_type='', source='', line=0, extra=()):
        meta = [[n, 2, v.encode()] for n, v in ((1, op_type), (2, op_name), (3, source)) if v]
        if line:
            meta.append([4, 0, line])
        fields = list(extra)
        if meta:
            fields.append([7, 2, meta])
        if called:
            fields.append([38, 2, packed(c.ident for c in called)])
        self.module.nids += 1
        made = Instruction(self.module.nids, name, opcode, shape, list(operands), fields)
        self.instructions.append(made)
        return made

    def parameter(self, name, shape):
        n = sum(1 for i in self.instructions if i.opcode == 'parameter')
        return self.add(name, 'parameter', shape, extra=[[9, 0, n]])

    def program_shape(self):
        params = [i for i in self.instructions if i.opcode == 'parameter']
        return ([[1, 2, p.shape.fields()] for p in params] + [[2, 2, self.instructions[-1].shape.fields()]] +
                [[3, 2, p.name.encode()] for p in params])

    def fields(self):
        return ([[1, 2, self.name.encode()]] + [[2, 2, i.fields()] for i in self.instructions] +
                [[4, 2, self.program_shape()], [5, 0, self.ident], [6, 0, self.instructions[-1].ident]])


class Module:
    """Computations in the order in which they were made; the last is the entry."""

    def __init__(self, name):
        self.name, self.computations, self.nids = name, [], 0

    def computation(self, name):
        made = Computation(self, name)
        self.computations.append(made)
        return made

    def proto(self, ident=1):
        """The bytes of an HloProto."""
        entry = self.computations[-1]
        module = [[1, 2, self.name.encode()], [2, 2, entry.name.encode()]]
        module += [[3, 2, c.fields()] for c in self.computations]
        module += [[4, 2, entry.program_shape()], [5, 0, ident], [6, 0, entry.ident]]
        return xspace.serialize([[1, 2, module]])
