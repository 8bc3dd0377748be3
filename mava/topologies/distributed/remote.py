"""Calls between nodes: Courier, with pickled arguments and results."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import pickle
import time
from collections.abc import Callable
from typing import Any

from mava.topologies.distributed.failures import Failure, NodeError

_LOOK = 0.2
_PATIENCE = 60.0


class Stopped(BaseException):
    """The run is being stopped: leave at once. No ``except Exception`` may keep it."""


def exposed(method: Callable[..., Any]) -> Callable[[Any, bytes], bytes]:
    """A method of a node that others call by ``Remote``. What it raises is raised there."""

    @functools.wraps(method)
    def serve(self: Any, arguments: bytes) -> bytes:
        return answered(lambda *args: method(self, *args), arguments)

    return serve


def answered(function: Callable[..., Any], arguments: bytes) -> bytes:
    """Calls with pickled arguments; pickles the result, or the exception."""
    try:
        return pickle.dumps((True, function(*pickle.loads(arguments))))
    except Exception as error:
        return pickle.dumps((False, Failure.of("", error)))


class Remote:
    """A node, from another one.

    Args:
        name: for messages.
        client: a ``courier.Client``.
        should_stop: asked while waiting.
        patience: seconds that a node may be away, starting or restarting, before it is given up.
    """

    def __init__(
        self,
        name: str,
        client: Any,
        should_stop: Callable[[], bool] = lambda: False,
        patience: float = _PATIENCE,
    ) -> None:
        self._name, self._client = name, client
        self._should_stop, self._patience = should_stop, patience

    def call(self, method: str, *args: Any, meanwhile: Callable[[], None] = lambda: None) -> Any:
        """Calls a method, again where the node goes away in the middle of it.

        Args:
            method: by name.
            *args: whatever pickles.
            meanwhile: called several times a second until the answer is there.

        Raises:
            Stopped: ``should_stop`` said so.
            NodeError: the node does not answer.
            MavaError: what the method raised, with the node's name and traceback.
        """
        arguments = pickle.dumps(args)
        deadline: float | None = None
        while True:
            future = getattr(self._client.futures, method)(arguments)
            self._wait(future, meanwhile)
            error = future.exception()
            if error is None:
                break
            if self._should_stop():
                raise Stopped
            deadline = deadline or time.monotonic() + self._patience
            if time.monotonic() >= deadline:
                raise NodeError(f"{self._name} does not answer: {error}") from error
            time.sleep(_LOOK)
        succeeded, value = pickle.loads(future.result())
        if not succeeded:
            raise dataclasses.replace(value, node=self._name).as_error()
        return value

    def _wait(
        self, future: concurrent.futures.Future[bytes], meanwhile: Callable[[], None]
    ) -> None:
        while not future.done():
            meanwhile()
            if self._should_stop():
                future.cancel()
                raise Stopped
            concurrent.futures.wait([future], timeout=_LOOK)
