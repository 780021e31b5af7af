Feature: Can requests be served

  Scenario: Anybody may ask
    Given a good request for getReadiness
    When it is sent
    Then the answer is 200

  Scenario: A stranger learns whether the service is ready, and no more
    Given a good request for getReadiness
    When it is sent
    Then the answer is 200
    And the answer has only the member status
