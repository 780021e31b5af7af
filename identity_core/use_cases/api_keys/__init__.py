"""The administration of API keys: createApiKey … revokeApiKey."""
