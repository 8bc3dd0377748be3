"""Probe environments of several groups of agents."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import jax
import jax.numpy as jnp

from mava.testing.probe import ByGroup, Probe, ProbeState, group_spec, probe_spec
from mava.types import DiscreteActions, EnvironmentSpec


@dataclasses.dataclass(frozen=True)
class TwoGroups(Probe):
    """Isolates mixed-up groups. One agent of ``scouts`` sees a cue among 2 and has 2 actions; two
    of ``carriers`` see a cue among 3 and have 4. A scout is paid 1 for the action that equals its
    cue, a carrier for the one after its cue, else 0. The best return is 1 for each; padding to
    equal sizes that leaks shows as actions out of range."""

    length: int = dataclasses.field(default=1, init=False)

    @property
    def spec(self) -> EnvironmentSpec:
        scouts = group_spec(1, (2,), DiscreteActions(2), "scouts")
        return probe_spec(
            "two_groups", self.length, scouts, group_spec(2, (3,), DiscreteActions(4), "carriers")
        )

    def begin(self, key: jax.Array) -> jax.Array:
        return jax.random.randint(key, (3,), 0, jnp.asarray([2, 3, 3]))

    def observe(self, state: ProbeState) -> ByGroup:
        return {
            "scouts": jax.nn.one_hot(state.memory[:1], 2),
            "carriers": jax.nn.one_hot(state.memory[1:], 3),
        }

    def pay(self, state: ProbeState, actions: Mapping[str, jax.Array]) -> ByGroup:
        return {
            "scouts": actions["scouts"] == state.memory[:1],
            "carriers": actions["carriers"] == state.memory[1:] + 1,
        }


@dataclasses.dataclass(frozen=True)
class OpposedGroups(Probe):
    """Isolates rewards that are opposed. Two of ``seekers`` and two of ``hiders`` see one cue among
    2 and have 2 actions. A seeker is paid 1 for the action that equals the cue and -1 for the
    other, and the hider of its index the opposite; a hider's own action adds 0.5 where it equals
    the cue, else -0.5. The best returns are 1 and -0.5; critics that sum rewards, or mix up the
    groups, lose one of them."""

    length: int = dataclasses.field(default=1, init=False)

    @property
    def spec(self) -> EnvironmentSpec:
        seekers = group_spec(2, (2,), DiscreteActions(2), "seekers")
        hiders = group_spec(2, (2,), DiscreteActions(2), "hiders")
        return probe_spec("opposed_groups", self.length, seekers, hiders)

    def begin(self, key: jax.Array) -> jax.Array:
        return jax.random.randint(key, (), 0, 2)

    def observe(self, state: ProbeState) -> ByGroup:
        cue = jnp.broadcast_to(jax.nn.one_hot(state.memory, 2), (2, 2))
        return {"seekers": cue, "hiders": cue}

    def pay(self, state: ProbeState, actions: Mapping[str, jax.Array]) -> ByGroup:
        found = jnp.where(actions["seekers"] == state.memory, 1.0, -1.0)
        hidden = jnp.where(actions["hiders"] == state.memory, 0.5, -0.5)
        return {"seekers": found, "hiders": hidden - found}
