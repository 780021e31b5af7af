@getDidApprovals
Feature: See which versions wait for witnesses

  Scenario: Anybody sees who is waited for
    Given Hana has a DID of which Wendy must approve
    And Wendy has approved of the newest version of the DID
    And Hana has changed the document once
    When anybody asks what waits
    Then the answer is 200
    And 1 of 2 versions are published

  @422:INVALID_DOCUMENT
  Scenario: A DID that has no witnesses
    When anybody asks what waits of the DID of Vera, who has no witnesses
    Then the answer is 422 INVALID_DOCUMENT
