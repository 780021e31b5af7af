@recoverDid
Feature: Recover a DID
  The recovery key brings a DID back, once.

  Scenario: A new key, and a new recovery key
    Given Hana has a DID
    When Hana asks to recover
    Then the answer is 200
    And the next recovery key is in the answer
    And the answer must not be cached

  Scenario: What a thief of the key has done is undone by one more version
    Given Hana has a DID
    And a thief with the key of Hana has put a key and a service of her own into the document
    When Hana recovers version 1
    Then the answer is 200
    And the document is version 4
    And nothing of the thief is in the document
    And the history of Hana says that version 4 has restored version 1

  @404:DID_NOT_FOUND
  Scenario: A version that there never was
    Given Hana has a DID
    When Hana recovers version 7
    Then the answer is 404 DID_NOT_FOUND

  @422:INVALID_DOCUMENT
  Scenario: A version that was replaced before the recovery window
    Given Hana has a DID without a recovery window
    And a thief with the key of Hana has put a key and a service of her own into the document
    When Hana recovers version 1
    Then the answer is 422 INVALID_DOCUMENT
    And the details name the oldest version that can be restored

  @410:DID_DEACTIVATED
  Scenario: A deactivation is not undone
    Given Hana has a DID
    And Hana has deactivated the DID
    When Hana recovers version 1 with a signature of before
    Then the answer is 410 DID_DEACTIVATED

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
