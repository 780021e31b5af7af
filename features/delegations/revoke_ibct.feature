@revokeIbct
Feature: Call an IBCT back
  A token that Hana has signed and that is unused.

  Scenario Outline: The holder calls it back
    When Hana revokes an IBCT of Hana by its <member>
    Then the answer is 200

    Examples:
      | member |
      | id     |
      | nonce  |

  Scenario: It is named in one way
    When an IBCT is revoked by its id and its nonce
    Then the answer is 400 INVALID_REQUEST

  @400:INVALID_DID
  Scenario: Its invoker is a DID
    When an IBCT of what is not a DID is revoked
    Then the answer is 400 INVALID_DID

  @403:FORBIDDEN
  Scenario: No other client calls it back
    When Aki revokes an IBCT of Hana by its id
    Then the answer is 403 FORBIDDEN

  Scenario: A request that is sent twice is done once
    Given a good request for revokeIbct
    When it is sent twice with one Idempotency-Key
    Then both answers are the same

  Scenario: An operator does it for a holder
    Given a good request for revokeIbct
    When it is sent
    Then the answer is 200
    And the answer must not be cached
