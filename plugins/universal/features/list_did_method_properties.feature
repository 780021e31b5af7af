@listDidMethodProperties
Feature: What is done with each method

  Scenario: Anybody may ask
    When listDidMethodProperties is asked
    Then the answer is 200
    And the answer says that DIDs of ids change here
