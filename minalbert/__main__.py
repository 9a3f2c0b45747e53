"""`python -m minalbert`, and the program `minalbert`: an interrupt is one sentence from here on, imports included.

Before this file's first line, Python itself answers, with a traceback: in its first 20 ms or so.
"""

import sys


def main():
    try:
        from . import commands

        code = commands.main()
        if code == 75:                               # stopped by a signal: a second one must not change the code
            commands.ignore_signals()
        return code
    except KeyboardInterrupt:
        return interrupted()


def interrupted():
    print("minalbert: interrupted", file=sys.stderr)
    return 130


if __name__ == "__main__":
    try:
        code = main()
    except KeyboardInterrupt:                        # between the call and its first line
        code = interrupted()
    sys.exit(code)
