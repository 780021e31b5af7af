"""The operations: verify a proof or a credential, read and revoke a stored proof, obtain a challenge."""
