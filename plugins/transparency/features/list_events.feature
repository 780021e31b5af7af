@listEvents
Feature: Follow what happens

  Scenario: Every change of every DID, in order
    Given Hana has a DID
    And Hana has changed the document once
    When Vera follows the events
    Then the answer is 200
    And the events of the DID of Hana are create, update
