"""Calls between nodes, against a client that does what it is told."""

import concurrent.futures
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from mava.errors import DivergenceError, EnvironmentFault
from mava.topologies.distributed.failures import Failure, NodeError, NodeTraceback
from mava.topologies.distributed.remote import Remote, Stopped, answered, exposed


class Client:
    """Answers each call by the next of ``answers``: a function of the arguments, or an error."""

    def __init__(self, *answers: Callable[..., Any] | Exception | None) -> None:
        self.futures = self
        self.calls = 0
        self._answers = list(answers)

    def __getattr__(self, method: str) -> Callable[[bytes], Any]:
        def call(arguments: bytes) -> concurrent.futures.Future[bytes]:
            self.calls += 1
            future: concurrent.futures.Future[bytes] = concurrent.futures.Future()
            answer = self._answers.pop(0)
            if isinstance(answer, Exception):
                future.set_exception(answer)
            elif answer is not None:
                future.set_result(answered(answer, arguments))
            return future

        return call


class Unpicklable(Exception):
    def __init__(self) -> None:
        super().__init__("no")
        self.held = lambda: None


def fail(error: Exception) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        raise error

    return function


def test_arguments_go_and_results_come_back() -> None:
    assert Remote("it", Client(lambda a, b: a - b)).call("minus", 5, 3) == 2


def test_what_a_method_raises_is_raised_here() -> None:
    with pytest.raises(EnvironmentFault, match="it: broken") as found:
        Remote("it", Client(fail(EnvironmentFault("broken")))).call("step")
    assert "in function" in str(found.value.__cause__)  # the node's traceback
    with pytest.raises(NodeError, match="it failed: Unpicklable: no"):
        Remote("it", Client(fail(Unpicklable()))).call("step")


def test_a_node_that_was_away_for_a_moment_is_called_again() -> None:
    client = Client(OSError("gone"), lambda: "back")
    assert Remote("it", client).call("hello") == "back"
    assert client.calls == 2


def test_a_node_that_stays_away_is_given_up() -> None:
    client = Client(OSError("gone"))
    with pytest.raises(NodeError, match="the replay does not answer: gone"):
        Remote("the replay", client, patience=-1.0).call("save")


def test_waiting_ends_when_the_run_does() -> None:
    with pytest.raises(Stopped):
        Remote("it", Client(None), should_stop=lambda: True).call("never")


def test_something_else_can_be_done_while_waiting() -> None:
    asked = []

    def meanwhile() -> None:
        asked.append(True)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Remote("it", Client(None)).call("never", meanwhile=meanwhile)
    assert asked


def test_an_exposed_method_takes_and_gives_bytes() -> None:
    class Node:
        @exposed
        def double(self, x: int) -> int:
            """Twice."""
            return 2 * x

    assert pickle.loads(Node().double(pickle.dumps((4,)))) == (True, 8)
    assert Node.double.__doc__ == "Twice."


def failed(error: Exception) -> Failure:
    try:
        raise error
    except Exception as raised:
        return pickle.loads(pickle.dumps(Failure.of("executor 1", raised)))


def test_the_caller_gets_the_kind_of_error_the_node_had_and_its_traceback() -> None:
    error = failed(DivergenceError("loss is nan")).as_error()
    assert type(error) is DivergenceError
    assert str(error) == "executor 1: loss is nan"
    assert isinstance(error.__cause__, NodeTraceback)
    assert "raise error" in str(error.__cause__)


@pytest.mark.parametrize("raised", [ZeroDivisionError("by zero"), Unpicklable()])
def test_an_error_that_is_not_mavas_says_how_to_find_it(raised: Exception) -> None:
    error = failed(raised).as_error()
    assert type(error) is NodeError
    assert f"executor 1 failed: {type(raised).__name__}" in str(error)
    assert 'topology="single_process"' in str(error)
    assert "raise error" in str(error.__cause__)
