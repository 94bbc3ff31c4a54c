"""sstrace - record a profile from inside a Python program, over libsstrace.

    import sstrace
    sstrace.start(logdir="/tmp/run1")
    for number in range(100):
        with sstrace.step("train", number):
            with sstrace.trace("read batch", size=32):
                ...
    print(sstrace.stop())

`trace` is a context manager and a decorator; facts about an event are keyword arguments (int, float, str, bool).
While nothing is recorded an event costs one reading of a C variable. One file, no dependencies: copy it beside your
program. libsstrace.so is looked for where SSTRACE_LIBRARY says, beside this file, then where the system's linker looks.
Every call can be made from any thread; a scope ends on the thread where it began. Failures raise sstrace.Error.
"""
import ctypes
import ctypes.util
import functools
import os

CRITICAL, INFO, VERBOSE = 1, 2, 3


class Error(RuntimeError):
    """Why a recording could not start or stop, in the library's words."""


class _Name(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char_p), ("id", ctypes.c_uint64)]


class _Value(ctypes.Union):
    _fields_ = [("i", ctypes.c_int64), ("u", ctypes.c_uint64), ("d", ctypes.c_double), ("text", ctypes.c_char_p)]


class _Arg(ctypes.Structure):
    _fields_ = [("key", ctypes.POINTER(_Name)), ("kind", ctypes.c_int), ("v", _Value)]


class _Scope(ctypes.Structure):
    _fields_ = [("record", ctypes.c_void_p), ("begin_ps", ctypes.c_uint64)]


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("logdir", ctypes.c_char_p), ("session", ctypes.c_char_p),
                ("host", ctypes.c_char_p), ("max_bytes", ctypes.c_uint64), ("level", ctypes.c_int)]


_INT, _UINT, _DOUBLE, _TEXT = range(4)
_MOST_ARGS = 12  # of one event: what the library keeps


def _open(name):
    """What SSTRACE_LIBRARY names, and libraries beside it; else beside this file, where a wheel puts it, or where the linker looks."""
    said = os.environ.get("SSTRACE_LIBRARY")
    beside = os.path.join(os.path.dirname(os.path.abspath(said or __file__)), f"lib{name}.so")
    if said and name == "sstrace":
        beside = os.path.abspath(said)
    here = os.path.dirname(os.path.abspath(__file__))
    wheels = [os.path.normpath(os.path.join(here, up, "libexec/stepscope", f"lib{name}.so.0")) for up in (".", "../../..")]
    found = [beside] if said else [p for p in (beside, *wheels) if os.path.exists(p)]
    path = found[0] if found else ctypes.util.find_library(name) or f"lib{name}.so.0"
    try:
        return ctypes.CDLL(path)
    except OSError as e:
        raise ImportError(f"sstrace: cannot load {path} ({e}); set SSTRACE_LIBRARY to libsstrace.so") from e


def _load():
    lib = _open("sstrace")
    name, args = ctypes.POINTER(_Name), ctypes.POINTER(_Arg)
    for function, result, parameters in (
            ("ss_trace_start", ctypes.c_bool, [ctypes.POINTER(_Options)]),
            ("ss_trace_stop", ctypes.c_char_p, []),
            ("ss_trace_error", ctypes.c_char_p, []),
            ("ss_trace_dropped", ctypes.c_uint64, []),
            ("ss_trace_gpu_start", ctypes.c_bool, []),
            ("ss_trace_gpu_error", ctypes.c_char_p, []),
            ("ss_trace_intern", name, [ctypes.c_char_p]),
            ("ss_trace_begin_now", _Scope, [name, args, ctypes.c_size_t]),
            ("ss_trace_end_now", None, [_Scope]),
            ("ss_trace_instant", None, [ctypes.c_int, name, args, ctypes.c_size_t]),
            ("ss_trace_step_begin", _Scope, [name, ctypes.c_int64]),
            ("ss_trace_produce", None, [name, ctypes.c_uint64]),
            ("ss_trace_consume_begin", _Scope, [name, ctypes.c_uint64]),
            ("ss_trace_counter", None, [name, ctypes.c_double]),
            ("ss_trace_thread_name", None, [ctypes.c_char_p])):
        f = getattr(lib, function)
        f.restype, f.argtypes = result, parameters
    return lib


_lib = _load()
_level = ctypes.c_int.in_dll(_lib, "ss_trace_level_now")
_names = {}


def _name(text):
    """The library's entry for a name; found once."""
    found = _names.get(text)
    if not found:
        found = _lib.ss_trace_intern(str(text).encode("utf-8", "replace"))
        if not found:
            raise MemoryError("sstrace: no memory for a name")
        _names[text] = found
    return found


