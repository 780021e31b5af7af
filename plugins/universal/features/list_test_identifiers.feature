@listTestIdentifiers
Feature: DIDs to try

  Scenario: Anybody may ask
    When listTestIdentifiers is asked
    Then the answer is 200
    And each of the DIDs resolves
