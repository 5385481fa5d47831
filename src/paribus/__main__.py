"""The command ``python -m paribus``."""

from paribus._command.entry import main, script

__all__ = ["main"]

if __name__ == "__main__":
    script()
