"""What cannot work is refused at once: one message, the nearest name, nothing started."""

from __future__ import annotations

import pathlib
from typing import Any

import jax
import pytest

from mava.cli.main import main
from mava.errors import CheckpointError, EnvironmentFault, HookError

TRAIN = ["train", "--system=madqn", "--env=matrix/climbing", "--total_steps=100"]


@pytest.fixture(autouse=True)
def _nothing_compiles_and_nothing_is_written(monkeypatch: Any, tmp_path: pathlib.Path) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> None:
        pytest.fail("something was compiled")

    monkeypatch.setattr(jax, "jit", refuse)
    monkeypatch.chdir(tmp_path)
    yield
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["trian"], "unknown command 'trian'; did you mean 'train'?"),
        (["train", "--sytem=madqn"], "no flag --sytem; did you mean '--system'?"),
        (["evaluate", "--episode=3"], "no flag --episode; did you mean '--episodes'?"),
        (["train", "--total_steps=many"], "--total_steps=many: give a positive integer"),
        (
            ["train", "--resume", "--run_dir=x", "--env_arg=max_cycles=5"],
            "--env_arg needs --system, --env and --total_steps: by --resume and --run_dir alone",
        ),
        (["train", "--resume", "--run_dir=x", "--env_args=a=5"], "--env_args needs --system"),
        ([*TRAIN, f"--total_steps={2**31}"], "total_steps is 2147483648; it must be"),
        (["train", "--total_steps=0"], "--total_steps=0: give a positive integer"),
        (["train", "--seed=-1"], "--seed=-1: give an integer in the range [0, 4294967295]"),
        (["train", "--json=perhaps"], "--json=perhaps: give true or false"),
        (["train"], "mava train needs --system"),
        (["train", "--system=madqn"], "mava train needs --env"),
        (["train", "--system=madqn", "--env=matrix/climbing"], "mava train needs --total_steps"),
        (["train", "--resume"], "mava train --resume needs --run_dir"),
        (["train", "--resume", "--run_dir=nowhere"], "nowhere has no checkpoint to resume from"),
        ([*TRAIN, "more"], "takes flags only, and got 'more'"),
        ([*TRAIN, "--system=madqm"], "unknown system 'madqm'; did you mean 'madqn'?"),
        ([*TRAIN, "--topology=single_proces"], "'single_proces'; did you mean 'single_process'?"),
        (
            [*TRAIN, "--env=mpe2/simple_sprad_v3"],
            "unknown environment 'mpe2/simple_sprad_v3'; did you mean 'mpe2/simple_spread_v3'?",
        ),
        ([*TRAIN, "--set=adm.learning_rate=1"], "'adm'; did you mean 'adam'?"),
        ([*TRAIN, "--set=adam.learning_rat=1"], "did you mean 'learning_rate'?"),
        ([*TRAIN, "--set=adam"], "setting 'adam' is not of the form name=value"),
        ([*TRAIN, "--set=evaluator.episodes=few"], "evaluator.episodes takes a whole number"),
        ([*TRAIN, "--set=evaluator.episodes=0"], "must be at least 1"),
        (
            [*TRAIN, "--set=epsilon_greedy.epsilon=Liner(1.0, 0.1, 5)"],
            "there is no schedule 'Liner'; did you mean 'Linear'?",
        ),
        ([*TRAIN, "--env_args=5"], "--env_args=5 is not of the form name=value"),
        ([*TRAIN, "--env_arg=5"], "--env_arg=5 is not of the form name=value"),
        (["describe", "--system=madqn"], "mava describe needs --env"),
        (["evaluate"], "mava evaluate needs --run_dir"),
        (["evaluate", "--run_dir=nowhere"], "nowhere has no best checkpoint"),
        (["evaluate", "--run_dir=x", "--policy=bset"], "'bset'; did you mean 'best'?"),
        (["list", "component"], "cannot list 'component'; did you mean 'components'?"),
        (["render"], "mava render needs one run directory, and got none"),
        (["render", "a", "b"], "mava render needs one run directory, and got 2: a b"),
        (["render", "nowhere"], "nowhere has no best checkpoint"),
        (["render", "x", "--out=a.avi"], "a.avi ends in '.avi'; a video is a .gif or an .mp4"),
        (["render", "x", "--fps=0"], "--fps=0: give an integer in the range [1, 50]"),
        (["render", "x", "--policy=bset"], "there is no 'bset' policy; did you mean 'best'?"),
        (["plot"], "needs at least one run directory"),
        (["plot", "nowhere"], "there is no nowhere/metrics.jsonl"),
    ],
    ids=lambda value: " ".join(value)[-40:] if isinstance(value, list) else "",
)
def test_refused(argv: list[str], message: str, capsys: Any) -> None:
    assert main(argv) == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.startswith("mava: ")
    assert message in written.err
    assert written.err.count("\n") == 1


def test_an_unknown_argument_of_the_environment(capsys: Any) -> None:
    argv = ["describe", "--system=madqn", "--env=mpe2/simple_spread_v3", "--env_args=max_cycle=9"]
    assert main(argv) == 2
    message = "mpe2/simple_spread_v3 has no argument 'max_cycle'; did you mean 'max_cycles'?"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("way", ["flag", "variable"])
def test_debug_shows_the_traceback(way: str, monkeypatch: Any, capsys: Any) -> None:
    argv = [*TRAIN, "--system=madqm"]
    if way == "flag":
        argv.append("--debug")
    else:
        monkeypatch.setenv("MAVA_DEBUG", "1")
    assert main(argv) == 2
    assert "Traceback" in capsys.readouterr().err


def _raising(error: BaseException) -> Any:
    def launch(*args: Any, **kwargs: Any) -> None:
        raise error

    return launch


@pytest.mark.parametrize("kind", [HookError, EnvironmentFault])
def test_a_failure_in_user_code_shows_where(kind: Any, monkeypatch: Any, capsys: Any) -> None:
    error = kind("my_loss.loss() failed: ZeroDivisionError: division by zero")
    error.__cause__ = ZeroDivisionError("division by zero")
    monkeypatch.setattr("mava.launcher.launch.launch", _raising(error))
    assert main(TRAIN) == 1
    written = capsys.readouterr().err
    assert "ZeroDivisionError: division by zero\n" in written
    assert written.endswith("mava: my_loss.loss() failed: ZeroDivisionError: division by zero\n")


def test_a_checkpoint_that_cannot_be_read_is_one_line(monkeypatch: Any, capsys: Any) -> None:
    error = CheckpointError("checkpoints/last/5 could not be read: ValueError: a long story")
    error.__cause__ = ValueError("a long story" * 100)
    monkeypatch.setattr("mava.launcher.launch.launch", _raising(error))
    assert main(TRAIN) == 1
    assert capsys.readouterr().err == f"mava: {error}\n"


def test_any_other_failure_keeps_its_traceback(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr("mava.launcher.launch.launch", _raising(RuntimeError("unforeseen")))
    assert main(TRAIN) == 1
    assert "Traceback" in capsys.readouterr().err


def test_an_interruption(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr("mava.launcher.launch.launch", _raising(KeyboardInterrupt()))
    assert main(TRAIN) == 130
    assert capsys.readouterr().err == "mava: interrupted\n"
