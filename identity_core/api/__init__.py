"""HTTP in, HTTP out: the only room that knows Connexion, schemas and status codes."""
