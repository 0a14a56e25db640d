"""Handing the state to compiled code as one address, so that a call costs the same however much the state holds.

`Layout` writes down where each array of a state lies: one word for the address and one for each dimension, one for a
number. Compiled code gets the address of that table and reads `s.queues.free_s` from it as if the state were the named
tuple that it is in Python (and on a GPU, where the named tuple itself is handed over).
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Annotated, Any, NamedTuple, cast, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import from_dtype
from numba.core import types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model
from numba.np.arrayobj import populate_array

from hybrid_ml_scheduler.engine.state import State

__all__ = ["Handed", "state_at"]

_WORD = ir.IntType(64)


class _Field(NamedTuple):
    """Where a field lies in the table (in words), and what it is: an array of so many dimensions, or a number."""

    place: int
    number: type | None
    dtype: Any = None
    dimensions: int = 0


@cache
def _layout() -> dict[str, dict[str, _Field]]:
    """The fields of each part of the state, and under "" those of the state itself."""
    parts: dict[str, dict[str, _Field]] = {"": {}}
    place = 0
    for name, hint in get_type_hints(State, include_extras=True).items():
        if hasattr(hint, "_fields"):
            parts[name] = {}
            for inner, inner_hint in get_type_hints(hint, include_extras=True).items():
                parts[name][inner] = _field(place, inner_hint)
                place += 1 + parts[name][inner].dimensions
        else:
            parts[""][name] = _field(place, hint)
            place += 1
    return parts


def _field(place: int, hint: Any) -> _Field:
    if hint in (bool, int, float):
        return _Field(place, hint)
    dimensions = 1
    if get_origin(hint) is Annotated:
        hint, dimensions = get_args(hint)
    return _Field(place, None, np.dtype(get_args(get_args(hint)[1])[0]), dimensions)


class Handed:
    """A state and the table that compiled code finds it by; it must be kept as long as the code runs."""

    __slots__ = ("_table", "address", "state")

    def __init__(self, state: State) -> None:
        self.state = state
        words: list[int] = []
        for name, value in zip(State._fields, state, strict=True):
            if isinstance(value, tuple):
                fields = _layout()[name].values()
                for field, inner in zip(fields, value, strict=True):
                    words += _words(field, inner)
            else:
                words += _words(_layout()[""][name], value)
        self._table = np.array(words, dtype=np.int64)
        self.address = int(self._table.ctypes.data)


def _words(field: _Field, value: Any) -> list[int]:
    if field.number is float:
        return [cast(int, struct.unpack("q", struct.pack("d", value))[0])]
    if field.number is not None:
        return [int(value)]
    array: npt.NDArray[Any] = value
    if array.dtype != field.dtype or array.ndim != field.dimensions or not array.flags.c_contiguous:
        raise TypeError(f"the state has {array.dtype} of {array.ndim} dimensions where {field} is due")
    return [array.__array_interface__["data"][0], *array.shape]


class _StateType(types.Type):
    """The state at an address, or one part of it."""

    def __init__(self, part: str = "") -> None:
        self.part = part
        super().__init__(name=f"EngineState({part})")


@register_model(_StateType)
class _StateModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _WORD)  # type: ignore[no-untyped-call]


@infer_getattr
class _StateAttribute(AttributeTemplate):
    key = _StateType

    def generic_resolve(self, typ: _StateType, name: str) -> Any:  # type: ignore[override]
        if not typ.part and name in _layout():
            return _StateType(name)
        field = _layout()[typ.part].get(name)
        return None if field is None else _numba_type(field)


def _numba_type(field: _Field) -> Any:
    if field.number is not None:
        return {bool: types.boolean, int: types.int64, float: types.float64}[field.number]
    return types.Array(from_dtype(field.dtype), field.dimensions, "C")


@lower_getattr_generic(_StateType)  # type: ignore[no-untyped-call]
def _read(context: Any, builder: Any, typ: _StateType, address: Any, name: str) -> Any:
    if not typ.part and name in _layout():
        return address
    field = _layout()[typ.part][name]
    table = builder.inttoptr(address, _WORD.as_pointer())

    def word(offset: int) -> Any:
        found = builder.load(builder.gep(table, [ir.Constant(_WORD, field.place + offset)]))
        # The table does not change while code runs, whatever that stores: it need be read only once.
        found.set_metadata("invariant.load", builder.module.add_metadata([]))
        return found

    if field.number is bool:
        return builder.icmp_unsigned("!=", word(0), ir.Constant(_WORD, 0))
    if field.number is int:
        return word(0)
    if field.number is float:
        return builder.bitcast(word(0), ir.DoubleType())
    kind = _numba_type(field)
    item = context.get_data_type(kind.dtype)
    size = context.get_abi_sizeof(item)
    shape = [word(1 + dimension) for dimension in range(field.dimensions)]
    strides = [ir.Constant(_WORD, size)]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    array = context.make_array(kind)(context, builder)
    populate: Any = populate_array
    populate(array, builder.inttoptr(word(0), item.as_pointer()), shape, strides, ir.Constant(_WORD, size), None)
    return array._getvalue()


@intrinsic
def _found(typingctx: Any, address: Any) -> Any:
    """The state that is found by the table at this address."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return arguments[0]

    return _StateType()(types.int64), code


# What Numba's decorator makes of it is called with the address alone.
state_at: Any = _found
