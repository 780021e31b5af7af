"""Pages for people: public look-ups, and the pages of holders, issuers, verifiers and operators."""
