Feature: Revoke an API key

  Scenario: An admin does it
    Given a good request for revokeApiKey
    When it is sent
    Then the answer is 200
    And the answer must not be cached
