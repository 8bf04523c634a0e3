"""tools/pictures still finds what it takes pictures of, and makes them small enough to show."""

import re
import subprocess
import sys

from page.harness import ROOT


def test_pictures_are_made(browser, tmp_path):
    command = [sys.executable, str(ROOT / "tools" / "pictures"), str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    page, terminal = (tmp_path / name for name in ("page.png", "terminal.svg"))
    assert page.read_bytes().startswith(b"\x89PNG")
    svg = terminal.read_text()
    assert "INTACT" in svg
    assert set(re.findall(r"https?://[^\s\"]+", svg)) == {
        "http://www.w3.org/2000/svg",
        "https://www.textualize.io",  # in a comment
    }
    # Ids and times differ from run to run, and with them a picture's size by some thousand bytes.
    assert max(path.stat().st_size for path in (page, terminal)) < 250_000
