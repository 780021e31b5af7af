Feature: Is the process alive

  Scenario: Anybody may ask
    Given a good request for getHealth
    When it is sent
    Then the answer is 200
