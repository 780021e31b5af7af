Feature: Create an API key

  Scenario: An admin does it
    Given a good request for createApiKey
    When it is sent
    Then the answer is 201
    And the answer must not be cached
