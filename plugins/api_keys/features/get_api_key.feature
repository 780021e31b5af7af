Feature: Get an API key's record

  Scenario: An admin does it
    Given a good request for getApiKey
    When it is sent
    Then the answer is 200
    And the answer must not be cached
