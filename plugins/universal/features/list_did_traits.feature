@listDidTraits
Feature: What holds of each method

  Scenario: Anybody may ask
    When listDidTraits is asked
    Then the answer is 200
    And the answer says that did:ids supports updates
