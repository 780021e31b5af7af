Feature: Revoke a stored proof

  @revokeProof
  Scenario: Revoking a proof revokes its anchor alone
    Given Aki has an anchored proof about Hana
    When Hana revokes the proof and waits for its anchor
    Then its anchor is revoked
    And it names the block of the revocation

  Scenario: An operator does it for a holder
    Given a good request for revokeProof
    When it is sent
    Then the answer is 200
    And the answer must not be cached

  Scenario: A request that is sent twice is done once
    Given a good request for revokeProof
    When it is sent twice with one Idempotency-Key
    Then both answers are the same
