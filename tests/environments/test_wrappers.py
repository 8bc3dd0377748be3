"""Stacked frames and masked deaths, by hand, on both kinds of environment."""

import dataclasses

import jax
import numpy as np
import pytest

from mava.environments import DeathMasking, FrameStack, adapt, as_factory, make, to_host, wrap
from mava.environments.vector import VectorEnvironment
from mava.environments.wrappers.wrap import WrappedEnvironment, WrappedJaxEnvironment
from mava.errors import ConfigurationError
from mava.testing.environment_contract import equal, random_actions
from mava.testing.probes import HiddenCue
from mava.testing.toys import Death, Echo
from mava.types import TimeStep


def seen(environment, agent=0):
    """``(episode, time)`` of each frame that an agent sees after a reset and after each step."""
    timestep = environment.reset(0)
    yield timestep.observation["agents"][agent].reshape(-1, 3)[:, :2].tolist()
    while not timestep.end:
        timestep = environment.step({"agents": np.zeros(2, np.int32)})
        yield timestep.observation["agents"][agent].reshape(-1, 3)[:, :2].tolist()


def test_a_stack_holds_the_last_frames_and_begins_anew():
    environment = wrap(adapt(Echo(length=3)), FrameStack(3))
    assert environment.spec["agents"].observation.shape == (9,)
    for episode in range(2):
        expected = [[max(0, t - 2), max(0, t - 1), t] for t in range(4)]
        shown = list(seen(environment))
        assert [[time for _, time in frames] for frames in shown] == expected
        assert {number for frames in shown for number, _ in frames} == {episode}


def test_images_are_stacked_by_channel():
    environment = make("probe/image_cue", frame_stack=2)
    assert environment.spec["agents"].observation.shape == (8, 8, 2)
    assert environment.spec["agents"].observation.dtype == np.uint8
    shown = to_host(environment).reset(0).observation["agents"]
    np.testing.assert_array_equal(shown[..., 0], shown[..., 1])


def test_a_jax_environment_is_stacked_as_the_same_one_on_the_host():
    jitted = to_host(wrap(HiddenCue(), FrameStack(2), DeathMasking()))
    hosted = wrap(to_host(HiddenCue()), FrameStack(2), DeathMasking())
    assert jitted.spec == hosted.spec
    left, right = jitted.reset(3), hosted.reset(3)
    rng = np.random.default_rng(0)
    while not left.end:
        assert equal(left, right)
        actions = random_actions(jitted.spec, left, rng)
        left, right = jitted.step(actions), hosted.step(actions)
    assert equal(left, right)
    assert right.end


def test_a_vector_keeps_the_true_last_stack():
    factory = as_factory(Echo, length=2, frame_stack=2)
    vector = VectorEnvironment(factory, 2, seed=0)
    vector.reset()
    zeros = {"agents": np.zeros((2, 2), np.int32)}
    vector.step(zeros)
    following, now = vector.step(zeros)
    assert following.end.all()
    np.testing.assert_array_equal(following.observation["agents"][0, 0], [0, 1, 0, 0, 2, 0])
    np.testing.assert_array_equal(now.observation["agents"][0, 0], [1, 0, 0, 1, 0, 0])


def test_open_episodes_come_back_to_the_bit():
    factory = as_factory("mpe2/simple_spread_v3", frame_stack=3, max_cycles=9)
    zeros = {"agents": np.zeros((2, 3), np.int32)}
    one, other = (VectorEnvironment(factory, 2, seed=4) for _ in range(2))
    one.reset()
    for _ in range(5):
        one.step(zeros)
    assert other.restore(one.open_episodes()) == [True, True]
    assert equal(one.current, other.current)
    for _ in range(6):
        assert equal(one.step(zeros), other.step(zeros))


class Shows(Death):
    """Goes on showing the dead something."""

    def step(self, actions):
        _, *rest = super().step(actions)
        return {a: self.observe(a) + 1 for a in self.possible_agents}, *rest


def test_the_dead_are_shown_zeros():
    environment = wrap(adapt(Shows((1, 3, 2))), DeathMasking())
    environment.reset(0)
    for _ in range(3):
        timestep = environment.step({"agents": np.zeros(3, np.int32)})
        shown = timestep.observation["agents"].any(axis=1)
        np.testing.assert_array_equal(shown, timestep.alive["agents"])


@pytest.mark.parametrize("convert", [np.asarray, jax.numpy.asarray])
def test_a_truncated_agent_keeps_its_last_observation_for_one_step(convert):
    def timestep(alive, truncated, terminated) -> TimeStep:
        flags = [np.asarray(x, bool) for x in (alive, truncated, terminated)]
        alive, truncated, terminated = ({"g": convert(x)} for x in flags)
        shown = {"g": convert(np.full((3, 2), 7.0, np.float32))}
        step = adapt(Echo()).spec.zero_timestep()
        return step._replace(
            observation=shown, alive=alive, truncation=truncated, termination=terminated
        )

    masking = DeathMasking()
    carried, first = masking.first(timestep([1, 1, 1], [0, 0, 0], [0, 0, 0]))
    assert np.all(first.observation["g"] == 7)
    after = timestep([1, 0, 0], [0, 1, 0], [0, 0, 1])
    carried, second = masking.following(carried, after)
    assert second.observation["g"][:, 0].tolist() == [7, 7, 0]
    _, third = masking.following(carried, after)
    assert third.observation["g"][:, 0].tolist() == [7, 0, 0]
    assert np.all(after.observation["g"] == 7)
    assert isinstance(second.observation["g"], jax.Array) == (convert is not np.asarray)


def test_options_of_make_and_of_factories():
    environment = make("mpe2/simple_spread_v3", frame_stack=2, death_masking=True)
    assert environment.spec["agents"].observation.shape == (36,)
    assert isinstance(environment, WrappedEnvironment)
    assert isinstance(as_factory(HiddenCue, frame_stack=2).build(), WrappedJaxEnvironment)
    plain = make("mpe2/simple_spread_v3")
    assert not isinstance(plain, WrappedEnvironment)
    with pytest.raises(ConfigurationError, match="did you mean 'frame_stack'"):
        make("matrix/climbing", frame_stak=2)
    with pytest.raises(ConfigurationError, match="frames in a stack are 0"):
        make("matrix/climbing", frame_stack=0)


def test_wrappers_are_values():
    one = wrap(HiddenCue(), FrameStack(2))
    assert one == wrap(HiddenCue(), FrameStack(2))
    assert hash(one) == hash(dataclasses.replace(one))
    assert one != wrap(HiddenCue(), FrameStack(3))


def test_pictures_come_from_inside():
    environment = make("mpe2/simple_spread_v3", render_mode="rgb_array", frame_stack=2)
    environment.reset(0)
    frame = environment.render()
    assert frame is not None
    assert frame.dtype == np.uint8
    environment.close()
