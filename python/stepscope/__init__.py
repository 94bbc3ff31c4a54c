"""Profiles of training and serving programs, opened and asked from Python.

>>> import stepscope
>>> p = stepscope.open("tests/data/profiles/synth_tpu_3hosts")
>>> p.hosts
['host0', 'host1', 'host2']
>>> t = p.sql("SELECT plane, COUNT(*) AS n FROM events WHERE line = 'XLA Ops' GROUP BY plane ORDER BY plane")
>>> t.columns, len(t)
(['plane', 'n'], 2)
>>> t[0]
{'plane': '/device:TPU:0', 'n': 147}
>>> p.steps(host="host1").to_dict()["dur_ps"][:2]
[120000000, 120000000]
>>> p.tool("plane_stats").columns[:2]
['host', 'plane']

Every table can be taken over by pandas, polars, pyarrow and DuckDB without a copy (`__arrow_c_stream__`); none of them is
needed. The package is ctypes over libstepscope, which is looked for in $STEPSCOPE_LIBRARY, beside this file, where a wheel
puts it, in a build folder beside it, and where the system has its libraries.
"""
from __future__ import annotations

import ctypes
import ctypes.util
import glob
import html
import json
import math
import operator
import os
import sys
import threading
from collections.abc import Mapping
from typing import Any, Callable, Iterable, Iterator, Sequence, overload

__all__ = ["open", "show", "Profile", "Table", "Error", "version"]

_NULL, _INT, _REAL, _TEXT, _BLOB = range(5)


class Error(Exception):
    """What the library says of a profile or a query."""


def _load() -> ctypes.CDLL:
    here = os.path.dirname(os.path.abspath(__file__))
    name = "libstepscope.0{}.dylib" if sys.platform == "darwin" else "libstepscope.so.0{}"
    beside = os.path.dirname(here)
    folders = [here, os.path.join(beside, "libexec/stepscope"), os.path.join(beside, "../../../libexec/stepscope"),
               os.path.join(os.path.dirname(beside), "build"), os.path.join(beside, "lib")]
    # A release's library has the version in its name, and is the one of its program; another build may lie beside it.
    places = [path for folder in folders for path in [*sorted(glob.glob(os.path.join(glob.escape(folder), name.format("-*")))),
                                                      os.path.join(folder, name.format(""))]]
    tried = [os.environ.get("STEPSCOPE_LIBRARY"), *map(os.path.normpath, places), name.format(""), ctypes.util.find_library("stepscope")]
    for path in tried:
        if path and (os.sep not in path or os.path.exists(path)):
            try:
                return ctypes.CDLL(path)
            except OSError:
                if path == os.environ.get("STEPSCOPE_LIBRARY"):
                    raise
    raise ImportError("libstepscope is not found: run ./dev build, or name the library in $STEPSCOPE_LIBRARY")


class _Question(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("tool", ctypes.c_char_p), ("run", ctypes.c_char_p), ("host", ctypes.c_char_p),
                ("params", ctypes.POINTER(ctypes.c_char_p)), ("format", ctypes.c_int), ("table", ctypes.c_char_p), ("write", ctypes.c_void_p),
                ("write_arg", ctypes.c_void_p)]


class _Answer(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("data", ctypes.c_void_p), ("data_bytes", ctypes.c_size_t), ("type", ctypes.c_char_p),
                ("owned", ctypes.c_void_p)]


class _Stream(ctypes.Structure):
    _fields_ = [("get_schema", ctypes.c_void_p), ("get_next", ctypes.c_void_p), ("get_last_error", ctypes.c_void_p), ("release", ctypes.c_void_p),
                ("private_data", ctypes.c_void_p)]


