Feature: Quota of writes
  A DID that signs in by itself may write much, and not without end. API keys have no quota.

  @429:QUOTA_EXCEEDED
  Scenario Outline: Who has written as much as he may comes again tomorrow
    Given a service that lets a DID write a little a day
    And a good request for <operation>
    When it is sent by a DID that has written as much as it may
    Then the answer is 429 QUOTA_EXCEEDED
    And the answer says when to come again

    Examples:
      | operation               |
      | updateDid               |
      | deactivateDid           |
      | rotateDidKey            |
      | recoverDid              |
      | issueToken              |
      | createCredentialSchema  |
      | issueCredential         |
      | importCredential        |
      | setCredentialStatus     |
      | createCredentialOffer   |
      | createDelegation        |
      | revokeDelegation        |
      | deleteDelegation        |
      | suspendDelegation       |
      | suspendDelegations      |
      | describeDids            |
      | resumeDelegation        |
      | revokeIbct              |
      | generateDelegatedProof  |
      | createDelegatedPresentation |
      | verifyProof             |
      | verifyStoredProof       |
      | checkDelegatedProof     |
      | revokeProof             |
      | createVerifierChallenge |
      | requestPresentation     |
      | eraseRecords            |
      | resetDisclosures        |
      | setLabel                |
      | deleteLabel             |
      | rotateHolderSecret      |
      | createConsentRequest    |
      | answerConsentRequest    |
      | createVerifierRequest   |
      | cancelVerifierRequest   |

  @revokeIbct
  Scenario: Who has written as much as he may can still call back what he gave
    Given a service that lets a DID write a little a day
    And Hana has a DID
    When Hana has signed for tokens until none is given and calls a token back
    Then the answer is 200
