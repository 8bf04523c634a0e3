"""What all tests share: `support` is importable, and `--rewrite` renews the golden files."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_addoption(parser):
    parser.addoption("--rewrite", action="store_true", help="write the golden files anew")


@pytest.fixture
def rewrite(request):
    return request.config.getoption("--rewrite")
