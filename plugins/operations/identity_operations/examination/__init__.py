"""The examination of what an installation stores, which changes nothing."""
