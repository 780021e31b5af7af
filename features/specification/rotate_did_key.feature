@rotateDidKey
Feature: The specification, rotation of a key

  Scenario: The old key is revoked at the given time
    Given a new DID
    When POST /dids/$did/keys/rotate is sent by the controller with {"oldKeyId": "$keyId", "newKeyType": "Ed25519", "purpose": ["authentication"], "revokeOldAfter": "$tomorrow"}
    Then the response status is 200
    And the key "newKey" has an id of the DID, a public and a private key
    And "gracePeriodEnd" is $tomorrow
    And the transaction of the answer is on the ledger
    When PATCH /dids/$did is sent by the controller with {"operation": "addService", "service": {"id": "files", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}}
    Then the response status is 200

  Scenario Outline: The old key is revoked at once, and the new one signs
    Given a new DID
    And POST /dids/$did/keys/rotate was sent by the controller with <body>
    And "newPrivateKey" is the answer's "newKey.privateKey"
    When PATCH /dids/$did is sent by the controller with {"operation": "addService", "service": {"id": "a", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}}
    Then the refusal is 401 AUTH_FAILED
    When PATCH /dids/$did is sent by the new key with {"operation": "addService", "service": {"id": "b", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}}
    Then the response status is 200

    Examples:
      | body                                                                                                              |
      | {"oldKeyId": "$keyId", "newKeyType": "Ed25519", "purpose": ["authentication"]}                                    |
      | {"oldKeyId": "$keyId", "newKeyType": "Ed25519", "purpose": ["authentication"], "revokeOldAfter": "$yesterday"}     |

  Scenario Outline: Without the signature
    Given a new DID
    When POST /dids/$did/keys/rotate is sent by <who> with {"oldKeyId": "$keyId", "newKeyType": "Ed25519", "purpose": ["authentication"]}
    Then the refusal is 401 <code>

    Examples:
      | who          | code          |
      | nobody       | AUTH_REQUIRED |
      | the operator | AUTH_REQUIRED |
      | another key  | AUTH_FAILED   |
