"""What the parallel and the turn-based adapter share: spec, rows of agents, checks, rendering."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from mava.environments.base import Actions, Environment
from mava.environments.finite import all_finite, bad_entry
from mava.environments.pettingzoo.facts import (
    distinct_spaces,
    episode_limit,
    name_of,
    state_spec,
)
from mava.environments.pettingzoo.groups import Group, groups_of
from mava.environments.pettingzoo.spaces import MASK, LeafFault, mask_row, observation_mask
from mava.errors import EnvironmentFault
from mava.types import AgentID, Array, ArraySpec, EnvironmentSpec, TimeStep

ByGroup = dict[str, Array]


TRUE, FALSE = np.asarray(True), np.asarray(False)
TRUE.setflags(write=False)
FALSE.setflags(write=False)


class PettingZooAdapter(Environment):
    """Base of the adapters.

    Flags, and masks that allow everything, are shared between timesteps and cannot be written to.
    """

    checks_finite = True

    def __init__(
        self,
        env: Any,
        name: str | None = None,
        groups: Mapping[str, Sequence[AgentID]] | None = None,
        global_state: bool = False,
        reset_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self._env = env
        self._name = name or name_of(env)
        self._groups = groups_of(self._name, env, groups)
        self._reset_kwargs = dict(reset_kwargs or {})
        self._agents: list[AgentID] = list(env.possible_agents)
        self._places = {
            agent: (group, row) for group in self._groups for row, agent in enumerate(group.agents)
        }
        self._spec = EnvironmentSpec(
            self._name,
            tuple(group.spec for group in self._groups),
            state=state_spec(self._name, env) if global_state else None,
            episode_limit=self._episode_limit(),
        )
        self._seeded = distinct_spaces(env, self._agents)
        self._step = 0
        # Who was in the game when the current step began, and whom it truncates.
        self._before: list[AgentID] = []
        self._cut: frozenset[AgentID] = frozenset()
        # The masks of the timestep before, which a truncated agent may need.
        self._known: ByGroup = {group.name: group.all_legal for group in self._groups}

    @property
    def spec(self) -> EnvironmentSpec:
        return self._spec

    def render(self) -> np.ndarray | None:
        if getattr(self._env, "render_mode", None) != "rgb_array":
            return None
        frame = self._env.render()
        return None if frame is None else np.asarray(frame, np.uint8)

    def close(self) -> None:
        env, self._env = self._env, None
        if env is not None:
            env.close()

    def _episode_limit(self) -> int | None:
        return episode_limit(self._env)

    def _fault(self, message: str) -> EnvironmentFault:
        return EnvironmentFault(f"{self._name}, step {self._step}: {message}")

    def _call_reset(self, seed: int) -> Any:
        for offset, space in enumerate(self._seeded):
            space.seed(seed + offset)
        self._step = 0
        self._before, self._cut = [], frozenset()
        self._known = {group.name: group.all_legal for group in self._groups}
        try:
            return self._env.reset(seed=seed, **self._reset_kwargs)
        except Exception as error:
            raise self._fault(
                f"reset(seed={seed}) raised {type(error).__name__}: {error}"
            ) from error

    def _call_step(self, action: Any) -> Any:
        self._step += 1
        self._before, self._cut = self._live, frozenset()
        try:
            return self._env.step(action)
        except Exception as error:
            raise self._fault(
                f"the environment raised {type(error).__name__}: {error}; it was given {action!r}"
            ) from error

    def _begin(self, live: Collection[AgentID]) -> None:
        """Flags for a new episode."""
        self._live = list(live)
        self._playing = self._rows_where(set(live))
        self._terminated = self._rows_where(())
        self._truncated = self._terminated
        self._over = not self._live

    def _rows_where(self, agents: Collection[AgentID]) -> ByGroup:
        rows: ByGroup = {}
        for group in self._groups:
            flags = np.array([agent in agents for agent in group.agents], bool)
            flags.setflags(write=False)
            rows[group.name] = flags
        return rows

    def _mark(
        self,
        live: Sequence[AgentID],
        terminations: Mapping[AgentID, Any],
        truncations: Mapping[AgentID, Any],
    ) -> None:
        """Brings the flags up to date; an agent that left without a flag has terminated."""
        known = self._places.keys()
        for agent in live:
            if agent not in known:
                raise self._fault(f"agent {agent!r} is not one of `possible_agents` {self._agents}")
        truncated = {agent for agent in known if truncations.get(agent)}
        left = set(self._live) - set(live) - truncated
        terminated = left | {agent for agent in known if terminations.get(agent)}
        self._terminated = self._joined(self._terminated, terminated)
        self._truncated = self._joined(self._truncated, truncated)
        self._cut = (self._cut | truncated.intersection(self._before)) - terminated
        present = self._rows_where(set(live))
        self._playing = {
            name: rows & ~(self._terminated[name] | self._truncated[name])
            for name, rows in present.items()
        }
        self._live = [agent for agent in live if self._is_playing(agent)]
        self._over = not self._live

    def _joined(self, flags: ByGroup, agents: Collection[AgentID]) -> ByGroup:
        return {name: flags[name] | rows for name, rows in self._rows_where(agents).items()}

    def _is_playing(self, agent: AgentID) -> bool:
        group, row = self._places[agent]
        return bool(self._playing[group.name][row])

    def _decoded(self, actions: Actions) -> dict[str, list[Any]]:
        """The joint action as the environment's own values, one per agent of each group."""
        values = {}
        for group in self._groups:
            joint = np.asarray(actions[group.name])
            if joint.shape != group.joint_shape:
                raise ValueError(
                    f"{self._name}: actions[{group.name!r}] has shape {joint.shape}, needs "
                    f"{group.joint_shape}"
                )
            values[group.name] = group.decoder.decode(joint)
        return values

    def _timestep(
        self,
        observations: Mapping[AgentID, Any],
        infos: Mapping[AgentID, Any],
        reward: ByGroup,
        alive: ByGroup,
        acting: Collection[AgentID] | None,
        start: bool,
    ) -> TimeStep:
        """``acting`` names the agents with legal actions, truncated ones among them; ``None``
        stands for all."""
        observation: ByGroup = {}
        legal: ByGroup = {}
        for group in self._groups:
            rows, mask = self._rows(group, observations, infos)
            self._known[group.name] = mask
            if acting is not None:
                mask = mask & np.array([agent in acting for agent in group.agents])[:, None]
            observation[group.name], legal[group.name] = rows, mask
        return TimeStep(
            observation,
            legal,
            alive,
            reward,
            self._terminated,
            self._truncated,
            TRUE if start else FALSE,
            TRUE if self._over else FALSE,
            None if self._spec.state is None else self._state(self._spec.state),
            {},
        )

    def _rows(
        self, group: Group, observations: Mapping[AgentID, Any], infos: Mapping[AgentID, Any]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Observations ``[N, *]`` and legal actions ``[N, A]`` of a group."""
        spec = group.encoder.spec
        rows = spec.zeros(len(group.agents))
        legal = group.all_legal
        write, choices = group.encoder.write, legal.shape[1]
        for row, agent in enumerate(group.agents):
            value = observations.get(agent)
            if value is None:
                self._check_absent(group, row)
                continue
            try:
                write(value, rows[row])
            except LeafFault as error:
                raise self._fault(f"agent {agent!r}: {error}") from None
            except (TypeError, ValueError) as error:
                raise self._fault(f"agent {agent!r}: observation is unreadable: {error}") from error
            mask = observation_mask(value) if group.masked[row] else None
            if mask is None:
                info = infos.get(agent)
                mask = info.get(MASK) if info else None
            if mask is not None and choices:
                legal = legal.copy() if legal is group.all_legal else legal
                legal[row] = self._mask(agent, mask, choices)
            elif agent in self._cut and choices:
                legal = legal.copy() if legal is group.all_legal else legal
                legal[row] = self._known[group.name][row]
        if spec.dtype.kind == "f" and not all_finite(rows):
            self._check_finite(group, rows)
        return rows, legal

    def _check_absent(self, group: Group, row: int) -> None:
        # A truncated agent needs its last observation too: its value goes on from there.
        truncated = group.agents[row] in self._cut
        if truncated or self._playing[group.name][row]:
            raise self._fault(
                f"agent {group.agents[row]!r} has no observation, though it "
                + ("was truncated in this step" if truncated else "is in the game")
            )

    def _mask(self, agent: AgentID, mask: Any, choices: int) -> np.ndarray:
        try:
            return mask_row(mask, choices)
        except (TypeError, ValueError) as error:
            raise self._fault(f"agent {agent!r}: action_mask {error}") from None

    def _check_finite(self, group: Group, rows: np.ndarray) -> None:
        """Raises, or makes zeros of what is not finite and is shown of agents long dead."""
        flat = rows.reshape(len(rows), -1)
        found = bad_entry(flat, self._was_playing(group) | self._playing[group.name])
        if found is not None:
            row, (index,) = found
            agent, leaf = group.agents[row], group.encoder.leaf_at(index)
            raise self._fault(f"agent {agent!r}: {leaf} has the value {flat[row, index]}")
        rows[~np.isfinite(rows)] = 0

    def _was_playing(self, group: Group) -> np.ndarray:
        """Bool ``[N]``; who was in the game when the current step began."""
        return np.array([agent in self._before for agent in group.agents], bool)

    def _reward(self, group: Group, values: Sequence[Any]) -> np.ndarray:
        """Float32 ``[N]`` from one number per agent."""
        try:
            reward = np.array(values, np.float32).reshape(len(values))
        except (TypeError, ValueError) as error:
            raise self._fault(f"the rewards {values} are not one number per agent") from error
        if not all_finite(reward):
            found = bad_entry(reward, self._was_playing(group))
            if found is not None:
                agent, value = group.agents[found[0]], values[found[0]]
                raise self._fault(f"agent {agent!r}: reward has the value {value}")
            reward[~np.isfinite(reward)] = 0
        return reward

    def _zero_reward(self) -> ByGroup:
        return {group.name: np.zeros(len(group.agents), np.float32) for group in self._groups}

    def _state(self, spec: ArraySpec) -> np.ndarray:
        state = np.array(self._env.state(), spec.dtype)
        if state.shape != spec.shape:
            raise self._fault(f"the state has shape {state.shape}, its space has {spec.shape}")
        if not all_finite(state):
            raise self._fault("the state has values that are not finite")
        return state
