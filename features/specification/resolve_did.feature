@resolveDid
Feature: The specification, resolution of a DID

  Scenario: The resolution result
    Given a new DID
    When GET /dids/$did is sent by nobody
    Then the response status is 200
    And the header Content-Type is application/did+ld+json
    And "didDocument.@context" is an array
    And "didDocument.id" is $did
    And "didDocumentMetadata.created" is a timestamp
    And "didDocumentMetadata.updated" is a timestamp
    And "didDocumentMetadata.versionId" is 1
    And "didDocumentMetadata.deactivated" is false
    And "didResolutionMetadata.contentType" is "application/did+ld+json"
    And "didResolutionMetadata.duration" is an integer

  Scenario Outline: The Accept header
    Given a new DID
    When GET /dids/$did is sent with Accept <accepted>
    Then the response status is 200
    And the header Content-Type is application/did+ld+json

    Examples:
      | accepted                |
      | application/did+ld+json |
      | */*                     |

  Scenario: A version and a time
    Given a new DID
    And PATCH /dids/$did was sent by the controller with {"operation": "addService", "service": {"id": "files", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}}
    When GET /dids/$did?versionId=1 is sent by nobody
    Then the response status is 200
    And "didDocumentMetadata.versionId" is 1
    When GET /dids/$did?versionId=2 is sent by nobody
    Then "didDocumentMetadata.versionId" is 2
    When GET /dids/$did?versionTime=$tomorrow is sent by nobody
    Then "didDocumentMetadata.versionId" is 2

  Scenario Outline: What cannot be resolved
    When GET /dids/<did> is sent by nobody
    Then the refusal is <status> <code>

    Examples:
      | did                                                    | status | code          |
      | did:ids                                                | 400    | INVALID_DID   |
      | did%3Aids%3A%20x                                       | 400    | INVALID_DID   |
      | nonsense                                               | 400    | INVALID_DID   |
      | did:ids:QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG | 404    | DID_NOT_FOUND |

  @listDidHistory
  Scenario: The history needs no authentication
    Given a new DID
    When GET /dids/$did/history is sent by nobody
    Then the response status is 200
