"""Permissions of agents: delegations, their chains, actions, and the tokens that carry them."""
