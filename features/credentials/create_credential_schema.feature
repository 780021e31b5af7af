Feature: Register a credential schema

  Scenario: A request that is sent twice is done once
    Given a good request for createCredentialSchema
    When it is sent twice with one Idempotency-Key
    Then both answers are the same

  @createCredentialSchema
  Scenario: A DID registers a schema
    Given Ivo has a DID
    When Ivo registers a schema
    Then the answer is 201

  @createCredentialSchema
  Scenario: A schema and its attributes have titles for people
    Given Ivo has a DID
    When Ivo registers a titled schema
    Then everybody reads the titles

  @createCredentialSchema @422:INVALID_SCHEMA
  Scenario Outline: What is not a schema
    Given Ivo has a DID
    When Ivo registers a schema with <what>
    Then the answer is 422 INVALID_SCHEMA

    Examples:
      | what                               |
      | two attributes of one name         |
      | an attribute called id             |
      | an unknown type                    |
      | a threshold outside the domain     |
      | an id that is not a URI               |
      | a title that turns the text around |
      | titles of too many characters      |

  @createCredentialSchema
  Scenario Outline: A DID names a schema by what is its own
    Given Ivo has a DID
    When Ivo registers a schema named by <what>
    Then the answer is 201

    Examples:
      | what                           |
      | a URL of his DID               |
      | a place of his at this service |
      | a UUID                         |

  @createCredentialSchema @403:FORBIDDEN
  Scenario Outline: A DID cannot use another DID's name
    Given Ivo has a DID
    And Mallory has a DID
    When Mallory registers a schema named by <what>
    Then the answer is 403 FORBIDDEN

    Examples:
      | what                         |
      | an address of a third party  |
      | a URL of the DID of Ivo      |
      | the service itself           |
      | Ivo's place at this service  |
      | a path that leaves her place |

  @createCredentialSchema
  Scenario: An API key gives any name
    When Olu registers a schema named by an address of a third party
    Then the answer is 201

  @createCredentialSchema @409:CONFLICT
  Scenario: A schema does not change
    Given Ivo has a DID
    When Ivo registers the schema again
    Then the answer is 409 CONFLICT
