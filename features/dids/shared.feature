Feature: Which DID is meant, and may it be used
  The same answers for every operation on a DID, before anybody asks who is calling.

  @400:INVALID_DID
  Scenario Outline: A text that is no DID
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
  Scenario Outline: A DID that no one made
    When <operation> is asked for the DID no one has
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
      | getDidAuthChallenge |
      | resolveIdentifier   |
      | resolveIdentifierWithOptions |

  @410:DID_DEACTIVATED
  Scenario Outline: An operator may hide what a deactivated DID was
    Given a service that hides the history of deactivated DIDs
    And Hana has a DID
    And Hana has deactivated the DID
    When <operation> is asked for the DID of Hana
    Then the answer is 410 DID_DEACTIVATED

    Examples:
      | operation      |
      | listDidHistory |
      | getDidLog      |

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
