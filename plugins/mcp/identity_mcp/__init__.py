"""An MCP server over stdio that gets an agent delegated proofs of an identity service. It holds the agent's key; no model sees it."""


def main() -> None:
    """Run the server. A missing library is one line on standard error with the command that installs it, and status 1."""
    try:
        from identity_mcp import server
    except ModuleNotFoundError as error:
        from identity_core.files import install_command

        raise SystemExit(f"identity-mcp: {error}: {install_command('identity-service[mcp]')}") from None
    server.main()
