@contextlib.asynccontextmanager
async def approvals_to_publish(settings: Settings) -> AsyncIterator[PublishApprovals]:
    """What publishes approvals of did:webvh logs, beside a running service. Raises ``StartError``."""
    async with AsyncExitStack() as stack:
        plugins, _, store = await store_beside(settings, stack)
        recorded = ReadWitnessedLog(plugins.ledger(settings.ledger.backend), BoundedCache(1))
        yield PublishApprovals(recorded, store.witness_files)
