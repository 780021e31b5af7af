"""An MCP server over stdio that gets an agent delegated proofs of an identity service. It holds the agent's key; no model sees it."""
