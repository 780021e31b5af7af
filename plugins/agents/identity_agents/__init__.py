"""Endpoints of agents: ``/mcp`` (Model Context Protocol) and ``/a2a`` (Agent2Agent)."""
