"""Calls of a component's pure hooks as plain functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mava.core.contexts import Batch, Params
from mava.testing import builders
from mava.types import EnvironmentSpec, GroupSpec, PyTree

FAST = {"xla_backend_optimization_level": 0}
"""Compiler options: each function here runs a few times only, so compiling it is what costs."""


class Case(NamedTuple):
    """One hook on one specification.

    Attributes:
        hook: the method's name.
        function: calls the hook; pure in its arguments, which are trees of arrays.
        arguments: a seed -> arguments. All seeds give the same structure, shapes and dtypes.
        carried: the index of the argument that is state, and where the output has its new value.
        key: the index of the random key among the arguments.
        group: where the hook is called once per group.
        detail: for messages.
        explores: whether the call may draw random actions.
    """

    hook: str
    function: Callable[..., PyTree]
    arguments: Callable[[int], tuple[PyTree, ...]]
    carried: tuple[int, Callable[[PyTree], PyTree]] | None = None
    key: int | None = None
    group: GroupSpec = builders.group_spec()
    detail: str = ""
    explores: bool = True


class Inputs(NamedTuple):
    """What a contract gives its cases; see the methods of ``ComponentContract``."""

    spec: EnvironmentSpec
    params: Callable[[int], Params]
    batch: Callable[[int], Batch]
    scores: Callable[..., np.ndarray]
    recurrent: bool = False


class CompiledCase:
    """A case that is compiled once for all tests, and counts how often it is traced."""

    def __init__(self, spec: str, component: Any, case: Case, strict: bool) -> None:
        self.name = f"{spec}: {component.name}.{case.hook} {case.detail}".strip()
        self.spec = spec
        self.hook, self.group, self.explores = case.hook, case.group, case.explores
        self.arguments, self.carried, self.key = case.arguments, case.carried, case.key
        self._call, self._strict = case.function, strict and case.hook != "optimiser"
        self._traces = 0
        self.compiled = jax.jit(self._counted, compiler_options=FAST)

    def function(self, *args: Any) -> PyTree:
        if not self._strict:
            return self._call(*args)
        with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
            return self._call(*args)

    def traces(self) -> int:
        return self._traces

    def _counted(self, *args: Any) -> PyTree:
        self._traces += 1
        return self.function(*args)

    def traced(self, seed: int) -> tuple[str, list[Any]]:
        """The computation as text, and its constants."""
        jaxpr = jax.make_jaxpr(self.function)(*self.arguments(seed))
        return str(jaxpr), [plain(x).tolist() for x in jaxpr.consts]

    def draws(self) -> bool:
        """Whether the computation holds random numbers."""
        text = self.traced(0)[0]
        return "random_bits" in text or "threefry2x32" in text


def plain(x: Any) -> np.ndarray:
    """Float64, of numbers, flags and random keys."""
    is_key = jnp.issubdtype(jnp.result_type(x), jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(x) if is_key else x, np.float64)


def equal(left: PyTree, right: PyTree) -> bool:
    """Whether two trees hold the same numbers to the bit."""
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return all(np.array_equal(plain(a), plain(b), equal_nan=True) for a, b in pairs)


def shapes(tree: PyTree) -> Any:
    """Structure, shapes and dtypes."""
    leaves, structure = jax.tree.flatten(tree)
    return structure, [(jnp.shape(x), jnp.result_type(x)) for x in leaves]
