"""Verification of proofs and credentials, at the service and without one."""
