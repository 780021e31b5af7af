@createVcalmChallenge
Feature: Obtain a challenge for a presentation

  Scenario: Anybody gets one
    Given a good request for createVcalmChallenge
    When it is sent
    Then the answer is 200
    And the answer must not be cached
    And the answer has only the member challenge
