Feature: The lifecycle of a DID
  Creation, resolution, history and the errors of operations on DIDs.

  Scenario: A creation with all options
    When the plain client creates a DID
    Then the service responds 201
    And the response has the members did (text), didDocument (object), transactionHash (text), blockNumber (integer)
    And the keys authentication, keyAgreement, recovery have an id, a public and a private part

  Scenario: A resolution
    Given the plain client has created a DID
    When the plain client resolves the DID
    Then the service responds 200
    And the response has the members didDocument.@context (list), didDocument.id (text)
    And the response has the members didDocumentMetadata.created (time), didDocumentMetadata.updated (time)
    And the response has the members didDocumentMetadata.versionId (integer), didDocumentMetadata.deactivated (false)
    And the response has the members didResolutionMetadata.duration (integer)
    And the contentType is application/did+ld+json

  Scenario: The optional header Accept
    Given the plain client has created a DID
    When the plain client resolves the DID with Accept
    Then the service responds 200
    And the media type is application/did+ld+json

  Scenario Outline: A version of the document
    Given the plain client has created a DID
    And a plain request that added a service to the DID
    When the plain client resolves the DID with <query>
    Then the service responds 200
    And the resolved document is version <version>

    Examples:
      | query                            | version |
      | versionId=1                      | 1       |
      | versionId=2                      | 2       |
      | versionTime=2099-01-01T00:00:00Z | 2       |

  Scenario: History without authentication
    Given the plain client has created a DID
    When the plain client sends history without authentication
    Then the service responds 200

  Scenario Outline: A deactivated DID
    Given the plain client has created a DID
    And a plain request that deactivated the DID
    When the plain client sends <operation> for the deactivated DID
    Then the service responds 410 DID_DEACTIVATED

    Examples:
      | operation  |
      | resolve    |
      | history    |
      | challenge  |
      | update     |
      | deactivate |
      | rotate     |
      | recover    |

  Scenario Outline: An invalid or unknown DID
    When the plain client sends <operation> for an <kind> DID
    Then the service responds <status> <code>

    Examples:
      | operation | kind    | status | code          |
      | resolve   | invalid | 400    | INVALID_DID   |
      | history   | invalid | 400    | INVALID_DID   |
      | challenge | invalid | 400    | INVALID_DID   |
      | resolve   | unknown | 404    | DID_NOT_FOUND |
      | history   | unknown | 404    | DID_NOT_FOUND |
      | challenge | unknown | 404    | DID_NOT_FOUND |

  Scenario: A DID that is registered already
    When the plain client creates did:key twice for one public key
    Then the service responds 409 DID_EXISTS
