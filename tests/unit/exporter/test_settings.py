from pathlib import Path

import pytest

from lookbench_exporter.settings import Settings


@pytest.mark.parametrize(
    ("environ", "repository"),
    [
        ({}, ".lookbench/models"),
        ({"LOOKBENCH_HOME": "/data/lb"}, "/data/lb/models"),
        ({"LOOKBENCH_HOME": "/data/lb", "LOOKBENCH_MODEL_REPOSITORY": "/models"}, "/models"),
        ({"LOOKBENCH_HOME": "", "LOOKBENCH_MODEL_REPOSITORY": ""}, ".lookbench/models"),
    ],
)
def test_the_repository_follows_the_environment(environ, repository):
    assert Settings.from_environment(environ).repository == Path(repository)
