"""The handlers over the open ports, a module a noun. Imported only where a server starts."""
