"""The console script: Ctrl-C is one word from the first import on.

It stands beside the package, because to import any part of the package runs all of
`hansard/__init__.py` first.
"""

import gc
import os
import signal


def run() -> None:
    """Run the command line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else somebody ignores it
        signal.signal(signal.SIGINT, leave)
    gc.disable()  # `main` enables it again, once it has imported a command
    from hansard.cli import main  # noqa: PLC0415 - it takes long enough to be interrupted

    main.run()


def leave(*_: object) -> None:
    """End the process at once."""
    os.write(2, b"interrupted\n")
    os._exit(130)
