@listDidMethods
Feature: Which DID methods there are

  Scenario: Anybody may ask
    When listDidMethods is asked
    Then the answer is 200
    And the answer lists ids and key
