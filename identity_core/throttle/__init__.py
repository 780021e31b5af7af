"""Rate limits: the token bucket as a strategy of the ``limits`` library, its stores, and who draws on which bucket.

``token_bucket`` holds the rule and the names that ``limits`` users know; ``memory`` and ``sqlite`` are
stores, others are drivers of servers. ``fallback`` chooses one from the settings and stands before those that can fail, and
``policy`` maps callers to buckets and decisions to header fields.
"""
