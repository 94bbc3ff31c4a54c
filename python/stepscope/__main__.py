"""`python -m stepscope`: the program, as `stepscope` on the command line."""
import os
import sys

from .server import program


def main() -> int:
    try:
        path = program()
    except FileNotFoundError as why:
        print(f"stepscope: {why}", file=sys.stderr)
        return 1
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
