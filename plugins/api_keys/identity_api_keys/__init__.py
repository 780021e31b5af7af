"""The administration of API keys: createApiKey … revokeApiKey, and ``identity keys``."""
