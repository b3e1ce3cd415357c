import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import counting
import pytest
from made_runs import PATIENCE_SECONDS, interrupt_twice, wait_until

from headway.cli.main import main
from headway.run.facts import facts

pytestmark = pytest.mark.usefixtures("counting")
# Ten steps of it leave whoever watches a run the time to do something to it before it ends.
SLOWLY = ("--set", "learner.step_seconds=1")


def options(plan: Path, shared: Path, *more: str) -> list[str]:
    folders = ["--runs-dir", str(plan.parent / "runs"), "--datasets-dir", str(shared / "datasets")]
    return ["train", str(plan), *folders, *more]


def test_without_a_terminal_lines_and_a_summary_are_printed(
    plan: Path, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(options(plan, shared))

    printed = capsys.readouterr().out
    assert code == 0
    assert "training demo-001 with 1 worker\n" in printed
    assert re.search(r"demo-001 finished: 300 documents, [\d,]+ tokens", printed)
    assert "tokens/s" in printed
    assert "headway runs show" in printed
    assert "\x1b" not in printed


def test_quiet_prints_one_line(plan: Path, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(options(plan, shared, "--quiet"))

    printed = capsys.readouterr().out.splitlines()
    assert code == 0
    assert len(printed) == 1
    assert "demo-001 finished: 300 documents" in printed[0]


def test_json_prints_events_and_nothing_else(plan: Path, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(options(plan, shared, "--json"))

    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    kinds = [event["event"] for event in events]
    assert code == 0
    assert {"build", "run_started", "expected", "step", "saved", "finished"} <= set(kinds)
    assert kinds[-1] == "result"
    assert (events[-1]["status"], events[-1]["documents"]) == ("finished", 300)


def test_resuming_a_finished_run_shows_it_and_succeeds(
    plan: Path, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(options(plan, shared, "--quiet"))
    capsys.readouterr()

    assert main(options(plan, shared, "--resume")) == 0
    printed = capsys.readouterr().out
    assert "already finished" in printed
    assert "nothing left to do" in printed


def test_settings_on_the_command_line_change_the_plan(
    plan: Path, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(options(plan, shared, "--quiet", "--set", "run.documents=50", "--workers", "1"))

    assert code == 0
    assert "50 documents" in capsys.readouterr().out


def test_a_wrong_setting_exits_2_with_a_message(plan: Path, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(options(plan, shared, "--set", "run.save_evry=3"))

    said = capsys.readouterr().err
    assert code == 2
    assert "save_every" in said
    assert "Traceback" not in said


def test_a_bug_exits_1_with_a_traceback(plan: Path, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(options(plan, shared, "--set", "learner.fault=bug", "--set", "learner.fault_at=1"))

    said = capsys.readouterr().err
    assert code == 1
    assert "ZeroDivisionError" in said
    assert "this is a bug in Headway" in said


def test_runs_are_listed_and_shown(plan: Path, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(options(plan, shared, "--quiet"))
    capsys.readouterr()
    runs = ["--runs-dir", str(plan.parent / "runs")]

    codes = [main(["runs", "list", *runs]), main(["runs", "show", "demo-001", *runs])]
    listed, shown = capsys.readouterr().out.split("run ", 1)
    codes += [main(["runs", "list", "--json", *runs]), main(["runs", "show", "demo-001", "--json", *runs])]
    as_json = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert codes == [0, 0, 0, 0]
    assert "demo-001" in listed + shown
    assert "finished" in listed + shown
    assert as_json[0] == [as_json[1]]
    assert as_json[1]["documents"] == 300


def test_an_empty_runs_folder_says_how_to_begin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "list", "--runs-dir", str(tmp_path)]) == 0
    assert "headway train PLAN" in capsys.readouterr().out


PROGRAM = """
    import sys
    sys.path.insert(0, {contract!r})
    import counting
    from headway.learners import registry
    registry.kinds = lambda: {{"counting": counting.Section}}
    registry.make, registry.prepare, registry.layout = counting.make, counting.prepare, counting.layout
    from headway.cli.main import main
    sys.exit(main(sys.argv[1:]))
"""


def command(arguments: list[str]) -> list[str]:
    text = textwrap.dedent(PROGRAM).format(contract=str(Path(counting.__file__).parent))
    return [sys.executable, "-c", text, *arguments]


def in_terminal(
    arguments: list[str], *, interrupt_at: bytes | None = None, columns: int = 100, **environment: str
) -> tuple[int, bytes]:
    """Run a command in a terminal of its own; its exit code and everything it showed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update({"TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "30"} | environment)
        os.execv(arguments[0], arguments)
    shown, until = b"", time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            block = os.read(terminal, 65536)
        except OSError:
            break
        if not block:
            break
        shown += block
        if interrupt_at is not None and interrupt_at in shown:
            os.write(terminal, b"\x03")
            interrupt_at = None
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown


LEAVE_SCREEN, SHOW_CURSOR = b"\x1b[?1049l", b"\x1b[?25h"


def restored(shown: bytes) -> bool:
    """Whether the terminal was left as it was found."""
    return shown.rfind(LEAVE_SCREEN) > shown.rfind(b"\x1b[?1049h") > -1 and shown.rfind(SHOW_CURSOR) > shown.rfind(
        b"\x1b[?25l"
    )


def test_a_terminal_gets_a_full_screen_and_then_the_summary(plan: Path, shared: Path) -> None:
    # The screen is drawn four times a second.
    slow = ["--set", "learner.step_seconds=0.3"]

    code, shown = in_terminal(command(options(plan, shared, *slow)))

    assert code == 0
    assert restored(shown)
    screen, summary = shown.split(LEAVE_SCREEN)
    assert b"headway" in screen
    assert b"documents" in screen
    assert b"resident" in screen or b"allowed" in screen
    assert b"demo-001 finished" in summary.replace(b"\r\n", b" ")


def test_ctrl_c_in_a_terminal_saves_restores_the_screen_and_exits_130(plan: Path, shared: Path) -> None:
    code, shown = in_terminal(command(options(plan, shared, *SLOWLY)), interrupt_at=b"documents/s")

    assert code == 130
    assert restored(shown)
    assert b"stopped" in shown.split(LEAVE_SCREEN)[1]


def test_an_error_in_a_terminal_restores_the_screen(plan: Path, shared: Path) -> None:
    broken = ["--set", "learner.fault=full", "--set", "learner.fault_at=3"]

    code, shown = in_terminal(command(options(plan, shared, *broken)))

    assert code == 2
    assert restored(shown)
    assert b"the disk is full" in shown.split(LEAVE_SCREEN)[1]


def test_a_narrow_terminal_without_colours_is_respected(plan: Path, shared: Path) -> None:
    slow = ["--set", "learner.step_seconds=0.05"]

    code, shown = in_terminal(command(options(plan, shared, *slow)), columns=32, NO_COLOR="1")

    colours = re.findall(rb"\x1b\[[\d;]*(?:3[0-7]|38;\d)[\d;]*m", shown)
    assert code == 0
    assert not colours


def test_a_dumb_terminal_gets_plain_lines(plan: Path, shared: Path) -> None:
    code, shown = in_terminal(command(options(plan, shared)), TERM="dumb")

    assert code == 0
    assert b"\x1b[?1049h" not in shown
    assert b"training demo-001" in shown


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_finishes_the_step_and_exits_with_its_code(plan: Path, shared: Path, number: int, code: int) -> None:
    # Whoever runs the tests under nohup passes an ignored SIGHUP on.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with subprocess.Popen(
        command(options(plan, shared, "--json", *SLOWLY)), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        next(line for line in process.stdout if json.loads(line)["event"] == "step")
        process.send_signal(number)
        events = [json.loads(line) for line in process.stdout]

    assert process.returncode == code
    assert (events[-1]["event"], events[-1]["status"], events[-1]["signal"]) == ("result", "stopped", number)


def test_a_second_ctrl_c_leaves_at_once_and_loses_nothing_saved(plan: Path, shared: Path) -> None:
    stuck = ["--json", "--set", "learner.fault=hang", "--set", "learner.fault_at=1"]
    with subprocess.Popen(
        command(options(plan, shared, *stuck)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        wait_until((plan.parent / "runs" / "demo-001" / counting.HANGING).exists)
        interrupt_twice(lambda: process.send_signal(signal.SIGINT), lambda: process.poll() is not None)
        said = process.stderr.read()

    assert process.returncode == 130
    assert re.search(r"headway: interrupted; saved and safe: [1-9]\d* of 300 documents in ", said)
    assert "demo-001; the same command continues from there" in said


def test_a_terminal_that_is_closed_saves_and_exits_129(plan: Path, shared: Path) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    pid, terminal = pty.fork()
    if pid == 0:
        arguments = command(options(plan, shared, *SLOWLY))
        os.environ["TERM"] = "xterm"
        os.execv(arguments[0], arguments)
    shown = b""
    while b"documents/s" not in shown:
        shown += os.read(terminal, 65536)
    os.close(terminal)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 129
    assert facts(plan.parent / "runs" / "demo-001").status == "stopped"


@pytest.mark.parametrize("shown", [["--json"], []])
def test_output_that_cannot_be_written_stops_no_training(
    plan: Path, shared: Path, shown: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w") as full:
        code = subprocess.run(command(options(plan, shared, *shown)), stdout=full).returncode

    assert code == 74
    assert "No space left on device" in capfd.readouterr().err
    assert facts(plan.parent / "runs" / "demo-001").status == "finished"


@pytest.mark.parametrize("shown", [["--json"], []])
def test_a_reader_that_leaves_early_is_no_error(plan: Path, shared: Path, shown: list[str]) -> None:
    # It has not said its last word yet when the reader leaves.
    slow = ["--set", "run.batch_tokens=4096", *SLOWLY]
    first = subprocess.Popen(
        command(options(plan, shared, *slow, *shown)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert first.stdout is not None
    assert first.stderr is not None
    first.stdout.readline()
    first.stdout.close()
    said = first.stderr.read()

    assert first.wait() == 141
    assert said == ""
    assert main(["runs", "show", str(plan.parent / "runs" / "demo-001"), "--json"]) == 0
