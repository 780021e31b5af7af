@getDidAuthChallenge
Feature: The specification, challenges

  Scenario: The answer
    Given a new DID
    When GET /auth/challenge?did=$did is sent by nobody
    Then the response status is 200
    And "did" is $did
    And "challenge" is a string
    And "expiresAt" is a timestamp

  Scenario: The DID is required
    When GET /auth/challenge is sent by nobody
    Then the refusal is 400

  Scenario: 64 open challenges of one DID
    Given a new DID
    When 64 challenges are fetched and all are signed and sent at once
    Then all challenges are different and all answers are 200
