@getDidLog
Feature: Get the log of a DID

  Scenario: Anybody checks it alone
    Given Hana has a DID
    And Hana has changed the document once
    And Hana has deactivated the DID
    When Vera reads the log of the DID of Hana
    Then the answer is 200
    And the log proves 3 versions to anybody
