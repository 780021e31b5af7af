@createDid
Feature: Create a DID
  An operator with an API key makes a DID; its private keys are in the answer, once.

  Scenario: Keys, a service and a recovery key
    When the operator creates a DID with three keys, a service and a recovery key
    Then the answer is 201
    And the answer holds one private key for each of authentication, keyAgreement, assertionMethod and recovery
    And the recovery key is not in the document
    And the answer must not be cached

  Scenario: A holder's own key stays with the holder
    When the operator creates a DID with an own key
    Then the answer is 201
    And the answer holds no private key

  Scenario: The custodian keeps what the answer shall not show
    When the operator creates a DID with keys for the custodian
    Then the answer is 201
    And the answer holds no private key

  Scenario: A retry with the same Idempotency-Key makes no second DID
    Given a good request for createDid
    When it is sent twice with one Idempotency-Key
    Then the answer is 201
    And both answers are the same

  @400:INVALID_DID
  Scenario: The method must be installed
    When the operator creates a DID with an unknown method
    Then the answer is 400 INVALID_DID
    And the details name the methods that there are

  @400:INVALID_REQUEST
  Scenario: Keys are not thrown away
    When the operator creates a DID with keys without an owner
    Then the answer is 400 INVALID_REQUEST

  @422:INVALID_DOCUMENT
  Scenario Outline: A document that breaks a rule is refused
    When the operator creates a DID with <what>
    Then the answer is 422 INVALID_DOCUMENT

    Examples:
      | what                                   |
      | an unknown key type                    |
      | a key agreement key that authenticates |
      | a weak own key                         |
      | an endpoint that is a script           |

  @409:DID_EXISTS
  Scenario: A did:key is registered once
    Given Hana has registered a did:key of her own
    When the same did:key is registered again
    Then the answer is 409 DID_EXISTS

  @403:FORBIDDEN
  Scenario: A key without the scope may not create
    Given Olu has an API key that may only list DIDs
    When Olu sends createDid with it
    Then the answer is 403 FORBIDDEN
