"""The examples of the documents that need frameworks of others do what they say."""

import pytest

from test_documents import WITH_PEERS, blocks

EXAMPLES = [row for row in blocks("python") if WITH_PEERS in row[1]]


def test_there_are_some():
    assert EXAMPLES


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_the_example_runs(name, example):
    exec(compile(example, name, "exec"), {"__name__": "example"})
