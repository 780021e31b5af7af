@recoverDid
Feature: Recover a DID
  The recovery key brings a DID back, once.

  Scenario: A new key, and a new recovery key
    Given Hana has a DID
    When Hana asks to recover
    Then the answer is 200
    And the next recovery key is in the answer
    And no one may keep a copy of the answer

  @401:AUTH_FAILED
  Scenario: A recovery key serves once
    Given Hana has a DID
    When Hana sends the same signature of recoverDid again
    Then the answer is 401 AUTH_FAILED

  @401:AUTH_FAILED
  Scenario: An authentication key does not recover
    Given Hana has a DID
    When Hana signs recoverDid with the authentication key under the other scheme
    Then the answer is 401 AUTH_FAILED

  @422:INVALID_DOCUMENT
  Scenario: The new key must be able to authenticate
    Given Hana has a DID
    When Hana asks to recover to a key that agrees
    Then the answer is 422 INVALID_DOCUMENT
