"""Whether a value fits a JSON Schema that a spec's author wrote, asked of a process of its own.

Such a schema is a program: a pattern, or references to references, can keep a
checker busy for longer than anybody lives. So it runs beside this process,
with `SECONDS` of processor time and `MEMORY` bytes, where the system can set such
bounds, and `WAIT` seconds in any case. What does not end within them fits nothing.
No reference is fetched. That process runs this file alone, since the package takes time to import.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

SECONDS = 5
MEMORY = 1 << 30
WAIT = 60


def defect(schema: object) -> str | None:
    """Say in half a sentence why `schema` is not a JSON Schema; None where it is one."""
    found = _asked({"schema": schema})
    return found["defect"] if found else "takes too long to check; make it simpler"


def fits(schema: object, value: object) -> bool:
    """Say whether `value` fits `schema`, which is a JSON Schema."""
    found = _asked({"schema": schema, "value": value})
    return bool(found and found["fits"])


def _asked(job: dict[str, object]) -> dict[str, Any] | None:
    """Return the answer of a process to `job`; None where it gave none."""
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, with this module
            [sys.executable, "-P", __file__],  # -P: no module of the folder of this one
            input=json.dumps({**job, "seconds": SECONDS, "memory": MEMORY}).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=WAIT,
            start_new_session=True,  # Ctrl-C is for this process: the other one's answer counts
        )
    except subprocess.TimeoutExpired:
        return None
    answer: dict[str, Any] | None = json.loads(done.stdout) if done.returncode == 0 else None
    return answer


def main() -> None:
    """Answer the one job on standard input: the process itself."""
    job = json.load(sys.stdin)
    limit(job["seconds"], job["memory"])
    answer = {"fits": _fits(job["schema"], job["value"])} if "value" in job else _checked(job)
    json.dump(answer, sys.stdout)


def limit(seconds: int, memory: int, written: int | None = None) -> None:
    """Bound this process: its processor time, and the bytes that it uses, and writes to a file."""
    with suppress(ImportError, OSError, ValueError):  # not every system has such limits
        import resource  # noqa: PLC0415

        if written is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (written, written))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _checked(job: dict[str, Any]) -> dict[str, str | None]:
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - an extra

    try:
        Draft202012Validator.check_schema(job["schema"])
    except SchemaError as error:
        return {"defect": f"is not a valid JSON Schema{_place(error.path)}"}
    return {"defect": None}


def _fits(schema: Any, value: object) -> bool:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - an extra
    from referencing import Registry  # noqa: PLC0415

    try:
        return bool(Draft202012Validator(schema, registry=Registry()).is_valid(value))
    except Exception:  # noqa: BLE001 - a schema that cannot be followed is satisfied by nothing
        return False


def _place(path: Iterable[str | int]) -> str:
    """Say where in a schema, by the words of JSON Schema: the file may be no schema at all."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - an extra

    known = Draft202012Validator.VALIDATORS
    parts = [str(part) if part in known or isinstance(part, int) else "…" for part in path]
    return f", at {'.'.join(parts)}" if parts else ""


if __name__ == "__main__":
    main()
