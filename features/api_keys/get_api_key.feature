Feature: Get an API key's record

  Scenario: An admin does it
    Given a good request for getApiKey
    When it is sent
    Then the answer is 200
    And no one may keep a copy of the answer
