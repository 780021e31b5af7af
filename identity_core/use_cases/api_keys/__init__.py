"""API keys: their administration (createApiKey … revokeApiKey) and the authentication of those who carry one."""
