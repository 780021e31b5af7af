@recoverDid
Feature: The specification, recovery of a DID

  Scenario Outline: The recovery key sets a new authentication key
    Given a new DID with {"recoveryKey": true}
    When POST /dids/$did/recover is sent by the recovery key with {"newAuthenticationKey": {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": "$newKey"}, "revokeAllExistingKeys": <all>}
    Then the response status is 200
    And "transactionHash" is a string
    And "blockNumber" is an integer
    And the document has <count> authentication

    Examples:
      | all   | count |
      | true  | 1     |
      | false | 2     |

  Scenario Outline: Nothing else recovers
    Given a new DID with {"recoveryKey": true}
    When POST /dids/$did/recover is sent by <who> with {"newAuthenticationKey": {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": "$newKey"}, "revokeAllExistingKeys": true}
    Then the refusal is 401 <code>

    Examples:
      | who                           | code          |
      | nobody                        | AUTH_REQUIRED |
      | the operator                  | AUTH_REQUIRED |
      | the controller                | AUTH_REQUIRED |
      | the controller as RecoveryKey | AUTH_FAILED   |
      | the recovery key as DIDAuth   | AUTH_REQUIRED |
