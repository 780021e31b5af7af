"""Requests of agents that wait for a holder, and the replies of holders."""
