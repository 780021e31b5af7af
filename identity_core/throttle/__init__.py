"""Rate limits: the token bucket as a strategy of the ``limits`` library, its stores, and the choice of a caller's
bucket.

``token_bucket`` has the rule and the names that ``limits`` users know. ``memory`` and ``sqlite`` are stores; drivers
of servers are others. ``fallback`` chooses one from the settings and wraps stores that can fail. ``policy`` maps
callers to buckets and decisions to header fields.
"""
