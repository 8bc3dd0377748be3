"""Whether two values are alike that need not be equal, as one of them came back from a pickle.

Functions and classes of a script or notebook are pickled by value, and what comes back is equal to
nothing. Such ones are compared by what they are made of.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Mapping
from typing import Any

import cloudpickle
import jax
import numpy as np

_NOT_COMPARED = {
    *("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__firstlineno__"),
    *("__static_attributes__", "__annotations__", "__annotate__", "__annotate_func__"),
    *("__annotations_cache__", "__classdictcell__", "__abstractmethods__", "_abc_impl"),
    *("__dataclass_fields__", "__dataclass_params__", "__match_args__", "__orig_bases__"),
    *("__parameters__", "__slotnames__", "__slots__", "__hash__"),
}
_MISSING = object()


class Likeness:
    """Compares two values piece by piece.

    Attributes:
        unsure: names of what differs or not: nothing shows it.
    """

    def __init__(self) -> None:
        self.unsure: list[str] = []
        # Under way or done; the values are kept so that no other one gets their number.
        self._met: dict[tuple[int, int], tuple[Any, Any]] = {}

    def alike(self, old: Any, new: Any) -> bool:
        """False where the two differ; true where they do not, or ``unsure`` names a part."""
        if old is new or (id(old), id(new)) in self._met:
            return True
        self._met[id(old), id(new)] = (old, new)
        if isinstance(new, (np.ndarray, jax.Array)):
            return type(old) is type(new) and bool(_equal_arrays(old, new))
        if isinstance(new, (types.FunctionType, type)):
            return type(old) is type(new) and self._named(old, new)
        if _equal(old, new):
            return True
        return self.alike(type(old), type(new)) and self._values(old, new)

    def _values(self, old: Any, new: Any) -> bool:
        """Of types that are alike, and not equal."""
        if isinstance(new, Mapping):
            return old.keys() == new.keys() and all(self.alike(old[key], new[key]) for key in new)
        if isinstance(new, (tuple, list)):
            return self._all(old, new)
        if isinstance(new, functools.partial):
            names = ("func", "args", "keywords")
            return all(self.alike(getattr(old, n), getattr(new, n)) for n in names)
        if isinstance(new, types.MethodType):
            same = self.alike(old.__func__, new.__func__)
            return same and self.alike(old.__self__, new.__self__)
        if isinstance(new, (staticmethod, classmethod)):
            return self.alike(old.__func__, new.__func__)
        if isinstance(new, property):
            names = ("fget", "fset", "fdel")
            return all(self.alike(getattr(old, n), getattr(new, n)) for n in names)
        if isinstance(new, types.CodeType):
            return self._codes(old, new)
        if isinstance(new, (str, bytes, int, float, complex, frozenset, set, type(None))):
            return False
        if dataclasses.is_dataclass(new) or hasattr(new, "__dict__"):
            return self.alike(vars(old), vars(new))
        if _pickled(new) is None or _pickled(old) != _pickled(new):
            self.unsure.append(repr(new)[:80])
        return True

    def _all(self, old: Any, new: Any) -> bool:
        return len(old) == len(new) and all(map(self.alike, old, new))

    def _named(self, old: Any, new: Any) -> bool:
        """Functions and classes that are not the same one."""
        if (old.__module__, old.__qualname__) != (new.__module__, new.__qualname__):
            return False
        if isinstance(new, type):
            return self._classes(old, new)
        cells = [
            [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
            for function in (old, new)
        ]
        names = [name for name in new.__code__.co_names if name in new.__globals__]
        return (
            self._codes(old.__code__, new.__code__)
            and self.alike(old.__defaults__, new.__defaults__)
            and self.alike(old.__kwdefaults__, new.__kwdefaults__)
            and self._all(*cells)
            and all(
                self.alike(old.__globals__[name], new.__globals__[name])
                for name in names
                if name in old.__globals__
            )
        )

    def _codes(self, old: types.CodeType, new: types.CodeType) -> bool:
        """Without names of files and numbers of lines."""
        names = (
            *("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars"),
            *("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags"),
        )
        same = all(getattr(old, name) == getattr(new, name) for name in names)
        return same and self._all(old.co_consts, new.co_consts)

    def _classes(self, old: type, new: type) -> bool:
        attributes = [
            {name: value for name, value in vars(made).items() if name not in _NOT_COMPARED}
            for made in (old, new)
        ]
        if attributes[0].keys() != attributes[1].keys() or not self._all(
            old.__bases__, new.__bases__
        ):
            return False
        return all(
            _is_generated(value) or self._attribute(new, name, attributes[0][name], value)
            for name, value in attributes[1].items()
        )

    def _attribute(self, owner: type, name: str, old: Any, new: Any) -> bool:
        if isinstance(new, (types.MemberDescriptorType, types.GetSetDescriptorType)):
            return type(old) is type(new)
        try:
            return self.alike(old, new)
        except Exception:
            self.unsure.append(f"{owner.__qualname__}.{name}")
            return True


def _is_generated(value: Any) -> bool:
    """Whether ``dataclass`` wrote a method: its fields tell the same."""
    return isinstance(value, types.FunctionType) and value.__code__.co_filename == "<string>"


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not _MISSING
    except ValueError:
        return False


def _equal_arrays(old: Any, new: Any) -> bool:
    same = old.dtype == new.dtype and old.shape == new.shape
    return same and np.asarray(old).tobytes() == np.asarray(new).tobytes()


def _equal(old: Any, new: Any) -> bool:
    try:
        return bool(old == new)
    except Exception:
        return False


def _pickled(value: Any) -> bytes | None:
    try:
        return bytes(cloudpickle.dumps(value))
    except Exception:
        return None
