Feature: Refusals that depend on settings and delegations
  Autonomy is a member of the delegation; the feature flag for anchoring is a setting of the service.

  Scenario: Autonomy is too low
    Given the plain client has a delegation with autonomy level 0
    When the plain client requests a gte proof that holds
    Then the service responds 403 AUTONOMY_TOO_LOW

  Scenario: Anchoring is off
    When the plain client requests an anchored proof while anchoring is off
    Then the service responds 501 ANCHORING_DISABLED
