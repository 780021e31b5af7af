Feature: DID Auth by challenge and response
  The client signs the UTF-8 bytes of a plain challenge. The DID is created with default options.

  Background:
    Given the plain client has created a DID

  Scenario: A challenge
    When the plain client gets a challenge for the DID
    Then the service responds 200
    And the challenge names the DID and expires later

  Scenario Outline: The three forms of an update
    When the plain client sends the update <operation> with DID Auth
    Then the service responds 200
    And the response has the members transactionHash (text), blockNumber (integer)
    And the current document shows the update

    Examples:
      | operation                |
      | addService               |
      | addVerificationMethod    |
      | removeVerificationMethod |

  Scenario: The last authentication key cannot be removed
    When the plain client removes the last authentication key with DID Auth
    Then the service responds 422 INVALID_DOCUMENT

  Scenario: A deactivation
    When the plain client sends deactivate with DID Auth
    Then the service responds 200
    And the response has the members did (text), deactivated (true), transactionHash (text), blockNumber (integer)
    And the response has no other member

  Scenario Outline: A rotation with a grace period
    When the plain client sends rotate with DID Auth
    Then the service responds 200
    And the response has the members newKey.keyId (text), newKey.publicKey (text), newKey.privateKey (text)
    And the response has the members gracePeriodEnd (time), transactionHash (text)
    And gracePeriodEnd is the requested revokeOldAfter
    And the <key> key signs the next update

    Examples:
      | key |
      | old |
      | new |

  Scenario: A recovery
    When the plain client sends recover with the recovery key
    Then the service responds 200
    And the response has the members transactionHash (text), blockNumber (integer)
    And the new key signs the next update

  Scenario Outline: DID Auth is absent
    When the plain client sends <operation> without authentication
    Then the service responds 401 AUTH_REQUIRED

    Examples:
      | operation  |
      | update     |
      | deactivate |
      | rotate     |
      | recover    |

  Scenario Outline: Verification fails
    When the plain client sends <operation> with the signature of another key
    Then the service responds 401 AUTH_FAILED

    Examples:
      | operation  |
      | update     |
      | deactivate |
      | rotate     |
      | recover    |

  Scenario Outline: Another scheme is not a DID Auth and no recovery key
    When the plain client sends <operation> with the <credential>
    Then the service responds 401

    Examples:
      | operation | credential     |
      | update    | API key        |
      | recover   | API key        |
      | recover   | scheme DIDAuth |
