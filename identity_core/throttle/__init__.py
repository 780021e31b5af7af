"""Rate limits: the token bucket as a strategy of the ``limits`` library, and the choice of a caller's bucket.

``memory`` has the rule and the buckets of one process. ``policy`` maps callers to buckets and decisions to header
fields. Stores that processes share come from an extension, and from drivers of servers.
"""
