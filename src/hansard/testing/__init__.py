"""What every store must do, as tests for pytest that any store can run.

A test module imports them all, and says with a fixture at which URL each test finds a new and
empty store, which other processes can open as well:

    from hansard.testing import *

    @pytest.fixture
    def store_url(tmp_path):
        url = f"sqlite:///{tmp_path}/debates.db"
        hansard.migrate_store(url)
        return url
"""

import pytest

pytest.register_assert_rewrite("hansard.testing.found", "hansard.testing.stored")

from hansard.testing.found import *  # noqa: E402
from hansard.testing.stored import *  # noqa: E402
