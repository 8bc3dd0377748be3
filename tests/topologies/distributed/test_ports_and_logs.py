import os
import pathlib
import socket
import subprocess
import sys

from mava.topologies.distributed.logs import BoundedLog
from mava.topologies.distributed.ports import Ports

TAKE = """
import pathlib, sys
from mava.topologies.distributed.ports import Ports
ports = Ports(pathlib.Path(sys.argv[1]))
print([ports.take() for _ in range(20)])
sys.stdin.read()
"""


def test_no_two_runs_get_the_same_port(tmp_path: pathlib.Path) -> None:
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", TAKE, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    taken = []
    for run in runs:
        assert run.stdout is not None
        taken += eval(run.stdout.readline())
    for run in runs:
        run.communicate()
    assert len(set(taken)) == 40


def test_ports_are_free_and_given_back(tmp_path: pathlib.Path) -> None:
    ports = Ports(tmp_path)
    port = ports.take()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", port))
    assert [path.name for path in tmp_path.iterdir()] == [str(port)]
    ports.close()
    assert not list(tmp_path.iterdir())


def test_a_log_keeps_what_was_written_first_and_says_that_there_was_more(
    tmp_path: pathlib.Path,
) -> None:
    log = BoundedLog(tmp_path / "log.txt", most_bytes=10)
    for _ in range(1_000):
        os.write(log.descriptor, b"0123456789abcdef" * 64)  # more than a pipe holds
    log.close(seconds=30.0)
    text = (tmp_path / "log.txt").read_text()
    assert text == "0123456789\n[this log is full; what follows is not kept]\n"


def test_a_short_log_is_whole(tmp_path: pathlib.Path) -> None:
    log = BoundedLog(tmp_path / "log.txt")
    os.write(log.descriptor, b"one\n")
    os.write(log.descriptor, b"two\n")
    log.close(seconds=30.0)
    assert (tmp_path / "log.txt").read_text() == "one\ntwo\n"