_lib = _load()
_P, _S, _Z, _I = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int
for _name, _result, _args in (
        ("stepscope_version", _S, ()), ("stepscope_open", _P, (_S, _S, _Z)), ("stepscope_close", None, (_P,)),
        ("stepscope_run_name", _S, (_P, _Z)), ("stepscope_newest_run", _S, (_P,)), ("stepscope_host_name", _S, (_P, _S, _Z)), ("stepscope_tool_name", _S, (_Z,)),
        ("stepscope_has", ctypes.c_bool, (_P, _S, _S)),
        ("stepscope_ask", ctypes.c_bool, (_P, ctypes.POINTER(_Question), ctypes.POINTER(_Answer), _S, _Z)),
        ("stepscope_answer_clear", None, (ctypes.POINTER(_Answer),)),
        ("stepscope_sql_until", _P, (_P, _S, _S, _S, ctypes.c_uint, ctypes.POINTER(_I), _S, _Z)),
        ("stepscope_sql_table", _P, (_P, _S, _Z)), ("stepscope_table_free", None, (_P,)), ("stepscope_table_rows", ctypes.c_uint64, (_P,)),
        ("stepscope_table_columns", _Z, (_P,)), ("stepscope_table_name", _S, (_P, _Z)), ("stepscope_table_type", _I, (_P, _Z)),
        ("stepscope_table_valid", _P, (_P, _Z)), ("stepscope_table_cells", _P, (_P, _Z)),
        ("stepscope_table_ends", ctypes.POINTER(ctypes.c_int64), (_P, _Z)),
        ("stepscope_table_arrow", ctypes.c_bool, (_P, ctypes.POINTER(_Stream)))):
    _f = getattr(_lib, _name)
    _f.restype, _f.argtypes = _result, _args

_DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))
_streams: dict[int, _Stream] = {}


@_DESTRUCTOR
def _drop_stream(capsule: int) -> None:
    at = _capsule_pointer(capsule, b"arrow_array_stream")
    stream = _streams.pop(at, None)
    if stream is not None and stream.release:
        _RELEASE(stream.release)(ctypes.byref(stream))


def version() -> str:
    """Of the library that is running."""
    return _lib.stepscope_version().decode()


def _bytes(text: str) -> bytes:
    """For C: a zero byte would end the text there."""
    if not isinstance(text, str):
        raise TypeError(f"a text is needed, not {text!r}")
    try:
        data = text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        raise Error(f"{text!r} cannot be written as UTF-8") from None
    if b"\0" in data:
        raise Error(f"{text!r} has a zero byte")
    return data


def _maybe_bytes(text: str | None) -> bytes | None:
    return None if text is None else _bytes(text)


