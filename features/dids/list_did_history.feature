@listDidHistory
Feature: List the versions of a DID

  Scenario: The life of a DID
    Given Hana has a DID
    And Hana has changed the document once
    And Hana has rotated the key with a day of grace
    When Vera reads the history of the DID of Hana
    Then the answer is 200
    And the history tells create, update, keyRotated

  Scenario: Where the operator shows it, also after the end
    Given a service that shows the history of deactivated DIDs
    And Hana has a DID
    And Hana has changed the document once
    And Hana has rotated the key with a day of grace
    And Hana has deactivated the DID
    When Vera reads the history of the DID of Hana
    Then the answer is 200
    And the history tells create, update, keyRotated, deactivated

  Scenario: Page by page
    Given Hana has a DID
    And Hana has changed the document once
    When Vera reads the history of the DID of Hana one by one, newest first
    Then the answer is 200
    And the pages do not overlap
