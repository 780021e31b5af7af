Feature: The door of verification is that of every operation
  Whatever is wrong before anybody looks at a proof, and whatever breaks that no client can cause.

  @403:FORBIDDEN
  Scenario Outline: A key that may do something else
    Given Olu has an API key that may only list DIDs
    When Olu sends <operation> with it
    Then the answer is 403 FORBIDDEN

    Examples:
      | operation               |
      | verifyProof             |
      | verifyStoredProof       |
      | checkDelegatedProof     |
      | getProof                |
      | revokeProof             |
      | createVerifierChallenge |

  @409:REQUEST_IN_PROGRESS
  Scenario Outline: The second comes while the first is being answered
    Given a service whose answers take a while
    When <operation> is sent again while the first is being answered
    Then the answer is 409 REQUEST_IN_PROGRESS

    Examples:
      | operation          |
      | revokeProof        |
      | rotateHolderSecret |
      | verifyProof        |
      | verifyStoredProof  |
