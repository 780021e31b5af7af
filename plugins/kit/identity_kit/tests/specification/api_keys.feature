Feature: API keys and rate limits
  All forms of an API key behave identically.

  Scenario Outline: A form of the API key
    When the plain client creates a DID with <header>
    Then the service responds <status>

    Examples:
      | header                       | status            |
      | X-API-Key: KEY               | 201               |
      | Authorization: ApiKey KEY    | 201               |
      | Authorization: Bearer KEY    | 201               |
      | X-API-Key: unknown           | 401 AUTH_FAILED   |
      | Authorization: ApiKey wrong  | 401 AUTH_FAILED   |
      | no header                    | 401 AUTH_REQUIRED |

  Scenario: A key that has a bucket of its own
    Given an operator has created an API key with a rate of its own
    When the plain client sends requests with that key until one is refused
    Then the service responds 429 RATE_LIMITED
    And the shared API key is not limited
