@listAuditLines
Feature: The audit log says who did what, and shows when it was changed

  Scenario: An operator checks it
    Given Aki has a proof about Hana
    And a good request for verifyStoredProof
    And it was sent
    When Olu reads the audit log
    Then the answer is 200
    And the audit log names who verified and holds together
    And the answer must not be cached

  @403:FORBIDDEN
  Scenario: A key with an allowlist may not read about everybody
    Given Olu has an API key to audit for Hana alone
    When Olu sends listAuditLines with it
    Then the answer is 403 FORBIDDEN

  @401:AUTH_REQUIRED
  Scenario: The log is not for a DID
    When Mallory asks for the audit log
    Then the answer is 401 AUTH_REQUIRED

  Scenario: What was refused stands in it too
    When Eve delegates for Hana to Aki
    And Olu reads the audit log
    Then the audit log has the refusal FORBIDDEN of createDelegation by Eve
