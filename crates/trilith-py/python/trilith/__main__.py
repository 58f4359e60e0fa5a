"""`python -m trilith` is the command `trilith`."""

import signal
import sys

from ._trilith import _command


def main():
    """Runs the command with the words of the command line, and ends with its exit status."""
    # The command is one call from here: Python would not get to see an interruption before it ends.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    sys.exit(_command(["trilith", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