def _text_or_none(what: str, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{what} takes a text, not {value!r}")


def _whole(what: str, value: Any) -> int:
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise TypeError(f"{what} takes a whole number, not {value!r}")


class Table:
    """Rows of a question. t[0] is a row, t[:3] some, t["name"] a column. Whole numbers stay whole; None is an empty cell."""

    def __init__(self, pointer: int):
        self._p = pointer
        self.columns: list[str] = [_lib.stepscope_table_name(pointer, i).decode() for i in range(_lib.stepscope_table_columns(pointer))]

    def __del__(self) -> None:
        if getattr(self, "_p", None):
            _lib.stepscope_table_free(self._p)
            self._p = 0

    def __len__(self) -> int:
        return _lib.stepscope_table_rows(self._p)

    def _at(self, column: str | int) -> int:
        at = self.columns.index(column) if column in self.columns else column
        if isinstance(at, int) and 0 <= at < len(self.columns):
            return at
        raise Error(f"there is no column {column!r}: the table has {', '.join(self.columns)}")

    def _cell(self, col: int, row: int) -> Any:
        valid = _lib.stepscope_table_valid(self._p, col)
        if valid and not ctypes.c_uint8.from_address(valid + row // 8).value >> row % 8 & 1:
            return None
        kind, cells = _lib.stepscope_table_type(self._p, col), _lib.stepscope_table_cells(self._p, col)
        if kind == _INT:
            return ctypes.c_int64.from_address(cells + 8 * row).value
        if kind == _REAL:
            return ctypes.c_double.from_address(cells + 8 * row).value
        ends = _lib.stepscope_table_ends(self._p, col)
        data = ctypes.string_at(cells + ends[row], ends[row + 1] - ends[row])
        return data if kind == _BLOB else data.decode()

    @overload
    def __getitem__(self, row: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, row: slice | str) -> list[Any]: ...

    def __getitem__(self, row: int | slice | str) -> dict[str, Any] | list[Any]:
        if isinstance(row, str):
            col = self._at(row)
            return [self._cell(col, i) for i in range(len(self))]
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        if row < 0:
            row += len(self)
        if not 0 <= row < len(self):
            raise IndexError(row)
        return {name: self._cell(i, row) for i, name in enumerate(self.columns)}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[i] for i in range(len(self)))

    def to_dict(self) -> dict[str, list[Any]]:
        """A list for each column."""
        return {name: [self._cell(i, row) for row in range(len(self))] for i, name in enumerate(self.columns)}

    def to_numpy(self, column: str | int) -> Any:
        """A column as an array: of numbers, without a copy if no cell is empty. Empty cells are NaN among decimal numbers, masked among whole ones (a numpy.ma array), and None else."""
        import numpy
        col = self._at(column)
        array, empty = self._array(col), self.nulls(col)
        if not empty or array.dtype == object:
            return array
        if array.dtype == numpy.int64:
            mask = numpy.zeros(len(array), bool)
            mask[empty] = True
            return numpy.ma.masked_array(array, mask)
        array = array.copy()
        array[empty] = float("nan")
        return array

    def _array(self, col: int) -> Any:
        import numpy
        n = len(self)
        kind = _lib.stepscope_table_type(self._p, col)
        if kind in (_TEXT, _BLOB):
            return numpy.array([self._cell(col, row) for row in range(n)], dtype=object)
        dtype = numpy.int64 if kind == _INT else numpy.float64
        if not n:
            return numpy.empty(0, dtype)
        buffer: Any = (ctypes.c_char * (8 * n)).from_address(_lib.stepscope_table_cells(self._p, col))
        buffer._table = self     # the memory lives as long as the array does
        return numpy.frombuffer(buffer, dtype)

    def nulls(self, column: str | int) -> Sequence[int]:
        """The rows whose cell is empty."""
        col = self._at(column)
        return [row for row in range(len(self)) if self._cell(col, row) is None] if _lib.stepscope_table_valid(self._p, col) else []

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The table as a stream of Arrow, for whoever takes one over; the memory is shared."""
        stream = _Stream()
        if not _lib.stepscope_table_arrow(self._p, ctypes.byref(stream)):
            raise MemoryError()
        at = ctypes.addressof(stream)
        _streams[at] = stream
        return _new_capsule(at, b"arrow_array_stream", ctypes.cast(_drop_stream, ctypes.c_void_p))

    def to_pyarrow(self) -> Any:
        """As a pyarrow.Table."""
        import pyarrow
        return pyarrow.table(self)

    def to_polars(self) -> Any:
        """As a polars.DataFrame."""
        import polars
        return polars.DataFrame(self)

    def to_pandas(self) -> Any:
        """As a pandas.DataFrame. Whole numbers with empty cells are of type Int64, so that none loses its last digits."""
        import pandas
        data = {}
        for i, name in enumerate(self.columns):
            kind, empty = _lib.stepscope_table_type(self._p, i), self.nulls(i)
            if kind == _INT and empty:
                column = pandas.array(self._array(i).copy(), dtype="Int64")
                column[empty] = pandas.NA
                data[name] = column
            else:
                data[name] = self.to_numpy(i).copy()
        return pandas.DataFrame(data)

    def __repr__(self) -> str:
        return f"<stepscope.Table of {len(self)} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        most = 50
        head = "".join(f"<th>{html.escape(c)}</th>" for c in self.columns)
        rows = "".join("<tr>" + "".join(f"<td>{'' if v is None else html.escape(str(v))}</td>" for v in self[i].values()) + "</tr>"
                       for i in range(min(most, len(self))))
        more = f"<p>{len(self) - most} more rows</p>" if len(self) > most else "" if len(self) else "<p>no rows</p>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _quoted(value: Any) -> str:
    return str(value) if isinstance(value, (int, float)) else "'" + str(value).replace("'", "''") + "'"


class _Store:
    """What C has open. Each call holds it, so the last one gives it back, whoever closed the profile before."""

    def __init__(self, pointer: int):
        self._as_parameter_ = pointer

    def __del__(self, _close: Any = _lib.stepscope_close) -> None:
        _close(self._as_parameter_)


def _interruptible(work: Callable[[], Any], stop: Callable[[], None]) -> Any:
    """work() in another thread, if this is the one that Ctrl-C reaches: no signal is handled within a call of C. An interrupt calls stop(), which ends the work."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    done, results, failures = threading.Event(), [], []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as e:
            failures.append(e)
        finally:
            done.set()
    try:
        threading.Thread(target=run, name="stepscope", daemon=True).start()
        done.wait()
    except BaseException:
        stop()
        done.wait(1)     # not for ever: the interrupt may have come before the thread began
        raise
    if failures:
        raise failures[0]
    return results[0]


class Profile:
    """A run: `stepscope.open`."""

    def __init__(self, path: str | os.PathLike[str], run: str | None = None):
        why = ctypes.create_string_buffer(500)
        self._store: _Store | None = None
        self._running: dict[int, ctypes.c_int] = {}   # of each query, what ends it
        data = os.fsencode(path)
        if b"\0" in data:
            raise Error(f"{os.fspath(path)!r} has a zero byte")
        pointer = _lib.stepscope_open(data, why, len(why))
        if not pointer:
            raise Error(why.value.decode(errors="replace"))
        self._store = _Store(pointer)
        _text_or_none("run", run)
        runs = self.runs
        if run is not None and run not in runs:
            raise Error(f"there is no run '{run}' in '{os.fspath(path)}': it has {', '.join(runs)}")
        newest = _lib.stepscope_newest_run(self._open_store)
        self.run = run if run is not None or newest is None else os.fsdecode(newest)
        self._named = os.fsdecode(data)

    def __repr__(self) -> str:
        if self._store is None:
            return f"<stepscope.Profile of {self._named!r}, closed>"
        n = len(self.hosts)
        return f"<stepscope.Profile of {self._named!r}, run {self.run!r}, {n} host{'' if n == 1 else 's'}>"

    def close(self) -> None:
        """Give back what is open. Tables live on; a query of another thread ends with an Error, and any other call is answered first."""
        self._store = None
        for stop in list(self._running.values()):
            stop.value = 1

    def __enter__(self) -> "Profile":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def _open_store(self) -> _Store:
        store = self._store
        if store is None:
            raise Error("the profile is closed")
        return store

    def _names(self, get: Any) -> list[str]:
        names: list[str] = []
        while (name := get(len(names))) is not None:
            names.append(os.fsdecode(name))
        return names

    @property
    def runs(self) -> list[str]:
        """All runs of the directory by name, in descending order; `run` is the one that is open."""
        return self._names(lambda i: _lib.stepscope_run_name(self._open_store, i))

    @property
    def hosts(self) -> list[str]:
        """Names of the hosts of the run."""
        return self._names(lambda i: _lib.stepscope_host_name(self._open_store, _maybe_bytes(self.run), i))

    @property
    def tools(self) -> list[str]:
        """Names of the tools that have data in this run."""
        return [t for t in self._names(_lib.stepscope_tool_name) if _lib.stepscope_has(self._open_store, _maybe_bytes(self.run), t.encode())]

    def sql(self, query: str, *, host: str | None = None, timeout_s: float = 0) -> Table:
        """The rows of a query (docs/sql.md). timeout_s: stop it after so many seconds; 0: never, but for a recursion without an end. Ctrl-C stops it, too."""
        if isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)):
            raise TypeError(f"timeout_s takes seconds, not {timeout_s!r}")
        if not 0 <= timeout_s <= 86400:
            raise Error(f"timeout_s takes seconds, from 0 (never) to 86400, not {timeout_s}")
        asked = _maybe_bytes(self.run), _maybe_bytes(host), _bytes(query), math.ceil(timeout_s * 1000)
        stop = ctypes.c_int(0)
        try:
            self._running[id(stop)] = stop
            return _interruptible(lambda: self._rows(asked, stop), lambda: setattr(stop, "value", 1))
        finally:
            self._running.pop(id(stop), None)

    def _rows(self, asked: tuple[Any, ...], stop: ctypes.c_int) -> Table:
        why = ctypes.create_string_buffer(500)
        store = self._open_store     # held until the rows are closed
        rows = _lib.stepscope_sql_until(store, *asked, ctypes.byref(stop), why, len(why))
        table = _lib.stepscope_sql_table(rows, why, len(why)) if rows else None
        if table:
            return Table(table)
        raise Error("the profile is closed" if stop.value and self._store is None else why.value.decode(errors="replace"))

    def _where(self, terms: Iterable[tuple[str, Any]]) -> str:
        said = [f"{what} {_quoted(value)}" for what, value in terms if value is not None]
        return " WHERE " + " AND ".join(said) if said else ""

    def _check_host(self, host: str | None) -> None:
        _text_or_none("host", host)
        if host is not None and host not in self.hosts:
            raise Error(f"there is no host {host!r}: the run has {', '.join(self.hosts)}")

    def steps(self, host: str | None = None, plane: str | None = None) -> Table:
        """The steps that devices record. Profiles of CPUs and of most GPUs have none: `tool("host_boundness", 3)` has those that the summary counts."""
        self._check_host(host)
        _text_or_none("plane", plane)
        return self.sql("SELECT * FROM steps" + self._where((("host =", host), ("plane =", plane))))

    def events(self, host: str | None = None, plane: str | None = None, line: str | None = None, start_ps: int | None = None,
               end_ps: int | None = None, names: str | Sequence[str] | None = None) -> Table:
        """Events, of which all that is given holds: start_ps and end_ps are a range in which they run, names are theirs in the file or as displayed."""
        self._check_host(host)
        _text_or_none("plane", plane)
        _text_or_none("line", line)
        from_ps = None if start_ps is None else _whole("start_ps", start_ps)
        to_ps = None if end_ps is None else _whole("end_ps", end_ps)
        where = self._where((("host =", host), ("plane =", plane), ("line =", line), ("end_ps >", from_ps), ("start_ps <", to_ps)))
        if names is not None:
            wanted = [names] if isinstance(names, str) else list(names)
            for name in wanted:
                _bytes(name)
            listed = ", ".join(_quoted(n) for n in wanted)
            where += (" AND " if where else " WHERE ") + f"(name IN ({listed}) OR display_name IN ({listed}))"
        return self.sql("SELECT * FROM events" + where)

    def tool(self, name: str, table: int = 1) -> Table:
        """A table of a tool's answer, with its default parameters."""
        _bytes(name)
        if name not in self._names(_lib.stepscope_tool_name):
            raise Error(f"there is no tool {name!r}")
        if _whole("table", table) < 1:
            raise Error(f"the tables of a tool have numbers from 1 on, not {table!r}")
        return self.sql(f'SELECT * FROM "tool_{name}' + (f'_{table}"' if table > 1 else '"'))

    def ask(self, tool: str, host: str | None = None, params: Mapping[str, Any] | None = None) -> Any:
        """A tool's whole answer as the JSON of docs/api.md: tables by column, notes, and its conclusion in sentences."""
        if params is not None and not isinstance(params, Mapping):
            raise TypeError(f"params takes a mapping of names to values, not {params!r}")
        why, answer = ctypes.create_string_buffer(500), _Answer(ctypes.sizeof(_Answer))
        listed = [_bytes(f"{k}={v}") for k, v in (params or {}).items()]
        array = (ctypes.c_char_p * (len(listed) + 1))(*listed, None)
        question = _Question(ctypes.sizeof(_Question), _bytes(tool), _maybe_bytes(self.run), _maybe_bytes(host), array)
        try:
            if not _lib.stepscope_ask(self._open_store, ctypes.byref(question), ctypes.byref(answer), why, len(why)):
                raise Error(why.value.decode(errors="replace"))
            return json.loads(ctypes.string_at(answer.data, answer.data_bytes))
        finally:
            _lib.stepscope_answer_clear(ctypes.byref(answer))

    def findings(self) -> list[str]:
        """What the overview comes to, in sentences: the most important first."""
        said = self.ask("overview_page").get("conclusion")
        return [said["text"], *said["more"]] if said else []


def open(path: str | os.PathLike[str], run: str | None = None) -> Profile:
    """A log directory, a run, or one file. `run`: another than the newest."""
    return Profile(path, run)


def show(path: str | os.PathLike[str], height: int = 800) -> Any:
    """The page, as the output of a notebook's cell."""
    from . import notebook
    return notebook.show(path, height)


def load_ipython_extension(ipython: Any) -> None:
    """%load_ext stepscope, then %stepscope PATH."""
    from . import notebook
    notebook.load_ipython_extension(ipython)
