"""The lock file holds a version, with hashes, of all that the project asks for."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[3]
LOCK = (ROOT / "tools" / "lock.txt").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ASKED = [
    Requirement(row)
    for rows in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for row in rows
]
PINNED = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^ ;]+)", LOCK, re.MULTILINE)
}


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_each_requirement_is_pinned_within_its_bounds(asked):
    assert asked.specifier.contains(PINNED[canonicalize_name(asked.name)], prereleases=True)


def test_every_pin_has_hashes_and_no_line_names_a_place():
    pins = re.split(r"^(?=[A-Za-z0-9])", LOCK, flags=re.MULTILINE)[1:]
    assert len(pins) >= len(PINNED) >= 80
    assert all("--hash=sha256:" in pin for pin in pins)
    assert not re.search(r"://|^-", LOCK, re.MULTILINE)
