"""Choosing ports; which are free is said by the test."""

import pytest

from lbclient.errors import StackError
from lbclient.stack import ports
from lbclient.stack.ports import FLAGS, Ports, require_free


def test_taken_ports_are_named_with_their_flags(monkeypatch):
    monkeypatch.setattr(ports, "is_free", lambda port: port not in (8000, 8090))
    with pytest.raises(StackError) as caught:
        require_free(Ports())
    assert caught.value.message == (
        "port 8090 is in use (--port changes it); "
        "port 8000 is in use (--triton-http-port changes it); --free-ports chooses free ones"
    )


def test_equal_ports_are_refused():
    with pytest.raises(StackError, match="must differ"):
        require_free(Ports(evaluator=8000))


def test_every_port_has_a_flag():
    assert set(FLAGS) == set(Ports.__dataclass_fields__)
