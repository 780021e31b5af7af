Feature: Is it alive, is it ready, which version is it

  Scenario Outline: Anybody may ask
    Given a good request for <operation>
    When it is sent
    Then the answer is 200

    Examples:
      | operation    |
      | getHealth    |
      | getReadiness |
      | getVersion   |

  Scenario: Measurements are for those who hold a key
    Given Olu has an API key that may only read the state of the service
    When Olu sends getMetrics with it
    Then the answer is 200

  @403:FORBIDDEN
  Scenario: A key without the scope reads no measurements
    Given Olu has an API key that may only list DIDs
    When Olu sends getMetrics with it
    Then the answer is 403 FORBIDDEN

  Scenario: A stranger learns whether the service is ready, and no more
    Given a good request for getReadiness
    When it is sent
    Then the answer is 200
    And the answer has only the member status
