"""Provers and verifiers of formats in worker processes."""
