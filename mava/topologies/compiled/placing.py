"""How a loop is laid out: over devices by ``shard_map``, over seeds by ``vmap``."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from mava.core.plans import BufferPlan, Sampling, check_count
from mava.core.program import Program
from mava.errors import ConfigurationError
from mava.functional.devices import AllMean, identity
from mava.topologies.compiled.loop import Chunk, Source
from mava.types import Array, PyTree

_AXIS = "devices"
_WHOLE, _SPLIT = PartitionSpec(), PartitionSpec(_AXIS)


@dataclasses.dataclass(frozen=True)
class Layout:
    """Devices and seeds of a run.

    The trainer's state is the same on every device; environments and buffer are split, under a
    leading axis of devices where there are several. Seeds are a leading axis of everything where
    there are several.

    Raises:
        ConfigurationError: a number below 1, or more devices than there are.
    """

    num_devices: int = 1
    num_seeds: int = 1

    def __post_init__(self) -> None:
        check_count("num_seeds", self.num_seeds)
        check_count("num_devices", self.num_devices)
        found = jax.local_device_count()
        if self.num_devices > found:
            raise ConfigurationError(
                f"num_devices is {self.num_devices}, and JAX has {found} "
                f"{jax.default_backend()} device(s); on a CPU, "
                f"XLA_FLAGS=--xla_force_host_platform_device_count={self.num_devices} makes more"
            )

    def plan_of(self, program: Program) -> BufferPlan:
        """The buffer of one device.

        Raises:
            ConfigurationError: environments or batch cannot be split evenly.
        """
        plan, devices = program.plan, self.num_devices
        sizes = {
            "the executor's num_environments": program.num_environments,
            "the buffer's batch_size": plan.batch_size,
        }
        for what, size in sizes.items():
            if size % devices:
                raise ConfigurationError(
                    f"{what} is {size}, which {devices} devices cannot share evenly; make it a "
                    f"multiple of {devices}"
                )
        return dataclasses.replace(
            plan,
            capacity=plan.capacity // devices,
            min_size=_least(plan, program.num_environments, devices),
            batch_size=plan.batch_size // devices,
        )

    @property
    def device(self) -> Callable[[], Array] | None:
        """Gives the index of the device, inside the program; ``None`` for one device."""
        return None if self.num_devices == 1 else lambda: jax.lax.axis_index(_AXIS)

    @property
    def all_mean(self) -> AllMean:
        return identity if self.num_devices == 1 else lambda tree: jax.lax.pmean(tree, _AXIS)

    def over_seeds(
        self, function: Callable[..., Any], axes: tuple[int | None, ...]
    ) -> Callable[..., Any]:
        return function if self.num_seeds == 1 else jax.vmap(function, in_axes=axes)

    def sources(self, seed: int) -> Source:
        """The seeds ``seed``, ``seed + 1``, ... and their keys.

        Raises:
            ConfigurationError: one of them does not fit 32 bits.
        """
        if seed + self.num_seeds > 2**32:
            raise ConfigurationError(
                f"seed is {seed} and num_seeds {self.num_seeds}: the last seed would be "
                f"{seed + self.num_seeds - 1}; it must be below 2**32"
            )
        seeds = [seed + index for index in range(self.num_seeds)]
        made = [Source(jax.random.key(s), np.asarray(s, np.uint32)) for s in seeds]
        if self.num_seeds == 1:
            return made[0]
        return jax.tree.map(lambda *x: jax.numpy.stack(x), *made)  # type: ignore[no-any-return]

    def over_devices(
        self, function: Callable[..., Any], inputs: str, outputs: Any
    ) -> Callable[..., Any]:
        """``function`` on every device.

        Args:
            function: of one device.
            inputs: for each argument ``"w"`` (whole: the same on every device) or ``"s"`` (split).
            outputs: a tree of the same letters, for the result.
        """
        if self.num_devices == 1:
            return function

        def body(*args: PyTree) -> Any:
            parts = zip(args, inputs, strict=True)
            result = function(*(_one(arg) if kind == "s" else arg for arg, kind in parts))
            return jax.tree.map(lambda kind, x: _many(x) if kind == "s" else x, outputs, result)

        specs = {"w": _WHOLE, "s": _SPLIT}
        return jax.shard_map(
            body,
            mesh=self._mesh,
            in_specs=tuple(specs[kind] for kind in inputs),
            out_specs=jax.tree.map(specs.__getitem__, outputs),
            check_vma=False,
        )

    def whole(self, tree: PyTree) -> PyTree:
        """The tree on every device."""
        if self.num_devices == 1:
            return tree
        return jax.device_put(tree, NamedSharding(self._mesh, _WHOLE))

    @property
    def _mesh(self) -> Mesh:
        return Mesh(np.asarray(jax.local_devices()[: self.num_devices]), (_AXIS,))


CHUNK = Chunk("w", "s", "w", "s")  # type: ignore[arg-type]
"""Which parts of a chunk are whole and which are split."""


def _least(plan: BufferPlan, environments: int, devices: int) -> int:
    """The smallest buffer of a device that may be sampled from."""
    if plan.sampling is Sampling.ON_POLICY:
        return plan.min_size // devices
    steps = math.ceil(plan.min_size / environments)
    return min(plan.capacity // devices, steps * environments // devices)


def _one(tree: PyTree) -> PyTree:
    return jax.tree.map(lambda x: x[0], tree)


def _many(tree: PyTree) -> PyTree:
    return jax.tree.map(lambda x: x[None], tree)
