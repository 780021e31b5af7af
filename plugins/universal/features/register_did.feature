@registerDid
Feature: Create a DID, as a registrar does
  Clients of the Universal Registrar ask as they ask everywhere.

  Scenario: The service makes the keys
    When a stock registrar creates a DID
    Then the answer is 201
    And the state is finished
    And the state holds a private key of the DID
    And every change of the DID must be bound to purpose and body

  Scenario: A client that keeps its keys is asked for them
    When a client that keeps its keys creates a DID
    Then the answer is 200
    And the action is getVerificationMethod

  Scenario: The keys that were asked for
    Given a client that keeps its keys has begun to create a DID
    When it brings a key
    Then the answer is 201
    And the state is finished
    And the document has the key that was brought, and the answer no private one

  Scenario: The keys that were asked for may be JWKs
    Given a client that keeps its keys has begun to create a DID
    When it brings a key as a JWK
    Then the answer is 201
    And the state is finished
    And the document has the key that was brought, and the answer no private one

  @400:INVALID_REQUEST
  Scenario: A key in no form
    Given a client that keeps its keys has begun to create a DID
    When it brings a key without its bytes
    Then the answer is 400 INVALID_REQUEST

  @422:INVALID_DOCUMENT
  Scenario: A private JWK is refused
    Given a client that keeps its keys has begun to create a DID
    When it brings a private JWK
    Then the answer is 422 INVALID_DOCUMENT

  Scenario: The keys may be JWKs in the document
    When a client that keeps its keys creates a DID with a JWK in the document
    Then the answer is 201
    And the state is finished
    And the document has the key that was brought, and the answer no private one

  Scenario: A retry with the same Idempotency-Key makes no second DID
    Given a good request for registerDid
    When it is sent twice with one Idempotency-Key
    Then the answer is 201
    And both answers are the same

  @400:INVALID_DID
  Scenario: The method must be installed
    When a registrar creates a DID of the method unknown
    Then the answer is 400 INVALID_DID
    And the state is failed as INVALID_DID

  @422:INVALID_DOCUMENT
  Scenario: The DID follows from the document
    When a registrar creates a DID that it has named itself
    Then the answer is 422 INVALID_DOCUMENT
    And the state is failed as INVALID_DID_DOCUMENT

  @409:DID_EXISTS
  Scenario: A did:key is registered once
    Given a registrar has registered a did:key
    When the registrar registers the same did:key again
    Then the answer is 409 DID_EXISTS

  @403:FORBIDDEN
  Scenario: A key without the scope may not create
    Given Olu has an API key that may only list DIDs
    When Olu sends registerDid with it
    Then the answer is 403 FORBIDDEN
