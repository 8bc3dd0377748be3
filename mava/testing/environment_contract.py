"""What every environment owes to the systems: inherit the contract, name the environment, run
pytest.

    class TestMine(EnvironmentContract):
        def make_environment(self):
            return make("mpe2/simple_spread_v3")
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from mava.environments.base import Environment, JaxEnvironment
from mava.environments.episodes import pickled
from mava.environments.host import to_host
from mava.types import (
    ContinuousActions,
    DiscreteActions,
    EnvironmentSpec,
    GroupSpec,
    MultiDiscreteActions,
    TimeStep,
)

Actions = dict[str, np.ndarray]
_UNBOUNDED = 10.0


def random_actions(spec: EnvironmentSpec, timestep: TimeStep, rng: np.random.Generator) -> Actions:
    """A joint action that the masks allow; action 0 where they allow none."""
    return {
        group.name: np.stack(
            [
                _random_action(group, legal, rng)
                for legal in np.asarray(timestep.legal_actions[group.name])
            ]
        ).astype(group.actions.array.dtype)
        for group in spec.groups
    }


def _random_action(group: GroupSpec, legal: np.ndarray, rng: np.random.Generator) -> Any:
    actions = group.actions
    if isinstance(actions, ContinuousActions):
        low = np.clip(actions.low, -_UNBOUNDED, _UNBOUNDED)
        high = np.clip(actions.high, -_UNBOUNDED, _UNBOUNDED)
        return rng.uniform(low, high).reshape(actions.shape)
    sizes = actions.num_actions if isinstance(actions, MultiDiscreteActions) else (len(legal),)
    parts = np.split(legal, np.cumsum(sizes)[:-1])
    drawn = [rng.choice(np.flatnonzero(part)) if part.any() else 0 for part in parts]
    return drawn[0] if isinstance(actions, DiscreteActions) else drawn


def equal(left: Any, right: Any) -> bool:
    """Whether two trees of arrays are equal to the bit."""
    first, second = jax.tree.leaves(left), jax.tree.leaves(right)
    return len(first) == len(second) and all(
        np.array_equal(np.asarray(a), np.asarray(b)) for a, b in zip(first, second, strict=True)
    )


class EnvironmentContract:
    """Tests for an ``Environment`` or a ``JaxEnvironment``.

    Attributes:
        num_steps: how far the tests play.
        is_random: whether episodes of different seeds differ under the same actions.
    """

    num_steps: int = 60
    is_random: bool = True

    def make_environment(self) -> Environment | JaxEnvironment:
        """A new environment. Override this."""
        raise NotImplementedError

    def host(self) -> Environment:
        return to_host(self.make_environment())

    def play(self, seed: int, steps: int | None = None) -> Iterator[TimeStep]:
        """Timesteps under random legal actions, over several episodes."""
        environment = self.host()
        rng = np.random.default_rng(seed)
        timestep = environment.reset(seed)
        yield timestep
        for index in range(steps or self.num_steps):
            if timestep.end:
                timestep = environment.reset(seed + index)
            else:
                timestep = environment.step(random_actions(environment.spec, timestep, rng))
            yield timestep
        environment.close()

    def test_spec_is_whole(self) -> None:
        spec = self.host().spec
        agents = [agent for group in spec.groups for agent in group.agents]
        assert spec.name
        assert len(set(spec.group_names)) == len(spec.groups) > 0
        assert len(set(agents)) == len(agents) == spec.num_agents > 0
        assert all(group.num_agents for group in spec.groups)
        assert hash(spec) == hash(self.host().spec)
        assert spec == self.host().spec

    def test_every_array_follows_the_spec(self) -> None:
        zero = self.host().spec.zero_timestep()
        structure: Any = jax.tree.structure(zero)
        for timestep in self.play(seed=1):
            assert jax.tree.structure(timestep) == structure
            for (path, promised), given in zip(
                jax.tree_util.tree_leaves_with_path(zero), jax.tree.leaves(timestep), strict=True
            ):
                name = jax.tree_util.keystr(path)
                assert isinstance(given, np.ndarray), name
                assert given.shape == promised.shape, name
                assert given.dtype == promised.dtype, name
                assert np.all(np.isfinite(given)), name

    def test_episodes_start_and_end(self) -> None:
        before: TimeStep | None = None
        for timestep in self.play(seed=2):
            first = before is None or bool(before.end)
            assert bool(timestep.start) == first
            if first:
                assert not any(np.any(reward) for reward in timestep.reward.values())
            alive = any(np.any(rows) for rows in timestep.alive.values())
            assert alive != bool(timestep.end)
            before = timestep

    def test_flags_stay_until_the_next_reset(self) -> None:
        before: TimeStep | None = None
        for timestep in self.play(seed=3):
            for name, alive in timestep.alive.items():
                flags = timestep.termination[name] | timestep.truncation[name]
                assert not np.any(alive & flags)
                if before is not None and not timestep.start:
                    assert np.all(timestep.termination[name] >= before.termination[name])
                    assert np.all(timestep.truncation[name] >= before.truncation[name])
            before = timestep

    def test_legal_actions_are_of_the_living_and_of_whom_the_step_truncated(self) -> None:
        before = self.host().spec.zero_timestep()
        for timestep in self.play(seed=4):
            for name, legal in timestep.legal_actions.items():
                cut = timestep.truncation[name] & ~timestep.termination[name]
                if not timestep.start:
                    cut = cut & ~before.truncation[name]
                assert not np.any(legal[~(timestep.alive[name] | cut)])
                # Their values go on from this very observation, over what is legal there.
                assert np.any(legal[cut]) or not np.any(cut) or not legal.shape[1]
            before = timestep

    def test_same_seed_same_episode(self) -> None:
        first, second = list(self.play(seed=5)), list(self.play(seed=5))
        assert all(equal(a, b) for a, b in zip(first, second, strict=True))

    def test_reset_forgets_what_was_played(self) -> None:
        environment = self.host()
        fresh = environment.reset(6)
        rng = np.random.default_rng(6)
        environment.step(random_actions(environment.spec, fresh, rng))
        assert equal(environment.reset(6), fresh)
        environment.close()

    def test_other_seed_other_episode(self) -> None:
        if self.is_random:
            environment = self.host()
            starts = [environment.reset(seed) for seed in range(8)]
            assert not all(equal(start, starts[0]) for start in starts)
            environment.close()

    def test_earlier_arrays_are_left_alone(self) -> None:
        kept: list[tuple[TimeStep, TimeStep]] = []
        for timestep in self.play(seed=7):
            kept.append((timestep, jax.tree.map(np.copy, timestep)))
        assert all(equal(timestep, copy) for timestep, copy in kept)

    def test_actions_are_not_written_to(self) -> None:
        environment = self.host()
        timestep = environment.reset(8)
        actions = random_actions(environment.spec, timestep, np.random.default_rng(8))
        copy = {name: value.copy() for name, value in actions.items()}
        environment.step(actions)
        assert equal(actions, copy)
        environment.close()

    def test_actions_of_the_dead_are_ignored(self) -> None:
        plain, other = self.host(), self.host()
        rng = np.random.default_rng(9)
        left, right = plain.reset(9), other.reset(9)
        for _ in range(self.num_steps):
            if left.end:
                break
            actions = random_actions(plain.spec, left, rng)
            changed = {
                group.name: np.where(
                    np.asarray(left.alive[group.name]).reshape(-1, *(1,) * len(shape)),
                    actions[group.name],
                    _last_action(group),
                ).astype(group.actions.array.dtype)
                for group in plain.spec.groups
                for shape in (group.actions.array.shape,)
            }
            left, right = plain.step(actions), other.step(changed)
            assert equal(left, right)
        plain.close()
        other.close()

    def test_where_it_pickles_it_goes_on(self) -> None:
        environment = self.host()
        rng = np.random.default_rng(10)
        timestep = environment.reset(10)
        timestep = environment.step(random_actions(environment.spec, timestep, rng))
        data = pickled(environment)
        if data is not None and not timestep.end:
            copy = pickle.loads(data)
            assert copy.spec == environment.spec
            actions = random_actions(environment.spec, timestep, rng)
            assert equal(copy.step(actions), environment.step(actions))
        environment.close()

    def test_closes_twice(self) -> None:
        environment = self.host()
        environment.reset(11)
        environment.close()
        environment.close()


def _last_action(group: GroupSpec) -> Any:
    actions = group.actions
    if isinstance(actions, ContinuousActions):
        return np.clip(actions.high, -_UNBOUNDED, _UNBOUNDED).reshape(actions.shape)
    return np.asarray(actions.num_actions) - 1


class JaxEnvironmentContract(EnvironmentContract):
    """What a ``JaxEnvironment`` owes beside that. ``make_environment`` returns one."""

    def make_environment(self) -> JaxEnvironment:
        raise NotImplementedError

    def first_actions(self) -> Any:
        return jax.tree.map(jax.numpy.asarray, self.make_environment().spec.zero_actions())

    def test_compiled_is_plain(self) -> None:
        environment = self.make_environment()
        key, actions = jax.random.key(1), self.first_actions()
        state, first = environment.reset(key)
        compiled_state, compiled_first = jax.jit(environment.reset)(key)
        assert equal(first, compiled_first)
        compiled_step = jax.jit(environment.step)
        for _ in range(2):
            state, plain = environment.step(state, actions)
            compiled_state, compiled = compiled_step(compiled_state, actions)
            close = jax.tree.map(
                lambda a, b: np.allclose(np.asarray(a), np.asarray(b), atol=1e-6), plain, compiled
            )
            assert all(jax.tree.leaves(close))

    def test_maps_over_environments(self) -> None:
        environment = self.make_environment()
        keys = jax.random.split(jax.random.key(2), 3)
        actions = jax.tree.map(lambda leaf: jax.numpy.stack([leaf] * 3), self.first_actions())
        states, _ = jax.jit(jax.vmap(environment.reset))(keys)
        _, mapped = jax.jit(jax.vmap(environment.step))(states, actions)
        reset, step = jax.jit(environment.reset), jax.jit(environment.step)
        for index in range(3):
            state, _ = reset(keys[index])
            _, alone = step(state, self.first_actions())
            for left, right in zip(jax.tree.leaves(mapped), jax.tree.leaves(alone), strict=True):
                np.testing.assert_allclose(np.asarray(left[index]), np.asarray(right), atol=1e-6)

    def test_step_keeps_the_shape_of_its_state(self) -> None:
        environment = self.make_environment()
        traces = []

        def step(state: Any, actions: Any) -> Any:
            traces.append(1)
            return environment.step(state, actions)

        compiled = jax.jit(step)
        state, _ = environment.reset(jax.random.key(3))
        for _ in range(3):
            state, _ = compiled(state, self.first_actions())
        # Another trace would mean that a shape, dtype or weak type drifts: scan would refuse it.
        assert len(traces) == 1

    def test_scans(self) -> None:
        environment = self.make_environment()
        state, _ = environment.reset(jax.random.key(4))
        actions = self.first_actions()
        _, timesteps = jax.lax.scan(lambda s, _: environment.step(s, actions), state, None, 4)
        assert timesteps.end.shape == (4,)
