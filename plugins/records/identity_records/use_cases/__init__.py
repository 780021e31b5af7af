"""Use cases that read records, each limited to the rows that the caller may see."""
