Feature: Administer API keys
  Admin keys make, list, change, rotate and revoke keys; the text of a key is shown once.

  Scenario Outline: An admin does it
    Given a good request for <operation>
    When it is sent
    Then the answer is <status>
    And nobody may keep a copy of the answer

    Examples:
      | operation    | status |
      | createApiKey | 201    |
      | listApiKeys  | 200    |
      | getApiKey    | 200    |
      | updateApiKey | 200    |
      | rotateApiKey | 201    |
      | revokeApiKey | 200    |

  Scenario: A revoked key is nobody's
    Given Olu has an API key that may only list DIDs
    And the key of Olu was revoked
    When Olu sends listDids with it
    Then the answer is 401 AUTH_FAILED

  Scenario: A rotated key works for its grace period
    Given Olu has an API key that may only list DIDs
    And the key of Olu was rotated with an hour of grace
    When Olu sends listDids with it
    Then the answer is 200

  @403:FORBIDDEN
  Scenario Outline: A key with scopes is no admin
    Given Olu has an API key that may only list DIDs
    When Olu sends <operation> with it
    Then the answer is 403 FORBIDDEN

    Examples:
      | operation    |
      | createApiKey |
      | listApiKeys  |
      | getApiKey    |
      | updateApiKey |
      | rotateApiKey |
      | revokeApiKey |

  @404:API_KEY_NOT_FOUND
  Scenario Outline: A key that there is not
    When <operation> is asked for a key that nobody has
    Then the answer is 404 API_KEY_NOT_FOUND

    Examples:
      | operation    |
      | getApiKey    |
      | updateApiKey |
      | rotateApiKey |
      | revokeApiKey |
