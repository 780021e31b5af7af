Feature: See, revoke, suspend and resume a delegation
  Hana delegated to Aki. Both see it; Eve does not, and cannot find out whether it exists.

  Scenario: Revocation reaches what was passed on
    Given Hana has delegated to Aki
    And Aki has passed it on to Ben
    When Hana revokes what Aki was given
    Then the answer is 200
    And what was passed on to Ben is revoked

  Scenario Outline: A list holds one's own
    Given Hana has delegated to Aki
    And Aki has passed it on to Ben
    When <who> lists delegations
    Then the answer is 200
    And the list has <count> and ends

    Examples:
      | who  | count |
      | Hana | 2     |
      | Aki  | 1     |
      | Ben  | 1     |
      | Eve  | 0     |

  Scenario: A list by status
    Given Hana has delegated to Aki
    And Hana has revoked it
    And Hana has delegated to Aki
    When Hana lists delegations that are revoked
    Then the answer is 200
    And the list has 1 and ends

  @403:FORBIDDEN
  Scenario: An operator lists only its holder's delegations
    Given Olu has an API key that acts for Ben only
    When Olu lists with that key the delegations of Hana
    Then the answer is 403 FORBIDDEN

  @403:FORBIDDEN
  Scenario Outline: An agent neither pauses nor resumes
    Given Hana has delegated to Aki
    When Aki sends <operation> about it
    Then the answer is 403 FORBIDDEN

    Examples:
      | operation         |
      | suspendDelegation |
      | resumeDelegation  |

  @403:FORBIDDEN
  Scenario Outline: A key needs the scope
    Given Olu has an API key that may only list DIDs
    When Olu sends <operation> with it
    Then the answer is 403 FORBIDDEN

    Examples:
      | operation         |
      | createDelegation  |
      | listDelegations   |
      | getDelegation     |
      | deleteDelegation  |
      | revokeDelegation  |
      | suspendDelegation |
      | resumeDelegation  |
      | revokeIbct        |

  @404:DELEGATION_NOT_FOUND
  Scenario Outline: What others have is not there
    Given Hana has delegated to Aki
    When Eve sends <operation> about it
    Then the answer is 404 DELEGATION_NOT_FOUND
    And the refusal's body has nothing but the error

    Examples:
      | operation         |
      | getDelegation     |
      | deleteDelegation  |
      | revokeDelegation  |
      | suspendDelegation |
      | resumeDelegation  |

  @404:DELEGATION_NOT_FOUND
  Scenario Outline: What does not exist is answered alike
    When Hana sends <operation> about something that does not exist
    Then the answer is 404 DELEGATION_NOT_FOUND

    Examples:
      | operation         |
      | getDelegation     |
      | deleteDelegation  |
      | revokeDelegation  |
      | suspendDelegation |
      | resumeDelegation  |

  @409:CONFLICT
  Scenario Outline: Revocation is final
    Given Hana has delegated to Aki
    And Hana has revoked it
    When Hana sends <operation> about it
    Then the answer is 409 CONFLICT

    Examples:
      | operation         |
      | suspendDelegation |
      | resumeDelegation  |
