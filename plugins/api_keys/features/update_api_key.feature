Feature: Change an API key's rights and limits

  Scenario: An admin does it
    Given a good request for updateApiKey
    When it is sent
    Then the answer is 200
    And the answer must not be cached
