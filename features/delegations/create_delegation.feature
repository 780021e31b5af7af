@createDelegation
Feature: Delegate to an agent
  Hana the holder allows Aki the agent to have something proved; Aki may pass a part of it on to Ben. Eve has no part in it.

  Scenario: A holder delegates, and the default limits apply
    When Hana delegates to Aki
    Then the answer is 201
    And the delegation is active
    And it asks 1 refusal and 3 thresholds at most
    And Aki finds the same at its location

  Scenario: Plain values become pinned actions
    When Hana delegates to Aki what she pins in plain values
    Then the answer is 201
    And its actions are zkp.prove.age.gte.18, zkp.prove.age.gte.21, zkp.prove.home%20town.eq.hXuI4nycF70rJ_HgxM5WJkg

  Scenario: A holder may sign the terms
    When Hana delegates to Aki and signs the terms
    Then the answer is 201
    And anybody can check that Hana signed the terms

  Scenario: An operator delegates for a holder of its list
    Given Olu has an API key that acts for Hana only
    When Olu delegates with that key for Hana to Aki
    Then the answer is 201

  Scenario: An agent passes on a part
    Given Hana has delegated to Aki
    When Aki passes it on to Ben
    Then the answer is 201
    And the delegation is active

  Scenario Outline: What is malformed is refused
    When Hana delegates to Aki with <what>
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | what                     |
      | a prefix                 |
      | a wildcard inside a name |
      | a line break             |
      | a value of 17 digits     |
      | an unknown type          |
      | no action                |
      | an end in the past       |
      | an end in a year         |
      | a level of 6             |

  @400:INVALID_DID
  Scenario: An agent is a DID
    When Hana delegates to what is not a DID
    Then the answer is 400 INVALID_DID

  @403:FORBIDDEN
  Scenario: A DID cannot delegate for another holder
    When Eve delegates for Hana to Aki
    Then the answer is 403 FORBIDDEN

  @403:FORBIDDEN
  Scenario: An operator delegates only for its own holder
    Given Olu has an API key that acts for Ben only
    When Olu delegates with that key for Hana to Aki
    Then the answer is 403 FORBIDDEN

  @403:AUTONOMY_TOO_LOW
  Scenario: An agent that is told what to do does not pass on
    Given Hana has delegated to Aki at level 4
    When Aki passes it on to Ben
    Then the answer is 403 AUTONOMY_TOO_LOW

  @403:DELEGATION_INVALID
  Scenario: What may not be passed on stays
    Given Hana has delegated to Aki, who may not pass it on
    When Aki passes it on to Ben
    Then the answer is 403 DELEGATION_INVALID

  @403:DELEGATION_INVALID
  Scenario: A signature of another DID is not the holder's
    When Hana delegates to Aki under a signature of Eve
    Then the answer is 403 DELEGATION_INVALID

  @403:DELEGATION_NOT_ACTIVE
  Scenario: What has not begun is not passed on
    Given Hana has delegated to Aki from tomorrow on
    When Aki passes it on to Ben
    Then the answer is 403 DELEGATION_NOT_ACTIVE

  @403:DELEGATION_NOT_ACTIVE
  Scenario: What is suspended is not passed on
    Given Hana has delegated to Aki
    And Hana has suspended it
    When Aki passes it on to Ben
    Then the answer is 403 DELEGATION_NOT_ACTIVE

  @404:DID_NOT_FOUND
  Scenario: An agent exists
    When Hana delegates to an unregistered DID
    Then the answer is 404 DID_NOT_FOUND

  @404:DELEGATION_NOT_FOUND
  Scenario: A parent exists
    When Aki passes on something that does not exist to Ben
    Then the answer is 404 DELEGATION_NOT_FOUND

  @404:DELEGATION_NOT_FOUND
  Scenario: What others have is not there
    Given Hana has delegated to Aki
    When Eve passes it on to Ben
    Then the answer is 404 DELEGATION_NOT_FOUND

  @410:DID_DEACTIVATED
  Scenario: An agent is in use
    Given Aki has a DID
    And Aki has deactivated the DID
    When Hana delegates to Aki
    Then the answer is 410 DID_DEACTIVATED

  @410:DELEGATION_EXPIRED
  Scenario: What has expired is not passed on
    Given what Hana delegated to Aki has expired
    When Aki passes it on to Ben
    Then the answer is 410 DELEGATION_EXPIRED

  @410:DELEGATION_REVOKED
  Scenario: What is revoked is not passed on
    Given Hana has delegated to Aki
    And Hana has revoked it
    When Aki passes it on to Ben
    Then the answer is 410 DELEGATION_REVOKED

  @422:DELEGATION_NOT_NARROWER
  Scenario Outline: What is passed on is narrower in every dimension
    Given Hana has delegated to Aki within limits
    When Aki passes it on to Ben with wider <dimension>
    Then the answer is 422 DELEGATION_NOT_NARROWER
    And it is refused because of <member>

    Examples:
      | dimension   | member        |
      | actions     | actions       |
      | credentials | credentialIds |
      | schemas     | schemaIds     |
      | verifiers   | verifiers     |
      | uses        | maxUses       |
      | refusals    | maxRefusals   |
      | thresholds  | maxThresholds |
      | depth       | maxDepth      |
      | beginning   | notBefore     |
      | end         | expiresAt     |

  Scenario: A request that is sent twice is done once
    Given a good request for createDelegation
    When it is sent twice with one Idempotency-Key
    Then both answers are the same

  Scenario: An operator does it for a holder
    Given a good request for createDelegation
    When it is sent
    Then the answer is 201
    And the answer must not be cached
