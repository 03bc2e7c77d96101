"""The command ``sabm``, also as ``python -m sabm_mesa``."""

import sys


def main() -> None:
    """Run the command line. Ctrl-C prints one line, also while Python still imports the package.

    Raises:
        SystemExit: always, with the exit status.
    """
    try:
        from sabm_mesa.cli import main as command

        command()
    except KeyboardInterrupt:
        sys.stderr.write("sabm: Stopped.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
