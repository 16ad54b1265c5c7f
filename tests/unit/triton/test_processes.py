import os

import pytest

from lookbench_triton import processes
from lookbench_triton.processes import ProcessState, StubWatch, parse_stat, stub_model

STUB = b"/t/backends/python/triton_python_backend_stub"


@pytest.mark.parametrize("name", ["python3", "tmux: server", "a) (b", ") Z 1 ("])
def test_any_process_name_is_survived(name):
    columns = "S 17 " + " ".join(str(n) for n in range(5, 30))
    found = parse_stat(f"42 ({name}) {columns}")
    # man 5 proc: state is field 3, ppid field 4, starttime field 22
    assert found == ProcessState(pid=42, state="S", parent=17, started=22)


def test_this_process_is_found_and_a_gone_one_is_not():
    state = processes.process_state(os.getpid())
    assert state.parent == os.getppid()
    assert state.state in "RS"
    assert processes.process_state(2**22 + 1) is None


def test_a_stub_names_its_model_by_the_folder():
    assert stub_model(STUB + b"\0/repo/clip/1/model.onnx\0region\0" + b"1") == "clip"


@pytest.mark.parametrize("line", [b"", b"/bin/sh\0-c", STUB, STUB + b"\0x"])
def test_other_programs_are_no_stubs(line):
    assert stub_model(line) is None


@pytest.fixture
def family(monkeypatch):
    """What the server's children look like; changed by the test."""
    states: dict[int, str] = {}
    monkeypatch.setattr(
        processes,
        "children",
        lambda _: [ProcessState(pid, state, 1, 0) for pid, state in states.items()],
    )
    monkeypatch.setattr(
        processes.StubWatch, "_remember", lambda self, pid: self._models.update({pid: f"m{pid}"})
    )
    return states


def test_a_stub_that_stays_dead_is_reported(family):
    watch = StubWatch(1)
    family.update({7: "S", 8: "S"})
    assert watch.dead_models() == set()
    family[7] = "Z"
    assert watch.dead_models() == set()
    assert watch.dead_models() == {"m7"}


def test_a_stub_that_ends_as_it_should_is_not(family):
    watch = StubWatch(1)
    family[7] = "S"
    watch.dead_models()
    family[7] = "Z"
    watch.dead_models()
    del family[7]
    assert watch.dead_models() == set()


def test_a_dead_child_that_was_never_a_stub_is_not(family):
    watch = StubWatch(1)
    family[7] = "Z"
    watch.dead_models()
    assert watch.dead_models() == set()
