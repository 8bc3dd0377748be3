"""What is granted, what is due, and when a run is at rest; no process, no engine."""

from mava.core.plans import BufferPlan, Rounds, Sampling
from mava.topologies.distributed.coordinator import Collected, Coordinator, Lease

REPLAY = BufferPlan(Sampling.UNIFORM, 1_000, 10, 4)
EVERY_5 = Rounds(10, 5, 1)
ROLLOUT = BufferPlan.on_policy(5).placed(2)


def coordinator(
    plan: BufferPlan = REPLAY, rounds: Rounds = EVERY_5, executors: int = 2
) -> Coordinator:
    made = Coordinator(plan, rounds, num_environments=2, lease=4, executors=executors)
    for index in range(executors):
        assert made.enter(index) == 0
    return made


def ask(counts: Coordinator, index: int, done: Collected | None = None, life: int = 0) -> Lease:
    lease = counts.lease(index, life, counts._session, done)
    assert lease is not None
    return lease


def done(steps: int, staleness: int = 0, returns: tuple[float, ...] = ()) -> Collected:
    return Collected(steps, returns, (3,) * len(returns), staleness)


def test_leases_share_the_steps_and_never_pass_the_limit() -> None:
    counts = coordinator()
    counts.extend(21)
    leases = [ask(counts, 0), ask(counts, 1)]
    leases.append(ask(counts, 0, done(8)))
    assert [(lease.first, lease.steps) for lease in leases] == [(0, 8), (8, 8), (16, 4)]
    # One of two environments may not step alone: the last step is never made.
    assert ask(counts, 1, done(8)).steps == 0
    assert counts.environment_steps == 16


def test_a_run_is_at_rest_when_all_steps_are_made_and_all_training_that_is_due() -> None:
    counts = coordinator()
    assert counts.is_settled()
    counts.extend(8)
    assert not counts.is_settled()
    ask(counts, 0)
    assert not counts.is_settled()
    ask(counts, 0, done(8))
    assert counts.is_settled()  # training begins at 10
    counts.extend(16)
    ask(counts, 0)
    ask(counts, 0, done(8))
    assert not counts.is_settled()
    assert counts.due(0, {}) == 2  # at 10 and at 15
    assert counts.due(2, {"loss": [1.0, 3.0]}) == 0
    assert counts.is_settled()
    assert counts.report().metrics["loss"] == (1.0, 3.0)
    assert counts.report().metrics == {}


def test_a_replay_that_gives_nothing_is_not_waited_for() -> None:
    counts = coordinator()
    counts.extend(16)
    ask(counts, 0)
    ask(counts, 0, done(8))
    ask(counts, 0)
    ask(counts, 0, done(8))
    counts.starved(0)
    assert counts.is_settled()
    counts.extend(24)
    ask(counts, 0)
    ask(counts, 0, done(8))
    assert not counts.is_settled()  # more has come since


def test_on_policy_every_executor_fills_rollouts_of_its_own() -> None:
    """A rollout is 5 steps of 2 environments. After 8 steps each nobody has a whole one."""
    counts = coordinator(ROLLOUT, Rounds(10, 10, 1))
    counts.extend(24)
    for index in (0, 1):
        ask(counts, index)
    assert ask(counts, 0, done(8)).steps == 8
    assert ask(counts, 1, done(8)).steps == 0
    assert counts.due(0, {}) == 0
    ask(counts, 0, done(8))
    assert counts.due(0, {}) == 1


def test_what_an_executor_had_not_reported_is_made_by_others() -> None:
    counts = coordinator()
    counts.extend(8)
    ask(counts, 0)
    assert ask(counts, 1).steps == 0
    assert counts.enter(0) == 1  # in its place
    assert not counts.is_settled()
    lease = ask(counts, 1)
    # With indices of their own: those of the lost steps may have been acted on.
    assert (lease.first, lease.steps) == (8, 8)
    ask(counts, 1, done(8))
    assert counts.environment_steps == 8
    assert counts.is_settled()


def test_a_call_of_an_executor_that_was_replaced_is_granted_nothing() -> None:
    counts = coordinator()
    counts.enter(0)
    counts.extend(8)
    assert counts.lease(0, 0, 0, None) is None
    assert ask(counts, 0, life=1).steps == 8


def test_on_policy_a_lost_executor_loses_its_open_rollout_alone() -> None:
    counts = coordinator(ROLLOUT, Rounds(10, 10, 1))
    counts.extend(100)
    for _ in range(2):
        ask(counts, 0)
        ask(counts, 0, done(8))  # and asks for more
    counts.enter(0)  # 16 steps: one rollout, and six steps of the next
    ask(counts, 0, done(8), life=1)
    assert counts.due(0, {}) == 1
    ask(counts, 0, done(2), life=1)
    assert counts.due(0, {}) == 2


def test_on_policy_executors_wait_for_a_trainer_that_lags() -> None:
    counts = coordinator(ROLLOUT, Rounds(10, 10, 1))
    counts.extend(1_000)
    ask(counts, 0)
    granted = 8
    while steps := ask(counts, 0, done(8)).steps:
        granted += steps
    assert granted == 32  # three rollouts that are whole, with two executors
    assert not counts.is_settled()
    assert counts.due(0, {}) == 3
    counts.due(1, {})
    assert ask(counts, 0).steps == 8


def test_halting_finishes_what_is_under_way_and_begins_nothing() -> None:
    counts = coordinator()
    counts.extend(100)
    ask(counts, 0)
    ask(counts, 0, done(8))
    ask(counts, 0, done(8))
    assert counts.due(0, {}) == 2
    counts.halt()
    assert not counts.is_settled()  # for the executor, and for the trainer
    assert counts.due(1, {}) == 1  # which the executor may wait for
    assert ask(counts, 0, done(8)).steps == 0
    assert counts.environment_steps == 24
    assert not counts.is_settled()
    assert counts.due(1, {}) == 0
    assert counts.is_settled()
    counts.extend(100)
    assert counts.due(1, {}) == 2
    assert ask(counts, 0).steps == 8


def test_the_trainer_asks_again_after_a_few_steps() -> None:
    counts = coordinator()
    counts.extend(80)
    ask(counts, 0)
    for _ in range(9):
        ask(counts, 0, done(8))
    assert counts.due(0, {}) == 4  # of 13


def test_stopping_is_told_to_whoever_asks() -> None:
    counts = coordinator()
    counts.extend(100)
    counts.stop()
    assert counts.lease(0, 0, 0, None) is None
    assert counts.due(0, {}) is None


def test_nodes_are_counted_each_time_they_join() -> None:
    counts = coordinator()
    assert [counts.join("trainer") for _ in range(3)] == [0, 1, 2]
    assert counts.joined({"trainer", "executor 1"}, 0.0)
    assert not counts.joined({"trainer", "replay"}, 0.0)


def test_returns_and_staleness_are_reported_once() -> None:
    counts = coordinator()
    counts.extend(16)
    ask(counts, 0)
    ask(counts, 0, done(8, staleness=3, returns=(1.0, 2.0)))
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
    early = counts.lease(0, 0, 0, None)
    assert early is not None
    assert (early.steps, early.session) == (0, 20)  # its episodes are those of the run's beginning
    assert ask(counts, 0).first == 20
