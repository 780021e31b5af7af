Feature: Administer API keys
  Admin keys make, list, change, rotate and revoke keys; the text of a key is shown once.

  @403:FORBIDDEN
  Scenario Outline: A key with scopes is not an admin
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
    When <operation> is asked for an unknown key
    Then the answer is 404 API_KEY_NOT_FOUND

    Examples:
      | operation    |
      | getApiKey    |
      | updateApiKey |
      | rotateApiKey |
      | revokeApiKey |
