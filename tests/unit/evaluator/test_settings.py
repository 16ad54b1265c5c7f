"""Settings: safe by default, every flag an environment variable of the same name."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from lookbench_evaluator.settings import Settings, is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_loopback_needs_nothing(host):
    assert Settings(host=host).host == host
    assert is_loopback(host)


def test_another_address_needs_the_insecure_setting():
    with pytest.raises(ValidationError, match="insecure"):
        Settings(host="0.0.0.0")
    assert Settings(host="0.0.0.0", insecure=True).insecure


def test_the_environment_sets_every_field(monkeypatch):
    monkeypatch.setenv("LOOKBENCH_EVALUATOR_PORT", "9000")
    monkeypatch.setenv("LOOKBENCH_EVALUATOR_DATA_ROOTS", "/a:/b")
    monkeypatch.setenv("LOOKBENCH_EVALUATOR_LOG_STYLE", "text")
    settings = Settings()
    assert settings.port == 9000
    assert settings.data_roots == (Path("/a"), Path("/b"))
    assert settings.log_style == "text"


def test_nonsense_is_refused(monkeypatch):
    monkeypatch.setenv("LOOKBENCH_EVALUATOR_PORT", "nine")
    with pytest.raises(ValidationError, match="port"):
        Settings()


def test_embeddings_are_kept_beside_the_store_unless_told_otherwise(tmp_path):
    assert Settings(store_dir=tmp_path).cache_folder == tmp_path / "cache"
    assert Settings(store_dir=tmp_path, cache_dir=tmp_path / "c").cache_folder == tmp_path / "c"
    with pytest.raises(ValidationError, match="cache_bytes"):
        Settings(cache_bytes=-1)
