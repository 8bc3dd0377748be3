"""Observations of any kind: images, nested ones, and what drifts from its space."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from gymnasium import spaces

from mava.environments import as_factory
from mava.errors import EnvironmentFault
from mava.testing.builders import group_context
from mava.testing.toys import Crash, Drift, Spaces
from tests.faults.collecting import Kept, collected
from tests.topologies.running import params, ran, small, started, stored

DISCRETE = spaces.Discrete(4)


def pictures() -> Spaces:
    image = spaces.Box(0, 255, (6, 5, 3), np.uint8)
    return Spaces({"a": image, "b": image}, {"a": DISCRETE, "b": DISCRETE})


def test_f12_an_image_is_stored_in_its_own_bytes() -> None:
    runner = collected(small(pictures), 20)
    held = stored(runner, 20)
    for field in ("observation", "next_observation"):
        frames = held[field]["agents"]
        assert frames.dtype == np.uint8
        assert frames.nbytes == 20 * 2 * (6 * 5 * 3)
    assert held["observation"]["agents"].max() > 200  # not scaled on its way
    buffer = runner.state().arrays["buffer"].experience["observation"]["agents"]
    assert buffer.nbytes == runner.program.plan.capacity * 2 * (6 * 5 * 3)


@pytest.mark.slow
def test_f12_an_image_is_scaled_once_and_trains() -> None:
    system = small(pictures, sharing="none").replace("q_network", convolutions=())
    runner = ran(system, 40)
    assert runner.trainer_steps == 7
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(params(runner)))
    # One dense layer over all pixels, so the scale can be read from its output.
    weights = jax.tree.map(lambda x: x[0], params(runner)["q_network"]["agents"]["params"])
    image = runner._environment.current.observation["agents"][0]
    network, (group,) = system["q_network"], runner.program.spec.groups
    scores = network.score(params(runner), image, (), group_context(group))[0][0]
    hidden, head = weights["torso"]["Dense_0"], weights["Dense_0"]
    inner = np.maximum(image[0].reshape(-1) / 255.0 @ hidden["kernel"] + hidden["bias"], 0.0)
    np.testing.assert_allclose(scores, inner @ head["kernel"] + head["bias"], atol=1e-4)


def test_f13_other_dtypes_than_the_spaces_say_are_cast() -> None:
    held = stored(collected(small(Drift), 20), 20)
    assert held["observation"]["agents"].dtype == np.float32
    assert held["reward"]["agents"].dtype == np.float32
    assert held["termination"]["agents"].dtype == bool
    assert held["next_legal_actions"]["agents"].dtype == bool
    assert held["reward"]["agents"][0, :7].tolist() == [[t, t] for t in range(1, 8)]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("shape", r"step 3: agent 'agent_0': observation has shape \(4,\), its space has \(3,\)"),
        ("missing_observation", "step 3: agent 'agent_0' has no observation"),
    ],
)
def test_f13_a_wrong_shape_stops_with_agent_leaf_and_step(fault: str, message: str) -> None:
    runner = collected(small(as_factory(Crash, at=3, fault=fault)), 2)
    with pytest.raises(EnvironmentFault, match=message):
        runner.advance(10)
    assert runner.environment_steps == 2
    assert runner.trainer_steps == 0


class Nested(Spaces):
    """A mask, a choice and a matrix; any illegal action raises."""

    def __init__(self) -> None:
        inner = spaces.Dict({"a": spaces.Discrete(5), "b": spaces.Box(-1, 1, (10, 10))})
        space = spaces.Dict({"action_mask": spaces.MultiBinary(4), "observation": inner})
        super().__init__({"x": space}, {"x": DISCRETE})

    def observe(self, agent: Any) -> Any:
        self.mask = np.array([1, 1, 1, 1], np.int8)
        self.mask[self.time % 4] = 0
        inner = {"a": self.time % 5, "b": np.full((10, 10), 0.25)}
        return {"action_mask": self.mask, "observation": inner}

    def step(self, actions: dict[Any, Any]) -> Any:
        assert self.mask[actions["x"]] == 1
        return super().step(actions)


def test_f14_the_network_sees_the_leaves_one_after_the_other_without_the_mask() -> None:
    nested = Kept(Nested)
    runner = collected(small(nested, epsilon=0.5), 30)
    kernel = params(runner)["q_network"]["agents"]["params"]["Dense_0"]["kernel"]
    assert kernel.shape == (1, 105, 4)
    observation = stored(runner, 30)["observation"]["agents"][0, :, 0]
    assert (observation[:, :5].argmax(1) == [t % 7 % 5 for t in range(30)]).all()
    assert (observation[:, 5:] == 0.25).all()
    assert len(nested.made[0].actions) == 30


def test_f29_a_reset_that_shows_no_number_is_refused() -> None:
    class Broken(Drift):
        def observe(self, agent: Any) -> Any:
            return np.array([0.0, np.nan, 0.0])

    with pytest.raises(EnvironmentFault, match=r"step 0: agent 'agent_0'.* has the value nan"):
        started(small(Broken))
