"""What every store must do, done by both of ours: the tests that the package brings."""

from __future__ import annotations

import pytest

import hansard
from hansard.testing import *


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def store_url(request, tmp_path):
    if request.param == "SQLite":
        hansard.migrate_store(url := f"sqlite:///{tmp_path}/debates.db")
        return url
    return request.getfixturevalue("migrated")()
