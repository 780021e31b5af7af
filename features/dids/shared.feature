Feature: Which DID is meant, and may it be used
  The same answers for every operation on a DID, before anybody asks who is calling.

  @400:INVALID_DID
  Scenario Outline: A text that is not a DID
    When <operation> is asked for the DID did:ids:short
    Then the answer is 400 INVALID_DID

    Examples:
      | operation           |
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
      | resolveIdentifier   |
      | resolveIdentifierWithOptions |

  @404:DID_NOT_FOUND
  Scenario Outline: An unregistered DID
    When <operation> is asked for an unregistered DID
    Then the answer is 404 DID_NOT_FOUND

    Examples:
      | operation           |
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
      | resolveIdentifier   |
      | resolveIdentifierWithOptions |

  @410:DID_DEACTIVATED
  Scenario Outline: A DID that was ended
    Given Hana has a DID
    And Hana has deactivated the DID
    When <operation> is asked for the DID of Hana
    Then the answer is 410 DID_DEACTIVATED

    Examples:
      | operation           |
      | resolveDid          |
      | updateDid           |
      | deactivateDid       |
      | rotateDidKey        |
      | recoverDid          |
      | listDidHistory      |
      | getDidAuthChallenge |
      | resolveIdentifier   |
      | resolveIdentifierWithOptions |

  @410:DID_DEACTIVATED
  Scenario: An operator may hide the log of a deactivated DID
    Given a service that hides the logs of deactivated DIDs
    And Hana has a DID
    And Hana has deactivated the DID
    When getDidLog is asked for the DID of Hana
    Then the answer is 410 DID_DEACTIVATED

  Scenario Outline: A plain challenge on a DID with default options
    Given Hana has a DID
    When Hana sends <operation> with a signature that is bound to nothing
    Then the answer is 200

    Examples:
      | operation     |
      | updateDid     |
      | deactivateDid |
      | rotateDidKey  |
      | recoverDid    |

  @401:AUTH_FAILED
  Scenario Outline: A plain challenge on a DID with strictEvidence
    Given Hana has a DID with strict evidence
    When Hana sends <operation> with a signature that is bound to nothing
    Then the answer is 401 AUTH_FAILED

    Examples:
      | operation     |
      | updateDid     |
      | deactivateDid |
      | rotateDidKey  |
      | recoverDid    |

  @401:AUTH_FAILED
  Scenario Outline: A signature of another DID
    Given Hana has a DID
    When Mallory signs <operation> for the DID of Hana with her own
    Then the answer is 401 AUTH_FAILED

    Examples:
      | operation     |
      | updateDid     |
      | deactivateDid |
      | rotateDidKey  |
      | recoverDid    |

  Scenario Outline: An API key that a gateway adds beside the signature
    Given a good request for <operation>
    When it is sent with <which> in X-API-Key beside its signature
    Then the answer is 200

    Examples:
      | operation     | which       |
      | updateDid     | a good key  |
      | updateDid     | a wrong key |
      | deactivateDid | a good key  |
      | rotateDidKey  | a good key  |
      | recoverDid    | a good key  |
      | recoverDid    | a wrong key |
