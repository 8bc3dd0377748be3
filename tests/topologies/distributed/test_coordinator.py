"""What is granted, what is due, and when a run is at rest; no process, no engine."""

from mava.core.plans import BufferPlan, Rounds, Sampling
from mava.topologies.distributed.coordinator import Collected, Coordinator

REPLAY = BufferPlan(Sampling.UNIFORM, 1_000, 10, 4)
EVERY_5 = Rounds(10, 5, 1)
ROLLOUT = BufferPlan.on_policy(5).placed(2)


def coordinator(
    plan: BufferPlan = REPLAY, rounds: Rounds = EVERY_5, executors: int = 2
) -> Coordinator:
    return Coordinator(plan, rounds, num_environments=2, lease=4, executors=executors)


def done(steps: int, staleness: int = 0, returns: tuple[float, ...] = ()) -> Collected:
    return Collected(steps, returns, (3,) * len(returns), staleness)


def test_leases_share_the_steps_and_never_pass_the_limit() -> None:
    counts = coordinator()
    counts.extend(21)
    leases = [counts.lease(0, None), counts.lease(1, None)]
    leases.append(counts.lease(0, done(8)))
    assert [(lease.first, lease.steps) for lease in leases if lease] == [(0, 8), (8, 8), (16, 4)]
    # One of two environments may not step alone: the last step is never made.
    assert counts.lease(1, done(8)).steps == 0  # type: ignore[union-attr]
    assert counts.environment_steps == 16


def test_a_run_is_at_rest_when_all_steps_are_made_and_all_training_that_is_due() -> None:
    counts = coordinator()
    assert counts.is_settled()
    counts.extend(8)
    assert not counts.is_settled()
    counts.lease(0, None)
    assert not counts.is_settled()
    counts.lease(0, done(8))
    assert counts.is_settled()  # training begins at 10
    counts.extend(16)
    counts.lease(0, None)
    counts.lease(0, done(8))
    assert not counts.is_settled()
    assert counts.due(0, {}) == 2  # at 10 and at 15
    assert counts.due(2, {"loss": [1.0, 3.0]}) == 0
    assert counts.is_settled()
    assert counts.report().metrics["loss"] == (1.0, 3.0)
    assert counts.report().metrics == {}


def test_a_replay_that_gives_nothing_is_not_waited_for() -> None:
    counts = coordinator()
    counts.extend(16)
    counts.lease(0, None)
    counts.lease(0, done(8))
    counts.lease(0, None)
    counts.lease(0, done(8))
    counts.starved(0)
    assert counts.is_settled()
    counts.extend(24)
    counts.lease(0, None)
    counts.lease(0, done(8))
    assert not counts.is_settled()  # more has come since


def test_on_policy_every_executor_fills_rollouts_of_its_own() -> None:
    """A rollout is 5 steps of 2 environments. After 8 steps each nobody has a whole one."""
    counts = coordinator(ROLLOUT, Rounds(10, 10, 1))
    counts.extend(24)
    for index in (0, 1):
        counts.lease(index, None)
    assert counts.lease(0, done(8)).steps == 8  # type: ignore[union-attr]
    assert counts.lease(1, done(8)).steps == 0  # type: ignore[union-attr]
    assert counts.due(0, {}) == 0
    counts.lease(0, done(8))
    assert counts.due(0, {}) == 1


def test_what_an_executor_had_not_reported_is_made_by_others() -> None:
    counts = coordinator()
    counts.extend(8)
    counts.lease(0, None)
    assert counts.lease(1, None).steps == 0  # type: ignore[union-attr]
    counts.lost(0)
    assert not counts.is_settled()
    lease = counts.lease(1, None)
    assert lease is not None
    assert (lease.first, lease.steps) == (0, 8)
    counts.lease(1, done(8))
    assert counts.environment_steps == 8


def test_on_policy_a_lost_executor_loses_its_open_rollout_alone() -> None:
    counts = coordinator(ROLLOUT, Rounds(10, 10, 1))
    counts.extend(100)
    for _ in range(2):
        counts.lease(0, None)
        counts.lease(0, done(8))  # and asks for more
    counts.lost(0)  # 16 steps: one rollout, and six steps of the next
    counts.lease(0, done(8))
    assert counts.due(0, {}) == 1
    counts.lease(0, done(2))
    assert counts.due(0, {}) == 2


def test_halting_keeps_what_was_granted() -> None:
    counts = coordinator()
    counts.extend(100)
    counts.lease(0, None)
    counts.halt()
    assert not counts.is_settled()
    assert counts.lease(0, done(8)).steps == 0  # type: ignore[union-attr]
    assert counts.environment_steps == 8
    assert counts.is_settled()


def test_stopping_is_told_to_whoever_asks() -> None:
    counts = coordinator()
    counts.extend(100)
    counts.stop()
    assert counts.lease(0, None) is None
    assert counts.due(0, {}) is None


def test_nodes_are_counted_each_time_they_join() -> None:
    counts = coordinator()
    assert [counts.join("executor 1") for _ in range(3)] == [0, 1, 2]
    assert counts.joined({"executor 1"}, 0.0)
    assert not counts.joined({"executor 1", "trainer"}, 0.0)


def test_returns_and_staleness_are_reported_once() -> None:
    counts = coordinator()
    counts.extend(16)
    counts.lease(0, None)
    counts.lease(0, done(8, staleness=3, returns=(1.0, 2.0)))
    report = counts.report()
    assert (report.returns, report.lengths) == ((1.0, 2.0), (3, 3))
    assert report.metrics == {"parameters/staleness": (3.0,)}
    assert counts.episodes == 2


def test_a_restored_run_goes_on_from_its_counts() -> None:
    counts = coordinator(ROLLOUT, Rounds(10, 10, 1))
    counts.restore(steps=20, updates=2, episodes=7, learner=b"state")
    assert (counts.environment_steps, counts.trainer_steps, counts.episodes) == (20, 2, 7)
    assert counts.kept() == b"state"
    assert counts.is_settled()
    assert counts.due(2, {}) == 0
    counts.extend(30)
    lease = counts.lease(0, None)
    assert lease is not None
    assert lease.first == 20
