Feature: What no client can cause is answered in the same shape
  A ledger, a key store, a custodian or a DID method that breaks costs its own requests, and says so.

  @500:INTERNAL_ERROR
  Scenario Outline: A fault of ours has a request id and no details
    Given a service whose core breaks
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 500 INTERNAL_ERROR

    Examples:
      | operation           |
      | createDid           |
      | listDids            |
      | resolveDid          |
      | updateDid           |
      | deactivateDid       |
      | rotateDidKey        |
      | recoverDid          |
      | listDidHistory      |
      | getDidLog           |
      | getDidApprovals     |
      | approveDidVersion   |
      | listEvents          |
      | getDidAuthChallenge |
      | createApiKey        |
      | listApiKeys         |
      | getApiKey           |
      | updateApiKey        |
      | rotateApiKey        |
      | revokeApiKey        |
      | getHealth           |
      | getReadiness        |
      | getVersion          |

  @500:BLOCKCHAIN_ERROR
  Scenario Outline: A ledger that fails changes nothing
    Given a service whose ledger raises
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 500 BLOCKCHAIN_ERROR

    Examples:
      | operation           |
      | getStatusGapsProof  |
      | createDid           |
      | updateDid           |
      | deactivateDid       |
      | rotateDidKey        |
      | recoverDid          |
      | getDidLog           |
      | getDidApprovals     |
      | approveDidVersion   |

  @503:OVERLOADED
  Scenario Outline: More requests than the server takes on are turned away
    Given a service that takes one request at a time
    And a good request for <operation>
    When it is sent while another is being answered
    Then the answer is 503 OVERLOADED

    Examples:
      | operation           |
      | createDid           |
      | listDids            |
      | resolveDid          |
      | updateDid           |
      | deactivateDid       |
      | rotateDidKey        |
      | recoverDid          |
      | listDidHistory      |
      | getDidLog           |
      | getDidApprovals     |
      | approveDidVersion   |
      | listEvents          |
      | getDidAuthChallenge |
      | createApiKey        |
      | listApiKeys         |
      | getApiKey           |
      | updateApiKey        |
      | rotateApiKey        |
      | revokeApiKey        |
      | getVersion          |

  @503:PLUGIN_UNAVAILABLE
  Scenario Outline: A plugin that raises costs its own requests
    Given a service whose plugins raise
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 503 PLUGIN_UNAVAILABLE

    Examples:
      | operation           |
      | createDid           |
      | listDids            |
      | resolveDid          |
      | updateDid           |
      | deactivateDid       |
      | rotateDidKey        |
      | recoverDid          |
      | listDidHistory      |
      | getDidLog           |
      | getDidApprovals     |
      | approveDidVersion   |
      | getDidAuthChallenge |
      | createApiKey        |
      | listApiKeys         |
      | getApiKey           |
      | updateApiKey        |
      | rotateApiKey        |
      | revokeApiKey        |

  @504:PLUGIN_TIMEOUT
  Scenario Outline: A plugin that hangs is given up at its deadline
    Given a service whose plugins hang
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 504 PLUGIN_TIMEOUT

    Examples:
      | operation           |
      | getStatusGapsProof  |
      | createDid           |
      | listDids            |
      | updateDid           |
      | deactivateDid       |
      | rotateDidKey        |
      | recoverDid          |
      | getDidLog           |
      | getDidApprovals     |
      | approveDidVersion   |
      | createApiKey        |
      | listApiKeys         |
      | getApiKey           |
      | updateApiKey        |
      | rotateApiKey        |
      | revokeApiKey        |

  @503:DID_QUARANTINED
  Scenario Outline: What is stored about a DID and does not follow from the ledger decides nothing
    Given a service whose index was changed by another program
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 503 DID_QUARANTINED

    Examples:
      | operation           |
      | resolveDid          |
      | updateDid           |
      | deactivateDid       |
      | rotateDidKey        |
      | recoverDid          |
      | listDidHistory      |
      | getDidAuthChallenge |

  @503:STORAGE_MISMATCH
  Scenario Outline: Nothing is changed or signed over a ledger that is older than it was
    Given a service whose ledger was rolled back
    And a good request for <operation>
    When the service has noticed and it is sent
    Then the answer is 503 STORAGE_MISMATCH

    Examples:
      | operation                 |
      | createDid                 |
      | updateDid                 |
      | deactivateDid             |
      | rotateDidKey              |
      | recoverDid                |
      | approveDidVersion         |
      | createApiKey              |
      | updateApiKey              |
      | revokeApiKey              |
      | rotateApiKey              |
      | createDelegation          |
      | deleteDelegation          |
      | revokeDelegation          |
      | suspendDelegation         |
      | resumeDelegation          |
      | revokeIbct                |
      | createCredentialSchema    |
      | issueCredential           |
      | importCredential          |
      | verifyCredential          |
      | setCredentialStatus       |
      | createCredentialOffer     |
      | generateDelegatedProof    |
      | createDelegatedPresentation |
      | resolveIdentifierWithOptions |
      | verifyProof               |
      | verifyStoredProof         |
      | checkDelegatedProof       |
      | revokeProof               |
      | eraseRecords              |
      | resetDisclosures          |
      | setLabel                  |
      | deleteLabel               |
      | suspendDelegations        |
      | describeDids              |
      | rotateHolderSecret        |
      | createVerifierChallenge   |
      | verifyVcalmCredential     |
      | verifyVcalmPresentation   |
      | createVcalmChallenge      |
      | requestPresentation       |
      | getLedgerCheckpoint       |
      | getStatusGapsProof        |
      | getLedgerInclusionProof   |
      | getLedgerConsistencyProof |
      | createConsentRequest      |
      | answerConsentRequest      |
      | createVerifierRequest     |
      | cancelVerifierRequest     |
      | answerVerifierRequest     |
