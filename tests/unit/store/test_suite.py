"""What every store must do, done by both of ours: the tests that the package brings."""

from __future__ import annotations

import pytest

import hansard
from hansard.testing import *


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def store_url(request, tmp_path):
    if request.param == "SQLite":
        url = f"sqlite:///{tmp_path}/debates.db"
    else:
        url = request.getfixturevalue("server").fresh()
    hansard.migrate_store(url)
    return url
