"""Who asks: something for everybody, and nothing that gRPC cannot carry."""

import getpass

from lbclient.caller import metadata, this_caller


def test_user_and_host_are_told():
    user, _, host = this_caller().partition("@")
    assert user
    assert host


def test_a_user_without_a_name_can_ask_too(monkeypatch):
    def nobody():
        raise KeyError("uid 12345")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert this_caller().startswith("unknown@")


def test_other_characters_become_question_marks():
    assert metadata("jürgen\n@host") == (("lookbench-caller", "j?rgen?@host"),)
    assert metadata(" ") == ()
