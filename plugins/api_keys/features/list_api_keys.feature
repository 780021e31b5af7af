Feature: List API keys

  Scenario: An admin does it
    Given a good request for listApiKeys
    When it is sent
    Then the answer is 200
    And the answer must not be cached
