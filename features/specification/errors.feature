Feature: The specification, errors and versions

  Scenario Outline: Every refusal has the Error shape
    When <method> <path> is sent by the operator
    Then the refusal is <status>

    Examples:
      | method | path              | status |
      | GET    | /no-such-path     | 404    |
      | DELETE | /dids             | 405    |
      | GET    | /dids/nonsense    | 400    |

  Scenario: The version of the interface
    When GET /version is sent by nobody
    Then the response status is 200
    And the served document is of version 1.0.0

  Scenario: Requests are rate limited
    Given a new DID
    When challenges are fetched as fast as possible
    Then the refusal is 429 RATE_LIMITED
    And a number of seconds in Retry-After is answered
