"""``python -m identity_core`` is ``identity``."""

from identity_core.cli import main

if __name__ == "__main__":
    main(prog_name="identity")
