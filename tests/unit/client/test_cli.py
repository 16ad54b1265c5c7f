"""Errors become one message and an exit code; never a traceback."""

import click
import pytest

from lbclient import cli
from lbclient.errors import FieldViolation, InvalidRequest, NotReachable, ServerFailure
from lbclient.interruption import Interrupted


@pytest.fixture
def failing(monkeypatch, capsys):
    """A function: exit code, stdout and stderr of a command that raises `error`."""

    def run(error):
        @click.command()
        def fail():
            raise error

        monkeypatch.setitem(cli.cli.commands, "fail", fail)
        code = cli.run(["fail"])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_error_is_one_message_on_stderr(failing):
    code, out, err = failing(ServerFailure("it broke", code="INTERNAL", reason="INTERNAL"))
    assert (code, out, err) == (1, "", "Error: it broke (INTERNAL)\n")


def test_server_that_is_not_there_names_both_ways_to_start_one(failing):
    code, _, err = failing(NotReachable("nothing answers at 127.0.0.1:8090 (refused)"))
    assert code == 3
    assert "nothing answers at 127.0.0.1:8090" in err
    assert "`lbclient up`" in err
    assert "`docker compose up -d`" in err


def test_field_violations_are_added_unless_already_said():
    error = InvalidRequest(
        "run.x: is wrong",
        reason="INVALID_FIELD",
        field_violations=(FieldViolation("run.x", "is wrong"), FieldViolation("run.y", "too")),
    )
    assert cli.error_text(error) == "run.x: is wrong\n  run.y: too (INVALID_FIELD)"


def test_request_id_leads_to_the_log():
    error = ServerFailure("failed", metadata={"request_id": "r-1"})
    assert cli.error_text(error) == "failed\n  request r-1 in the server's log"


def test_unexpected_error_has_no_traceback_unless_asked(failing, monkeypatch):
    code, _, err = failing(KeyError("x"))
    assert code == 1
    assert err == "Error: 'x' (KeyError); LBCLIENT_DEBUG=1 shows where\n"
    monkeypatch.setenv("LBCLIENT_DEBUG", "1")
    assert "Traceback" in failing(KeyError("x"))[2]


def test_interruption_tells_what_goes_on(failing):
    code, _, err = failing(Interrupted("runs/a goes on at the server."))
    assert code == 130
    assert err.strip() == "Interrupted. runs/a goes on at the server."


def test_plain_interruption(failing):
    code, _, err = failing(KeyboardInterrupt())
    assert (code, err.strip()) == (130, "Interrupted.")


def test_wrong_usage_is_2(capsys):
    assert cli.run(["evaluate", "--cutoffs", "zero"]) == 2
    assert "is not a list such as 1,5,10" in capsys.readouterr().err


def test_help_documents_exit_codes_and_environment(capsys):
    assert cli.run(["--help"]) == 0
    text = capsys.readouterr().out
    assert "130 interrupted" in text
    assert "LOOKBENCH_HOME" in text


def test_version(capsys):
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("lbclient, version ")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_scripts_call_us(shell, capsys):
    assert cli.run(["completion", shell]) == 0
    assert "_LBCLIENT_COMPLETE" in capsys.readouterr().out


def test_completion_needs_a_shell_that_is_known(monkeypatch, capsys):
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert cli.run(["completion"]) == 2
    assert "name the shell: bash, zsh, fish" in capsys.readouterr().err
