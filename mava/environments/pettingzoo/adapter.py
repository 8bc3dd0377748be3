"""What the parallel and the turn-based adapter share: spec, rows of agents, checks, rendering."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from mava.environments.base import Actions, Environment
from mava.environments.pettingzoo.groups import Group, groups_of
from mava.environments.pettingzoo.spaces import MASK, LeafFault, mask_row, observation_mask
from mava.errors import ConfigurationError, EnvironmentFault
from mava.types import AgentID, Array, ArraySpec, EnvironmentSpec, TimeStep

_LIMITS = ("max_cycles", "max_steps", "max_episode_steps", "episode_limit")
ByGroup = dict[str, Array]


TRUE, FALSE = np.asarray(True), np.asarray(False)
TRUE.setflags(write=False)
FALSE.setflags(write=False)


def all_finite(array: np.ndarray) -> bool:
    """Whether a float array has neither NaN nor infinities."""
    # One dot product is the cheapest pass; it may overflow, so a bad sum is only a suspicion.
    return math.isfinite(np.vdot(array, array)) or bool(np.isfinite(array).all())


class PettingZooAdapter(Environment):
    """Base of the adapters.

    Flags, and masks that allow everything, are shared between timesteps and cannot be written to.
    """

    def __init__(
        self,
        env: Any,
        name: str | None = None,
        groups: Mapping[str, Sequence[AgentID]] | None = None,
        global_state: bool = False,
        reset_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self._env = env
        self._name = name or _name_of(env)
        self._groups = groups_of(self._name, env, groups)
        self._reset_kwargs = dict(reset_kwargs or {})
        self._agents: list[AgentID] = list(env.possible_agents)
        self._places = {
            agent: (group, row) for group in self._groups for row, agent in enumerate(group.agents)
        }
        self._spec = EnvironmentSpec(
            self._name,
            tuple(group.spec for group in self._groups),
            state=_state_spec(self._name, env) if global_state else None,
            episode_limit=self._episode_limit(),
        )
        self._seeded = _distinct(env, self._agents)
        self._step = 0

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
        source = getattr(self._env, "unwrapped", self._env)
        for holder in (source, getattr(source, "env", None)):
            for name in _LIMITS:
                limit = getattr(holder, name, None)
                if isinstance(limit, (int, np.integer)) and limit > 0:
                    return int(limit)
        return None

    def _fault(self, message: str) -> EnvironmentFault:
        return EnvironmentFault(f"{self._name}, step {self._step}: {message}")

    def _call_reset(self, seed: int) -> Any:
        for offset, space in enumerate(self._seeded):
            space.seed(seed + offset)
        self._step = 0
        try:
            return self._env.reset(seed=seed, **self._reset_kwargs)
        except Exception as error:
            raise self._fault(
                f"reset(seed={seed}) raised {type(error).__name__}: {error}"
            ) from error

    def _call_step(self, action: Any) -> Any:
        self._step += 1
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
        """``acting`` names the agents with legal actions; ``None`` stands for all."""
        observation: ByGroup = {}
        legal: ByGroup = {}
        for group in self._groups:
            rows, mask = self._rows(group, observations, infos)
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
        if spec.dtype.kind == "f" and not all_finite(rows):
            raise self._not_finite(group, rows)
        return rows, legal

    def _check_absent(self, group: Group, row: int) -> None:
        # A truncated agent needs its last observation too: its value goes on from there.
        truncated = self._truncated[group.name][row] and not self._terminated[group.name][row]
        if self._playing[group.name][row] or (truncated and self._was_playing(group.agents[row])):
            raise self._fault(
                f"agent {group.agents[row]!r} has no observation, though it "
                + ("was truncated in this step" if truncated else "is in the game")
            )

    def _was_playing(self, agent: AgentID) -> bool:
        """Whether the agent was in the game when the current step began."""
        return False

    def _mask(self, agent: AgentID, mask: Any, choices: int) -> np.ndarray:
        try:
            return mask_row(mask, choices)
        except (TypeError, ValueError) as error:
            raise self._fault(f"agent {agent!r}: action_mask {error}") from None

    def _not_finite(self, group: Group, rows: np.ndarray) -> EnvironmentFault:
        flat = rows.reshape(len(rows), -1)
        row, index = np.argwhere(~np.isfinite(flat))[0]
        leaf = group.encoder.leaf_at(int(index))
        return self._fault(f"agent {group.agents[row]!r}: {leaf} has the value {flat[row, index]}")

    def _reward(self, group: Group, values: Sequence[Any]) -> np.ndarray:
        """Float32 ``[N]`` from one number per agent."""
        try:
            reward = np.array(values, np.float32).reshape(len(values))
        except (TypeError, ValueError) as error:
            raise self._fault(f"the rewards {values} are not one number per agent") from error
        if not all_finite(reward):
            row = int(np.argmin(np.isfinite(reward)))
            raise self._fault(f"agent {group.agents[row]!r}: reward has the value {values[row]}")
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


def _name_of(env: Any) -> str:
    metadata = getattr(env, "metadata", None) or {}
    return str(metadata.get("name") or type(env).__name__)


def _state_spec(name: str, env: Any) -> ArraySpec:
    shape = getattr(getattr(env, "state_space", None), "shape", None)
    if shape is None:
        raise ConfigurationError(
            f"{name}: global_state=True needs an environment with `state_space` and `state()`"
        )
    return ArraySpec(shape, np.dtype(np.float32))


def _distinct(env: Any, agents: Sequence[AgentID]) -> list[Any]:
    """The spaces, each once, in the order of the agents."""
    found: dict[int, Any] = {}
    for agent in agents:
        for space in (env.action_space(agent), env.observation_space(agent)):
            found.setdefault(id(space), space)
    return list(found.values())
