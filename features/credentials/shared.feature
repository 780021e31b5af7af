Feature: The door of credentials is that of every operation
  Whatever is wrong before anybody looks at a credential, and whatever breaks that no client can cause.

  @409:REQUEST_IN_PROGRESS
  Scenario Outline: The second comes while the first is being answered
    Given a service whose answers take a while
    When <operation> is sent again while the first is being answered
    Then the answer is 409 REQUEST_IN_PROGRESS

    Examples:
      | operation              |
      | createCredentialSchema |
      | issueCredential        |
      | importCredential       |
      | setCredentialStatus    |

  @503:PLUGIN_UNAVAILABLE
  Scenario Outline: Without its custodian the service signs nothing
    Given a service whose custodian raises
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 503 PLUGIN_UNAVAILABLE

    Examples:
      | operation       |
      | issueCredential |
      | getStatusList   |

  @504:PLUGIN_TIMEOUT
  Scenario Outline: A custodian that hangs is given up at its deadline
    Given a service whose custodian hangs
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 504 PLUGIN_TIMEOUT

    Examples:
      | operation       |
      | issueCredential |
      | getStatusList   |
