Feature: The door of delegations is that of every operation
  Whatever is wrong before anybody looks at a delegation, and whatever breaks that no client can cause.

  @409:REQUEST_IN_PROGRESS
  Scenario Outline: The second comes while the first is being answered
    Given a service whose answers take a while
    When <operation> is sent again while the first is being answered
    Then the answer is 409 REQUEST_IN_PROGRESS

    Examples:
      | operation         |
      | createDelegation  |
      | revokeDelegation  |
      | suspendDelegation |
      | resumeDelegation  |
      | revokeIbct        |
