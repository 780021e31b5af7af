"""The commands of this extension. Those that ask a service know its operations."""

from importlib import resources

from identity_core.cli.remote import add_operations

add_operations(resources.files("identity_records").joinpath("document.json").read_bytes())
