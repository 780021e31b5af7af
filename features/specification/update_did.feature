@updateDid
Feature: The specification, change of a DID document
  Each signature is over a challenge that is bound to nothing, on a DID with default options.

  Scenario Outline: The forms of the signed header
    Given a new DID
    When PATCH /dids/$did is sent by <who> with {"operation": "addService", "service": {"id": "files", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}}
    Then the response status is 200
    And "transactionHash" is a string
    And "blockNumber" is an integer
    And the transaction of the answer is on the ledger
    And the document has 1 service

    Examples:
      | who                              |
      | the controller                   |
      | the controller without padding   |
      | the controller through a gateway |

  Scenario Outline: A fragment names a service
    Given a new DID
    When PATCH /dids/$did is sent by the controller with {"operation": "addService", "service": {"id": "<id>", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}}
    Then the response status is 200
    When GET /dids/$did is sent by nobody
    Then "didDocument.service.0.id" is "$did#files"

    Examples:
      | id         |
      | files      |
      | #files     |
      | $did#files |

  Scenario Outline: A verification method is added with the documented members
    Given a new DID
    When PATCH /dids/$did is sent by the controller with {"operation": "addVerificationMethod", "verificationMethod": {"type": "<type>", "publicKeyMultibase": "<key>"}, "relationships": ["<relationship>"]}
    Then the response status is 200
    And the document has <count> <relationship>

    Examples:
      | type                       | key        | relationship   | count |
      | Ed25519VerificationKey2020 | $newKey    | authentication | 2     |
      | X25519KeyAgreementKey2020  | $x25519Key | keyAgreement   | 1     |

  Scenario: A verification method is removed
    Given a new DID
    And PATCH /dids/$did was sent by the controller with {"operation": "addVerificationMethod", "verificationMethod": {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": "$newKey"}, "relationships": ["authentication"]}
    When PATCH /dids/$did is sent by the controller with {"operation": "removeVerificationMethod", "keyId": "$keyId"}
    Then the response status is 200
    And the document has 1 authentication

  Scenario: The last authentication key stays
    Given a new DID
    When PATCH /dids/$did is sent by the controller with {"operation": "removeVerificationMethod", "keyId": "$keyId"}
    Then the refusal is 422 INVALID_DOCUMENT

  Scenario Outline: Without a valid signature
    Given a new DID with {"recoveryKey": true}
    When PATCH /dids/$did is sent by <who> with {"operation": "removeVerificationMethod", "keyId": "$keyId"}
    Then the refusal is 401 <code>

    Examples:
      | who                           | code          |
      | nobody                        | AUTH_REQUIRED |
      | the operator                  | AUTH_REQUIRED |
      | the operator with Bearer      | AUTH_REQUIRED |
      | the operator with ApiKey      | AUTH_REQUIRED |
      | nonsense                      | AUTH_FAILED   |
      | another key                   | AUTH_FAILED   |
      | a stranger                    | AUTH_FAILED   |
      | the recovery key as DIDAuth   | AUTH_FAILED   |

  Scenario: A signature works once, and the refusal states it
    Given a new DID
    When the same signature is sent twice
    Then the answers are 200, 401
    And the refusal is 401 AUTH_FAILED
    And the error's reason contains "Fetch another"

  Scenario: An unreadable header is explained
    Given a new DID
    When PATCH /dids/$did is sent by nonsense with {"operation": "removeVerificationMethod", "keyId": "$keyId"}
    Then the refusal is 401 AUTH_FAILED
    And the error's reason contains "the decoded text"

  Scenario: A DID that does not exist
    When GET /auth/challenge?did=did:ids:QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG is sent by nobody
    Then the refusal is 404 DID_NOT_FOUND