def _args(facts):
    """Facts as the library takes them, and their number; what is no number is a text."""
    n = min(len(facts), _MOST_ARGS)
    args = (_Arg * n)()
    for arg, (key, value) in zip(args, facts.items()):
        arg.key = _name(key)
        if isinstance(value, float):
            arg.kind, arg.v.d = _DOUBLE, value
        elif isinstance(value, int) and -1 << 63 <= value < 1 << 63:
            arg.kind, arg.v.i = _INT, value
        else:
            arg.kind, arg.v.text = _TEXT, str(value).encode("utf-8", "replace")
    return args, n


def start(logdir=None, session=None, host=None, max_bytes=0, level=0, gpu=False):
    """Begin to record into LOGDIR/plugins/profile/SESSION/HOST.xplane.pb; what is left out has the library's default.

    With gpu=True NVIDIA GPUs too; where something is missing for that the recording goes on, and gpu_error() says what.
    """
    def text(s):
        return None if s is None else os.fsencode(s)
    options = _Options(ctypes.sizeof(_Options), text(logdir), text(session), text(host), max_bytes, level)
    if not _lib.ss_trace_start(ctypes.byref(options)):
        raise Error(_lib.ss_trace_error().decode("utf-8", "replace"))
    if gpu:
        _lib.ss_trace_gpu_start()


def gpu_error():
    """Why GPUs are not recorded; "" if they are."""
    return _lib.ss_trace_gpu_error().decode("utf-8", "replace")


def stop():
    """End the recording; the path of the profile."""
    path = _lib.ss_trace_stop()
    if path is None:
        raise Error(_lib.ss_trace_error().decode("utf-8", "replace"))
    return os.fsdecode(path)


def serve(port=0):
    """Let `stepscope capture --service_addr localhost:PORT`, TensorFlow or JAX record this program; the port."""
    lib = _open("sstrace_server")
    lib.ss_trace_server_start.argtypes, lib.ss_trace_server_start.restype = [ctypes.c_uint16], ctypes.c_bool
    lib.ss_trace_server_port.restype, lib.ss_trace_server_error.restype = ctypes.c_uint16, ctypes.c_char_p
    if not lib.ss_trace_server_start(port):
        raise Error(lib.ss_trace_server_error().decode("utf-8", "replace"))
    return lib.ss_trace_server_port()


def dropped():
    """Events that found no room since the start."""
    return _lib.ss_trace_dropped()


class trace:
    """A scope: `with trace("decode", bytes=n):`, or `@trace("decode")` over a function. An object is one thread's."""

    __slots__ = ("_text", "_facts", "_at", "_scopes")

    def __init__(self, name, level=INFO, **facts):
        self._text, self._facts, self._at, self._scopes = name, facts, level, []

    def _begin(self):
        args, n = _args(self._facts)
        return _lib.ss_trace_begin_now(_name(self._text), args, n)

    def __enter__(self):
        self._scopes.append(self._begin() if _level.value >= self._at else None)
        return self

    def __exit__(self, *_):
        scope = self._scopes.pop()
        if scope is not None and scope.record:
            _lib.ss_trace_end_now(scope)

    def __call__(self, function):
        """A function whose calls are scopes; each call has one of its own, on whatever thread."""
        text, level, facts = self._text, self._at, self._facts

        @functools.wraps(function)
        def traced(*args, **kwargs):
            if _level.value < level:
                return function(*args, **kwargs)
            with trace(text, level, **facts):
                return function(*args, **kwargs)
        return traced


class _Numbered(trace):
    """A scope of the library's that has a number beside its name."""

    __slots__ = ("_number",)
    _function = ""

    def __init__(self, name, number):
        super().__init__(name, CRITICAL)
        self._number = number

    def _begin(self):
        return getattr(_lib, self._function)(_name(self._text), self._number)


class step(_Numbered):
    """A step of training, or a request: `with step("train", number):`. What happens below it belongs to it."""

    __slots__ = ()
    _function = "ss_trace_step_begin"


class consume(_Numbered):
    """A scope at the end of an arrow that `produce` with the same key began, on whatever thread."""

    __slots__ = ()
    _function = "ss_trace_consume_begin"


class wait_input(trace):
    """A wait for input, told apart in the step time: the analyses know such a wait by how its name begins."""

    __slots__ = ()

    def __init__(self, name):
        super().__init__("IteratorGetNext: " + name, CRITICAL)


def produce(name, key):
    """A moment where an arrow begins; `key` is a whole number, equal ones belong together."""
    if _level.value:
        _lib.ss_trace_produce(_name(name), key)


def instant(name, level=INFO, **facts):
    """A moment: an event without duration."""
    if _level.value >= level:
        args, n = _args(facts)
        _lib.ss_trace_instant(level, _name(name), args, n)


def counter(name, value):
    """A number over time, drawn as a curve."""
    if _level.value:
        _lib.ss_trace_counter(_name(name), value)


def thread_name(name):
    """Name of the calling thread in the profile."""
    _lib.ss_trace_thread_name(str(name).encode("utf-8", "replace"))
