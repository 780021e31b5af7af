"""The HTTP interface: the only package that uses Connexion, schemas and status codes."""
