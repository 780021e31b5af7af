@createDid
Feature: The specification, creation of a DID
  A client that knows only the specification, and a server with default settings.

  Scenario Outline: Each form of the API key
    When POST /dids is sent by <who> with {"method": "ids", "keyType": "Ed25519"}
    Then the response status is 201
    And the answer has the members did, didDocument, keys, transactionHash, blockNumber
    And "did" starts with "did:ids:"
    And "didDocument" is an object
    And the key "keys.authentication" has an id of the DID, a public and a private key
    And "transactionHash" is a string
    And "blockNumber" is an integer
    And the transaction of the answer is on the ledger

    Examples:
      | who                         |
      | the operator                |
      | the operator with Bearer    |
      | the operator with ApiKey    |
      | the operator with two forms |

  Scenario: All documented options
    When POST /dids is sent by the operator with {"method": "ids", "keyType": "Ed25519", "options": {"additionalKeys": [{"type": "X25519KeyAgreementKey2020", "purpose": ["keyAgreement"]}, {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}], "serviceEndpoints": [{"type": "DIDCommMessaging", "serviceEndpoint": "https://hana.example/didcomm"}], "recoveryKey": true}}
    Then the response status is 201
    And the key "keys.authentication" has an id of the DID, a public and a private key
    And the key "keys.keyAgreement" has an id of the DID, a public and a private key
    And the key "keys.recovery" has an id of the DID, a public and a private key
    And "didDocument.service.0.type" is "DIDCommMessaging"
    And "didDocument.service.0.serviceEndpoint" is "https://hana.example/didcomm"
    And "didDocument.@context" is an array

  Scenario: Options may be left out
    When POST /dids is sent by the operator with {"method": "ids"}
    Then the response status is 201

  Scenario Outline: Without a valid API key
    When POST /dids is sent by <who> with {"method": "ids", "keyType": "Ed25519"}
    Then the refusal is <status> <code>

    Examples:
      | who                    | status | code           |
      | nobody                 | 401    | AUTH_REQUIRED  |
      | an unknown API key     | 401    | AUTH_FAILED    |
      | an unknown scheme      | 401    | AUTH_FAILED    |
      | two different API keys | 400    | AUTH_AMBIGUOUS |

  Scenario: A charset in the content type
    When /dids receives the body {"method": "ids"} of the type application/json; charset=utf-8
    Then the response status is 201

  Scenario Outline: A body that is not JSON
    When /dids receives the body <body> of the type <type>
    Then the refusal is <status>

    Examples:
      | body              | type             | status |
      | {"method":        | application/json | 400    |
      | {"method": "ids"} | text/plain       | 415    |
