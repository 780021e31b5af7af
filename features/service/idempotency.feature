Feature: A request that is sent twice is done once

  @409:REQUEST_IN_PROGRESS
  Scenario Outline: The second comes while the first is being answered
    Given a service whose answers take a while
    When <operation> is sent again while the first is being answered
    Then the answer is 409 REQUEST_IN_PROGRESS

    Examples:
      | operation    |
      | createDid    |
      | updateDid    |
      | rotateDidKey |
      | recoverDid   |
      | createApiKey |
      | updateApiKey |
      | rotateApiKey |
