"""The program ``identity`` as a module: ``python -m identity_core``."""

from identity_core.cli import main

if __name__ == "__main__":
    main(prog_name="identity")
