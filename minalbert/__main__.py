"""`python -m minalbert`, and the program `minalbert`: an interrupt is one sentence from here on, imports included."""

import sys


def main():
    try:
        from . import commands

        return commands.main()
    except KeyboardInterrupt:
        print("minalbert: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
