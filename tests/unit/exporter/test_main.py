import signal

import pytest

from lookbench_exporter import __main__ as module


def fail(**_):
    raise ZeroDivisionError("deep inside")


@pytest.fixture(autouse=True)
def _restored_signal():
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def test_an_unexpected_error_is_told_without_a_traceback(monkeypatch, capsys):
    monkeypatch.setattr(module, "cli", fail)
    with pytest.raises(SystemExit) as caught:
        module.main()
    assert caught.value.code == 1
    told = capsys.readouterr().err
    assert told.startswith("Error: unexpected ZeroDivisionError: deep inside\n")
    assert "Traceback" not in told


def test_a_traceback_is_there_for_those_who_ask(monkeypatch):
    monkeypatch.setenv(module.TRACEBACK, "1")
    monkeypatch.setattr(module, "cli", fail)
    with pytest.raises(ZeroDivisionError):
        module.main()


def test_being_told_to_stop_ends_like_an_interrupt(monkeypatch):
    def stopped(**_):
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(module, "cli", stopped)
    with pytest.raises(KeyboardInterrupt):
        module.main()
