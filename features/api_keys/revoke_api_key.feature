Feature: Revoke an API key

  Scenario: An admin does it
    Given a good request for revokeApiKey
    When it is sent
    Then the answer is 200
    And no one may keep a copy of the answer
