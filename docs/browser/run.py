"""Run what a reader wrote, and report a mistake by the reader's own lines."""

import linecache
import sys
import traceback


def run(source, name):
    """None, or what went wrong."""
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    try:
        exec(compile(source, name, "exec"), {"__name__": "__main__"})
    except BaseException as error:  # sys.exit() in a lesson must not end the page's Python
        return explained(error, name)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return None


def explained(error, name):
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name]
    return "".join(traceback.format_list(own) + traceback.format_exception_only(error)).rstrip()
